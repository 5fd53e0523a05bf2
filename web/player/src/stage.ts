// One activity after the other: its API object, its frame, its values.

import { facade, type Inner } from "./facade";
import { is2004, leaves, type Activity, type Boot, type Cmi } from "./launch";
import { contentFrame, show } from "./media";
import { mark, type State } from "./messages";
import type { Outbox } from "./outbox";
import type { Path, Request, Step } from "./path";
import { clockDuration, isoDuration, readDuration } from "./time";
import { fill, type Words } from "./words";

/** The session of an activity. */
interface Session {
  activity: Activity;
  inner: Inner | undefined;
  frame: HTMLIFrameElement | undefined;
  /** Ends a page that is not content's own. */
  stop: (() => void) | undefined;
  /** Hundredths of a second that content has reported for this session. */
  time: number;
  hasEnded: boolean;
}

/** Milliseconds for which content stays after it has ended the course. */
const LINGER_MS = 1500;

/** What is on the stage, and what was. */
export class Stage {
  private readonly values: Record<string, Cmi>;
  /** Hundredths of a second of the earlier sessions of this launch, by activity. */
  private readonly earlier: Record<string, number> = {};
  private session: Session | undefined;
  private leaving = false;
  private ended: { saved: boolean } | null = null;
  private refused = false;
  private readonly standard: "1.2" | "2004";

  constructor(
    private readonly place: HTMLElement,
    private readonly boot: Boot,
    private readonly path: Path,
    private readonly outbox: Outbox,
    private readonly words: Words,
    private readonly onChange: () => void,
  ) {
    this.standard = boot.course.standard === "SCORM12" ? "1.2" : "2004";
    this.values = Object.fromEntries(Object.entries(boot.states ?? {}).map(([id, { cmi }]) => [id, { ...cmi }]));
  }

  /** Delivers the first activity. */
  begin(): void {
    const step = this.path.begin();
    if (step.deliver === undefined) this.note(this.words.choose);
    this.follow(step);
  }

  /** The learner asks for something. */
  ask(request: Request, target?: string): void {
    if (this.ended || this.leaving) return;
    this.refused = !this.path.allows(request, target);
    if (!this.refused) {
      this.path.intend(request, target);
      this.leave();
      const step = this.path.step(false);
      this.refused = !step.deliver && !step.end;
      if (this.refused) this.note(this.words.choose);
      this.follow(step);
    }
    this.onChange();
  }

  /** What the shell shows. */
  state(): Omit<State, "homeroom" | "status" | "savedAt"> {
    const marks = leaves(this.boot.tree).map(({ id }) => [id, mark(this.values[id] ?? {})] as const);
    return {
      current: this.session?.activity.id ?? null,
      marks: Object.fromEntries(marks),
      choices: this.path.choices((id) => this.values[id]?.["cmi.core.lesson_status"] ?? "not attempted"),
      ended: this.ended,
      refused: this.refused,
    };
  }

  private follow(step: Step): void {
    if (step.deliver !== undefined) this.deliver(step.deliver);
    else if (step.end) void this.end(step.end.suspended);
    this.onChange();
  }

  private deliver(id: string): void {
    const activity = leaves(this.boot.tree).find((one) => one.id === id);
    if (!activity?.href) {
      this.note(this.words.choose);
      return;
    }
    this.leave();
    const cmi = (this.values[id] ??= {});
    // Where the course stands now: content that has ended by itself has told where it stood before.
    const standing = this.path.state();
    const inner = this.path.session(activity, cmi);
    const session: Session = { activity, inner, frame: undefined, stop: undefined, time: 0, hasEnded: false };
    this.session = session;
    this.outbox.tell({ ...standing, suspended: id }, false);
    if (inner && activity.type !== "asset") this.offer(session, inner, cmi);
    const url = activity.type === "link" ? activity.href : this.boot.paths.content + activity.href;
    if (activity.type === "media" || activity.type === "link") {
      this.outbox.session(id, false);
      session.stop = show(this.place, activity, url, cmi, this.words, (name, value) => this.set(session, name, value));
    } else {
      session.frame = contentFrame(url, fill(this.words.content, { title: activity.title }));
      this.place.replaceChildren(session.frame);
      // A page without a run-time is done when it was opened.
      if (activity.type === "asset") this.opened(session);
    }
  }

  /** Puts the API where content looks for it, before there is content. */
  private offer(session: Session, inner: Inner, cmi: Cmi): void {
    const { id } = session.activity;
    const api = facade(this.standard, inner, cmi, {
      begun: () => {
        this.outbox.session(id, false);
        // The server learns that a session begins again before it learns the session's time.
        if (this.earlier[id] !== undefined) void this.outbox.flush();
        this.tellObjectives(session, inner);
      },
      set: (element, value) => this.set(session, element, value),
      commit: () => void this.outbox.flush(),
      ending: () => this.path.ending(),
      ended: () => {
        session.hasEnded = true;
        this.outbox.tell(this.path.state(), false);
        this.outbox.session(id, true);
        if (!this.leaving) setTimeout(() => this.afterwards(session));
      },
      call: (call) => this.outbox.call(call),
    });
    const names = window as unknown as Record<string, unknown>;
    delete names["API"];
    delete names["API_1484_11"];
    names[this.standard === "1.2" ? "API" : "API_1484_11"] = api;
  }

  /** Content has ended its session by itself: what it asked for follows. */
  private afterwards(session: Session): void {
    if (this.session !== session || this.leaving || this.ended) return;
    const step = this.path.step(true);
    if (step.end) void this.endByContent(session, step.end.suspended);
    else this.follow(step);
  }

  /** Content has ended the course. It may still have something to show: it stays for a moment, and
   *  where there is nowhere to go it stays until the learner leaves. */
  private async endByContent(session: Session, suspended: string | null): Promise<void> {
    this.outbox.tell({ ...this.path.state(), final: true, suspended });
    void this.outbox.flush();
    this.onChange();
    await new Promise((resume) => setTimeout(resume, LINGER_MS));
    const stays = !this.boot.exitUrl && !this.boot.exit && leaves(this.boot.tree).length === 1;
    if (!stays && this.session === session && !this.ended) await this.end(suspended);
  }

  private set(session: Session, element: string, value: string): void {
    const { id } = session.activity;
    let kept = value;
    if (/^cmi\.(core\.)?session_time$/.test(element)) {
      session.time = readDuration(value) ?? 0;
      const earlier = this.earlier[id] ?? 0;
      // The server takes the last time of a launch as the whole of it.
      if (earlier > 0) kept = this.duration(earlier + session.time);
    }
    (this.values[id] ??= {})[element] = kept;
    if (element.startsWith("adl.nav.")) return;
    if (element.startsWith("adl.data.")) this.outbox.tell(this.path.state());
    else this.outbox.set(id, element, kept);
    if (/status$/.test(element)) this.onChange();
  }

  /** The server learns the objectives that content has got from the manifest, since content may set
   *  their values without their ids. */
  private tellObjectives(session: Session, inner: Inner): void {
    if (!is2004(this.boot.course.standard)) return;
    const count = Number(inner.lmsGetValue("cmi.objectives._count")) || 0;
    const known = this.values[session.activity.id] ?? {};
    for (let number = 0; number < count; number += 1) {
      const name = `cmi.objectives.${number}.id`;
      const id = inner.lmsGetValue(name);
      if (id && known[name] === undefined) this.set(session, name, id);
    }
  }

  private opened(session: Session): void {
    const { id } = session.activity;
    this.outbox.session(id, false);
    const name = this.standard === "1.2" ? "cmi.core.lesson_status" : "cmi.completion_status";
    const before = this.values[id]?.[name] ?? "";
    if (["", "unknown", "not attempted", "incomplete"].includes(before)) this.set(session, name, "completed");
  }

  /** Takes the activity off the stage: content hears it, and what it says on its way out counts. */
  private leave(): void {
    const session = this.session;
    if (!session) return;
    this.leaving = true;
    try {
      session.stop?.();
      session.frame?.remove();
      const { inner } = session;
      if (inner?.isInitialized()) {
        // It has not said goodbye: its session ends for the rules, and resumes at the next time.
        this.path.ending();
        inner.lmsFinish("");
      }
    } catch (error) {
      console.error("content could not be ended:", error);
    } finally {
      this.leaving = false;
      this.session = undefined;
    }
    this.wrapUp(session);
  }

  private wrapUp(session: Session): void {
    const { id } = session.activity;
    const cmi = (this.values[id] ??= {});
    const core = this.standard === "1.2" ? "cmi.core." : "cmi.";
    const exit = cmi[`${core}exit`] ?? "";
    const isToGoOn = exit === "suspend" || (exit === "logout" && this.standard === "2004");
    cmi[`${core}entry`] = !session.hasEnded || isToGoOn ? "resume" : "";
    this.earlier[id] = (this.earlier[id] ?? 0) + session.time;
    const before = readDuration(cmi[`${core}total_time`] ?? "") ?? 0;
    cmi[`${core}total_time`] = this.duration(before + session.time);
    delete cmi[`${core}exit`];
    delete cmi[`${core}session_time`];
    this.outbox.tell(this.path.state(), false);
  }

  private duration(hundredths: number): string {
    return this.standard === "1.2" ? clockDuration(hundredths) : isoDuration(hundredths);
  }

  private async end(suspended: string | null): Promise<void> {
    this.leave();
    this.outbox.tell({ ...this.path.state(), final: true, suspended });
    this.ended = { saved: false };
    this.note(this.words.endedUnsaved);
    let saved = await this.outbox.done(5000);
    while (!saved) {
      this.onChange();
      saved = await this.outbox.done(60_000);
    }
    this.ended = { saved };
    this.note(this.words.endedHelp);
    this.onChange();
  }

  private note(text: string): void {
    const note = document.createElement("p");
    note.className = "note";
    note.textContent = text;
    this.place.replaceChildren(note);
  }
}
