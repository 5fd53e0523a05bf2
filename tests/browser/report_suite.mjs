// The lab's reports in a real browser: node report_suite.mjs FOLDER-OF-REPORTS
// Prints `passed: WHAT` or `failed: WHAT: WHY` for each check.

import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import { chromium } from "playwright-core";

const folder = resolve(process.argv[2] ?? "target/reports");
const wide = { width: 1280, height: 900 };
const narrow = { width: 360, height: 740 };

/** Opens a page and takes note of all that it asks for and complains about. */
async function open(browser, options, load) {
  const context = await browser.newContext({ viewport: wide, bypassCSP: true, ...options });
  const page = await context.newPage();
  const seen = { requests: [], errors: [] };
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("dialog", (dialog) => {
    seen.errors.push(`a dialog: ${dialog.message()}`);
    return dialog.dismiss();
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) seen.errors.push(message.text());
  });
  await load(page);
  return { page, seen, close: () => context.close() };
}

/** What axe finds, as `rule (place, place)`. */
async function findings(page) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => window.axe.run(document));
  return violations.map(({ id, nodes }) => {
    const places = nodes.slice(0, 3).map((node) => node.target.join(" "));
    return `${id} (${nodes.length}: ${places.join(", ")})`;
  });
}

/** Scroll areas that have more than they show, and those of them that Tab comes to. */
async function reached(page) {
  const wanted = await page.evaluate(() => {
    const areas = [...document.querySelectorAll(".scroll")].filter((area) => area.checkVisibility());
    const full = areas.filter(
      (area) => area.scrollWidth > area.clientWidth || area.scrollHeight > area.clientHeight,
    );
    full.forEach((area, number) => (area.dataset.number = number));
    return full.length;
  });
  const found = new Set();
  for (let step = 0; step < 300; step += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => document.activeElement?.dataset?.number ?? document.activeElement?.tagName);
    if (at === "BODY") break;
    if (/^\d+$/.test(at)) found.add(at);
  }
  return { wanted, found: found.size };
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

async function checkReport(browser, name, looks) {
  const url = pathToFileURL(join(folder, name)).href;
  const go = (page) => page.goto(url);

  // With the page's own policy in force, as people open it.
  await check(`${name}: asks for nothing and complains of nothing`, async () => {
    const { page, seen, close } = await open(browser, { bypassCSP: false }, go);
    await page.waitForTimeout(200);
    none("requests", seen.requests.filter((request) => request !== url));
    none("errors", seen.errors);
    await close();
  });

  for (const [colorScheme, viewport] of looks) {
    await check(`${name}: axe finds nothing (${colorScheme}, ${viewport.width} wide)`, async () => {
      const { page, close } = await open(browser, { colorScheme, viewport }, go);
      await page.evaluate(() => document.querySelectorAll("details").forEach((of, at) => (of.open = at < 2)));
      none("axe", await findings(page));
      await close();
    });
  }

  await check(`${name}: the keyboard reaches every area that scrolls`, async () => {
    const { page, close } = await open(browser, { viewport: narrow }, go);
    const { wanted, found } = await reached(page);
    if (wanted === 0 || found !== wanted) throw new Error(`${found} of ${wanted}`);
    await page.locator(".drawing").first().focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => document.activeElement.scrollLeft > 0);
    await close();
  });

  await check(`${name}: only its areas scroll sideways`, async () => {
    const { page, close } = await open(browser, { viewport: narrow }, go);
    const [shown, whole] = await page.evaluate(() => [innerWidth, document.documentElement.scrollWidth]);
    if (whole > shown) throw new Error(`${whole} wide in ${shown}`);
    await close();
  });

  await check(`${name}: on paper nothing is cut off by an area that scrolls`, async () => {
    const { page, close } = await open(browser, {}, go);
    await page.emulateMedia({ media: "print" });
    const cut = await page.evaluate(() =>
      [...document.querySelectorAll(".scroll")]
        .filter((area) => area.checkVisibility() && getComputedStyle(area).overflowY !== "visible")
        .map((area) => area.getAttribute("aria-labelledby")),
    );
    none("areas", cut);
    await close();
  });
}

/** The checks above notice what they are there for. */
async function checkChecks(browser) {
  await check("a bad page is noticed", async () => {
    const bad = `<!DOCTYPE html><html><body><img src="http://127.0.0.1:9/x.png">
      <p style="color:#bbb;background:#fff">faint</p><script>no.such.thing</script></body></html>`;
    const { page, seen, close } = await open(browser, {}, (page) => page.setContent(bad));
    const found = (await findings(page)).join(" ");
    const missed = ["image-alt", "color-contrast", "html-has-lang"].filter((rule) => !found.includes(rule));
    none("rules that found nothing", missed);
    if (!seen.requests.some((request) => request.includes("127.0.0.1:9"))) throw new Error("no request seen");
    if (!seen.errors.some((error) => error.includes("no is not defined"))) throw new Error("no error seen");
    await close();
  });
}

/** The reports, and how axe looks at each. It takes minutes for tens of thousands of cells, in which
 *  there is nothing that the other pages do not have. */
const reports = {
  few: [["light", wide]],
  stages: [["light", wide]],
  capacity: [["light", wide], ["dark", wide], ["light", narrow]],
  gateway: [["light", wide], ["dark", wide], ["light", narrow]],
  learners: [["light", wide], ["dark", wide], ["light", narrow]],
  hostile: [["light", wide]],
  long: [],
};

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  await checkChecks(browser);
  for (const [name, looks] of Object.entries(reports)) await checkReport(browser, `${name}.html`, looks);
} finally {
  await browser.close();
}
