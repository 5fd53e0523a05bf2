// Builds the pages into web/dist: node build.mjs [--tests | --verdicts]
// Only files that differ are written, so that Cargo sees no change where there is none.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");

/** Gives scripts the server's table, by standard: the elements by their names, and the numbers of errors. */
const elements = {
  name: "elements",
  setup: ({ onLoad }) =>
    onLoad({ filter: /cmi\.toml$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const [, errors12, old, errors2004, recent] = text.split(/^\[scorm(?:12|2004)(?:\.errors)?\]$/m);
      if (!recent) throw new Error(`${path} has another form than expected`);
      const rows = (text) => [...text.matchAll(/^ {2}(\{ name = .*\}),$/gm)].map(([, row]) => asJson(row));
      const byName = (text) =>
        Object.fromEntries(rows(text).map(({ name, type, access, range, values }) => [name, { type, access, range, values }]));
      const numbers = (text) =>
        Object.fromEntries([...text.matchAll(/^(\w+) = (\d+)$/gm)].map(([, name, number]) => [name, Number(number)]));
      const found = {
        "1.2": { errors: numbers(errors12), elements: byName(old) },
        "2004": { errors: numbers(errors2004), elements: byName(recent) },
      };
      return { contents: JSON.stringify(found), loader: "json", watchFiles: [path] };
    }),
};

/** Reads an inline table of TOML whose values are texts, numbers and lists of these. */
function asJson(row) {
  return JSON.parse(row.replace(/("(?:[^"\\]|\\.)*")|(\w+) = /g, (_, text, name) => text ?? `"${name}": `));
}

/** Values on which server and browser are asked for their verdicts. */
const asked = [
  "", " ", "x", "a b", "ü", "passed", "failed", "completed", "incomplete", "browsed", "not attempted", "unknown", "true",
  "false", "correct", "wrong", "incorrect", "neutral", "unanticipated", "choice", "true-false", "long-fill-in", "other", "suspend",
  "normal", "time-out", "logout", "credit", "ab-initio", "_none_", "continue,no message", "en-US", "urn:a:b", "0", "1", "2", "-1",
  "-1.01", "1.01", "0.5", "-0.5", "50", "100", "100.5", "101", "-101", "+5", ".5", "5.", ".", "1e1", "1E-1", "1e400", " 5 ",
  "1,5", "0x10", "NaN", "Infinity", "2147483647", "2147483648", `0.${"1".repeat(39)}`, "00:01:00", "0000:00:00.00", "1:2:3", "00:00",
  "10:00:61.123", "1000000:00:00", "00:01:00 ", "P", "PT", "PT1M", "PT1H30M", "P1DT", "P1Y2M3DT4H5M6.7S", "PT1.5H", "P1.00D", "P1W",
  "PT1S1M", " PT1M", "2026", "202", "2026-01-01", "2026-01-01T10:00:00.00Z", "on 2026-01-01",
];

const writtenVerdicts = join(here, "../models/tables/cmi_verdicts.json");

/** Writes down the verdicts on these for every element. */
async function buildVerdicts() {
  await writeFile(writtenVerdicts, await verdicts());
}

async function verdicts() {
  const file = join(here, "build/verdicts.mjs");
  const stdin = {
    contents: `import table from "../../../models/tables/cmi.toml";\nimport { refusal } from "./elements";\nexport { table, refusal };`,
    resolveDir: join(here, "player/src"),
  };
  await build({ stdin, outfile: file, bundle: true, platform: "node", format: "esm", plugins: [elements], logLevel: "warning" });
  const { table, refusal } = await import(file);
  const of = (standard) => {
    const names = Object.keys(table[standard].elements).map((name) => name.replace(/(?<=\.)n(?=\.)/, "0").replace(/(?<=\.)m(?=\.)/, "0"));
    const more = ["cmi.nothing", "cmi.objectives._count", "cmi.interactions._children", standard === "1.2" ? "cmi.location" : "cmi.core.exit"];
    const rows = [...names, ...more].map((name) => `    ${JSON.stringify(name)}: ${JSON.stringify(asked.map((value) => refusal(standard, name, value)))}`);
    return `  "${standard}": {\n${rows.join(",\n")}\n  }`;
  };
  return `{\n  "values": ${JSON.stringify(asked)},\n${of("1.2")},\n${of("2004")}\n}\n`;
}

/** Bundles the unit tests, for Node's own test runner. */
async function buildTests() {
  if ((await verdicts()) !== (await readFile(writtenVerdicts, "utf8"))) {
    throw new Error("models/tables/cmi_verdicts.json is of other elements or values: run node build.mjs --verdicts, and see what differs");
  }
  const folder = join(here, "player/tests");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".test.ts"));
  await build({
    entryPoints: names.map((name) => join(folder, name)),
    outdir: join(here, "build/tests"),
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    outExtension: { ".js": ".mjs" },
    plugins: [elements],
    logLevel: "warning",
  });
}

/** Bundles the pages; names carry a hash of what is in them. */
async function buildPages() {
  const result = await build({
    entryPoints: ["shell.ts", "bridge.ts"].map((name) => join(here, "player/src", name)),
    outdir: "/assets",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: ["chrome100", "firefox100", "safari15.4"],
    minify: true,
    legalComments: "none",
    metafile: true,
    write: false,
    plugins: [elements],
    logLevel: "warning",
  });
  const files = new Map(
    result.outputFiles.map((file) => [`assets/${basename(file.path)}`, file.contents]),
  );
  const icon = await readFile(join(here, "player/pages/icon.svg"));
  const iconName = `assets/icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`;
  files.set(iconName, icon);
  for (const [output, { entryPoint, cssBundle }] of Object.entries(result.metafile.outputs)) {
    if (!entryPoint || !/\/(shell|bridge)\.ts$/.test(entryPoint)) continue;
    const name = basename(entryPoint, ".ts");
    const page = await readFile(join(here, "player/pages", `${name}.html`), "utf8");
    const html = page
      .replace("{script}", `/play/assets/${basename(output)}`)
      .replace("{icon}", `/play/${iconName}`)
      .replace("{style}", cssBundle ? `/play/assets/${basename(cssBundle)}` : "");
    files.set(`${name}.html`, Buffer.from(html));
  }
  // What the program is built with is compared with it.
  files.set(".cmi.toml", await readFile(join(here, "../models/tables/cmi.toml")));
  const licence = await readFile(join(here, "node_modules/scorm-again/LICENSE"));
  files.set("assets/scorm-again-LICENSE.txt", licence);
  await put(files);
}

/** Makes web/dist hold these files and no others. */
async function put(files) {
  await mkdir(join(dist, "assets"), { recursive: true });
  const old = [
    ...(await readdir(dist)).filter((name) => name.endsWith(".html")),
    ...(await readdir(join(dist, "assets"))).map((name) => `assets/${name}`),
  ];
  for (const name of old) if (!files.has(name)) await rm(join(dist, name));
  for (const [name, bytes] of files) {
    const path = join(dist, name);
    const found = await readFile(path).catch(() => null);
    if (!found || Buffer.compare(found, bytes) !== 0) await writeFile(path, bytes);
  }
  console.error(`web/dist: ${files.size} files`);
}

const what = { "--tests": buildTests, "--verdicts": buildVerdicts }[process.argv[2] ?? ""];
await (what ?? buildPages)();
