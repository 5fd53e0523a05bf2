import assert from "node:assert/strict";
import { test } from "node:test";
import { load2004 } from "../src/engine";
import type { Boot } from "../src/launch";
import { Sequenced } from "../src/sequenced";

/** A course of two activities, of which the first has these limits. */
function course(limits: object): Boot {
  const leaf = (id: string, sequencing: object) => ({ id, title: id, type: "sco", href: `${id}.html`, children: [], sequencing });
  const children = [leaf("a", { limits }), leaf("b", {})];
  const tree = { id: "o", title: "O", type: "aggregation", children, sequencing: { controlMode: { flow: true, choice: true } } };
  return { tree, start: "a", states: {} } as unknown as Boot;
}

test("a limit of time closes no activity: content gets it as the time that is allowed", async () => {
  const make = await load2004();
  for (const limits of [{}, { attemptAbsoluteDurationLimit: "PT1H" }]) {
    const path = new Sequenced(course(limits), make);

    assert.deepEqual(path.begin(), { deliver: "a" }, JSON.stringify(limits));
    assert.ok(path.allows("choice", "b"));
  }
});
