import assert from "node:assert/strict";
import { test } from "node:test";
import { load12, load2004, prepare2004 } from "../src/engine";
import { facade, load, type Watch } from "../src/facade";
import type { Activity, Call, Cmi } from "../src/launch";

/** A watch that writes down what it is told. */
function watch() {
  const said: string[] = [];
  const calls: Call[] = [];
  const what: Watch = {
    begun: () => said.push("begun"),
    set: (element, value) => said.push(`${element}=${value}`),
    commit: () => said.push("commit"),
    ending: () => said.push("ending"),
    ended: () => said.push("ended"),
    call: (call) => calls.push(call),
  };
  return { said, calls, what };
}

const fresh12: Cmi = {
  "cmi.core.entry": "ab-initio",
  "cmi.core.student_id": "l-1",
  "cmi.core.student_name": "Last, First",
  "cmi.core.lesson_status": "not attempted",
  "cmi.core.credit": "credit",
  "cmi.core.lesson_mode": "normal",
  "cmi.core.total_time": "00:00:00",
  "cmi.launch_data": "start=1",
  "cmi.student_data.mastery_score": "80",
};

const fresh2004: Cmi = {
  "cmi.entry": "ab-initio",
  "cmi.learner_id": "l-1",
  "cmi.learner_name": "Last, First",
  "cmi.credit": "credit",
  "cmi.mode": "normal",
  "cmi.total_time": "PT0S",
};

async function api12(cmi: Cmi = fresh12) {
  const inner = (await load12())();
  load("1.2", inner, cmi);
  const watched = watch();
  return { api: facade("1.2", inner, cmi, watched.what) as Record<string, (...v: unknown[]) => string>, ...watched };
}

async function api2004(cmi: Cmi = fresh2004, activity: Partial<Activity> = {}) {
  const inner = (await load2004())();
  prepare2004(inner, { id: "a", title: "A", type: "sco", href: "a.html", ...activity }, cmi, {});
  const watched = watch();
  return { api: facade("2004", inner, cmi, watched.what) as Record<string, (...v: unknown[]) => string>, ...watched };
}

test("SCORM 1.2: content reads what the server has set for a first launch", async () => {
  const { api } = await api12();
  assert.equal(api["LMSInitialize"]?.(""), "true");

  for (const [element, value] of Object.entries(fresh12)) assert.equal(api["LMSGetValue"]?.(element), value, element);
});

test("SCORM 1.2: values, interactions and status come back at the next launch", async () => {
  const stored: Cmi = {
    ...fresh12,
    "cmi.core.entry": "resume",
    "cmi.core.lesson_status": "incomplete",
    "cmi.core.lesson_location": "page 4",
    "cmi.core.score.raw": "42",
    "cmi.core.total_time": "0000:10:00.50",
    "cmi.suspend_data": "a=1;b=ü",
    "cmi.objectives.10.id": "o10",
    ...Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`cmi.objectives.${n}.id`, `o${n}`])),
    "cmi.objectives.2.score.raw": "7",
    "cmi.interactions.0.id": "i0",
    "cmi.interactions.0.type": "choice",
    "cmi.interactions.0.student_response": "a",
    "cmi.interactions.0.objectives.0.id": "o0",
  };
  const { api } = await api12(stored);
  api["LMSInitialize"]?.("");

  for (const name of ["cmi.core.entry", "cmi.core.lesson_status", "cmi.core.lesson_location", "cmi.core.score.raw", "cmi.suspend_data", "cmi.objectives.2.score.raw", "cmi.objectives.10.id"]) {
    assert.equal(api["LMSGetValue"]?.(name), stored[name], name);
  }
  assert.equal(api["LMSGetValue"]?.("cmi.objectives._count"), "11");
  assert.equal(api["LMSGetValue"]?.("cmi.interactions._count"), "1");
});

test("SCORM 1.2: errors are those of the standard, and what is refused is not told", async () => {
  const { api, said } = await api12();
  const set = (element: string, value: string) => [api["LMSSetValue"]?.(element, value), api["LMSGetLastError"]?.()];

  assert.deepEqual([api["LMSGetValue"]?.("cmi.core.entry"), api["LMSGetLastError"]?.()], ["", "301"]);
  api["LMSInitialize"]?.("");
  assert.deepEqual([api["LMSInitialize"]?.(""), api["LMSGetLastError"]?.()], ["false", "101"]);
  assert.deepEqual(set("cmi.core.student_id", "x"), ["false", "403"]);
  assert.deepEqual(set("cmi.core.lesson_status", "great"), ["false", "405"]);
  assert.deepEqual(set("cmi.core._children", "x"), ["false", "402"]);
  assert.deepEqual([api["LMSGetValue"]?.("cmi.core.exit"), api["LMSGetLastError"]?.()], ["", "404"]);
  assert.deepEqual(set("cmi.core.lesson_status", "passed"), ["true", "0"]);

  assert.deepEqual(said, ["begun", "cmi.core.lesson_status=passed"]);
});

test("SCORM 1.2: Finish tells the end once, and the calls are traced with their errors", async () => {
  const { api, said, calls } = await api12();
  api["LMSInitialize"]?.("");
  api["LMSSetValue"]?.("cmi.core.nothing", 3);
  api["LMSCommit"]?.("");
  assert.equal(api["LMSFinish"]?.(""), "true");
  api["LMSFinish"]?.("");

  assert.deepEqual(said, ["begun", "commit", "ending", "ended"]);
  assert.deepEqual(calls.map(([, name]) => name), ["LMSInitialize", "LMSSetValue", "LMSCommit", "LMSFinish", "LMSFinish"]);
  assert.deepEqual(calls[1]?.slice(1, 5), ["LMSSetValue", "cmi.core.nothing", "3", "false"]);
  assert.equal(calls[1]?.[5], 401);
});

test("suspend data beyond the limit is kept whole, in both standards", async () => {
  const long = "x".repeat(200_000);
  const old = await api12();
  old.api["LMSInitialize"]?.("");
  assert.equal(old.api["LMSSetValue"]?.("cmi.suspend_data", long), "true");
  assert.equal(old.api["LMSGetValue"]?.("cmi.suspend_data"), long);
  assert.equal(old.said.at(-1), `cmi.suspend_data=${long}`);

  const { api } = await api2004({ ...fresh2004, "cmi.suspend_data": long });
  assert.equal(api["GetValue"]?.("cmi.suspend_data"), "");
  api["Initialize"]?.("");
  assert.equal(api["GetValue"]?.("cmi.suspend_data"), long);
  api["SetValue"]?.("cmi.suspend_data", "short");
  assert.equal(api["GetValue"]?.("cmi.suspend_data"), "short");
});

test("SCORM 2004: content reads what the server has set, and errors are those of the standard", async () => {
  const { api } = await api2004();
  assert.equal(api["GetValue"]?.("cmi.entry"), "");
  assert.equal(api["GetLastError"]?.(), "122");
  assert.equal(api["Initialize"]?.(""), "true");

  for (const [element, value] of Object.entries(fresh2004)) assert.equal(api["GetValue"]?.(element), value, element);
  const rows: [string, string, string, string][] = [
    ["cmi.learner_id", "x", "false", "404"],
    ["cmi.score.scaled", "2", "false", "407"],
    ["cmi.completion_status", "great", "false", "406"],
    ["cmi.nothing", "1", "false", "401"],
    ["cmi.interactions.0.type", "choice", "false", "408"],
    ["cmi.score.scaled", "0.87", "true", "0"],
  ];
  for (const [element, value, result, error] of rows) {
    assert.deepEqual([api["SetValue"]?.(element, value), api["GetLastError"]?.()], [result, error], element);
  }
  assert.equal(api["Terminate"]?.(""), "true");
  assert.equal(api["SetValue"]?.("cmi.location", "1"), "false");
  assert.equal(api["GetLastError"]?.(), "133");
});

test("SCORM 2004: values come back at the next launch, arrays in their order", async () => {
  const stored: Cmi = {
    ...fresh2004,
    "cmi.entry": "resume",
    "cmi.location": "5",
    "cmi.completion_status": "incomplete",
    "cmi.score.scaled": "0.5",
    "cmi.suspend_data": "state",
    "cmi.interactions.0.id": "i0",
    "cmi.interactions.0.type": "choice",
    "cmi.interactions.0.objectives.0.id": "o0",
    "cmi.interactions.0.correct_responses.0.pattern": "a",
    "cmi.interactions.0.learner_response": "a",
    "cmi.interactions.1.id": "i1",
    "cmi.objectives.0.id": "o0",
    "cmi.objectives.0.success_status": "passed",
    "cmi.objectives.1.id": "o1",
  };
  const { api } = await api2004(stored);
  api["Initialize"]?.("");

  for (const [name, value] of Object.entries(stored)) assert.equal(api["GetValue"]?.(name), value, name);
});

test("SCORM 2004: content finds the objectives of the manifest, after its own", async () => {
  const activity: Partial<Activity> = { sequencing: { objectives: [{ id: "first", primary: true }, { id: "second" }] } };
  const { api } = await api2004({ ...fresh2004, "cmi.objectives.0.id": "second" }, activity);
  api["Initialize"]?.("");

  assert.equal(api["GetValue"]?.("cmi.objectives._count"), "2");
  assert.equal(api["GetValue"]?.("cmi.objectives.0.id"), "second");
  assert.equal(api["GetValue"]?.("cmi.objectives.1.id"), "first");
});

test("nothing but elements is reached by a name, and what is refused changes nothing", async () => {
  const inner = ["toString", "constructor", "__proto__", "cmi", "cmi.reset", "cmi.initialized", "cmi.jsonString", "cmi.objectives.childArray", "settings", "lmsFinish", "cmi.objectives.0", "cmi.score.toJSON"];
  for (const [{ api }, prefix, code, place] of [
    [await api12(), "LMS", "401", "cmi.core.lesson_location"],
    [await api2004(), "", "401", "cmi.location"],
  ] as const) {
    const call = (what: string, ...values: unknown[]) => api[prefix + what]?.(...values);
    assert.equal(call("Initialize", ""), "true");
    for (const name of [...inner, prefix === "" ? "cmi.score" : "cmi.core"]) {
      assert.equal(call("SetValue", name, "x"), "false", name);
      assert.equal(call("GetLastError"), code, name);
      assert.equal(call("GetValue", name), "", name);
      assert.equal(call("GetLastError"), code, name);
    }
    assert.equal(call("SetValue", place, "7"), "true");
    assert.equal(call("GetValue", place), "7");
    const score = prefix === "" ? "cmi.score" : "cmi.core.score";
    for (const name of ["cmi._version", `${score}._children`, "cmi.objectives._count", "cmi.objectives._children", "cmi.interactions._count"]) {
      assert.notEqual(call("GetValue", name), "", name);
      assert.equal(call("GetLastError"), "0", name);
    }
  }
});

test("a text that is larger than what the server keeps is refused, and content is told", async () => {
  for (const [{ api, said }, prefix] of [[await api12(), "LMS"], [await api2004(), ""]] as const) {
    api[`${prefix}Initialize`]?.("");
    const set = (text: string) => api[`${prefix}SetValue`]?.("cmi.suspend_data", text);
    const [kept, larger] = ["表".repeat(174_762), "表".repeat(174_763)];

    assert.equal(set(kept), "true");
    assert.equal(set(larger), "false");
    assert.notEqual(api[`${prefix}GetLastError`]?.(), "0");
    assert.equal(api[`${prefix}GetValue`]?.("cmi.suspend_data"), kept);
    assert.equal(said.filter((one) => one.startsWith("cmi.suspend_data")).length, 1);
  }
});

test("SCORM 1.2: what content sets after Finish is refused, as the standard says", async () => {
  const { api, said } = await api12();
  api["LMSInitialize"]?.("");
  assert.equal(api["LMSFinish"]?.(""), "true");
  const told = said.length;
  assert.equal(api["LMSSetValue"]?.("cmi.core.lesson_location", "late"), "false");
  assert.equal(api["LMSGetLastError"]?.(), "301");
  assert.equal(said.length, told);
});

test("SCORM 2004: a text is cleared by an empty one, and a number is not", async () => {
  const { api, said } = await api2004();
  api["Initialize"]?.("");
  for (const value of ["7", "", "8"]) {
    assert.equal(api["SetValue"]?.("cmi.location", value), "true", value);
    assert.equal(api["GetLastError"]?.(), "0", value);
    assert.equal(api["GetValue"]?.("cmi.location"), value);
  }
  assert.deepEqual(said.filter((one) => one.startsWith("cmi.location")), ["cmi.location=7", "cmi.location=", "cmi.location=8"]);
  assert.equal(api["SetValue"]?.("cmi.score.raw", ""), "false");
  assert.equal(api["GetLastError"]?.(), "406");
});
