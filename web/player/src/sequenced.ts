// The way through a course of SCORM 2004 with several activities: scorm-again's sequencing decides.

import type { Inner2004, Node } from "./engine";
import { load, type Inner } from "./facade";
import { leaves, type Activity, type Boot, type Cmi } from "./launch";
import type { Choices, Path, Request, Step } from "./path";
import type { Pending } from "./pending";
import { settings, type Settings } from "./settings";

/** The most characters of state that the server keeps. */
const STATE_MAX = 250_000;

/** A path by the rules of the manifest. */
export class Sequenced implements Path {
  private api: Inner2004;
  private delivered: string | undefined;
  private over = false;
  private suspending = false;
  private at: string | undefined;
  private wish: { request: Request; target?: string } | undefined;

  constructor(
    private readonly boot: Boot,
    private readonly make: (sequencing: Settings) => Inner2004,
  ) {
    this.api = this.fresh();
  }

  private fresh(): Inner2004 {
    const listeners = {
      onActivityDelivery: (activity: Node) => (this.delivered = activity.id),
      onSequencingSessionEnd: () => (this.over = true),
    };
    return this.make(settings(this.boot.tree, listeners));
  }

  begin(): Step {
    if (this.boot.sequencing && this.resume(this.boot.sequencing)) return this.take();
    this.api = this.fresh();
    this.forget();
    this.api.restoreGlobalObjectiveSnapshot(this.boot.globalObjectives ?? {});
    this.api.restoreSharedDataSnapshot(this.boot.sharedData ?? {});
    this.api.processNavigationRequest("start");
    if (!this.delivered) {
      // Courses without flow begin with a choice: the one that the server names.
      const wanted = this.boot.start ?? leaves(this.boot.tree)[0]?.id;
      if (wanted) this.api.processNavigationRequest("choice", wanted);
    }
    this.over = false;
    return this.take();
  }

  /** Goes on where the last launch was. A launch that was cut off is suspended first, as SB.2.6 asks. */
  private resume(text: string): boolean {
    this.forget();
    try {
      if (!this.api.deserializeSequencingState(text)) return false;
      const { currentActivity } = this.api.getSequencingState();
      if (currentActivity?.isActive) this.api.processNavigationRequest("suspendAll");
      this.over = false;
      this.delivered = undefined;
      if (!this.api.processNavigationRequest("resumeAll") || !this.delivered) return this.restart();
      return true;
    } catch {
      return false;
    }
  }

  /** Begins again with what is known of the activities, when there is nothing to resume. */
  private restart(): boolean {
    this.api.processNavigationRequest("start");
    if (!this.delivered && this.boot.start) this.api.processNavigationRequest("choice", this.boot.start);
    return this.delivered !== undefined;
  }

  private forget(): void {
    this.delivered = undefined;
    this.over = false;
    this.suspending = false;
    this.wish = undefined;
  }

  private take(): Step {
    const deliver = this.delivered;
    this.delivered = undefined;
    if (deliver !== undefined) {
      this.at = deliver;
      this.over = false;
      return { deliver };
    }
    if (this.over) return { end: { suspended: this.suspending ? (this.at ?? null) : null } };
    return {};
  }

  session(activity: Activity, cmi: Cmi): Inner {
    this.at = activity.id;
    this.wish = undefined;
    this.api.reset();
    load("2004", this.api, cmi);
    return this.api;
  }

  intend(request: Request, target?: string): void {
    this.wish = { request, ...(target === undefined ? {} : { target }) };
    if (!this.api.isInitialized()) return;
    // Content that ends its session on the way out takes the learner's wish with it, unless it has its own.
    const own = this.api.adl.nav.request;
    if (own && own !== "_none_") return;
    try {
      this.api.adl.nav.request = request === "choice" ? `{target=${target}}choice` : request;
    } catch {
      // An identifier that the value's form does not allow: asked after content has gone.
    }
  }

  ending(): void {
    const asked = this.api.adl.nav.request;
    this.suspending = asked === "suspendAll";
    if (asked === "suspendAll" || asked === "exitAll" || asked === "abandonAll") this.over = true;
    // scorm-again answers the request as part of Terminate: it is not asked once more.
    if (asked && asked !== "_none_") this.wish = undefined;
  }

  step(): Step {
    const { wish } = this;
    this.wish = undefined;
    if (wish) {
      this.suspending = wish.request === "suspendAll";
      this.api.processNavigationRequest(wish.request, wish.target);
      if (wish.request === "suspendAll" || wish.request === "exitAll") this.over = true;
    }
    return this.take();
  }

  choices(): Choices {
    const hidden: string[] = [];
    const closed: string[] = [];
    const { rootActivity, currentActivity } = this.api.getSequencingState();
    const walk = (node: Node) => {
      if (node.isHiddenFromChoice) hidden.push(node.id);
      if (node.children.length === 0 && node.id !== currentActivity?.id && !this.isOpen(node.id)) closed.push(node.id);
      node.children.forEach(walk);
    };
    if (rootActivity) walk(rootActivity);
    const here = find(this.boot.tree, this.at);
    const hides = new Set(here?.activity.hideUI ?? []);
    const flow = here?.parent?.sequencing?.controlMode;
    const isFlow = flow?.["flow"] === true;
    return {
      next: isFlow && !hides.has("continue"),
      previous: isFlow && flow?.["forwardOnly"] !== true && !hides.has("previous"),
      closed,
      hidden,
    };
  }

  /** Whether an activity may be chosen now. */
  private isOpen(id: string): boolean {
    try {
      const process = (this.api as unknown as Predicting)._sequencing?.overallSequencingProcess;
      return process?.predictChoiceEnabled?.(id) ?? true;
    } catch {
      return true;
    }
  }

  allows(request: Request, target?: string): boolean {
    if (request === "choice") return target !== undefined && this.isOpen(target);
    if (request !== "continue" && request !== "previous") return true;
    return this.api.previewNavigationRequest(request).outcome !== "blocked";
  }

  state(): Pick<Pending, "sequencing" | "globalObjectives" | "sharedData"> {
    try {
      const text = this.api.serializeSequencingState();
      const state = JSON.parse(text) as { globalObjectiveMap?: Record<string, unknown> };
      const sharedData = this.api.captureSharedDataSnapshot();
      return {
        ...(text.length <= STATE_MAX ? { sequencing: text } : {}),
        ...(state.globalObjectiveMap ? { globalObjectives: state.globalObjectiveMap } : {}),
        ...(Object.keys(sharedData).length > 0 ? { sharedData } : {}),
      };
    } catch {
      return {};
    }
  }
}

/** The look-ahead of scorm-again, which has no public name. */
interface Predicting {
  _sequencing?: { overallSequencingProcess?: { predictChoiceEnabled?(id: string): boolean } };
}

function find(tree: Activity, id: string | undefined, parent?: Activity): { activity: Activity; parent?: Activity } | undefined {
  if (tree.id === id) return parent ? { activity: tree, parent } : { activity: tree };
  for (const child of tree.children ?? []) {
    const found = find(child, id, tree);
    if (found) return found;
  }
  return undefined;
}
