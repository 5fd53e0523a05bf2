import assert from "node:assert/strict";
import { test } from "node:test";
import verdicts from "../../../models/tables/cmi_verdicts.json";
import refusedMore from "./refused_more.json";
import { refusal } from "../src/elements";
import { load12, load2004, prepare2004 } from "../src/engine";
import { facade, load } from "../src/facade";

const nothing = () => undefined;
const watch = { begun: nothing, set: nothing, commit: nothing, ending: nothing, ended: nothing, call: nothing };

/** An API whose session has begun, in which an entry of each collection is there. */
async function begun(standard: "1.2" | "2004", make: () => ReturnType<Awaited<ReturnType<typeof load12>>>, name: string) {
  const inner = make();
  if (standard === "1.2") load("1.2", inner, {});
  else prepare2004(inner as never, { id: "a", title: "A", type: "sco", href: "a.html" }, {}, {});
  const api = facade(standard, inner, {}, watch) as Record<string, (...v: unknown[]) => string>;
  const prefix = standard === "1.2" ? "LMS" : "";
  api[`${prefix}Initialize`]?.("");
  const [collection] = /^cmi\.(interactions|objectives)\.0\./.exec(name) ?? [];
  if (collection && !name.endsWith(".0.id")) api[`${prefix}SetValue`]?.(`${collection}id`, "an-id");
  if (collection && name.includes("objectives.0.id") && name !== "cmi.objectives.0.id") api[`${prefix}SetValue`]?.(`${collection}id`, "an-id");
  if (/correct_responses|learner_response|student_response/.test(name)) api[`${prefix}SetValue`]?.(`${collection}type`, "other");
  return (value: string) => [api[`${prefix}SetValue`]?.(name, value), Number(api[`${prefix}GetLastError`]?.())] as const;
}

test("the verdicts on every element are those of the server", () => {
  for (const standard of ["1.2", "2004"] as const) {
    for (const [name, errors] of Object.entries(verdicts[standard])) {
      verdicts.values.forEach((value, at) => assert.equal(refusal(standard, name, value), errors[at], `${standard} ${name} ${value}`));
    }
  }
});

test("what the table refuses, content is refused with its error, and what content is allowed, the table takes", async () => {
  const [make12, make2004] = [await load12(), await load2004()];
  let taken = 0;
  // What scorm-again refuses and the table takes: other forms of texts, what is no word of the standard, what would play at no speed.
  const found: Record<string, Record<string, string[]>> = { "1.2": {}, "2004": {} };
  for (const standard of ["1.2", "2004"] as const) {
    for (const [name, errors] of Object.entries(verdicts[standard])) {
      if (errors.every((error) => error === errors[0] && error !== 0)) {
        // Nothing can be set there at all.
        const [result, error] = (await begun(standard, standard === "1.2" ? make12 : () => make2004(), name))("x");
        assert.deepEqual([result, error], ["false", errors[0]], `${standard} ${name}`);
        continue;
      }
      for (const [at, value] of verdicts.values.entries()) {
        const [result, error] = (await begun(standard, standard === "1.2" ? make12 : () => make2004(), name))(value);
        const wanted = errors[at] ?? 0;
        if (wanted !== 0) assert.deepEqual([result, error], ["false", wanted], `${standard} ${name} ${value}`);
        if (result === "true") taken += 1;
        else if (wanted === 0) ((found[standard] ??= {})[name] ??= []).push(value);
      }
    }
  }
  for (const standard of ["1.2", "2004"] as const) {
    const known: Record<string, string[]> = refusedMore[standard];
    for (const name of new Set([...Object.keys(found[standard] ?? {}), ...Object.keys(known)])) {
      assert.deepEqual(found[standard]?.[name] ?? [], known[name] ?? [], `${standard} ${name}: refused by the player alone`);
    }
  }
  assert.ok(taken > 500, `${taken} are taken`);
});
