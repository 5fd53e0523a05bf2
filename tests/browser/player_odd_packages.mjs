// Courses as authoring tools and people have made them over twenty years, each odd in its own way.

import { calls, zip } from "./player_packages.mjs";

/** How content of either standard finds its API and calls it: `find` says where it looks. */
const script = (name, find) => `
  ${find}
  window.begun = null;
  window.api = findApi(${JSON.stringify(name)});
  window.foundAtOnce = !!window.api;
  const old = ${name === "API"};
  ${calls("window.api")}
  window.begin = () => (window.begun = window.api ? call("Initialize", "") : "no API");
`;

/** Up through parents, then through the opener and its parents, as ADL's wrapper does. */
const usual = `
  function scan(at, name) {
    for (let step = 0; step < 12 && at; step += 1) {
      if (at[name]) return at[name];
      if (!at.parent || at.parent === at) return null;
      at = at.parent;
    }
    return null;
  }
  function findApi(name) {
    return scan(window, name) || (window.opener ? scan(window.opener, name) : null);
  }
`;

const page = (inner, head = "") =>
  `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Odd</title>${head}</head><body>${inner}</body></html>`;

const plain = (name) => page(`<h1>A page</h1><script>${script(name, usual)} begin();</script>`);

/** A manifest; `items` are `[id, href of the resource, more about the resource]`. */
function manifest(edition, items, { declaration = 'encoding="UTF-8"', manifestBase = "", listBase = "" } = {}) {
  const is12 = edition === "1.2";
  const space = is12
    ? 'xmlns="http://www.imsproject.org/xsd/imscp_rootv1p1p2" xmlns:adlcp="http://www.adlnet.org/xsd/adlcp_rootv1p2"'
    : 'xmlns="http://www.imsglobal.org/xsd/imscp_v1p1" xmlns:adlcp="http://www.adlnet.org/xsd/adlcp_v1p3" xmlns:imsss="http://www.imsglobal.org/xsd/imsss"';
  const kind = is12 ? "adlcp:scormtype" : "adlcp:scormType";
  const base = (text) => (text ? ` xml:base="${text}"` : "");
  const flow = is12 ? "" : '<imsss:sequencing><imsss:controlMode choice="1" flow=" true "/></imsss:sequencing>';
  return `<?xml version="1.0" ${declaration}?>
<manifest identifier="m" version="1.0" ${space}${base(manifestBase)}>
<metadata><schema>ADL SCORM</schema><schemaversion>${is12 ? "1.2" : "2004 4th Edition"}</schemaversion></metadata>
<organizations default="o"><organization identifier="o"><title>Odd</title>${items
    .map(([id, , , item = ""]) => `<item identifier="${id}" identifierref="r-${id}"${item}><title>Part ${id}</title></item>`)
    .join("")}${flow}</organization></organizations>
<resources${base(listBase)}>${items
    .map(([id, href, more = ""]) => `<resource identifier="r-${id}" type="webcontent" ${kind}="sco" href="${href}"${more}/>`)
    .join("")}</resources></manifest>`;
}

const api = { 1.2: "API", 2004: "API_1484_11" };

/** Folders with blanks, umlauts and signs that mean something in addresses, bases at three levels, an item's
 *  parameters, and a script beside the manifest's folder that the page names with backslashes. */
export const folders = (edition) => ({
  zip: zip({
    "Kurs 1/imsmanifest.xml": manifest(edition, [["one", "Seite%20%C3%A4 #1.html".replace("#", "%23"), ' xml:base="Teil &amp; Rest/"', ' parameters="?a=b c&amp;d=ü#top"']], {
      manifestBase: "Übung/",
      listBase: "100%25 (neu)/",
    }),
    "Kurs 1/Übung/100% (neu)/Teil & Rest/Seite ä #1.html": page(`<p>A page</p><script src="..\\..\\..\\..\\gemeinsam\\Größe+1.js"></script><script>begin();</script>`),
    "gemeinsam/größe+1.js": script(api[edition], usual),
  }),
});

/** Content opens a window of its own, which finds the API through its opener. */
export const popup = (edition) => ({
  zip: zip({
    "imsmanifest.xml": manifest(edition, [["one", "start.html"]]),
    "start.html": page(`<button type="button" onclick="window.open('course/player.html', 'course', 'width=500,height=400')">Start</button><script>window.begun = "true"; window.sco = {};</script>`),
    "course/player.html": plain(api[edition]),
  }),
});

/** Frames in frames, the innermost of which talks; the frameset is written by a script. */
export const frames = (edition) => ({
  zip: zip({
    "imsmanifest.xml": manifest(edition, [["one", "index_lms.html"]]),
    "index_lms.html": `<html><head><title>Frames</title></head><script>document.write('<frameset rows="30,*"><frame src="top.html"><frame src="scormdriver/inner.html"></frameset>');</script></html>`,
    "top.html": page("<p>Top</p>"),
    "scormdriver/inner.html": page(`<iframe title="Deeper" src="../lessons/lesson.html" width="300" height="200"></iframe>`),
    "lessons/lesson.html": page(`<iframe title="Deepest" src="deep/last.html" width="200" height="100"></iframe>`),
    "lessons/deep/last.html": plain(api[edition]),
  }),
});

/** Everything is called while the page is still read, and what is read decides what is written. */
export const early = (edition) => ({
  zip: zip({
    "imsmanifest.xml": manifest(edition, [["one", "early.html"]]),
    "early.html": page(
      `<script>document.write("<p id='said'>" + begun + "</p><script>window.second = sco.get('${edition === "1.2" ? "cmi.core.entry" : "cmi.entry"}')</" + "script>");</script>`,
      `<script>${script(api[edition], usual)} begin(); sco.set("cmi.suspend_data", "set before the page was there");</script>`,
    ),
  }),
});

/** A page that leads to another by itself: each looks for the API again, and the last one ends. */
export const walking = (edition) => {
  const next = (href) => page(`<script>${script(api[edition], usual)}</script><script>window.api && setTimeout(() => location.replace("${href}"), 200)</script>`);
  return {
    zip: zip({
      "imsmanifest.xml": manifest(edition, [["one", "first.html"]]),
      "first.html": next("second.html?from=first"),
      "second.html": next("third.html"),
      "third.html": plain(api[edition]),
    }),
  };
};

/** Content that says what it has to say when its page is unloaded, and not before. */
export const unloading = (edition) => {
  const old = edition === "1.2";
  const [place, exit] = old ? ["cmi.core.lesson_location", "cmi.core.exit"] : ["cmi.location", "cmi.exit"];
  const said = `window.onunload = () => { sco.set("${place}", "said while unloading"); sco.set("${exit}", "suspend"); sco.finish(); };`;
  const files = { "imsmanifest.xml": manifest(edition, [["one", "one.html"], ["two", "two.html"]]), "two.html": plain(api[edition]) };
  return { zip: zip({ ...files, "one.html": page(`<script>${script(api[edition], usual)} begin(); ${said}</script>`) }) };
};

/** Identifiers with blanks, quotes, umlauts, slashes and braces; one resource for two items, told apart by
 *  their parameters; one that is not shown. */
export const identifiers = (edition) => {
  const ids = ["Übung 1/2", "b {x} 'y'", "c&amp;d.e"];
  const text = manifest(edition, [["r", "one.html"]]);
  const item = (id, at) => `<item identifier="${id}" identifierref="r-r" parameters="?part=${at}"${at === 1 ? ' isvisible="0"' : ""}><title>Part ${at}</title></item>`;
  const all = ids.map(item).join("");
  return { zip: zip({ "imsmanifest.xml": text.replace(/<item .*<\/item>/, () => all), "one.html": plain(api[edition]) }) };
};

/** Names in Shift_JIS, in the manifest and in the archive. */
export const japanese = () => {
  const bytes = { 表: [0x95, 0x5c], 紙: [0x8e, 0x86] };
  const inBytes = (text) => Buffer.concat([...text].map((letter) => Buffer.from(bytes[letter] ?? [letter.codePointAt(0)])));
  const text = manifest("1.2", [["one", "表/紙.html"]], { declaration: 'encoding="Shift_JIS"' }).replace("<title>Odd<", "<title>表紙<");
  return {
    zip: zip(
      new Map([
        [Buffer.from("imsmanifest.xml"), inBytes(text)],
        [inBytes("表/紙.html"), Buffer.from(plain("API"))],
      ]),
    ),
  };
};

/** Two parts for tests of one after the other. */
export const two = (edition) => ({
  zip: zip({
    "imsmanifest.xml": manifest(edition, [["one", "one.html"], ["two", "two.html"]]),
    "one.html": plain(api[edition]),
    "two.html": plain(api[edition]),
  }),
});

/** One part. */
export const single = (edition) => ({
  zip: zip({ "imsmanifest.xml": manifest(edition, [["one", "one.html"]]), "one.html": plain(api[edition]) }),
});

/** Several parts without a word about their order, as tools write that know no sequencing. */
export const unordered = () => {
  const text = manifest("2004", [["one", "one.html"], ["two", "two.html"]]).replace(/<imsss:sequencing>.*?<\/imsss:sequencing>/, "");
  return { zip: zip({ "imsmanifest.xml": text, "one.html": plain(api[2004]), "two.html": plain(api[2004]) }) };
};

/** Parts that open one after the other: each reads whether the one before is satisfied. */
export const ordered = () => {
  const parts = ["one", "two", "three"];
  const rule = `<imsss:sequencingRules><imsss:preConditionRule><imsss:ruleConditions conditionCombination="any">
    <imsss:ruleCondition referencedObjective="before" operator="not" condition="satisfied"/>
    <imsss:ruleCondition referencedObjective="before" operator="not" condition="objectiveStatusKnown"/>
    </imsss:ruleConditions><imsss:ruleAction action="disabled"/></imsss:preConditionRule></imsss:sequencingRules>`;
  let text = manifest("2004", parts.map((id) => [id, `${id}.html`]));
  parts.forEach((id, at) => {
    const before = at === 0 ? "" : `<imsss:objective objectiveID="before"><imsss:mapInfo targetObjectiveID="g-${parts[at - 1]}"/></imsss:objective>`;
    const own = `<imsss:primaryObjective objectiveID="own"><imsss:mapInfo targetObjectiveID="g-${id}" writeSatisfiedStatus="1"/></imsss:primaryObjective>`;
    const all = `<imsss:sequencing>${at === 0 ? "" : rule}<imsss:objectives>${own}${before}</imsss:objectives><imsss:deliveryControls completionSetByContent="1" objectiveSetByContent="1"/></imsss:sequencing>`;
    text = text.replace(`<title>Part ${id}</title>`, `<title>Part ${id}</title>${all}`);
  });
  return { zip: zip({ "imsmanifest.xml": text, ...Object.fromEntries(parts.map((id) => [`${id}.html`, plain(api[2004])])) }) };
};

/** A pretest that satisfies a module: global objectives, of which the module reads the pretest's. */
export const pretest = () => {
  const objective = (id, how) =>
    `<imsss:sequencing><imsss:objectives><imsss:primaryObjective objectiveID="${id}"><imsss:mapInfo targetObjectiveID="g1" ${how}/></imsss:primaryObjective></imsss:objectives></imsss:sequencing>`;
  const text = manifest("2004", [["one", "one.html"], ["two", "two.html"]])
    .replace("<title>Part one</title>", `<title>Part one</title>${objective("pre", 'readSatisfiedStatus="0" writeSatisfiedStatus="1"')}`)
    .replace("<title>Part two</title>", `<title>Part two</title>${objective("mod", 'readSatisfiedStatus="1"')}`);
  return { zip: zip({ "imsmanifest.xml": text, "one.html": plain(api[2004]), "two.html": plain(api[2004]) }) };
};
