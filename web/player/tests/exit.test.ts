import assert from "node:assert/strict";
import { test } from "node:test";

import { exitOf } from "../src/exit";

const HERE = "https://learn.example.org";

test("a launch is left as it was asked for", () => {
  for (const [boot, exit] of [
    [{}, { to: "message" }],
    [{ exit: "message" }, { to: "message" }],
    [{ exit: "closer" }, { to: "close" }],
    [{ exit: "blank" }, { to: "blank" }],
    [{ exitUrl: "https://lms.example.org/" }, { to: "address", url: "https://lms.example.org/" }],
    [{ exitUrl: "/done" }, { to: "address", url: `${HERE}/done` }],
    [{ exitUrl: " javascript:alert(1)" }, { to: "message" }],
    [{ exitUrl: "http://" }, { to: "message" }],
  ] as const) {
    assert.deepEqual(exitOf(boot, HERE), exit, JSON.stringify(boot));
  }
});
