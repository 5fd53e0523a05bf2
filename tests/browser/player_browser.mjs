// What the suites of the player share: checks in fresh browser profiles, launches, and content in its frame.

import { chromium } from "playwright-core";

export const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const wide = { width: 1280, height: 900 };

/** Starts a browser. `check` runs a test with `fresh`, which makes a profile that nothing is stored in, and
 *  a registration of its own, and prints how it has ended. PLAYER_ONLY: a part of the names of the checks
 *  that are run. */
export async function opened() {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  let numbers = 0;
  const only = process.env.PLAYER_ONLY;
  async function check(what, test) {
    if (only && !what.includes(only)) return;
    const contexts = [];
    const fresh = async (options = {}) => {
      const context = await browser.newContext({ viewport: wide, locale: "en-US", ...options });
      contexts.push(context);
      return context;
    };
    try {
      await test(fresh, `r-${(numbers += 1)}`);
      console.log(`passed: ${what}`);
    } catch (error) {
      console.log(`failed: ${what}: ${String(error.message ?? error).split("\n").slice(0, 2).join(" ")}`);
      if (process.env.PLAYER_TRACE) console.error(error);
      process.exitCode = 1;
    } finally {
      for (const context of contexts) await context.close();
    }
  }
  return { check, close: () => browser.close() };
}

export function same(found, wanted, what) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: ${a?.slice(0, 400)} instead of ${b?.slice(0, 400)}`);
}

/** Waits until `ask` gives what `is` accepts. */
export async function until(what, ask, is, ms = 15_000) {
  const end = Date.now() + ms;
  let found;
  while (Date.now() < end) {
    found = await ask();
    if (is(found)) return found;
    await new Promise((resume) => setTimeout(resume, 100));
  }
  throw new Error(`${what}: still ${JSON.stringify(found)?.slice(0, 400)}`);
}

/** Gives a function that opens a launch at a server and waits until content has begun. */
export function launcher(server) {
  return async (context, course, registration, options = {}, from = server) => {
    const link = await from.link(course, registration, options);
    const page = await context.newPage();
    const complaints = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    await page.goto(link);
    const sco = await content(page);
    return { page, sco, complaints };
  };
}

/** The frame of the content, when the SCO in it has begun; `path`: the file that it shows. */
export async function content(page, path = "") {
  const find = async () => {
    for (const frame of page.frames()) {
      if (!new URL(frame.url() === "" ? "about:blank" : frame.url(), "about:blank").pathname.includes(`/content/${path}`)) continue;
      const begun = await frame.evaluate(() => window.begun ?? null).catch(() => null);
      if (begun !== null) return { frame, begun };
    }
    return null;
  };
  const { frame, begun } = await until(`content ${path}`, find, (found) => found !== null);
  same(begun, "true", "Initialize");
  return { frame, ...calls(frame) };
}

/** What the SCO in a frame or window calls. */
export function calls(frame) {
  const ask = (method) => (...values) => frame.evaluate(([name, given]) => window.sco[name](...given), [method, values]);
  const sco = { get: ask("get"), finish: ask("finish"), error: ask("error"), commit: ask("commit") };
  sco.set = async (element, value) => same(await ask("set")(element, value), "true", `SetValue ${element}`);
  sco.tryTo = ask("set");
  return sco;
}

export async function setAll(sco, pairs) {
  for (const [element, value] of pairs) await sco.set(element, value);
}

export const saved = (page) => page.getByText(/^(Saved at|Guardado a las) /).waitFor({ timeout: 15_000 });
