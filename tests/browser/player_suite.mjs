// The course player in a real browser: node player_suite.mjs PATH-OF-HOMEROOM
// Prints `passed: WHAT` or `failed: WHAT: WHY` for each check.

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { content, executablePath, launcher, opened, same, saved, setAll, until, wide } from "./player_browser.mjs";
import { scorm12, scorm2004, zip } from "./player_packages.mjs";
import { start } from "./player_server.mjs";

const narrow = { width: 360, height: 740 };

const courses = {
  old: scorm12("One SCO of SCORM 1.2", [{ id: "only", title: "The only page", href: "only.html" }]),
  "old-many": scorm12("Three SCOs of SCORM 1.2", [
    { id: "one", title: "First part", href: "one.html" },
    { id: "two", title: "Second part", href: "two.html" },
    { id: "three", title: "Third part", href: "three.html?goodbye=1" },
  ]),
  new: scorm2004("One SCO of SCORM 2004", [{ id: "only", title: "The only page", href: "only.html" }]),
  "new-many": scorm2004("Three SCOs of SCORM 2004", [
    { id: "one", title: "First part", href: "one.html" },
    { id: "two", title: "Second part", href: "two.html" },
    { id: "three", title: "Third part", href: "three.html?goodbye=1" },
  ]),
};

/** The elements of each standard by what they are for. */
const names = {
  old: {
    entry: "cmi.core.entry",
    place: "cmi.core.lesson_location",
    exit: "cmi.core.exit",
    learner: "cmi.core.student_name",
    score: [["cmi.core.score.raw", "87"]],
    done: [["cmi.core.lesson_status", "passed"]],
    begun: [["cmi.core.lesson_status", "incomplete"]],
    time: ["cmi.core.session_time", "00:01:30"],
    refused: ["cmi.core.lesson_status", "great", "405"],
  },
  new: {
    entry: "cmi.entry",
    place: "cmi.location",
    exit: "cmi.exit",
    learner: "cmi.learner_name",
    score: [["cmi.score.raw", "87"], ["cmi.score.min", "0"], ["cmi.score.max", "100"], ["cmi.score.scaled", "0.87"]],
    done: [["cmi.completion_status", "completed"], ["cmi.success_status", "passed"]],
    begun: [["cmi.completion_status", "incomplete"]],
    time: ["cmi.session_time", "PT1M30S"],
    refused: ["cmi.score.scaled", "7", "407"],
  },
};

const server = await start(process.argv[2]);
const apart = await start(process.argv[2], { apart: true });
const { check, close } = await opened();
const launch = launcher(server);

/** A browser that blocks storage of third parties: the content's site is another one than the player's. */
async function blocking() {
  const folder = await mkdtemp(join(tmpdir(), "homeroom-browser-"));
  await mkdir(join(folder, "Default"));
  const profile = { cookie_controls_mode: 1, block_third_party_cookies: true };
  await writeFile(join(folder, "Default/Preferences"), JSON.stringify({ profile }));
  const options = { executablePath, args: ["--no-sandbox"], viewport: wide, locale: "en-US" };
  const context = await chromium.launchPersistentContext(folder, options);
  return { context, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Set, close without a word, come back, go on, complete. */
async function carryOn(context, course, registration, from = server) {
  const name = names[course];
  const first = await launch(context, course, registration, {}, from);
  same(await first.sco.frame.evaluate(() => window.foundAtOnce), true, "the API was there before content");
  const storage = await first.sco.frame.evaluate(() => {
    try {
      return localStorage.length >= 0;
    } catch {
      return false;
    }
  });
  same(storage, from !== apart, "whether there is storage");
  same(await first.sco.get(name.entry), "ab-initio", "the first entry");
  same(await first.sco.get(name.learner), "Last, First", "the learner's name");
  same(await first.sco.tryTo(name.refused[0], name.refused[1]), "false", "a wrong value");
  same(await first.sco.error(), name.refused[2], "its error");
  await setAll(first.sco, [...name.begun, [name.place, "page 7"], ["cmi.suspend_data", `{"seen": [1, 2, "ü"]}`]]);
  await first.page.close();

  const second = await launch(context, course, registration, {}, from);
  same(await second.sco.get(name.entry), "resume", "the second entry");
  same(await second.sco.get(name.place), "page 7", "the place");
  same(await second.sco.get("cmi.suspend_data"), `{"seen": [1, 2, "ü"]}`, "the suspend data");
  await setAll(second.sco, [...name.score, ...name.done, name.time]);
  same(await second.sco.finish(), "true", "Finish");
  same(await second.sco.error(), "0", "the error after Finish");
  const report = await until("the report", () => from.report(registration), (found) => found.registrationCompletion === "COMPLETED");
  same(report.registrationSuccess, "PASSED", "success");
  same(report.score?.scaled, 87, "score");
  same(second.complaints, [], "complaints of the browser");
}

/** The same with several parts: where nothing is stored, what was set in the first and the second survives closed
 *  tabs, the part that was left is opened again, and all parts done is all done. */
async function partsCarryOn(context, course, registration) {
  const name = names[course.slice(0, 3)];
  const next = (page) => page.getByRole("button", { name: "Next" }).click();
  const first = await launch(context, course, registration, {}, apart);
  const hasStorage = () => {
    try {
      return localStorage.length >= 0;
    } catch {
      return false;
    }
  };
  same(await first.sco.frame.evaluate(hasStorage), false, "whether there is storage");
  const one = await content(first.page, "one.html");
  await setAll(one, [...name.done, [name.place, "in one"]]);
  await next(first.page);
  await setAll(await content(first.page, "two.html"), [...name.begun, [name.place, "in two"]]);
  await first.page.close();

  const second = await launch(context, course, registration, {}, apart);
  const two = await content(second.page, "two.html");
  same(await two.get(name.entry), "resume", "the entry of the second part");
  same(await two.get(name.place), "in two", "the place in the second part");
  await second.page.getByRole("button", { name: /First part/ }).click();
  same(await (await content(second.page, "one.html")).get(name.place), "in one", "the place in the first part");
  await next(second.page);
  await setAll(await content(second.page, "two.html"), name.done);
  await next(second.page);
  await setAll(await content(second.page, "three.html"), name.done);
  await second.page.close();
  await until("the report", () => apart.report(registration), (found) => found.registrationCompletion === "COMPLETED");
  same([...first.complaints, ...second.complaints], [], "complaints of the browser");
}

for (const course of ["old", "new"]) {
  const { title } = courses[course];
  await server.add(course, courses[course]);
  await apart.add(course, courses[course]);

  await check(`${title}: what was set survives a closed tab, content resumes, completes and is reported`, async (fresh, registration) =>
    carryOn(await fresh(), course, registration),
  );

  await check(`${title}: the same in a browser that blocks storage of third parties`, async (_, registration) => {
    const { context, remove } = await blocking();
    try {
      await carryOn(context, course, registration, apart);
    } finally {
      await context.close();
      await remove();
    }
  });

  await check(`${title}: with the network cut, nothing is lost and the learner is told`, async (fresh, registration) => {
    const name = names[course];
    const context = await fresh();
    const { page, sco } = await launch(context, course, registration);
    await sco.set(name.place, "before");
    await saved(page);
    await context.setOffline(true);
    await setAll(sco, [[name.place, "while away"], ["cmi.suspend_data", "while away"]]);
    same(await sco.commit(), "true", "Commit");
    await page.getByText(/^Not saved yet/).waitFor({ timeout: 15_000 });
    await page.waitForTimeout(3000);
    await context.setOffline(false);
    await saved(page);
    await page.close();

    const again = await launch(context, course, registration);
    same(await again.sco.get("cmi.suspend_data"), "while away", "the suspend data");
  });

  await check(`${title}: what could not be sent before the tab closed is sent at the next launch`, async (fresh, registration) => {
    const name = names[course];
    const context = await fresh();
    const { page, sco } = await launch(context, course, registration);
    await sco.set(name.place, "before");
    await saved(page);
    await server.without(async () => {
      await sco.set(name.place, "in the journal");
      await page.getByText(/^Not saved yet/).waitFor({ timeout: 15_000 });
      await page.close();
    });

    const again = await launch(context, course, registration);
    same(await again.sco.get(name.place), "in the journal", "the place");
    await again.page.close();
    const other = await launch(await fresh(), course, registration);
    same(await other.sco.get(name.place), "in the journal", "the place in another browser");
  });

  for (const status of [401, 403, 404, 410]) {
    await check(`${title}: a proxy's own ${status} ends nothing, and what was set is sent when it lets commits through`, async (fresh, registration) => {
      const name = names[course];
      const context = await fresh();
      // A browser that has taken a beacon loses nothing: here it loses all of them.
      await context.addInitScript(() => (navigator.sendBeacon = () => true));
      const { page, sco } = await launch(context, course, registration);
      await sco.set(name.place, "before");
      await saved(page);
      let refused = 0;
      const refuse = (route) => {
        refused += 1;
        return route.fulfill({ status, contentType: "text/html", body: "<h1>The proxy says no</h1>" });
      };
      await context.route("**/results", refuse);
      await sco.set(name.place, "behind the proxy");
      await page.getByText(/^Not saved yet/).waitFor({ timeout: 15_000 });
      await page.close();

      const before = refused;
      const opening = launch(context, course, registration);
      await until("the journal is sent", () => refused, (now) => now > before);
      await context.unroute("**/results", refuse);
      const again = await opening;
      same(await again.sco.get(name.place), "behind the proxy", "the place");
      await again.page.close();
      const other = await launch(await fresh(), course, registration);
      same(await other.sco.get(name.place), "behind the proxy", "the place in another browser");
    });
  }

  await check(`${title}: an earlier window undoes nothing of a later one, and its learner is told`, async (fresh, registration) => {
    const name = names[course];
    const earlier = await launch(await fresh(), course, registration);
    await setAll(earlier.sco, [...name.begun, [name.place, "earlier"]]);
    await saved(earlier.page);
    const later = await launch(await fresh(), course, registration);
    await setAll(later.sco, [...name.score, ...name.done, [name.place, "later"]]);
    same(await later.sco.commit(), "true", "Commit");
    await saved(later.page);

    await setAll(earlier.sco, [...name.begun, [name.place, "too late"]]);
    await earlier.page.getByText(/^This course was opened again later/).waitFor({ timeout: 15_000 });

    const report = await server.report(registration);
    same(report.registrationSuccess, "PASSED", "success");
    const again = await launch(await fresh(), course, registration);
    same(await again.sco.get(name.place), "later", "the place");
  });

  await check(`${title}: what a browser had kept undoes nothing that was done elsewhere since`, async (fresh, registration) => {
    const name = names[course];
    const context = await fresh();
    const { page, sco } = await launch(context, course, registration);
    await sco.set(name.place, "before");
    await saved(page);
    await server.without(async () => {
      await setAll(sco, [[name.place, "in the journal"], ["cmi.suspend_data", "in the journal"]]);
      await page.getByText(/^Not saved yet/).waitFor({ timeout: 15_000 });
      await page.close();
    });
    const other = await launch(await fresh(), course, registration);
    await other.sco.set(name.place, "elsewhere");
    await saved(other.page);
    await other.page.close();

    const again = await launch(context, course, registration);
    same(await again.sco.get(name.place), "elsewhere", "the place");
    same(await again.sco.get("cmi.suspend_data"), "in the journal", "what nobody has set since");
  });

  await check(`${title}: content that is closed suspends in its own way`, async (fresh, registration) => {
    const name = names[course];
    const context = await fresh();
    const { page, sco } = await launch(context, course, registration);
    await sco.frame.evaluate(
      ([exit, place]) =>
        addEventListener("pagehide", () => {
          window.sco.set(place, "said at the very end");
          window.sco.set(exit, "suspend");
          window.sco.finish();
        }),
      [name.exit, name.place],
    );
    await page.close();

    const again = await launch(context, course, registration);
    same(await again.sco.get(name.entry), "resume", "the entry");
    same(await again.sco.get(name.place), "said at the very end", "the place");
  });
}

for (const course of ["old-many", "new-many"]) {
  const { title } = courses[course];
  const name = names[course.slice(0, 3)];
  await server.add(course, courses[course]);
  await apart.add(course, courses[course]);

  await check(`${title}: parts resume after a closed tab in a browser that blocks storage of third parties`, async (_, registration) => {
    const { context, remove } = await blocking();
    try {
      await partsCarryOn(context, course, registration);
    } finally {
      await context.close();
      await remove();
    }
  });

  await check(`${title}: next, previous and choice lead on, and each part keeps its own values`, async (fresh, registration) => {
    const context = await fresh();
    const { page, complaints } = await launch(context, course, registration);
    const button = (text) => page.getByRole("button", { name: text });
    const one = await content(page, "one.html");
    await setAll(one, [[name.place, "in one"], ...name.done]);
    await button("Next").click();
    const two = await content(page, "two.html");
    same(await two.get(name.place), "", "the place of a new part");
    await setAll(two, [[name.place, "in two"], ...name.begun]);
    await button("Previous").click();
    const back = await content(page, "one.html");
    same(await back.get(name.place), "in one", "the place on the way back");
    same(await back.get(name.entry), "resume", "the entry on the way back");
    await button(/Third part/).click();
    const three = await content(page, "three.html");
    await setAll(three, [[name.place, "in three"]]);
    await button(/Second part/).click();
    same(await (await content(page, "two.html")).get(name.place), "in two", "the place after a choice");
    await saved(page);
    same(complaints, [], "complaints of the browser");
    await page.close();

    const again = await launch(context, course, registration);
    const resumed = await content(again.page, "two.html");
    same(await resumed.get(name.place), "in two", "the place after a closed tab");
    const report = await server.report(registration);
    same(report.registrationCompletion, "INCOMPLETE", "the whole");
    same(report.activityDetails.children.map((one) => one.activityCompletion === "COMPLETED"), [true, false, false], "the parts");
  });

  await check(`${title}: all parts done is all done`, async (fresh, registration) => {
    const { page } = await launch(await fresh(), course, registration);
    for (const file of ["one.html", "two.html", "three.html"]) {
      const sco = await content(page, file);
      await setAll(sco, name.done);
      if (file !== "three.html") await page.getByRole("button", { name: "Next" }).click();
    }
    await page.getByRole("button", { name: "Exit" }).click();
    await page.getByRole("heading", { name: "You have left the course" }).waitFor();
    await until("the report", () => server.report(registration), (found) => found.registrationCompletion === "COMPLETED");
  });
}

await check("Three SCOs of SCORM 2004: content leads on by itself", async (fresh, registration) => {
  const { page } = await launch(await fresh(), "new-many", registration);
  const one = await content(page, "one.html");
  await setAll(one, [...names.new.done, ["adl.nav.request", "continue"]]);
  await one.finish();
  const two = await content(page, "two.html");
  await two.set("adl.nav.request", "{target=three}choice");
  await two.finish();
  const three = await content(page, "three.html");
  await three.set("adl.nav.request", "exitAll");
  await three.finish();
  await page.getByRole("heading", { name: "You have left the course" }).waitFor();
});

await check("SCORM 1.2: an activity that waits for another opens when that one is done", async (fresh, registration) => {
  const items = [
    { id: "one", title: "First part", href: "one.html" },
    { id: "two", title: "Second part", href: "two.html", after: "one" },
  ];
  await server.add("waits", scorm12("A part that waits", items));
  const { page } = await launch(await fresh(), "waits", registration);
  const second = page.getByRole("button", { name: /Second part/ });
  await until("the second part", () => second.isDisabled(), (found) => found);
  await setAll(await content(page, "one.html"), [["cmi.core.lesson_status", "completed"]]);
  await until("the second part", () => second.isDisabled(), (found) => !found);
  await second.click();
  await content(page, "two.html");
});

await check("the learner leaves: all is saved first, then the page goes where the launch says", async (fresh, registration) => {
  const context = await fresh();
  const exit = `${server.main}/livez`;
  const { page, sco } = await launch(context, "old", registration, { redirectOnExitUrl: exit });
  await sco.set("cmi.core.lesson_location", "at the door");
  await page.getByRole("button", { name: "Exit" }).click();
  await page.waitForURL(exit);

  const again = await launch(context, "old", registration);
  same(await again.sco.get("cmi.core.lesson_location"), "at the door", "the place");
});

await check("a Spanish launch speaks Spanish", async (fresh, registration) => {
  const { page, sco } = await launch(await fresh({ locale: "es-ES" }), "old-many", registration);
  same(await page.evaluate(() => document.documentElement.lang), "es", "the language");
  for (const text of ["Siguiente", "Anterior", "Salir", "Contenido"]) await page.getByRole("button", { name: text }).waitFor();
  await sco.set("cmi.core.lesson_location", "1");
  await saved(page);
});

const pdf = "%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF";
await server.add("paper", { zip: pdf, name: "paper.pdf", type: "application/pdf" });

await check("a document is opened, marked as finished and reported", async (fresh, registration) => {
  const context = await fresh();
  const page = await context.newPage();
  await page.goto(await server.link("paper", registration));
  const bridge = page.frameLocator("iframe").first();
  await bridge.getByRole("button", { name: "Mark as finished" }).click();
  await bridge.getByRole("button", { name: "Finished" }).waitFor();
  await until("the report", () => server.report(registration), (found) => found.registrationCompletion === "COMPLETED");
});

await check("a preview plays and records nothing", async (fresh) => {
  const page = await (await fresh()).newPage();
  const commits = [];
  page.on("request", (request) => request.url().endsWith("/results") && commits.push(request.postData()));
  await page.goto(await server.preview("old"));
  const sco = await content(page);
  await sco.set("cmi.core.lesson_location", "nowhere");
  await sco.commit();
  await page.getByText("Preview: nothing is recorded.").waitFor();
  await page.waitForTimeout(1000);
  await page.close();
  same(commits, [], "commits");
});

await check("no page sets a cookie", async (fresh, registration) => {
  const context = await fresh();
  const { page } = await launch(context, "old", registration);
  await page.waitForTimeout(300);
  same(await context.cookies(), [], "cookies");
});

await check("the keyboard reaches everything, and a choice by keyboard opens its part", async (fresh, registration) => {
  const { page } = await launch(await fresh(), "old-many", registration);
  await page.getByRole("button", { name: /Second part/ }).waitFor();
  const seen = [];
  for (let step = 0; step < 40; step += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => document.activeElement?.tagName === "IFRAME" ? "frame" : document.activeElement?.textContent);
    seen.push(at ?? "");
    if (at === "frame") break;
    if (at?.startsWith("Third part")) {
      const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
      if (outline === "none") throw new Error("the focus is not shown");
    }
  }
  for (const wanted of ["Contents", "Next", "Exit", "First part", "Third part", "frame"]) {
    if (!seen.some((text) => text.startsWith(wanted))) throw new Error(`not reached: ${wanted}; ${seen.join(", ")}`);
  }
  await page.getByRole("button", { name: /Third part/ }).focus();
  await page.keyboard.press("Enter");
  await content(page, "three.html");
  same(await page.getByRole("button", { name: /Third part/ }).getAttribute("aria-current"), "true", "the current entry");
  await page.getByRole("button", { name: "Contents" }).press("Enter");
  same(await page.getByRole("navigation").count(), 0, "contents that are closed");
});

for (const [colorScheme, viewport] of [["light", wide], ["dark", wide], ["light", narrow]]) {
  await check(`axe finds nothing in the player (${colorScheme}, ${viewport.width} wide)`, async (fresh, registration) => {
    const context = await fresh({ colorScheme, viewport, bypassCSP: true });
    const { page } = await launch(context, "old-many", registration);
    if (viewport === narrow) await page.getByRole("button", { name: "Contents" }).click();
    await page.getByRole("navigation").waitFor();
    same(await findings(page.mainFrame()), [], "the player");
    const [shown, whole] = await page.evaluate(() => [innerWidth, document.documentElement.scrollWidth]);
    if (whole > shown) throw new Error(`${whole} wide in ${shown}`);
    same(await findings(bridgeOf(page)), [], "the bridge");
    await page.getByRole("button", { name: "Exit" }).click();
    await page.getByRole("heading", { name: "You have left the course" }).waitFor();
    same(await findings(page.mainFrame()), [], "the last page");
  });
}

for (const [locale, finish, finished] of [["en-US", "Mark as finished", "Finished"], ["es-ES", "Marcar como terminada", "Terminada"]]) {
  await check(`axe finds nothing where a document is shown (${locale})`, async (fresh, registration) => {
    const page = await (await fresh({ locale, bypassCSP: true })).newPage();
    await page.goto(await server.link("paper", registration));
    const bridge = page.frameLocator("iframe").first();
    await bridge.getByRole("button", { name: finish }).waitFor();
    same(await findings(page.mainFrame()), [], "the player");
    same(await findings(bridgeOf(page)), [], "the bridge");
    await bridge.getByRole("button", { name: finish }).click();
    await bridge.getByRole("button", { name: finished }).waitFor();
    same(await findings(bridgeOf(page)), [], "the bridge of what is finished");
    same(await bridgeOf(page).evaluate(() => document.documentElement.lang), locale.slice(0, 2), "the language of the bridge");
  });
}

await check("axe finds nothing in a player that speaks Spanish", async (fresh, registration) => {
  const { page } = await launch(await fresh({ locale: "es-ES", bypassCSP: true }), "old-many", registration);
  await page.getByRole("button", { name: "Siguiente" }).waitFor();
  same(await page.evaluate(() => document.documentElement.lang), "es", "the language");
  same(await findings(page.mainFrame()), [], "the player");
  same(await findings(bridgeOf(page)), [], "the bridge");
  await page.getByRole("button", { name: "Salir" }).click();
  await page.getByRole("heading", { name: "Ha salido del curso" }).waitFor();
  same(await findings(page.mainFrame()), [], "the last page");
});

await check("a link that was never one says so, and axe finds nothing in that page", async (fresh) => {
  const context = await fresh({ bypassCSP: true });
  const page = await context.newPage();
  const answer = await page.goto(`${server.main}/play/${"x".repeat(43)}`);
  same(answer.status(), 404, "the status");
  same(await findings(page.mainFrame()), [], "the page");
});

await check("the posts of the sample course are those that the lab's learners are modelled on", async (fresh, registration) => {
  const folder = new URL("../../crates/course/sample/", import.meta.url);
  const files = new Map();
  for (const name of await readdir(folder)) files.set(name, await readFile(new URL(name, folder)));
  await server.add("sample", { zip: zip(files) });
  const page = await (await fresh()).newPage();
  const posts = [];
  page.on("request", (request) => request.url().endsWith("/results") && posts.push(request.postData()));
  await page.goto(await server.link("sample", registration));
  const lesson = await until("the lesson", () => page.frames().find((frame) => frame.url().includes("/content/")), (found) => found);
  /** Does something, and waits until it is posted and acknowledged, so that each step is a post of its own. */
  const step = async (what, more = 1) => {
    const wanted = posts.length + more;
    await what();
    await until("a post", () => posts.length, (found) => found >= wanted);
    await saved(page);
    await page.waitForTimeout(300);
  };
  const next = () => lesson.getByRole("button", { name: "Next" }).click();
  const say = (number) => lesson.getByRole("radio").nth(number).click();
  await step(() => lesson.getByRole("button", { name: "Next" }).waitFor(), 1 - posts.length);
  for (const what of [next, next, () => say(1), next, () => say(2)]) await step(what);
  await step(next, 2);
  await page.getByRole("button", { name: "Exit" }).click();
  await page.getByRole("heading", { name: "You have left the course" }).waitFor();

  const recorded = new URL("../../crates/lab/src/learners/recorded.json", import.meta.url);
  if (process.env.PLAYER_RECORD) await writeFile(recorded, `${JSON.stringify(posts, null, 2)}\n`);
  const plain = (text) =>
    text
      .replace(/"session":"[^"]*"/, "")
      .replaceAll(/\b\d{13}\b/g, "0")
      .replaceAll(/\d\d:\d\d:\d\d/g, "");
  same(posts.map(plain), JSON.parse(await readFile(recorded, "utf8")).map(plain), "the posts");
});

/** The one example package whose content is a script from another site, which may be away. */
const wantsTheNet = "SequencingPostTestRollup4thEd_SCORM20044thEdition.zip";

const reference = process.env.HOMEROOM_REFERENCE;
if (!reference) console.log("skipped: example packages are played: HOMEROOM_REFERENCE names no folder");
for (const kind of reference ? ["scorm12", "scorm2004"] : []) {
  const folder = join(reference, "learning/packages", kind);
  for (const file of await readdir(folder).catch(() => [])) {
    await check(`${file}: is played, and goes on at the next launch`, async (fresh, registration) => {
      const id = file.replace(/\W+/g, "-");
      await server.add(id, { zip: await readFile(join(folder, file)) });
      const context = await fresh();
      for (const visit of ["the first visit", "the second visit"]) {
        const page = await context.newPage();
        page.on("dialog", (dialog) => dialog.accept().catch(() => undefined));
        const calls = [];
        let shown = 0;
        let isNetAway = false;
        page.on("requestfailed", (request) => (isNetAway ||= new URL(request.url()).hostname !== "127.0.0.1"));
        page.on("request", (request) => {
          if (request.url().endsWith("/results")) calls.push(...(JSON.parse(request.postData() ?? "{}").calls ?? []));
        });
        page.on("response", (answer) => (shown += answer.url().includes("/content/") && answer.ok() ? 1 : 0));
        await page.goto(await server.link(id, registration));
        await until(`content at ${visit}`, async () => shown, (found) => found > 0, 30_000);
        // The packages about packaging call nothing.
        if (!file.startsWith("ContentPackaging")) {
          await until(`Initialize at ${visit}`, async () => calls.map(([, name, , , result]) => [name, result]), (found) =>
            (isNetAway && file === wantsTheNet) || found.some(([name, result]) => name.endsWith("Initialize") && result === "true"), 30_000);
        }
        await page.close();
      }
      const { activityDetails } = await server.report(registration);
      if (!JSON.stringify(activityDetails).includes("activityCompletion")) throw new Error("no activities in the report");
    });
  }
}

/** Elements that content sets by itself, and where the report of an activity has them. */
const REPORTED = {
  "cmi.core.lesson_location": "location",
  "cmi.location": "location",
  "cmi.suspend_data": "suspendData",
  "cmi.core.score.raw": "scoreRaw",
  "cmi.score.raw": "scoreRaw",
  "cmi.score.scaled": "scoreScaled",
  "cmi.completion_status": "completionStatus",
  "cmi.progress_measure": "progressMeasure",
};

/** The example package whose SCOs open only one after the other. */
const inOrder = "SequencingForcedSequential";

/** Opens each SCO once the one before is done, which is said in the place of a learner who reads all its pages. */
async function playInOrder(page, course, registration, all) {
  page.on("dialog", (dialog) => dialog.accept().catch(() => undefined));
  await page.goto(await server.link(course, registration));
  const complete = () => {
    let from = window;
    while (!from.API_1484_11 && from.parent !== from) from = from.parent;
    const api = from.API_1484_11;
    if (window.isLeft || !api || api.GetValue("cmi.completion_status") === "") return;
    for (const [name, value] of [["cmi.completion_status", "completed"], ["cmi.success_status", "passed"]]) api.SetValue(name, value);
  };
  const each = async (work) => {
    for (const frame of page.frames()) if (frame.url().includes("/content/")) await frame.evaluate(work).catch(() => undefined);
  };
  for (const { id, title } of all) {
    await until(`the report of ${title}`, async () => {
      // More than once: what content sets as it begins comes after.
      await each(complete);
      return leaves((await server.report(registration)).activityDetails).find((one) => one.id === id);
    }, (found) => found.attempts >= 1 && found.activityCompletion === "COMPLETED", 30_000);
    await each(() => (window.isLeft = true));
    const next = page.getByRole("button", { name: "Next" });
    if (await next.isEnabled().catch(() => false)) await next.click();
  }
  await page.close();
}

/** The activities of a report that can be launched. */
const leaves = (of) => (of.children?.length ? of.children.flatMap(leaves) : [of]);

for (const kind of reference ? ["scorm12", "scorm2004"] : []) {
  const folder = join(reference, "learning/packages", kind);
  for (const file of await readdir(folder).catch(() => [])) {
    await check(`${file}: every SCO is opened, and the report has what it sets by itself`, async (fresh, registration) => {
      const id = `each-${file.replace(/\W+/g, "-")}`;
      await server.add(id, { zip: await readFile(join(folder, file)) });
      await server.link(id, registration);
      const all = leaves((await server.report(registration)).activityDetails);
      const context = await fresh();
      let set = 0;
      if (file.startsWith(inOrder)) {
        await playInOrder(await context.newPage(), id, registration, all);
        return;
      }
      for (const [number, { id: activity, title }] of all.entries()) {
        const own = `${registration}-${number}`;
        const page = await context.newPage();
        page.on("dialog", (dialog) => dialog.accept().catch(() => undefined));
        const posts = [];
        let shown = 0;
        let isNetAway = false;
        page.on("requestfailed", (request) => (isNetAway ||= new URL(request.url()).hostname !== "127.0.0.1"));
        page.on("request", (request) => request.url().endsWith("/results") && posts.push(JSON.parse(request.postData() ?? "{}")));
        page.on("response", (answer) => (shown += answer.url().includes("/content/") && answer.ok() ? 1 : 0));
        await page.goto(await server.link(id, own, { startSco: activity }));
        await until(`content of ${title}`, async () => shown, (found) => found > 0, 20_000);
        const begun = () => posts.flatMap(({ calls }) => calls ?? []).filter(([, name]) => name.endsWith("Initialize")).map((call) => call[4]);
        // The three examples of packaging call nothing: of these it is checked that their content is shown.
        if (!file.startsWith("ContentPackaging")) {
          await until(`Initialize of ${title}`, async () => begun(), (found) => (isNetAway && file === wantsTheNet) || found.includes("true"), 20_000);
        }
        // What it sets as it begins, and as it goes.
        await new Promise((resume) => setTimeout(resume, 1_000));
        await page.close();
        const told = {};
        for (const post of posts) {
          for (const part of [post, ...(post.activities ?? [])]) if ((part.activity ?? activity) === activity) Object.assign(told, part.cmi ?? {});
        }
        const wanted = Object.entries(told).filter(([name]) => REPORTED[name]);
        set += Object.keys(told).length;
        const leaf = await until(`the report of ${title}`, async () => leaves((await server.report(own)).activityDetails).find((one) => one.id === activity), (found) =>
          begun().length === 0 || (found?.attempts >= 1 && wanted.every(([name, value]) => found.runtime?.[REPORTED[name]] === value)));
        if (!leaf) throw new Error(`${title} is not in the report`);
        const failed = posts.flatMap(({ calls }) => calls ?? []).filter(([, name, , , result]) => /SetValue|Commit|Initialize|Finish|Terminate$/.test(name) && result !== "true");
        same(failed, [], `calls of ${title} that failed`);
      }
      if (!file.startsWith("ContentPackaging") && file !== wantsTheNet && set === 0) throw new Error("nothing was set");
    });
  }
}

/** The frame of a page in which content is played. */
function bridgeOf(page) {
  return page.frames().find((frame) => new URL(frame.url()).pathname.endsWith("/bridge"));
}

/** What axe finds in a frame alone, as `rule (place, place)`. */
async function findings(frame) {
  await frame.evaluate(axe.source);
  const { violations } = await frame.evaluate(() => window.axe.run(document, { iframes: false }));
  return violations.map(({ id, nodes }) => `${id} (${nodes.slice(0, 3).map((node) => node.target.join(" ")).join(", ")})`);
}

await close();
await server.stop();
await apart.stop();
