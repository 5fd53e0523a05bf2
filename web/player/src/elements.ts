// Which elements there are: the server's own table, so that nothing else of scorm-again's objects is reached
// by a name.

import names from "../../../models/tables/cmi.toml";

const known = { "1.2": new Set(names["1.2"]), "2004": new Set(names["2004"]) };

/** Whether content may ask about a name at all. What it may do with it, scorm-again decides. */
export function isElement(standard: "1.2" | "2004", name: string): boolean {
  const letters = ["n", "m"];
  const general = name.replace(/(?<=\.)\d+(?=\.|$)/g, () => letters.shift() ?? "x");
  const elements = known[standard];
  if (elements.has(general) || general === "cmi._version") return true;
  if (standard === "2004" && /^adl\.nav\.request_valid\.(choice|jump)\.\{target=[^}]+\}$/.test(name)) return true;
  const [, stem, keyword] = /^(.+)\._(children|count)$/.exec(general) ?? [];
  if (!stem) return false;
  const below = keyword === "count" ? new RegExp(`^${stem.replaceAll(".", "\\.")}\\.[nm]\\.`) : undefined;
  return [...elements].some((one) => (below ? below.test(one) : one.startsWith(`${stem}.`)));
}
