import assert from "node:assert/strict";
import { test } from "node:test";
import { whole, type Row } from "../src/journal";

const row = (session: string, piece: number, pieces: number, text: string): Row => ({
  registration: "r",
  launch: "l",
  session,
  piece,
  pieces,
  sequence: 7,
  at: 9,
  text,
});

test("what a page has left is read from its pieces, and what lacks one is nothing", () => {
  const pending = { activities: { a: { cmi: { "cmi.suspend_data": "x".repeat(40) }, exit: false } }, calls: [] };
  const text = JSON.stringify(pending);
  const [head, tail] = [text.slice(0, 30), text.slice(30)];

  const found = whole([row("one", 0, 1, text), row("three", 0, 2, head), row("two", 0, 2, head), row("two", 1, 2, tail)]);

  const of = (session: string) => ({ launch: "l", session, sequence: 7, at: 9, pending });
  assert.deepEqual(found, [of("one"), of("two")]);
});
