// What earlier pages could not say, said before content begins.

import type { Boot } from "./launch";
import type { Left } from "./journal";
import type { Road } from "./outbox";
import { body, parts } from "./pending";

/** Milliseconds between attempts while the server is not reached: doubled from the first to the last. */
const RETRY = { first: 250, last: 2000 };

/** What has come of what was left. */
export interface Replayed {
  /** Something was saved: what the server says about the launch is another thing now. */
  saved: boolean;
  /** Something will never be saved: its launch has ended for good. */
  lost: boolean;
  /** What is left still: the server was not reached. */
  rest: Left[];
}

/** Sends what was left as its own page's, and forgets what was saved or never will be. Values that a later page has
 *  set stay: the server knows the order. Ends after `ms` with what it has. */
export async function replay(left: readonly Left[], road: Road, bytesMax: number, ms: number): Promise<Replayed> {
  const until = Date.now() + ms;
  const done: Replayed = { saved: false, lost: false, rest: [] };
  for (const one of left) {
    const kind = await send(one, road, bytesMax, until);
    if (kind === "again") {
      done.rest.push(one);
      continue;
    }
    if (kind === "saved") done.saved = true;
    else done.lost = true;
    one.forget();
  }
  return done;
}

async function send(one: Left, road: Road, bytesMax: number, until: number): Promise<"saved" | "again" | "gone"> {
  const { launch, session, sequence } = one;
  let wait = RETRY.first;
  for (const part of parts({ ...one.pending, calls: [] }, bytesMax)) {
    const text = body(part, { session, sequence, left: launch });
    for (;;) {
      const rest = until - Date.now();
      if (rest <= 0) return "again";
      const answer = await road.post(text, false, rest);
      if (answer.kind === "gone" || answer.kind === "refused") return "gone";
      if (answer.kind === "saved") break;
      const pause = Math.min(answer.afterMs ?? wait, Math.max(0, until - Date.now()));
      await new Promise((resume) => setTimeout(resume, pause));
      wait = Math.min(wait * 2, RETRY.last);
    }
  }
  return "saved";
}

/** Lets content read what is left still, where nothing was saved of an activity since. */
export function overlay(told: Boot, rest: readonly Left[]): void {
  for (const { session, pending } of rest) {
    for (const [id, { cmi }] of Object.entries(pending.activities)) {
      const state = told.states?.[id];
      if (state && session !== "" && state.session === session) Object.assign(state.cmi, cmi);
    }
  }
}
