// The API reference: shows one tag of an OpenAPI document at a time. All text is set as text, never as markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];
// Members whose members are shown at once, and how deep a schema is followed when it is opened.
const SHOWN_MAX = 400;
const main = document.getElementById("reference");
const links = [...document.querySelectorAll("nav a[data-document]")];
const filter = document.getElementById("filter");
const count = document.getElementById("count");

/** Makes an element with properties and children; a child that is text stays text. */
function make(name, properties, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (key === "class") element.className = value;
    else element.setAttribute(key, value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== "") element.append(child);
  }
  return element;
}

/** Follows a reference within a document. */
function resolved(api, value) {
  let found = value;
  for (let step = 0; found && found.$ref && step < 8; step += 1) {
    const path = found.$ref.replace(/^#\//, "").split("/");
    found = path.reduce((at, key) => at?.[key.replace(/~1/g, "/").replace(/~0/g, "~")], api);
  }
  return found ?? {};
}

/** Names the type of a schema in a few words. */
function kindOf(api, schema) {
  const name = schema.$ref ? schema.$ref.split("/").pop() : "";
  const own = resolved(api, schema);
  if (own.type === "array") return `list of ${kindOf(api, own.items ?? {})}`;
  if (name && own.properties) return name;
  const words = [own.type ?? "any value"];
  if (own.format) words.push(`(${own.format})`);
  if (own.maxLength !== undefined) words.push(`of at most ${own.maxLength} characters`);
  if (own.minimum !== undefined) words.push(`from ${own.minimum}`);
  if (own.maximum !== undefined) words.push(`to ${own.maximum}`);
  if (own.enum) words.push(`: ${own.enum.slice(0, 12).join(", ")}`);
  return words.join(" ");
}

/** Lists the members of a schema; those of a member are shown when it is opened. */
function members(api, schema) {
  const own = resolved(api, schema);
  const required = new Set(own.required ?? []);
  const entries = Object.entries(own.properties ?? {}).slice(0, SHOWN_MAX);
  if (entries.length === 0) return make("p", { class: "soft" }, kindOf(api, schema));
  return make("ul", { class: "members" }, entries.map(([name, value]) => member(api, name, value, required.has(name))));
}

function member(api, name, value, isRequired) {
  const own = resolved(api, value);
  const marks = [];
  if (isRequired) marks.push("required");
  if (own["x-Ed-Fi-isIdentity"]) marks.push("part of the identity");
  if (own.readOnly) marks.push("given by the server");
  const head = [
    make("code", null, name),
    " ",
    make("span", { class: "kind" }, kindOf(api, value)),
    marks.length > 0 ? make("span", { class: "required" }, `, ${marks.join(", ")}`) : null,
  ];
  const about = own.description ?? value.description;
  const description = about ? make("p", { class: "soft" }, about) : null;
  const inner = own.type === "array" ? own.items ?? {} : value;
  if (Object.keys(resolved(api, inner).properties ?? {}).length === 0) return make("li", null, head, description);
  const details = make("details", null, make("summary", null, head));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(members(api, inner));
  });
  return make("li", null, details, description);
}

function scroll(label, content) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, content);
}

function parameters(api, operation, of) {
  const all = (operation.parameters ?? []).map((parameter) => resolved(api, parameter));
  if (all.length === 0) return [];
  const rows = all.map((parameter) =>
    make("tr", null,
      make("td", null, make("code", null, parameter.name ?? "")),
      make("td", null, parameter.in ?? "", parameter.required ? ", required" : ""),
      make("td", null, kindOf(api, parameter.schema ?? {})),
      make("td", null, parameter.description ?? "")));
  const head = make("tr", null, ["Name", "In", "Type", "What it does"].map((text) => make("th", { scope: "col" }, text)));
  const table = make("table", null, make("thead", null, head), make("tbody", null, rows));
  return [make("h3", null, "Parameters"), scroll(`Parameters of ${of}`, table)];
}

function body(api, operation, of) {
  const request = resolved(api, operation.requestBody ?? {});
  const [media, content] = Object.entries(request.content ?? {})[0] ?? [];
  if (!media) return [];
  const schema = content.schema ?? {};
  const example = content.example ?? resolved(api, schema).example;
  const shown = [make("h3", null, "Body: ", make("code", null, media)), members(api, schema)];
  if (example !== undefined) {
    const text = typeof example === "string" ? example : JSON.stringify(example, null, 2);
    shown.push(make("h3", null, "Example"), scroll(`Example for ${of}`, make("pre", null, make("code", null, text))));
  }
  return shown;
}

function responses(api, operation, of) {
  const rows = Object.entries(operation.responses ?? {}).map(([status, value]) => {
    const own = resolved(api, value);
    const schema = Object.values(own.content ?? {})[0]?.schema;
    const kind = schema ? kindOf(api, schema) : "";
    return make("tr", null,
      make("th", { scope: "row" }, status),
      make("td", null, own.description ?? ""),
      make("td", null, kind));
  });
  const head = make("tr", null, ["Status", "Meaning", "Body"].map((text) => make("th", { scope: "col" }, text)));
  const table = make("table", null, make("thead", null, head), make("tbody", null, rows));
  return [make("h3", null, "Answers"), scroll(`Answers to ${of}`, table)];
}

/** Returns the path of the server that operations are below of. */
function prefixOf(api) {
  const url = api.servers?.[0]?.url ?? "";
  const rest = url.replace(/^[a-z]+:\/\/[^/]*/i, "");
  return rest === "/" ? "" : rest;
}

function operations(api, tag) {
  const prefix = prefixOf(api);
  const shown = [];
  for (const [path, item] of Object.entries(api.paths ?? {})) {
    for (const method of METHODS) {
      const operation = item[method];
      if (!operation || (tag && !(operation.tags ?? []).includes(tag))) continue;
      const name = `${method.toUpperCase()} ${prefix}${path}`;
      shown.push(make("section", { class: "operation" },
        make("h2", null, make("code", null, name)),
        operation.summary ? make("p", null, operation.summary) : null,
        operation.description ? make("p", { class: "soft" }, operation.description) : null,
        parameters(api, operation, name), body(api, operation, name), responses(api, operation, name)));
    }
  }
  return shown;
}

let shownNow = 0;

/** Shows what the address names. */
async function show() {
  const named = links.find((link) => link.hash === location.hash);
  for (const link of links) link.removeAttribute("aria-current");
  if (!named) return;
  named.setAttribute("aria-current", "page");
  named.closest("details").open = true;
  const turn = (shownNow += 1);
  const { document: path, tag } = named.dataset;
  let content;
  try {
    const query = tag ? `?tags=${encodeURIComponent(tag)}` : "";
    const answer = await fetch(path + query);
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    const api = await answer.json();
    const about = (api.tags ?? []).find((known) => known.name === tag);
    content = [
      make("h1", { tabindex: "-1" }, tag || api.info?.title || "API"),
      make("p", null, about?.description ?? api.info?.description ?? ""),
      operations(api, tag),
    ];
  } catch (error) {
    content = [make("h1", { tabindex: "-1" }, tag || "API"), make("p", { role: "alert" }, `It cannot be shown: ${error.message}.`)];
  }
  if (turn !== shownNow) return;
  main.replaceChildren(...content.flat());
  document.title = `${tag || "API"} – API reference`;
  main.scrollTop = 0;
  main.querySelector("h1").focus({ preventScroll: true });
}

/** Hides the names that do not contain the text of the filter. */
function narrow() {
  const wanted = filter.value.trim().toLowerCase();
  let left = 0;
  for (const link of links) {
    const isShown = link.textContent.toLowerCase().includes(wanted);
    link.parentElement.hidden = !isShown;
    if (isShown) left += 1;
  }
  for (const details of document.querySelectorAll("nav details")) {
    const some = [...details.querySelectorAll("li")].some((item) => !item.hidden);
    details.hidden = !some;
    if (wanted && some) details.open = true;
  }
  count.textContent = wanted ? `${left} of ${links.length}` : "";
}

filter.addEventListener("input", narrow);
addEventListener("hashchange", show);
show();
