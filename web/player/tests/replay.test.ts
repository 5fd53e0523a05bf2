import assert from "node:assert/strict";
import { test } from "node:test";
import type { Left } from "../src/journal";
import type { Boot } from "../src/launch";
import type { Answer } from "../src/outbox";
import { overlay, replay } from "../src/replay";

interface Body {
  left: string;
  session: string;
  sequence: number;
  activity: string;
  cmi: Record<string, string>;
}

const saved: Answer = { kind: "saved", at: 1, sequence: 9, superseded: true };

function left(session: string, forgotten: string[]): Left {
  return {
    launch: `launch of ${session}`,
    session,
    sequence: 4,
    pending: { activities: { a: { cmi: { "cmi.location": session }, exit: false } }, calls: [] },
    forget: () => forgotten.push(session),
  };
}

/** A road whose answers are given beforehand. */
function road(answers: Answer[]) {
  const sent: Body[] = [];
  const waits: number[] = [];
  return {
    sent,
    waits,
    post: async (text: string, _: boolean, ms = Infinity): Promise<Answer> => {
      waits.push(ms);
      sent.push(JSON.parse(text) as Body);
      return answers.shift() ?? { kind: "again" };
    },
    beacon: () => false,
  };
}

test("what a page has left is sent as its own, in its launch and session and at its number", async () => {
  const forgotten: string[] = [];
  const way = road([saved, saved]);

  const done = await replay([left("one", forgotten), left("two", forgotten)], way, 1_000_000, 1000);

  assert.deepEqual(done, { saved: true, lost: false, rest: [] });
  assert.deepEqual(forgotten, ["one", "two"]);
  assert.deepEqual(way.sent[0], {
    left: "launch of one",
    session: "one",
    sequence: 4,
    activity: "a",
    cmi: { "cmi.location": "one" },
    exit: false,
  });
});

test("what the server will never take is forgotten and said", async () => {
  for (const kind of ["gone", "refused"] as const) {
    const forgotten: string[] = [];

    const done = await replay([left("one", forgotten), left("two", forgotten)], road([{ kind }, saved]), 1_000_000, 1000);

    assert.deepEqual(done, { saved: true, lost: true, rest: [] });
    assert.deepEqual(forgotten, ["one", "two"]);
  }
});

test("what cannot be sent now stays for the next time", async () => {
  const forgotten: string[] = [];
  const one = left("one", forgotten);

  const way = road([]);

  const done = await replay([one], way, 1_000_000, 300);

  assert.deepEqual(done, { saved: false, lost: false, rest: [one] });
  // No answer is waited for longer than the course waits.
  assert.ok(way.waits.every((ms) => ms > 0 && ms <= 300), String(way.waits));
  assert.deepEqual(forgotten, []);
});

test("content reads what is left still only where nothing was saved since", () => {
  const state = (session: string | null) => ({ cmi: { "cmi.location": "saved" }, session });
  const told = (session: string | null) => ({ states: { a: state(session) } }) as unknown as Boot;
  for (const [session, location] of [["one", "one"], ["two", "saved"], [null, "saved"]] as const) {
    const boot = told(session);

    overlay(boot, [left("one", [])]);

    assert.equal(boot.states?.["a"]?.cmi["cmi.location"], location);
  }
});
