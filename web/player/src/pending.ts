// What is set and not yet acknowledged, and the commits that carry it.

import type { Call, Cmi } from "./launch";

/** What one activity has set. */
export interface Change {
  cmi: Cmi;
  /** Whether its content has said Finish or Terminate. */
  exit: boolean;
}

/** Everything that is not acknowledged. Later values take the place of earlier ones. */
export interface Pending {
  activities: Record<string, Change>;
  calls: Call[];
  final?: boolean;
  suspended?: string | null;
  sequencing?: string;
  globalObjectives?: Record<string, unknown>;
  sharedData?: Record<string, string>;
}

/** The most calls that wait for the next commit; the oldest give way. */
export const CALLS_MAX = 2000;

export function nothing(): Pending {
  return { activities: {}, calls: [] };
}

/** Whether there is nothing worth a commit but, perhaps, calls. */
export function isEmpty(pending: Pending): boolean {
  const { activities, calls: _, ...rest } = pending;
  return Object.keys(activities).length === 0 && Object.keys(rest).length === 0;
}

/** Both together: where they differ, `later` holds. */
export function merge(earlier: Pending, later: Pending): Pending {
  const activities: Record<string, Change> = {};
  for (const [id, change] of Object.entries(earlier.activities)) {
    activities[id] = { cmi: { ...change.cmi }, exit: change.exit };
  }
  for (const [id, change] of Object.entries(later.activities)) {
    activities[id] = { cmi: { ...activities[id]?.cmi, ...change.cmi }, exit: change.exit };
  }
  const calls = [...earlier.calls, ...later.calls].slice(-CALLS_MAX);
  const merged: Pending = { ...earlier, ...later, activities, calls };
  if (earlier.globalObjectives && later.globalObjectives) {
    merged.globalObjectives = { ...earlier.globalObjectives, ...later.globalObjectives };
  }
  if (earlier.sharedData && later.sharedData) {
    merged.sharedData = { ...earlier.sharedData, ...later.sharedData };
  }
  return merged;
}

/** The size of a text in UTF-8. */
export function bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Parts of `pending`, each small enough for one body where a single value is. Ends come last. */
export function parts(pending: Pending, bytesMax: number): Pending[] {
  if (bytes(JSON.stringify(pending)) <= bytesMax) return [pending];
  const found: Pending[] = [];
  let part = nothing();
  let size = 0;
  const room = (wanted: number) => {
    if (size > 0 && size + wanted > bytesMax) {
      found.push(part);
      part = nothing();
      size = 0;
    }
    size += wanted;
  };
  const overhead = 200;
  for (const [id, change] of Object.entries(pending.activities)) {
    for (const [name, value] of Object.entries(change.cmi)) {
      room(bytes(JSON.stringify([id, name, value])) + overhead);
      (part.activities[id] ??= { cmi: {}, exit: false }).cmi[name] = value;
    }
  }
  for (const call of pending.calls) {
    room(bytes(JSON.stringify(call)) + 1);
    part.calls.push(call);
  }
  const { activities, calls: _, ...rest } = pending;
  for (const [name, value] of Object.entries(rest)) {
    room(bytes(JSON.stringify([name, value])));
    Object.assign(part, { [name]: value });
  }
  for (const [id, change] of Object.entries(activities)) {
    if (!change.exit) continue;
    room(overhead);
    (part.activities[id] ??= { cmi: {}, exit: false }).exit = true;
  }
  found.push(part);
  return found;
}

/** Where a commit belongs. */
export interface Place {
  /** The page that has set it. */
  session: string;
  /** The number of the commit among those of its page. */
  sequence: number;
  /** Which part of the commit this is, of how many. */
  part?: number;
  parts?: number;
  /** The launch whose page has left it, if that page is gone: it was set after the commit of that number. */
  left?: string;
  /** Whether the page is going. What pages opened later say comes after it, in whatever order it arrives. */
  closing?: boolean;
}

/** The body of a commit. */
export function body(pending: Pending, { part, parts, closing, ...place }: Place): string {
  const { activities, calls, ...rest } = pending;
  const [first, ...more] = Object.entries(activities).map(([activity, { cmi, exit }]) => ({ activity, cmi, exit }));
  return JSON.stringify({
    ...place,
    ...((parts ?? 1) > 1 ? { part, parts } : {}),
    ...(closing ? { closing } : {}),
    ...first,
    ...(more.length > 0 ? { activities: more } : {}),
    ...rest,
    ...(calls.length > 0 ? { calls } : {}),
  });
}
