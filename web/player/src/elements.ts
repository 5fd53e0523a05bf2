// Which elements there are: the server's own table, so that nothing else of scorm-again's objects is reached
// by a name.

import types from "../../../models/tables/cmi.toml";

type Standard = "1.2" | "2004";

const known = { "1.2": new Map(Object.entries(types["1.2"])), "2004": new Map(Object.entries(types["2004"])) };

/** A name with letters for its numbers, as the table has it. */
function generalized(name: string): string {
  const letters = ["n", "m"];
  return name.replace(/(?<=\.)\d+(?=\.|$)/g, () => letters.shift() ?? "x");
}

/** Whether an element is a text, which may be empty. */
export function isText(standard: Standard, name: string): boolean {
  return known[standard].get(generalized(name)) === "text";
}

/** Whether content may ask about a name at all. What it may do with it, scorm-again decides. */
export function isElement(standard: Standard, name: string): boolean {
  const general = generalized(name);
  const elements = known[standard];
  if (elements.has(general) || general === "cmi._version") return true;
  if (standard === "2004" && /^adl\.nav\.request_valid\.(choice|jump)\.\{target=[^}]+\}$/.test(name)) return true;
  const [, stem, keyword] = /^(.+)\._(children|count)$/.exec(general) ?? [];
  if (!stem) return false;
  const below = keyword === "count" ? new RegExp(`^${stem.replaceAll(".", "\\.")}\\.[nm]\\.`) : undefined;
  return [...elements.keys()].some((one) => (below ? below.test(one) : one.startsWith(`${stem}.`)));
}
