// Runs the unit tests and prints `passed: WHAT` or `failed: WHAT: WHY` for each: node test.mjs

import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { run } from "node:test";
import { fileURLToPath } from "node:url";

if (Number(process.versions.node.split(".")[0]) < 20) {
  console.log(`skipped: the player's unit tests: Node.js 20 is needed, here is ${process.version}`);
  process.exit(0);
}
const here = dirname(fileURLToPath(import.meta.url));
execFileSync(process.execPath, [join(here, "build.mjs"), "--tests"], { stdio: "inherit" });
const folder = join(here, "build/tests");
const files = readdirSync(folder).filter((name) => name.endsWith(".test.mjs")).map((name) => join(folder, name));

const isTest = ({ name, details }) => details?.type !== "suite" && !name.endsWith(".mjs");
const results = run({ files, timeout: 30_000, forceExit: true });
results.on("test:pass", (test) => {
  if (isTest(test)) console.log(`passed: ${test.name}`);
});
results.on("test:fail", (test) => {
  const why = String(test.details.error?.cause?.message ?? test.details.error?.message ?? "").split("\n")[0];
  console.log(`failed: ${test.name}: ${why}`);
  process.exitCode = 1;
});
results.resume();
