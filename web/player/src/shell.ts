// The page that a launch link opens: the course's title and contents around the frame of the bridge.

import "./style.css";
import { exitOf } from "./exit";
import { boot, leaves, type Activity, type Boot } from "./launch";
import { read, type Ask, type State } from "./messages";
import type { Request } from "./path";
import { fill, language, words, type Words } from "./words";

/** Makes an element with attributes and children. */
function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** The page of a launch. */
class Shell {
  private readonly frame: HTMLIFrameElement;
  private readonly status = make("p", { class: "status", role: "status" });
  private readonly news = make("p", { class: "unseen", role: "status" });
  private readonly next: HTMLButtonElement;
  private readonly previous: HTMLButtonElement;
  private readonly exit: HTMLButtonElement;
  private readonly toggle: HTMLButtonElement;
  private readonly contents: HTMLElement;
  private readonly entries = new Map<string, { item: HTMLElement; button: HTMLButtonElement; mark: HTMLElement }>();
  private readonly many: boolean;
  private current: string | null = null;
  private hasEnded = false;

  constructor(
    private readonly page: HTMLElement,
    private readonly boot: Boot,
    private readonly words: Words,
    private readonly tag: string,
  ) {
    this.many = leaves(boot.tree).length > 1;
    document.title = boot.course.title;
    this.next = this.button(words.next, () => this.ask("continue"));
    this.previous = this.button(words.previous, () => this.ask("previous"));
    this.exit = this.button(words.exit, () => this.leave());
    this.toggle = this.button(words.showContents, () => this.showContents(this.contents.hidden !== false));
    this.toggle.setAttribute("aria-controls", "contents");
    this.contents = make("nav", { id: "contents", "aria-label": words.contents }, this.list([boot.tree]));
    this.frame = make("iframe", {
      title: boot.course.title,
      src: boot.paths.bridge,
      allow: "autoplay; fullscreen; clipboard-write",
    });
    this.next.disabled = true;
    this.previous.disabled = true;
  }

  private button(text: string, onClick: () => void): HTMLButtonElement {
    const button = make("button", { type: "button" }, text);
    button.addEventListener("click", onClick);
    return button;
  }

  /** Shows the page and listens to the bridge. */
  begin(): void {
    const { boot, words } = this;
    const buttons = this.many ? [this.toggle, this.previous, this.next, this.exit] : [this.exit];
    const head = make("header", {}, make("h1", {}, boot.course.title), make("div", { class: "buttons" }, ...buttons));
    this.status.textContent = this.note() || words.loading;
    const body = make("div", { class: "body" });
    if (this.many) body.append(this.contents);
    body.append(this.frame);
    this.page.className = "shell";
    this.page.replaceChildren(head, body, this.status, this.news);
    this.showContents(this.many && window.innerWidth >= 800);
    window.addEventListener("message", (event) => {
      const { content } = boot.origins;
      const state = read<State>(event, content, this.frame.contentWindow, "state");
      if (state) this.show(state);
    });
  }

  private showContents(shown: boolean): void {
    this.contents.hidden = !shown;
    this.toggle.setAttribute("aria-expanded", String(shown));
  }

  /** The tree as lists; the organization itself is the page's title. */
  private list(activities: Activity[]): HTMLElement {
    const [root] = activities;
    const shown = activities.length === 1 && root === this.boot.tree ? (root?.children ?? []) : activities;
    const items = shown.filter((one) => one.visible !== false).map((one) => this.item(one));
    return make("ul", {}, ...items);
  }

  private item(activity: Activity): HTMLElement {
    const children = activity.children ?? [];
    if (activity.type === "aggregation" || !activity.href) {
      return make("li", {}, make("span", { class: "folder" }, activity.title), this.list(children));
    }
    const mark = make("span", { class: "mark" }, this.words.untouched);
    const button = this.button(activity.title, () => {
      this.ask("choice", activity.id);
      if (window.innerWidth < 800) this.showContents(false);
    });
    button.append(mark);
    const item = make("li", {}, button);
    if (children.length > 0) item.append(this.list(children));
    this.entries.set(activity.id, { item, button, mark });
    return item;
  }

  private ask(request: Request, target?: string): void {
    const ask: Ask = { homeroom: "ask", request, ...(target === undefined ? {} : { target }) };
    this.frame.contentWindow?.postMessage(ask, this.boot.origins.content);
  }

  private leave(): void {
    this.exit.disabled = true;
    this.ask("suspendAll");
  }

  private show(state: State): void {
    const { words } = this;
    this.status.textContent = this.said(state);
    this.status.classList.toggle("alarm", ["unsaved", "expired", "refused", "elsewhere", "lost"].includes(state.status));
    const { choices } = state;
    this.keepFocus(() => {
      this.next.disabled = !choices.next;
      this.previous.disabled = !choices.previous;
      for (const [id, { item, button, mark }] of this.entries) {
        const here = id === state.current;
        if (here) button.setAttribute("aria-current", "true");
        else button.removeAttribute("aria-current");
        button.disabled = choices.closed.includes(id);
        item.hidden = choices.hidden.includes(id);
        mark.textContent = words[state.marks[id] ?? "untouched"] + (here ? `, ${words.current}` : "");
      }
    });
    if (state.refused) this.news.textContent = words.cannotGo;
    if (state.current !== this.current) {
      this.current = state.current;
      const activity = leaves(this.boot.tree).find((one) => one.id === state.current);
      if (activity && this.many) this.news.textContent = `${activity.title}, ${words.current}`;
    }
    if (state.ended && !this.hasEnded) this.end(state.ended.saved);
  }

  /** A button that is disabled loses the focus: it goes to the next one that can have it. */
  private keepFocus(change: () => void): void {
    const before = document.activeElement;
    change();
    if (before instanceof HTMLButtonElement && before.disabled) {
      [this.next, this.previous, this.toggle, this.exit].find((button) => !button.disabled && button.isConnected)?.focus();
    }
  }

  private note(): string {
    if (this.boot.mode === "review") return this.words.review;
    return !this.boot.tracking || this.boot.mode === "browse" ? this.words.notRecorded : "";
  }

  private said({ status, savedAt }: State): string {
    const { words } = this;
    const note = this.note();
    if (note && status === "saved") return note;
    if (status === "unsaved") return words.unsaved;
    if (status === "expired") return words.expired;
    if (status === "refused" || status === "elsewhere" || status === "lost") return words[status];
    if (status === "saving" && savedAt === null) return words.saving;
    if (savedAt === null) return this.boot.course.title;
    const time = new Date(savedAt).toLocaleTimeString(this.tag, { hour: "2-digit", minute: "2-digit" });
    return fill(words.saved, { time });
  }

  private end(saved: boolean): void {
    const { words, boot } = this;
    const head = make("h1", { tabindex: "-1" }, words.ended);
    const help = make("p", { role: "status" }, saved ? words.endedHelp : words.endedUnsaved);
    if (!saved) {
      this.status.textContent = words.endedUnsaved;
      return;
    }
    this.hasEnded = true;
    const exit = exitOf(boot, location.origin);
    if (exit.to === "address" || exit.to === "blank") {
      location.assign(exit.to === "address" ? exit.url : "about:blank");
      return;
    }
    // A browser closes only what a page has opened; else the page says what it says without.
    if (exit.to === "close") window.close();
    this.page.className = "message";
    // The frame stays until here: what it had to say is said.
    this.page.replaceChildren(head, help);
    head.focus();
  }
}

async function main(): Promise<void> {
  const page = document.getElementById("page") ?? document.body;
  let text = words(language("", navigator.languages));
  try {
    const told = await boot(location.pathname);
    const tag = language(told.culture, navigator.languages);
    document.documentElement.lang = tag;
    text = words(tag);
    new Shell(page, told, text, tag).begin();
  } catch {
    page.className = "message";
    page.replaceChildren(make("h1", {}, text.noLaunch), make("p", {}, text.noLaunchHelp));
  }
}

void main();
