// Odd courses in the course player: node player_odd_suite.mjs PATH-OF-HOMEROOM
// Prints `passed: WHAT` or `failed: WHAT: WHY` for each check.

import { calls, content, launcher, opened, same, saved, setAll, until } from "./player_browser.mjs";
import * as odd from "./player_odd_packages.mjs";
import { start } from "./player_server.mjs";

/** How long the network is cut, in milliseconds. */
const CUT_MS = 65_000;

const names = {
  1.2: {
    entry: "cmi.core.entry",
    place: "cmi.core.lesson_location",
    done: [["cmi.core.lesson_status", "completed"]],
    wrong: [
      ["cmi.core.nothing", "", "401"],
      ["", "", "401"],
      ["cmi.core.session_time", "", "404"],
      ["cmi.interactions.0.id", "", "404"],
      ["toString", "", "401"],
      ["cmi.core", "", "401"],
      ["cmi.reset", "", "401"],
      ["cmi.objectives.99.id", "", "201"],
    ],
  },
  2004: {
    entry: "cmi.entry",
    place: "cmi.location",
    done: [["cmi.completion_status", "completed"], ["cmi.success_status", "passed"]],
    wrong: [
      ["cmi.nothing", "", "401"],
      ["", "", "301"],
      ["cmi.session_time", "", "405"],
      ["cmi.interactions.0.id", "", "403"],
      ["toString", "", "401"],
      ["cmi.score", "", "401"],
      ["cmi.reset", "", "401"],
      ["cmi.objectives.99.id", "", "403"],
    ],
  },
};

const server = await start(process.argv[2]);
const { check, close } = await opened();
const launch = launcher(server);

for (const edition of ["1.2", "2004"]) {
  const name = names[edition];
  const title = `SCORM ${edition}`;
  const add = async (course, make) => {
    const id = `${course}-${edition.replace(".", "")}`;
    await server.add(id, make(edition));
    return id;
  };

  for (const [course, make, what, file] of [
    ["folders", odd.folders, "folders with blanks, umlauts and signs, and files beside the manifest's", ""],
    ["frames", odd.frames, "a frameset that is written, with frames in frames", "lessons/deep/last.html"],
    ["early", odd.early, "calls while the page is read", ""],
    ["walking", odd.walking, "pages that lead on by themselves", "third.html"],
  ]) {
    await check(`${title}: ${what}: is played, resumes on another device and is reported`, async (fresh, registration) => {
      const id = await add(course, make);
      const context = await fresh();
      const first = await context.newPage();
      await first.goto(await server.link(id, registration));
      const sco = await content(first, file);
      same(await sco.frame.evaluate(() => window.foundAtOnce), true, "the API");
      if (course === "folders") {
        const query = await sco.frame.evaluate(() => location.search + location.hash);
        same(decodeURIComponent(query), "?a=b c&d=ü#top", "the parameters");
      }
      if (course === "early") same(await sco.frame.evaluate(() => window.second), "ab-initio", "what was read early");
      await setAll(sco, [[name.place, "Seite 7 — ü 表 🎓"]]);
      await first.close();

      const second = await (await fresh()).newPage();
      await second.goto(await server.link(id, registration));
      const again = await content(second, file);
      same(await again.get(name.entry), "resume", "the entry");
      same(await again.get(name.place), "Seite 7 — ü 表 🎓", "the place");
      if (course === "early") same(await again.get("cmi.suspend_data"), "set before the page was there", "the suspend data");
      await setAll(again, name.done);
      same(await again.finish(), "true", "Finish");
      await until("the report", () => server.report(registration), (found) => found.registrationCompletion === "COMPLETED");
    });
  }

  await check(`${title}: a window that content opens finds the API through its opener`, async (fresh, registration) => {
    const id = await add("popup", odd.popup);
    const { page, sco } = await launch(await fresh(), id, registration);
    const opening = page.waitForEvent("popup");
    await sco.frame.getByRole("button", { name: "Start" }).click();
    const window = await opening;
    same(await until("Initialize", () => window.evaluate(() => globalThis.begun ?? null), (found) => found !== null), "true", "Initialize");
    const inner = calls(window);
    await setAll(inner, [[name.place, "in a window"], ...name.done]);
    same(await inner.finish(), "true", "Finish");
    const report = await until("the report", () => server.report(registration), (found) => found.registrationCompletion === "COMPLETED");
    same(report.activityDetails.children[0].runtime.location, "in a window", "the place");
  });

  await check(`${title}: a window that content opened and the learner closed has lost nothing`, async (fresh, registration) => {
    const id = await add("popup", odd.popup);
    const context = await fresh();
    const { page, sco } = await launch(context, id, registration);
    const opening = page.waitForEvent("popup");
    await sco.frame.getByRole("button", { name: "Start" }).click();
    const window = await opening;
    await until("Initialize", () => window.evaluate(() => globalThis.begun ?? null), (found) => found === "true");
    await calls(window).set(name.place, "closed");
    await window.close();
    await page.close();
    const report = await until("the report", () => server.report(registration), (found) => found.activityDetails.children[0].runtime?.location === "closed");
    same(report.registrationCompletion, "INCOMPLETE", "completion");
  });

  for (const way of ["the tab is closed", "the learner goes on"]) {
    await check(`${title}: what content says while it is unloaded counts, when ${way}`, async (fresh, registration) => {
      const id = await add("unloading", odd.unloading);
      const { page } = await launch(await fresh(), id, registration);
      if (way === "the tab is closed") {
        await page.close({ runBeforeUnload: true });
      } else {
        await page.getByRole("button", { name: "Next" }).click();
        await content(page, "two.html");
      }
      await until("the report", () => server.report(registration), (found) => found.activityDetails.children[0].runtime?.location === "said while unloading");
    });
  }

  await check(`${title}: identifiers with every kind of sign, one file for several parts, and a part that is not shown`, async (fresh, registration) => {
    const id = await add("identifiers", odd.identifiers);
    const { page, sco } = await launch(await fresh(), id, registration);
    await setAll(sco, [[name.place, "in 0"], ...name.done]);
    same(await page.getByRole("button", { name: /Part 1/ }).count(), 0, "the entry of the part that is not shown");
    for (const at of [1, 2]) {
      await page.getByRole("button", { name: "Next" }).click();
      const found = await until(`part ${at}`, async () => {
        // The frame of the part before may go meanwhile.
        const next = await content(page, "one.html");
        const search = await next.frame.evaluate(() => location.search).catch(() => "");
        return search === `?part=${at}` ? next : null;
      }, (next) => next !== null);
      same(await found.get(name.place), "", `the place of part ${at}`);
      await setAll(found, [[name.place, `in ${at}`], ...name.done]);
    }
    await page.getByRole("button", { name: /Part 0/ }).click();
    await until("part 0 again", async () => (await content(page, "one.html")).get(name.place).catch(() => ""), (found) => found === "in 0");
    await page.close();
    const report = await until("the report", () => server.report(registration), (found) => found.registrationCompletion === "COMPLETED");
    same(report.activityDetails.children.map((one) => one.runtime.location), ["in 0", "in 1", "in 2"], "the places");
    same(report.activityDetails.children.map((one) => one.id), ["Übung 1/2", "b {x} 'y'", "c&d.e"], "the identifiers");
  });

  await check(`${title}: wrong elements are answered with their errors, and content goes on`, async (fresh, registration) => {
    const id = await add("single", odd.single);
    const { sco, complaints } = await launch(await fresh(), id, registration);
    const found = [];
    for (const [element] of name.wrong) found.push([element, await sco.get(element), await sco.error()]);
    same(found, name.wrong, "the answers");
    const odd_calls = await sco.frame.evaluate((old) => {
      const get = window.api[old ? "LMSGetValue" : "GetValue"];
      const set = window.api[old ? "LMSSetValue" : "SetValue"];
      const place = old ? "cmi.core.lesson_location" : "cmi.location";
      return [get(), get(null), set(place, 7), get(place), set(place), typeof window.api[old ? "LMSGetErrorString" : "GetErrorString"](0)];
    }, edition === "1.2");
    same(odd_calls, ["", "", "true", "7", "true", "string"], "calls without object and without values");
    same(complaints, [], "complaints of the browser");
  });

  await check(`${title}: content that ends twice is ended once, and is told`, async (fresh, registration) => {
    const id = await add("single", odd.single);
    const context = await fresh();
    const { page, sco } = await launch(context, id, registration);
    await setAll(sco, [[name.place, "the end"], ...name.done]);
    same(await sco.finish(), "true", "Finish");
    // SCORM 1.2's second Finish does nothing and is not refused: content that says it on every way out would complain.
    same(await sco.finish(), edition === "1.2" ? "true" : "false", "Finish again");
    same(await sco.tryTo(name.place, "after the end"), "false", "SetValue after Finish");
    same(await sco.error(), edition === "1.2" ? "301" : "133", "its error");
    await until("the report", () => server.report(registration), (found) => found.registrationCompletion === "COMPLETED");
    await page.close();
    const report = await server.report(registration);
    same(report.activityDetails.children[0].runtime.location, "the end", "the place");
    same(report.activityDetails.children[0].attempts, 1, "the attempts");
  });

  for (const [length, letters] of [[4097, "x"], [64_001, "x"], [90_000, "ü表🎓\n\"\\"]]) {
    await check(`${title}: suspend data of ${length} characters${letters === "x" ? "" : " of every kind"} comes back whole on another device`, async (fresh, registration) => {
      const id = await add("single", odd.single);
      const data = letters.repeat(Math.ceil(length / letters.length)).slice(0, length).toWellFormed();
      const { page, sco } = await launch(await fresh(), id, registration);
      await sco.set("cmi.suspend_data", data);
      await sco.set(name.place, "last");
      // Browsers carry at most 64 KiB for a page that is gone; what is larger needs the page until it is saved.
      if (length > 60_000) await saved(page);
      await page.close();

      const again = await launch(await fresh(), id, registration);
      same(await again.sco.get(name.place), "last", "the place");
      const found = await again.sco.get("cmi.suspend_data");
      if (found !== data) throw new Error(`${found.length} characters came back`);
    });
  }

  for (const length of [22_000, 70_000, 250_000]) {
    await check(`${title}: suspend data of ${length} characters that is set as the tab closes is there at the next launch`, async (fresh, registration) => {
      const id = await add("single", odd.single);
      const context = await fresh();
      const { page, sco } = await launch(context, id, registration);
      await sco.set(name.place, "before");
      await saved(page);
      // More than the 64 KiB that browsers carry for a page that is gone: the journal has to hold it.
      const data = "表xü".repeat(length).slice(0, length);
      await sco.frame.evaluate(
        ([place, text]) =>
          addEventListener("pagehide", () => {
            window.sco.set("cmi.suspend_data", text);
            window.sco.set(place, "at the very end");
          }),
        [name.place, data],
      );
      await page.close();

      const again = await launch(context, id, registration);
      same(await again.sco.get(name.place), "at the very end", "the place");
      const found = await again.sco.get("cmi.suspend_data");
      if (found !== data) throw new Error(`${found.length} characters came back`);
      await again.page.close();
      const other = await launch(await fresh(), id, registration);
      same(await other.sco.get("cmi.suspend_data") === data, true, "whether another device has it all");
    });
  }

  await check(`${title}: with the network cut for ${CUT_MS / 1000} seconds nothing is lost, and another device goes on`, async (fresh, registration) => {
    const id = await add("two", odd.two);
    const context = await fresh();
    const { page, sco } = await launch(context, id, registration);
    await sco.set(name.place, "before");
    await saved(page);
    await context.setOffline(true);
    const end = Date.now() + CUT_MS;
    let step = 0;
    while (Date.now() < end) {
      step += 1;
      await setAll(sco, [[name.place, `step ${step}`], ["cmi.suspend_data", `${step} `.repeat(500)]]);
      await sco.commit();
      await page.waitForTimeout(500);
    }
    await setAll(sco, name.done);
    await page.getByText(/^Not saved yet/).waitFor();
    await context.setOffline(false);
    await until("the report", () => server.report(registration), (found) => found.activityDetails.children[0].activityCompletion === "COMPLETED", 90_000);
    await page.close();

    const again = await launch(await fresh(), id, registration);
    same(await again.sco.get(name.place), `step ${step}`, "the place");
    same(await again.sco.get("cmi.suspend_data"), `${step} `.repeat(500), "the suspend data");
  });
}

await check("SCORM 1.2: a manifest and file names in Shift_JIS", async (fresh, registration) => {
  await server.add("japanese", odd.japanese());
  const { page, sco } = await launch(await fresh(), "japanese", registration);
  await page.getByRole("heading", { name: "表紙" }).waitFor();
  await sco.set("cmi.core.lesson_status", "completed");
  await until("the report", () => server.report(registration), (found) => found.registrationCompletion === "COMPLETED");
});

await check("SCORM 2004: a pretest satisfies the module that reads its objective", async (fresh, registration) => {
  await server.add("pretest", odd.pretest());
  const { page, sco } = await launch(await fresh(), "pretest", registration);
  await setAll(sco, [["cmi.success_status", "passed"], ["cmi.completion_status", "completed"]]);
  same(await sco.finish(), "true", "Terminate");
  const report = await until("the report", () => server.report(registration), (found) => found.registrationSuccess === "PASSED");
  same(report.activityDetails.children.map((one) => one.activitySuccess), ["PASSED", "PASSED"], "the parts");
  same(report.globalObjectives.map(({ id, objectiveSuccess }) => [id, objectiveSuccess]), [["g1", "PASSED"]], "the global objectives");
  await page.close();
});

await check("SCORM 2004: parts without a word about their order are chosen, and go on where they were", async (fresh, registration) => {
  await server.add("unordered", odd.unordered());
  const { page, sco } = await launch(await fresh(), "unordered", registration);
  await setAll(sco, [["cmi.location", "in one"], ...names[2004].done]);
  await page.getByRole("button", { name: /Part two/ }).click();
  await setAll(await content(page, "two.html"), [["cmi.location", "in two"]]);
  await page.close();

  const again = await launch(await fresh(), "unordered", registration);
  const two = await content(again.page, "two.html");
  same(await two.get("cmi.location"), "in two", "the place");
  await setAll(two, names[2004].done);
  await two.finish();
  await until("the report", () => server.report(registration), (found) => found.registrationCompletion === "COMPLETED");
});

await check("SCORM 2004: parts open one after the other, on another device too", async (fresh, registration) => {
  await server.add("ordered", odd.ordered());
  const { page, sco } = await launch(await fresh(), "ordered", registration);
  const is_closed = (of, part) => of.getByRole("button", { name: new RegExp(`Part ${part}`) }).isDisabled();
  await until("part two", () => is_closed(page, "two"), (found) => found);
  await setAll(sco, names[2004].done);
  await sco.finish();
  await until("part two", () => is_closed(page, "two"), (found) => !found);
  same(await is_closed(page, "three"), true, "part three is closed");
  await page.getByRole("button", { name: /Part two/ }).click();
  await content(page, "two.html");
  await saved(page);
  await page.close();

  const again = await launch(await fresh(), "ordered", registration);
  const two = await content(again.page, "two.html");
  same(await is_closed(again.page, "three"), true, "part three is closed on another device");
  await setAll(two, names[2004].done);
  await two.finish();
  await until("part three", () => is_closed(again.page, "three"), (found) => !found);
  const parts = async () => (await server.report(registration)).activityDetails.children.map((one) => one.activitySuccess).join();
  await until("the report", parts, (found) => found === "PASSED,PASSED,UNKNOWN");
});

await close();
await server.stop();
