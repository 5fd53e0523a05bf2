import assert from "node:assert/strict";
import { test } from "node:test";
import { mark, read, type Ask } from "../src/messages";
import { understand } from "../src/road";
import { clockDuration, isoDuration, readDuration } from "../src/time";
import { fill, language, words } from "../src/words";

test("durations of both standards are read and written", () => {
  const rows: [string, number | undefined][] = [
    ["00:01:30", 9000],
    ["0100:00:00.5", 36_000_050],
    ["PT1M30S", 9000],
    ["PT90.25S", 9025],
    ["P1DT1H", 9_000_000],
    ["PT0S", 0],
    ["P", undefined],
    ["PT", undefined],
    ["1:30", undefined],
    ["", undefined],
  ];
  for (const [text, hundredths] of rows) assert.equal(readDuration(text), hundredths, text);
  assert.equal(clockDuration(9025), "0000:01:30.25");
  assert.equal(isoDuration(366_105), "PT1H1M1.05S");
  for (const value of [0, 1, 99, 6000, 359_999, 8_640_000]) {
    assert.equal(readDuration(clockDuration(value)), value);
    assert.equal(readDuration(isoDuration(value)), value);
  }
});

test("the language is the launch's, else the browser's, else English", () => {
  assert.equal(language("es-MX", ["en"]), "es");
  assert.equal(language("", ["fr", "es"]), "es");
  assert.equal(language("de", ["en-US"]), "en");
  assert.equal(language(undefined, []), "en");
});

test("both languages have every text, with the same gaps", () => {
  const [english, spanish] = [words("en"), words("es")];
  const gaps = (text: string) => text.match(/\{\w+\}/g) ?? [];
  for (const key of Object.keys(english) as (keyof typeof english)[]) {
    assert.deepEqual(gaps(spanish[key]), gaps(english[key]), key);
  }
  assert.equal(fill(english.saved, { time: "10:15" }), "Saved at 10:15");
});

test("a message counts only from the right origin, window and kind", () => {
  const window = {};
  const event = (origin: string, source: object, data: unknown) => ({ origin, source, data }) as unknown as MessageEvent;
  const ask = { homeroom: "ask", request: "continue" };
  const of = (origin: string, source: object, data: unknown) => read<Ask>(event(origin, source, data), "http://a", window, "ask");

  assert.deepEqual(of("http://a", window, ask), ask);
  assert.equal(of("http://b", window, ask), undefined);
  assert.equal(of("http://a", {}, ask), undefined);
  for (const data of [null, "ask", 1, { homeroom: "state" }]) assert.equal(of("http://a", window, data), undefined);
});

test("an activity's mark follows from its values", () => {
  assert.equal(mark({}), "untouched");
  assert.equal(mark({ "cmi.core.lesson_status": "not attempted" }), "untouched");
  assert.equal(mark({ "cmi.core.lesson_status": "passed" }), "passed");
  assert.equal(mark({ "cmi.success_status": "failed", "cmi.completion_status": "completed" }), "failed");
  assert.equal(mark({ "cmi.success_status": "unknown", "cmi.completion_status": "completed" }), "done");
  assert.equal(mark({ "cmi.completion_status": "incomplete" }), "begun");
  assert.equal(mark({ "cmi.entry": "resume" }), "begun");
});

test("an answer of the server says whether to try again", async () => {
  const nothing = async () => ({});
  const said = (superseded: object) => async () => ({ saved: 5_000_000, sequence: 7, superseded });
  const saved = { kind: "saved", at: 5000, sequence: 7, superseded: false };
  assert.deepEqual(await understand(200, null, said({})), saved);
  assert.deepEqual(await understand(200, null, said({ a: ["cmi.location"] })), { ...saved, superseded: true });
  // A network's own page answers 200, too.
  assert.equal((await understand(200, null, nothing)).kind, "again");
  assert.equal((await understand(200, null, noJson)).kind, "again");
  for (const [status, type] of ends) assert.equal((await understand(status, null, problem(status, type))).kind, "gone");
  assert.deepEqual(await understand(503, "2", nothing), { kind: "again", afterMs: 2000 });
  assert.deepEqual(await understand(500, null, nothing), { kind: "again" });
  assert.equal((await understand(429, null, nothing)).kind, "again");
  for (const status of [400, 413, 415]) {
    assert.equal((await understand(status, null, problem(status, "any"))).kind, "refused", String(status));
  }
});

test("what is not the server's own answer ends and refuses nothing", async () => {
  const statuses = [300, 304, 400, 401, 403, 404, 405, 407, 409, 410, 413, 415, 451];
  for (const status of statuses) {
    const others: (() => Promise<unknown>)[] = [
      noJson,
      async () => null,
      async () => "Forbidden",
      async () => ({ message: "Forbidden" }),
      async () => ({ type: "about:blank", status }),
      // Another answer of the server's that was kept somewhere.
      problem(status + 1, "not-found"),
    ];
    for (const json of others) assert.equal((await understand(status, null, json)).kind, "again", String(status));
  }
  for (const [status, type] of [[401, "security:authentication"], [403, "security:authorization"], [409, "data-conflict:multi-user-conflict"]] as const) {
    assert.equal((await understand(status, null, problem(status, type))).kind, "again", type);
  }
});

const noJson = () => Promise.reject(new Error("no JSON"));
const problem = (status: number, type: string) => async () => ({ type: `urn:ed-fi:api:${type}`, title: "-", status });
const ends = [[404, "not-found"], [409, "data-conflict:session-forgotten"], [410, "gone"]] as const;
