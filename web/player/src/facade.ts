// The API object that content finds: our own, around scorm-again's. It tells us what content sets and
// calls, and never throws into content.

import { isElement, isInTable, isText, isUnread, plain, refusal } from "./elements";
import type { Call, Cmi } from "./launch";
import { bytes } from "./pending";

/** The part of scorm-again's objects that the player uses. */
export interface Inner {
  lmsInitialize(parameter?: string): string;
  lmsFinish(parameter?: string): string;
  lmsGetValue(element: string): string;
  lmsSetValue(element: string, value: unknown): string;
  lmsCommit(parameter?: string): string;
  lmsGetLastError(): string;
  lmsGetErrorString(code: string | number): string;
  lmsGetDiagnostic(code: string | number): string;
  setCMIValue(element: string, value: unknown): string;
  isInitialized(): boolean;
  isTerminated(): boolean;
}

/** What content does, told to the player. */
export interface Watch {
  begun(): void;
  set(element: string, value: string): void;
  commit(): void;
  /** Right before content's session ends. */
  ending(): void;
  ended(): void;
  call(call: Call): void;
}

/** The functions of either standard. */
export type Api = Record<string, (...values: unknown[]) => string>;

/** The longest argument or result in a trace, in characters. */
const TRACED_MAX = 250;

/** Values longer than the standards' limits: kept whole, since content that cannot suspend cannot resume. */
const TOLERANT = new Set(["cmi.suspend_data", "cmi.comments", "cmi.location", "cmi.core.lesson_location"]);

/** The most bytes that such a value may have: what the server keeps. */
const TOLERATED_BYTES_MAX = 512 * 1024;

/** A name that is no element of either standard: asked in the place of others that are none, but are
 *  members of scorm-again's objects. */
const NO_ELEMENT = "cmi.no_element";

/** Makes the API object of a session. `stored`: what the SCO has set before. */
export function facade(standard: "1.2" | "2004", inner: Inner, stored: Cmi, watch: Watch): Api {
  const long = new Map<string, string>();
  const emptied = new Set<string>();
  for (const [name, value] of Object.entries(stored)) {
    if (TOLERANT.has(name) && value.length > limit(standard, name)) long.set(name, value);
  }
  /** The error of the last call, where it is not scorm-again's. */
  let own: string | undefined;
  const lastError = () => own ?? inner.lmsGetLastError();
  const prefix = standard === "1.2" ? "LMS" : "";
  const text = (value: unknown) => (value === undefined || value === null ? "" : String(value));
  const traced = (name: string, work: (...values: string[]) => string, failed: string) => {
    return (...values: unknown[]): string => {
      const given = values.map(text);
      let result = failed;
      own = undefined;
      try {
        result = text(work(...given));
      } catch {
        // Whatever goes wrong in here is no reason to stop content.
      }
      const clip = (value: string | undefined) => {
        const whole = value ?? "";
        return whole.length > TRACED_MAX ? `${whole.slice(0, TRACED_MAX)}… (${whole.length})` : whole;
      };
      const code = Number(lastError()) || 0;
      watch.call([Date.now(), prefix + name, clip(given[0]), clip(given[1]), clip(result), code]);
      return result;
    };
  };

  const initialize = (parameter = "") => {
    const result = inner.lmsInitialize(parameter);
    if (result === "true") watch.begun();
    return result;
  };
  const terminate = (parameter = "") => {
    const isOpen = parameter === "" && inner.isInitialized();
    if (isOpen) watch.ending();
    const result = inner.lmsFinish(parameter);
    if (isOpen && result === "true") watch.ended();
    return result;
  };
  const asked = (element: string) => (element === "" || isElement(standard, element) ? element : NO_ELEMENT);
  const getValue = (element = "") => {
    const found = inner.lmsGetValue(asked(element));
    if (!inner.isInitialized()) return found;
    return emptied.has(element) ? "" : (long.get(element) ?? found);
  };
  const setValue = (element = "", given = "") => {
    const value = plain(standard, element, given);
    if (standard === "1.2" && inner.isTerminated()) {
      // scorm-again would take it, and the session would be open again for the server.
      own = "301";
      return "false";
    }
    const refused = inner.isInitialized() && isInTable(standard, element) ? refusal(standard, element, value) : 0;
    if (refused !== 0) {
      own = String(refused);
      return "false";
    }
    const isLong = TOLERANT.has(element) && value.length > limit(standard, element) && bytes(value) <= TOLERATED_BYTES_MAX;
    const result = inner.lmsSetValue(asked(element), isLong ? value.slice(0, limit(standard, element)) : value);
    if (result !== "true") {
      // Content clears a text with an empty one, which scorm-again refuses in SCORM 2004.
      const isEmptied = value === "" && inner.lmsGetLastError() === "406" && isText(standard, element);
      const isKept = isUnread(standard, element) && inner.lmsGetLastError() === "405";
      if (!isEmptied && !isKept) return result;
      own = "0";
      if (isEmptied) emptied.add(element);
      watch.set(element, value);
      return "true";
    }
    emptied.delete(element);
    if (isLong) long.set(element, value);
    else long.delete(element);
    watch.set(element, value);
    return result;
  };
  const commit = (parameter = "") => {
    const result = inner.lmsCommit(parameter);
    if (result === "true") watch.commit();
    return result;
  };

  return {
    [`${prefix}Initialize`]: traced("Initialize", initialize, "false"),
    [standard === "1.2" ? "LMSFinish" : "Terminate"]: traced(standard === "1.2" ? "Finish" : "Terminate", terminate, "false"),
    [`${prefix}GetValue`]: traced("GetValue", getValue, ""),
    [`${prefix}SetValue`]: traced("SetValue", setValue, "false"),
    [`${prefix}Commit`]: traced("Commit", commit, "false"),
    // These ask about the last call and are not calls of their own.
    [`${prefix}GetLastError`]: lastError,
    [`${prefix}GetErrorString`]: (code) => inner.lmsGetErrorString(text(code)),
    [`${prefix}GetDiagnostic`]: (code) => inner.lmsGetDiagnostic(text(code)),
  };
}

/** The longest value that scorm-again takes. */
function limit(standard: "1.2" | "2004", element: string): number {
  if (element === "cmi.suspend_data") return 64_000;
  if (element === "cmi.comments") return 4096;
  return standard === "1.2" ? 255 : 1000;
}

/** Puts what was saved into a new session, before content begins it. An array's elements come in the
 *  order of their numbers, each with its id first, since the others depend on it. */
export function load(standard: "1.2" | "2004", inner: Inner, cmi: Cmi): void {
  const rank = (name: string) => (name.endsWith(".id") ? 0 : name.endsWith(".type") ? 1 : 2);
  const parts = (name: string) => name.split(".").map((part) => (/^\d+$/.test(part) ? part.padStart(8, "0") : part));
  const stem = (name: string) => parts(name).slice(0, -1).join(".");
  const names = Object.keys(cmi).sort((one, other) => {
    const [a, b] = [parts(one).slice(0, 3).join("."), parts(other).slice(0, 3).join(".")];
    if (a !== b) return a < b ? -1 : 1;
    const depth = parts(one).length - parts(other).length;
    if (depth !== 0) return depth;
    if (stem(one) !== stem(other)) return stem(one) < stem(other) ? -1 : 1;
    return rank(one) - rank(other) || (one < other ? -1 : 1);
  });
  for (const name of names) {
    if (/\._(count|children|version)$/.test(name) || /\.(exit|session_time)$/.test(name)) continue;
    const value = cmi[name] ?? "";
    if (value === "" && !/\.entry$/.test(name)) continue;
    try {
      inner.setCMIValue(name, TOLERANT.has(name) ? value.slice(0, limit(standard, name)) : value);
    } catch {
      // A value that an older version took and this one does not: content goes on without it.
    }
  }
}
