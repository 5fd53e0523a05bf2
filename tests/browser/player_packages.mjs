// Courses of our own making for the player's suite, and the zip files that hold them.

/** Calls of either standard by one name: `api` is the page's API, and `old` says whether it is SCORM 1.2's. */
export const calls = (api) => `
  const call = (what, ...values) => ${api}[(old ? "LMS" : "") + what](...values);
  window.sco = {
    get: (element) => call("GetValue", element),
    set: (element, value) => call("SetValue", element, value),
    commit: () => call("Commit", ""),
    finish: () => call(old ? "Finish" : "Terminate", ""),
    error: () => call("GetLastError"),
  };
`;

const api = `
  let at = window, api = null;
  const name = document.documentElement.dataset.api;
  for (let step = 0; step < 10 && !api; step += 1) {
    if (at[name]) api = at[name];
    else if (at.parent && at.parent !== at) at = at.parent;
    else if (at.opener) at = at.opener;
    else break;
  }
  window.foundAtOnce = !!api;
  const old = name === "API";
${calls("api")}  window.begun = api ? call("Initialize", "") : "no API";
  document.getElementById("said").textContent = begun === "true" ? "Ready" : begun;
  if (new URLSearchParams(location.search).has("goodbye")) {
    addEventListener("pagehide", () => {
      sco.set(old ? "cmi.core.exit" : "cmi.exit", "suspend");
      sco.finish();
    });
  }
`;

const page = (title, name) => `<!DOCTYPE html>
<html lang="en" data-api="${name}"><head><meta charset="utf-8"><title>${title}</title></head>
<body><main><h1>${title}</h1><p id="said">Waiting</p><button type="button">A button of the content</button></main>
<script>${api}</script></body></html>`;

/** A course: its files, and what its manifest says. Items are `{id, title, href, mastery, after}`. */
export function scorm12(title, items) {
  const resources = items.map(
    ({ id, href }) =>
      `<resource identifier="r-${id}" type="webcontent" adlcp:scormtype="sco" href="${href.split("?")[0]}"><file href="${href.split("?")[0]}"/></resource>`,
  );
  const manifest = `<?xml version="1.0" encoding="UTF-8"?>
<manifest identifier="m" version="1.0" xmlns="http://www.imsproject.org/xsd/imscp_rootv1p1p2" xmlns:adlcp="http://www.adlnet.org/xsd/adlcp_rootv1p2">
<metadata><schema>ADL SCORM</schema><schemaversion>1.2</schemaversion></metadata>
<organizations default="o"><organization identifier="o"><title>${title}</title>${items.map(item12).join("")}</organization></organizations>
<resources>${resources.join("")}</resources></manifest>`;
  return course("SCORM12", title, items, manifest, "API");
}

const item12 = ({ id, title, href, mastery, after }) =>
  `<item identifier="${id}" identifierref="r-${id}"${parameters(href)}><title>${title}</title>${
    after ? `<adlcp:prerequisites type="aicc_script">${after}</adlcp:prerequisites>` : ""
  }${mastery ? `<adlcp:masteryscore>${mastery}</adlcp:masteryscore>` : ""
  }</item>`;

const parameters = (href) => (href.includes("?") ? ` parameters="?${href.split("?")[1]}"` : "");

/** The same for SCORM 2004, 4th edition, with flow and choice. */
export function scorm2004(title, items) {
  const resources = items.map(
    ({ id, href }) =>
      `<resource identifier="r-${id}" type="webcontent" adlcp:scormType="sco" href="${href.split("?")[0]}"><file href="${href.split("?")[0]}"/></resource>`,
  );
  const manifest = `<?xml version="1.0" encoding="UTF-8"?>
<manifest identifier="m" version="1.0" xmlns="http://www.imsglobal.org/xsd/imscp_v1p1" xmlns:adlcp="http://www.adlnet.org/xsd/adlcp_v1p3" xmlns:imsss="http://www.imsglobal.org/xsd/imsss">
<metadata><schema>ADL SCORM</schema><schemaversion>2004 4th Edition</schemaversion></metadata>
<organizations default="o"><organization identifier="o"><title>${title}</title>${items
    .map(({ id, title, href }) => `<item identifier="${id}" identifierref="r-${id}"${parameters(href)}><title>${title}</title></item>`)
    .join("")}<imsss:sequencing><imsss:controlMode choice="true" flow="true"/></imsss:sequencing></organization></organizations>
<resources>${resources.join("")}</resources></manifest>`;
  return course("SCORM20044THEDITION", title, items, manifest, "API_1484_11");
}

function course(standard, title, items, manifest, name) {
  const files = { "imsmanifest.xml": manifest };
  for (const { title: of, href } of items) files[href.split("?")[0]] = page(of, name);
  return { standard, title, items, files, zip: zip(files) };
}

/** A zip file whose entries are stored as they are; `files`: texts by name, or a map of bytes by bytes,
 *  whose names are then in no encoding that the archive tells. */
export function zip(files) {
  const parts = [];
  const index = [];
  let offset = 0;
  const all = files instanceof Map ? [...files] : Object.entries(files);
  for (const [name, text] of all) {
    const path = Buffer.from(name);
    const bytes = Buffer.from(text);
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0);
    head.writeUInt16LE(0x21, 8);
    head.writeUInt32LE(crc32(bytes), 10);
    head.writeUInt32LE(bytes.length, 14);
    head.writeUInt32LE(bytes.length, 18);
    head.writeUInt16LE(path.length, 22);
    parts.push(Buffer.from("PK\x03\x04"), head, path, bytes);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    index.push(Buffer.from("PK\x01\x02\x14\x00"), head, tail, path);
    offset += 4 + head.length + path.length + bytes.length;
  }
  const size = index.reduce((sum, part) => sum + part.length, 0);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(all.length, 4);
  end.writeUInt16LE(all.length, 6);
  end.writeUInt32LE(size, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, ...index, Buffer.from("PK\x05\x06"), end]);
}

function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
