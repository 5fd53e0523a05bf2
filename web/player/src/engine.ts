// The standards' run-times, loaded when a course needs them: scorm-again behind our own names.

import { load, type Inner } from "./facade";
import type { Activity, Cmi } from "./launch";
import { maps, type Settings } from "./settings";

/** scorm-again's run-time of SCORM 2004, as far as the player uses it. */
export interface Inner2004 extends Inner {
  adl: {
    nav: { request: string; request_valid: { continue: string; previous: string } };
    configureSharedDataMaps(maps: object[]): void;
  };
  reset(): void;
  processNavigationRequest(request: string, target?: string): boolean;
  previewNavigationRequest(request: "continue" | "previous"): { outcome: "allowed" | "blocked" | "unknown" };
  serializeSequencingState(): string;
  deserializeSequencingState(text: string): boolean;
  restoreGlobalObjectiveSnapshot(snapshot: object): void;
  restoreSharedDataSnapshot(snapshot: Record<string, string>): void;
  captureSharedDataSnapshot(): Record<string, string>;
  getSequencingState(): {
    isInitialized: boolean;
    currentActivity: { id: string; isActive: boolean } | null;
    rootActivity: Node | null;
  };
}

/** An activity as scorm-again sees it. */
export interface Node {
  id: string;
  children: Node[];
  isActive: boolean;
  isSuspended: boolean;
  isHiddenFromChoice: boolean;
}

/** It sends nothing, logs nothing and decides no status: the outbox sends, the server decides. */
const QUIET = {
  autocommit: false,
  lmsCommitUrl: false,
  logLevel: 5,
  uninitializedGetLogLevel: 5,
  onLogMessage: () => undefined,
  mastery_override: false,
  autoCompleteLessonStatus: false,
  enableOfflineSupport: false,
};

/** Loads the run-time of SCORM 1.2; the result makes one for each session. */
export async function load12(): Promise<() => Inner> {
  const { Scorm12API } = await import("scorm-again/scorm12/min");
  return () => new Scorm12API({ ...QUIET });
}

/** Loads the run-time of SCORM 2004; the result makes one, with the activity tree if there is one. */
export async function load2004(): Promise<(sequencing?: Settings) => Inner2004> {
  const { Scorm2004API } = await import("scorm-again/scorm2004/min");
  return (sequencing) => new Scorm2004API({ ...QUIET, ...(sequencing ? { sequencing } : {}) });
}

/** Prepares a run-time of SCORM 2004 that knows no tree for a session of an activity. */
export function prepare2004(inner: Inner2004, activity: Activity, cmi: Cmi, shared: Record<string, string>): void {
  load("2004", inner, cmi);
  seed(inner, activity, cmi);
  inner.adl.configureSharedDataMaps(maps(activity));
  inner.restoreSharedDataSnapshot(shared);
}

/** Gives content the objectives that the manifest names.
 *
 *  Source: SCORM 2004 4th edition RTE 4.2.17 (objectives are initialized from the sequencing information). */
function seed(inner: Inner2004, activity: Activity, cmi: Cmi): void {
  const known = new Set<string>();
  let count = 0;
  for (const [name, value] of Object.entries(cmi)) {
    const number = /^cmi\.objectives\.(\d+)\.id$/.exec(name)?.[1];
    if (number === undefined) continue;
    known.add(value);
    count = Math.max(count, Number(number) + 1);
  }
  for (const { id } of activity.sequencing?.objectives ?? []) {
    if (!id || known.has(id)) continue;
    inner.setCMIValue(`cmi.objectives.${count}.id`, id);
    count += 1;
  }
}
