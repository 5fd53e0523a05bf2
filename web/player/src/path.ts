// The way through a course: what is delivered first, and what follows when it is left.

import type { Inner2004 } from "./engine";
import { load, type Inner } from "./facade";
import { leaves, type Activity, type Boot, type Cmi } from "./launch";
import type { Pending } from "./pending";
import { isMet } from "./prerequisites";

/** What a learner or a SCO asks for. */
export type Request = "continue" | "previous" | "choice" | "exit" | "exitAll" | "suspendAll";

/** What follows. Neither: the learner chooses. */
export interface Step {
  deliver?: string;
  /** The course ends; `suspended` is where it goes on at the next launch. */
  end?: { suspended: string | null };
}

/** What the learner may do now. */
export interface Choices {
  next: boolean;
  previous: boolean;
  /** Activities that cannot be chosen. */
  closed: string[];
  /** Activities that are not shown. */
  hidden: string[];
}

/** A course on its way. */
export interface Path {
  /** What is delivered first. */
  begin(): Step;
  /** A fresh run-time for the activity that is delivered now; undefined where it needs none. */
  session(activity: Activity, cmi: Cmi): Inner | undefined;
  /** Takes note of what the learner asks, before content is told to go. */
  intend(request: Request, target?: string): void;
  /** Content is about to end its session: its own wish is read. */
  ending(): void;
  /** What follows, after content has gone or has ended its session. */
  step(ownAccord: boolean): Step;
  /** What may be asked now; `status` gives the status of an activity as SCORM 1.2 names it. */
  choices(status: (id: string) => string): Choices;
  /** Whether a request of the learner would lead anywhere, asked before content is told to go. */
  allows(request: Request, target?: string): boolean;
  /** What the next launch needs. */
  state(): Pick<Pending, "sequencing" | "globalObjectives" | "sharedData">;
}

/** The request in a value of `adl.nav.request`. */
export function readRequest(text: string): { request: Request; target?: string } | undefined {
  const aimed = /^\{target=(.+)\}(choice|jump)$/.exec(text);
  if (aimed?.[1]) return { request: "choice", target: aimed[1] };
  if (text === "continue" || text === "previous" || text === "exit" || text === "suspendAll") return { request: text };
  if (text === "exitAll" || text === "abandonAll") return { request: "exitAll" };
  return text === "abandon" ? { request: "exit" } : undefined;
}

/** A path without rules: activities follow in the order of the course and each may be chosen. So are
 *  SCORM 1.2, media, links and courses of a single SCO. */
export class Open implements Path {
  private readonly all: Activity[];
  private at: string | undefined;
  private wish: { request: Request; target?: string } | undefined;
  private inner: Inner | undefined;

  /** `make`: the run-time of the standard, or undefined if content has none. */
  constructor(
    private readonly boot: Boot,
    private readonly make: ((activity: Activity, cmi: Cmi) => Inner | undefined) | undefined,
  ) {
    this.all = leaves(boot.tree);
  }

  begin(): Step {
    const wanted = this.boot.start ?? this.boot.suspended;
    const first = this.all.find((one) => one.id === wanted) ?? this.all[0];
    this.at = first?.id;
    return first ? { deliver: first.id } : {};
  }

  session(activity: Activity, cmi: Cmi): Inner | undefined {
    this.at = activity.id;
    this.wish = undefined;
    this.inner = this.make?.(activity, cmi);
    return this.inner;
  }

  intend(request: Request, target?: string): void {
    this.wish = { request, ...(target === undefined ? {} : { target }) };
  }

  ending(): void {
    const said = (this.inner as Partial<Inner2004> | undefined)?.adl?.nav.request;
    if (said) this.wish = readRequest(said) ?? this.wish;
  }

  step(ownAccord: boolean): Step {
    const { wish } = this;
    this.wish = undefined;
    const here = this.all.findIndex((one) => one.id === this.at);
    const deliver = (activity: Activity | undefined): Step => {
      if (!activity) return {};
      this.at = activity.id;
      return { deliver: activity.id };
    };
    switch (wish?.request) {
      case "continue":
        return here + 1 < this.all.length ? deliver(this.all[here + 1]) : { end: { suspended: null } };
      case "previous":
        return deliver(this.all[here - 1]);
      case "choice":
        return deliver(this.all.find((one) => one.id === wish.target));
      case "suspendAll":
        return { end: { suspended: this.at ?? null } };
      case "exitAll":
        return { end: { suspended: null } };
      default:
        // A single SCO that has ended has ended the course.
        return ownAccord && this.all.length === 1 ? { end: { suspended: null } } : {};
    }
  }

  choices(status: (id: string) => string): Choices {
    const here = this.all.findIndex((one) => one.id === this.at);
    const waits = ({ prerequisites }: Activity) => !!prerequisites && !isMet(prerequisites, status);
    const closed = this.all.filter((one) => one.id !== this.at && waits(one)).map((one) => one.id);
    const next = this.all[here + 1];
    return { next: next !== undefined && !closed.includes(next.id), previous: here > 0, closed, hidden: [] };
  }

  allows(): boolean {
    return true;
  }

  state(): Pick<Pending, "sequencing" | "globalObjectives" | "sharedData"> {
    const inner = this.inner as Partial<Inner2004> | undefined;
    const sharedData = inner?.captureSharedDataSnapshot?.();
    return sharedData && Object.keys(sharedData).length > 0 ? { sharedData } : {};
  }
}

/** The path of SCORM 1.2. */
export function path12(boot: Boot, make: () => Inner): Path {
  return new Open(boot, (activity, cmi) => {
    if (activity.type !== "sco" && activity.type !== "asset") return undefined;
    const inner = make();
    load("1.2", inner, cmi);
    return inner;
  });
}
