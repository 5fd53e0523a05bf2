// Which elements there are and what they take: the server's own table, so that content is refused here what the
// server would leave out, and nothing else of scorm-again's objects is reached by a name.

import table from "../../../models/tables/cmi.toml";
import { bytes } from "./pending";

type Standard = "1.2" | "2004";

type Element = (typeof table)["1.2"]["elements"][string];

const known = {
  "1.2": new Map(Object.entries(table["1.2"].elements)),
  "2004": new Map(Object.entries(table["2004"].elements)),
};

/** The most bytes of a number. */
const NUMBER_BYTES_MAX = 40;

/** A name with letters for its numbers, as the table has it. */
function generalized(name: string): string {
  const letters = ["n", "m"];
  return name.replace(/(?<=\.)\d+(?=\.|$)/g, () => letters.shift() ?? "x");
}

/** Whether an element is a text, which may be empty. */
export function isText(standard: Standard, name: string): boolean {
  return known[standard].get(generalized(name))?.type === "text";
}

/** The error with which the table refuses a value that content sets; 0 if it takes it. */
export function refusal(standard: Standard, name: string, value: string): number {
  const { errors } = table[standard];
  if (/\._(children|count)$/.test(name)) return errors.keyword;
  const element = known[standard].get(generalized(name));
  if (!element) return errors.unknown;
  if (element.access === "r") return errors.read_only;
  const fault = misfit(standard, element, value);
  return fault ? errors[fault] : 0;
}

/** A value as scorm-again takes it: it knows fewer forms of numbers than there are. */
export function plain(standard: Standard, name: string, value: string): string {
  const type = known[standard].get(generalized(name))?.type;
  const number = type === "decimal" ? decimal(value) : type === "integer" ? integer(value) : undefined;
  return number === undefined || /^-?\d+(\.\d+)?$/.test(value) || Math.abs(number) >= 1e21 ? value : String(number);
}

/** Whether an element is a number that content sets and never reads. scorm-again has ranges for these that the
 *  standard has not. */
export function isUnread(standard: Standard, name: string): boolean {
  const { type, access } = known[standard].get(generalized(name)) ?? {};
  return access === "w" && (type === "decimal" || type === "result");
}

/** Whether the table has an element of this name. */
export function isInTable(standard: Standard, name: string): boolean {
  return known[standard].has(generalized(name));
}

/** What is wrong with a value of an element. */
function misfit(standard: Standard, element: Element, value: string): "type" | "range" | undefined {
  const { type, range, values = [] } = element;
  const isOld = standard === "1.2";
  const inRange = (number: number | undefined) => {
    if (number === undefined) return "type";
    return range && (number < range[0] || number > range[1]) ? "range" : undefined;
  };
  if (type === "decimal") return isOld && value === "" ? undefined : inRange(decimal(value));
  if (type === "integer") return inRange(integer(value));
  return fits(isOld, element, value, values) ? undefined : "type";
}

function fits(isOld: boolean, { type, access }: Element, value: string, values: string[]): boolean {
  switch (type) {
    case "identifier":
      return value.trim() !== "";
    case "vocabulary":
      // Real courses also set `not attempted` (SCORM 1.2) and an empty text (write-only elements); both are taken.
      return (value === "" && access === "w") || values.includes(value) || (isOld && value === "not attempted");
    case "timespan":
      return !value.startsWith("P") && isDuration(value.trim());
    case "time":
      return isDuration(value.trim());
    case "duration":
      return value.startsWith("P") && isDuration(value.trim());
    case "timestamp":
      return /^\d/.test(value) && bytes(value) >= 4 && bytes(value) <= 40;
    case "result":
      return decimal(value) !== undefined || [...values, "wrong", "incorrect"].includes(value);
    default:
      return true;
  }
}

function decimal(text: string): number | undefined {
  const isOne = bytes(text) <= NUMBER_BYTES_MAX && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim());
  return isOne && Number.isFinite(Number(text)) ? Number(text) : undefined;
}

function integer(text: string): number | undefined {
  const number = /^[+-]?\d+$/.test(text.trim()) ? Number(text) : NaN;
  return number >= -(2 ** 31) && number < 2 ** 31 ? number : undefined;
}

const WHOLE = "\\d{1,9}(?:\\.(?:0?|00\\d*))?";
const unit = (name: string) => `(?:${WHOLE}${name})?`;
const ISO = new RegExp(
  `^P(?=.)${["Y", "M", "W", "D"].map(unit).join("")}(?:T(?=.)${unit("H")}${unit("M")}(?:\\d{1,9}(?:\\.\\d*)?S)?)?$`,
);
const CLOCK = /^\d{1,6}:\d{1,2}:\d{1,9}(?:\.\d*)?$/;

/** Whether a text is a duration of either standard, as the server reads it. */
function isDuration(text: string): boolean {
  return CLOCK.test(text) || ISO.test(text);
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
