// The page in the content's origin: it holds the run-time API, the frame of the content, and the outbox.

import "./style.css";
import { load12, load2004, prepare2004 } from "./engine";
import { none, openJournal } from "./journal";
import { boot, is2004, leaves, type Boot } from "./launch";
import { read, type Ask, type State } from "./messages";
import { Outbox } from "./outbox";
import { Open, path12, type Path } from "./path";
import { nothing } from "./pending";
import { road } from "./road";
import { Sequenced } from "./sequenced";
import { Stage } from "./stage";
import { language, words } from "./words";

/** Milliseconds that a course waits for what an earlier launch has left to be saved. */
const REPLAY_MAX = 8000;

async function way(boot: Boot): Promise<Path> {
  const { standard } = boot.course;
  if (standard === "SCORM12") return path12(boot, await load12());
  if (!is2004(standard)) return new Open(boot, undefined);
  const make = await load2004();
  if (leaves(boot.tree).length > 1) return new Sequenced(boot, make);
  return new Open(boot, (activity, cmi) => {
    const inner = make();
    prepare2004(inner, activity, cmi, boot.sharedData ?? {});
    return inner;
  });
}

async function main(): Promise<void> {
  let told = await boot(location.pathname);
  const shell = window.parent === window ? undefined : window.parent;
  const tracked = told.tracking && told.mode !== "browse" && told.registration !== null;
  const journal = tracked
    ? await openJournal(`${told.registration?.id}#${told.registration?.instance}`, told.launch)
    : none;
  let stage: Stage | undefined;
  let last: Pick<State, "status" | "savedAt"> = { status: "saved", savedAt: null };

  const show = () => {
    if (!shell || !stage) return;
    shell.postMessage({ homeroom: "state", ...last, ...stage.state() } satisfies State, told.origins.main);
  };
  const outbox = new Outbox({
    road: road(told.paths.results),
    journal,
    sequence: told.sequence,
    seconds: told.settings?.commitSeconds ?? 20,
    bytesMax: (told.settings?.bodyBytesMax ?? 1024 * 1024) - 1024,
    isTracked: tracked,
    onStatus: (status, savedAt) => {
      last = { status, savedAt: savedAt ?? null };
      show();
    },
  });
  listen(outbox);

  // What an earlier launch could not say is said first, so that content reads it.
  const left = tracked ? await journal.left() : [];
  if (left.length > 0) {
    for (const { pending } of left) {
      const { final: _, ...rest } = { ...pending, calls: [] };
      outbox.add({ ...nothing(), ...rest });
    }
    const again = (await outbox.done(REPLAY_MAX)) ? await boot(location.pathname).catch(() => undefined) : undefined;
    left.forEach((one) => one.forget());
    if (again) {
      told = again;
    } else {
      for (const { pending } of left) {
        for (const [id, { cmi }] of Object.entries(pending.activities)) {
          const state = told.states?.[id];
          if (state) Object.assign(state.cmi, cmi);
        }
      }
    }
  }

  const tag = language(told.culture, navigator.languages);
  document.documentElement.lang = tag;
  document.title = told.course.title;
  const heading = document.getElementById("title");
  if (heading) heading.textContent = told.course.title;
  const place = document.getElementById("stage") ?? document.body;
  stage = new Stage(place, told, await way(told), outbox, words(tag), show);
  window.addEventListener("message", (event) => {
    const ask = shell && read<Ask>(event, told.origins.main, shell, "ask");
    if (ask) stage?.ask(ask.request, ask.target);
  });
  stage.begin();
}

/** Content can go at any moment: what it has set goes out when the page is hidden and when it goes. */
function listen(outbox: Outbox): void {
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") outbox.hide();
  });
  window.addEventListener("pagehide", () => outbox.close());
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) outbox.reopen();
  });
  window.addEventListener("online", () => outbox.online());
}

main().catch((error: unknown) => {
  const text = words(language("", navigator.languages));
  const note = document.createElement("p");
  note.className = "note";
  note.textContent = text.noLaunchHelp;
  document.getElementById("stage")?.replaceChildren(note);
  console.error("the course cannot begin:", error);
});
