// Carries what was set to the server: soon after a burst, at intervals, and at once when the page goes.

import type { Journal } from "./journal";
import type { Call } from "./launch";
import { body, bytes, CALLS_MAX, isEmpty, merge, nothing, parts, type Pending } from "./pending";

/** What came of a commit. */
export type Answer =
  /** `sequence`: the number up to which all of the session is saved; `superseded`: a later session's values stay. */
  | { kind: "saved"; at: number; sequence: number; superseded: boolean }
  | { kind: "again"; afterMs?: number }
  | { kind: "refused" }
  | { kind: "gone" };

/** The ways to the server. */
export interface Road {
  /** Posts a body and waits for the answer, at most `ms`. `keepalive`: the request outlives the page. */
  post(body: string, keepalive: boolean, ms?: number): Promise<Answer>;
  /** Hands a body to the browser for later; whether the browser took it. */
  beacon(body: string): boolean;
}

/** What the learner sees of it. */
export type Status = "saved" | "saving" | "unsaved" | "expired" | "refused" | Note;

/** What the learner reads in place of "saved": the course was opened elsewhere since, or what an earlier visit had
 *  left could not be saved any more. */
export type Note = "elsewhere" | "lost";

/** Milliseconds after the last change of a burst, and at most after its first. */
const BURST = { quiet: 300, most: 2000 };
/** Milliseconds between attempts while the server is not reached: doubled from the first to the last. */
const RETRY = { first: 1000, last: 15_000 };
/** Largest body of a request that outlives its page: browsers allow 64 KiB for all together. */
export const CLOSING_BYTES_MAX = 60 * 1024;
/** What browsers allow, less what they may add. */
const BROWSER_BYTES_MAX = 64 * 1024 - 512;

export interface Options {
  road: Road;
  journal: Journal;
  /** The id of this page among all that the launch is opened in; the numbers of its commits begin with 1. */
  session: string;
  /** Seconds between commits while there is something to say. */
  seconds: number;
  /** Largest body that the server takes. */
  bytesMax: number;
  /** Whether anything is recorded at all; a preview records nothing. */
  isTracked: boolean;
  /** What the learner is to know from the beginning. */
  note?: Note;
  onStatus(status: Status, savedAt: number | undefined): void;
}

/** The commits of one page. */
export class Outbox {
  private pending = nothing();
  private sent: Pending | undefined;
  private sequence = 0;
  private note: Note | undefined;
  private burst: ReturnType<typeof setTimeout> | undefined;
  private burstBegan: number | undefined;
  private failures = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private readonly ticking: ReturnType<typeof setInterval>;
  private closing = false;
  private over = false;
  private isKept = false;
  private isKeeping = false;
  private waiting: (() => void)[] = [];
  private savedAt: number | undefined;

  constructor(private readonly options: Options) {
    this.note = options.note;
    this.ticking = setInterval(() => void this.flush(), Math.max(1, options.seconds) * 1000);
  }

  /** Takes note of a value that content has set. */
  set(activity: string, name: string, value: string): void {
    this.add({ ...nothing(), activities: { [activity]: { cmi: { [name]: value }, exit: false } } });
  }

  /** Takes note that content begins or ends its session. */
  session(activity: string, exit: boolean): void {
    this.add({ ...nothing(), activities: { [activity]: { cmi: {}, exit } } });
    if (exit) void this.flush();
  }

  /** Takes note of other parts of a commit; they go with the next one. */
  tell(rest: Partial<Omit<Pending, "activities" | "calls">>, soon = true): void {
    if (soon) this.add({ ...nothing(), ...rest });
    else if (this.options.isTracked) this.pending = merge(this.pending, { ...nothing(), ...rest });
  }

  /** Takes note of a call, for the launch's trace. */
  call(call: Call): void {
    if (!this.options.isTracked) return;
    this.pending.calls.push(call);
    if (this.pending.calls.length > CALLS_MAX) this.pending.calls.shift();
  }

  /** Adds to what waits. */
  add(more: Pending): void {
    if (this.over || !this.options.isTracked) return;
    this.pending = merge(this.pending, more);
    this.keep();
    if (this.closing) {
      this.leave();
      return;
    }
    this.show();
    const now = Date.now();
    this.burstBegan ??= now;
    clearTimeout(this.burst);
    const wait = Math.min(BURST.quiet, Math.max(0, this.burstBegan + BURST.most - now));
    this.burst = setTimeout(() => void this.flush(), wait);
  }

  /** Whether everything is acknowledged. */
  get isClean(): boolean {
    return this.sent === undefined && isEmpty(this.pending);
  }

  /** Sends what waits, unless a commit is under way or the next attempt has its time. */
  async flush(now = false): Promise<void> {
    clearTimeout(this.burst);
    this.burst = undefined;
    this.burstBegan = undefined;
    if (this.over || this.sent || (this.retry && !now)) return;
    clearTimeout(this.retry);
    this.retry = undefined;
    if (isEmpty(this.pending) && this.pending.calls.length === 0) {
      this.settle();
      return;
    }
    const [part = nothing(), ...rest] = parts(this.pending, this.options.bytesMax);
    this.pending = rest.reduce(merge, nothing());
    this.sent = part;
    this.show();
    const number = (this.sequence += 1);
    this.keep();
    const text = body(part, { session: this.options.session, sequence: number, closing: this.closing });
    const answer = await this.options.road.post(text, bytes(text) <= CLOSING_BYTES_MAX);
    // What the server has not saved is not saved, whatever it answers.
    const isSaved = answer.kind !== "saved" || answer.sequence >= number;
    this.take(isSaved ? answer : { kind: "again" }, part);
  }

  private take(answer: Answer, part: Pending): void {
    this.sent = undefined;
    if (answer.kind === "saved") {
      this.failures = 0;
      this.savedAt = answer.at;
      if (answer.superseded) this.note = "elsewhere";
    } else if (answer.kind === "gone") {
      this.over = true;
      clearInterval(this.ticking);
      this.pending = merge(part, this.pending);
    } else if (answer.kind === "again") {
      this.pending = merge(part, this.pending);
      const wait = answer.afterMs ?? Math.min(RETRY.first * 2 ** this.failures, RETRY.last);
      this.failures += 1;
      this.retry = setTimeout(() => {
        this.retry = undefined;
        void this.flush();
      }, wait);
    }
    if (answer.kind === "refused") this.options.onStatus("refused", this.savedAt);
    else this.show();
    this.keep();
    if (answer.kind === "saved" && !isEmpty(this.pending) && !this.burst) void this.flush();
    else if (answer.kind !== "again") this.settle();
  }

  /** Sends what waits and waits until it is acknowledged; false if that takes longer than `ms`. */
  async done(ms: number): Promise<boolean> {
    void this.flush(true);
    if (!this.isClean && !this.over) {
      await new Promise<void>((resolve) => {
        const limit = setTimeout(resolve, ms);
        this.waiting.push(() => {
          clearTimeout(limit);
          resolve();
        });
      });
    }
    return this.isClean;
  }

  private settle(): void {
    if (!this.isClean && !this.over) return;
    this.waiting.splice(0).forEach((resume) => resume());
  }

  /** The page is hidden and may never come back: sends everything that is not acknowledged once more,
   *  in requests that outlive the page. Saying it twice is harmless: the server knows the order. */
  hide(): void {
    const all = this.sent ? merge(this.sent, this.pending) : this.pending;
    if (this.over || isEmpty(all)) return;
    if (!this.sent) {
      void this.flush(true);
      return;
    }
    this.leave();
  }

  /** The page goes. Whatever content says from now on is sent as it is said. */
  close(): void {
    this.closing = true;
    this.leave();
  }

  /** The page has come back from the browser's store of pages. */
  reopen(): void {
    this.closing = false;
    void this.flush(true);
  }

  private leave(): void {
    const all = this.sent ? merge(this.sent, this.pending) : this.pending;
    if (this.over || isEmpty(all)) return;
    // The parts arrive in any order: together they are one commit.
    const sequence = (this.sequence += 1);
    const split = parts(all, CLOSING_BYTES_MAX);
    for (const [at, part] of split.entries()) {
      const { session } = this.options;
      const text = body(part, { session, sequence, part: at, parts: split.length, closing: this.closing });
      // A single value can be larger than a part should be; up to the browsers' own limit it is tried.
      const fits = bytes(text) <= BROWSER_BYTES_MAX;
      if (fits && this.options.road.beacon(text)) continue;
      void this.options.road.post(text, fits);
    }
  }

  /** Writes the journal, once for all that happens in one turn. */
  private keep(): void {
    if (this.closing) {
      this.keepNow();
      return;
    }
    if (this.isKeeping) return;
    this.isKeeping = true;
    queueMicrotask(() => {
      this.isKeeping = false;
      this.keepNow();
    });
  }

  private keepNow(): void {
    const all = this.sent ? merge(this.sent, this.pending) : this.pending;
    const wanted = !isEmpty(all);
    if (!wanted && !this.isKept) return;
    this.isKept = wanted;
    this.options.journal.keep(wanted ? { ...all, calls: [] } : undefined, this.sequence);
  }

  private show(): void {
    const { onStatus } = this.options;
    if (this.over) onStatus("expired", this.savedAt);
    else if (this.failures > 0) onStatus("unsaved", this.savedAt);
    else onStatus(this.isClean ? (this.note ?? "saved") : "saving", this.savedAt);
  }

  /** The network is back. */
  online(): void {
    if (this.retry) void this.flush(true);
  }
}
