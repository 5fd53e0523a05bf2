// What the two pages tell each other. Only what is shown depends on it: what content sets never does.

import type { Status } from "./outbox";
import type { Choices, Request } from "./path";

/** From the bridge to the shell. */
export interface State {
  homeroom: "state";
  status: Status;
  savedAt: number | null;
  current: string | null;
  /** How far each activity is: `done`, `passed`, `failed`, `begun` or `untouched`. */
  marks: Record<string, Mark>;
  choices: Choices;
  /** The course has ended; whether all of it is saved. */
  ended: { saved: boolean } | null;
  /** The last request was not allowed. */
  refused: boolean;
}

export type Mark = "done" | "passed" | "failed" | "begun" | "untouched";

/** From the shell to the bridge. */
export interface Ask {
  homeroom: "ask";
  request: Request;
  target?: string;
}

/** A message of the other page; undefined if it is none. */
export function read<Message extends State | Ask>(
  event: MessageEvent,
  origin: string,
  source: unknown,
  kind: Message["homeroom"],
): Message | undefined {
  if (event.origin !== origin || event.source !== source) return undefined;
  const said = event.data as Partial<Message> | null;
  return typeof said === "object" && said?.homeroom === kind ? (said as Message) : undefined;
}

/** How far an activity is, from its values. */
export function mark(cmi: Record<string, string>): Mark {
  const success = cmi["cmi.success_status"] ?? cmi["cmi.core.lesson_status"] ?? "";
  if (success === "passed" || success === "failed") return success;
  const completion = cmi["cmi.completion_status"] ?? cmi["cmi.core.lesson_status"] ?? "";
  if (completion === "completed" || completion === "browsed") return "done";
  if (completion === "incomplete") return "begun";
  const entry = cmi["cmi.entry"] ?? cmi["cmi.core.entry"] ?? "";
  return entry === "resume" ? "begun" : "untouched";
}
