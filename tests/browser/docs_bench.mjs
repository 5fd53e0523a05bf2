// How long the API reference takes to open, beside Swagger UI over the same server's document:
// node docs_bench.mjs PROGRAM [ROUNDS]
// Swagger UI is installed from the registry into a folder that is removed again; without the registry its rows are
// left out. Prints a table in Markdown: medians (least - greatest) of interleaved rounds, each in a fresh profile.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { serve } from "./docs_server.mjs";

const program = process.argv[2] ?? "target/debug/homeroom";
const rounds = Number(process.argv[3] ?? 5);
const SWAGGER_UI = "swagger-ui-dist@5.35.0";
const RESOURCE = "studentSchoolAssociations";
const DOCUMENT = "/metadata/data/v3/resources/swagger.json";
/** Longest time for a step, in milliseconds. */
const STEP_MS = 180_000;

/** Serves Swagger UI, and the server's document under the same origin, as it is. */
async function swagger(folder, root) {
  try {
    execFileSync("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "--silent", SWAGGER_UI]);
  } catch {
    return undefined;
  }
  const at = join(folder, "node_modules/swagger-ui-dist");
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>API</title>
<link rel="stylesheet" href="swagger-ui.css"></head><body><div id="ui"></div><script src="swagger-ui-bundle.js"></script>
<script>SwaggerUIBundle({ url: "${DOCUMENT}", dom_id: "#ui", docExpansion: "none" });</script></body></html>`;
  const answer = await fetch(root + DOCUMENT);
  const document = Buffer.from(await answer.arrayBuffer());
  const types = { js: "text/javascript", css: "text/css" };
  const pages = createServer((request, response) => {
    const name = request.url.slice(1).split("?")[0];
    if (request.url === DOCUMENT) response.setHeader("content-type", "application/json").end(document);
    else if (/^swagger-ui(-bundle)?\.(js|css)$/.test(name)) {
      response.setHeader("content-type", types[name.split(".").pop()]).end(readFileSync(join(at, name)));
    } else response.setHeader("content-type", "text/html").end(html);
  });
  await new Promise((ready) => pages.listen(0, "127.0.0.1", ready));
  return { url: `http://127.0.0.1:${pages.address().port}/`, close: () => pages.close() };
}

/** Opens a page in a fresh profile; gives the times in milliseconds, and what it has taken. */
async function measure(browser, url, { list, open, shown }) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  const begun = performance.now();
  await page.goto(url);
  await page.waitForFunction(list, null, { timeout: STEP_MS });
  const listed = performance.now() - begun;
  const asked = performance.now();
  await page.locator(open).first().click({ timeout: STEP_MS });
  await page.waitForFunction(shown, RESOURCE, { timeout: STEP_MS });
  const opened = performance.now() - asked;
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await context.close();
  return [listed, opened, bytes / 1024, usedSize / 1024 / 1024];
}

const peers = [
  {
    name: "`/docs`",
    of: (root) => `${root}/docs`,
    list: () => document.querySelectorAll("nav a[data-tag]").length >= 300,
    open: `nav a[data-tag="${RESOURCE}"]`,
    shown: (name) => document.querySelector("main h1")?.textContent === name && document.querySelectorAll("main h2").length > 4,
  },
  {
    name: "Swagger UI",
    of: (_, other) => other?.url,
    list: () => document.querySelectorAll(".opblock-tag").length >= 100,
    open: `.opblock-tag[data-tag="${RESOURCE}"]`,
    shown: (name) => document.querySelectorAll(`.opblock-tag-section.is-open .opblock`).length > 4 && !!name,
  },
];

const folder = mkdtempSync(join(tmpdir(), "homeroom-docs-bench-"));
const { server, address } = serve(program, join(folder, "data"));
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let other;
try {
  const root = await address;
  other = await swagger(folder, root);
  if (!other) console.error(`${SWAGGER_UI} could not be installed: its row is left out`);
  const found = peers.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, peer] of peers.entries()) {
      const url = peer.of(root, other);
      if (url) found[at].push(await measure(browser, url, peer));
    }
  }
  const cell = (values, digits) => {
    const sorted = values.toSorted((a, b) => a - b);
    const [median, least, greatest] = [sorted[sorted.length >> 1], sorted[0], sorted.at(-1)];
    return `${median.toFixed(digits)} (${least.toFixed(digits)} – ${greatest.toFixed(digits)})`;
  };
  console.log("| page | list there, ms | a resource opened, ms | transferred, KB | heap, MB |\n|---|---|---|---|---|");
  for (const [at, peer] of peers.entries()) {
    if (found[at].length === 0) continue;
    const columns = [0, 0, 0, 1].map((digits, column) => cell(found[at].map((row) => row[column]), digits));
    console.log(`| ${peer.name} | ${columns.join(" | ")} |`);
  }
} finally {
  other?.close();
  await browser.close();
  server.removeAllListeners("exit");
  server.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
