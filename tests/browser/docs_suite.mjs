// The API reference of a running server in a real browser: node docs_suite.mjs PROGRAM
// Prints `passed: WHAT` or `failed: WHAT: WHY` for each check, and how long the page took.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { serve } from "./docs_server.mjs";

const program = process.argv[2] ?? "target/debug/homeroom";
const wide = { width: 1280, height: 900 };
const narrow = { width: 360, height: 740 };

/** Opens the page and takes note of all that it asks for and complains about. */
async function open(browser, url, options) {
  const context = await browser.newContext({ viewport: wide, ...options });
  const page = await context.newPage();
  const seen = { requests: [], errors: [] };
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) seen.errors.push(message.text());
  });
  await page.goto(url);
  return { page, seen, close: () => context.close() };
}

async function check(what, test) {
  try {
    await test();
    console.log(`passed: ${what}`);
  } catch (error) {
    console.log(`failed: ${what}: ${String(error.message ?? error).split("\n")[0]}`);
    process.exitCode = 1;
  }
}

function none(what, found) {
  if (found.length > 0) throw new Error(`${what}: ${found.slice(0, 5).join("; ")}`);
}

async function findings(page) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => window.axe.run(document));
  return violations.map(({ id, nodes }) => `${id} (${nodes.length}: ${nodes[0].target.join(" ")})`);
}

const heading = (page, text) =>
  page.waitForFunction((wanted) => document.querySelector("main h1")?.textContent === wanted, text);

const folder = mkdtempSync(join(tmpdir(), "homeroom-docs-"));
const { server, address } = serve(program, folder);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const root = await address;
  const url = `${root}/docs`;

  await check("the reference opens and shows a resource, and asks only its own server", async () => {
    const { page, seen, close } = await open(browser, url);
    const links = await page.locator("nav a[data-tag]").count();
    if (links < 349) throw new Error(`${links} links`);
    await page.locator('nav a[data-tag="studentSchoolAssociations"]').click();
    await heading(page, "studentSchoolAssociations");
    const posts = await page.locator("h2", { hasText: "POST /data/v3/ed-fi/studentSchoolAssociations" }).count();
    if (posts !== 1) throw new Error(`${posts} operations to create`);
    none("requests elsewhere", seen.requests.filter((request) => !request.startsWith(root)));
    none("errors", seen.errors);
    const took = await page.evaluate(() => performance.getEntriesByType("navigation")[0].loadEventEnd);
    console.log(`the page was there after ${Math.round(took)} ms`);
    await close();
  });

  await check("a reload and the way back lead to the same resource", async () => {
    const { page, close } = await open(browser, `${url}#/Descriptors/gradeLevelDescriptors`);
    await heading(page, "gradeLevelDescriptors");
    await page.locator('nav a[data-tag="gradeTypeDescriptors"]').click();
    await heading(page, "gradeTypeDescriptors");
    await page.goBack();
    await heading(page, "gradeLevelDescriptors");
    await close();
  });

  await check("the keyboard alone finds a resource and opens it", async () => {
    const { page, close } = await open(browser, url);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.type("bellsch");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await heading(page, "bellSchedules");
    const at = await page.evaluate(() => document.activeElement.tagName);
    if (at !== "H1") throw new Error(`the focus is on ${at}`);
    await close();
  });

  for (const [colorScheme, viewport] of [["light", wide], ["dark", wide], ["light", narrow]]) {
    await check(`axe finds nothing (${colorScheme}, ${viewport.width} wide)`, async () => {
      const { page, close } = await open(browser, `${url}#/Resources/students`, { colorScheme, viewport, bypassCSP: true });
      await heading(page, "students");
      await page.evaluate(() => document.querySelectorAll("main details").forEach((of, at) => (of.open = at < 3)));
      none("axe", await findings(page));
      const [shown, whole] = await page.evaluate(() => [innerWidth, document.documentElement.scrollWidth]);
      if (whole > shown) throw new Error(`${whole} wide in ${shown}`);
      await close();
    });
  }
} finally {
  await browser.close();
  server.removeAllListeners("exit");
  server.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
