// Builds the pages into web/dist: node build.mjs [--tests]
// Only files that differ are written, so that Cargo sees no change where there is none.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");

/** Gives scripts the elements in the server's table, by standard: the type of each by its name. */
const elements = {
  name: "elements",
  setup: ({ onLoad }) =>
    onLoad({ filter: /cmi\.toml$/ }, async ({ path }) => {
      const [, old, recent] = (await readFile(path, "utf8")).split(/^\[scorm(?:12|2004)\]$/m);
      const row = /^ {2}\{ name = "([^"]+)", type = "([^"]+)"/gm;
      const types = (text) => Object.fromEntries([...text.matchAll(row)].map(([, name, type]) => [name, type]));
      if (!old || !recent) throw new Error(`${path} has another form than expected`);
      const found = { "1.2": types(old), "2004": types(recent) };
      return { contents: JSON.stringify(found), loader: "json", watchFiles: [path] };
    }),
};

/** Bundles the unit tests, for Node's own test runner. */
async function buildTests() {
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

await (process.argv.includes("--tests") ? buildTests() : buildPages());
