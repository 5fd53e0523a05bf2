import assert from "node:assert/strict";
import { test } from "node:test";
import { isMet } from "../src/prerequisites";

test("prerequisites are met by the status of other activities", () => {
  const statuses: Record<string, string> = { a: "passed", b: "completed", c: "failed", d: "incomplete" };
  const rows: [string, boolean][] = [
    ["a", true],
    ["c", false],
    ["unknown", false],
    ["a&b", true],
    ["a & c", false],
    ["a|c", true],
    ["c|d", false],
    ["~c", true],
    ["~(a|c)", false],
    ["a&(c|b)", true],
    ["c=failed", true],
    ['c="F"', true],
    ["d<>passed", true],
    ["2*{a,b,c}", true],
    ["3*{a,b,c}", false],
    ["", true],
    ["a&", true],
    ["(c", true],
    ["c c", true],
  ];
  for (const [expression, met] of rows) {
    assert.equal(isMet(expression, (id) => statuses[id] ?? "not attempted"), met, expression);
  }
});
