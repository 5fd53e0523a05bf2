// The page in the content's origin: it holds the run-time API, the frame of the content, and the outbox.

import "./style.css";
import { load12, load2004, prepare2004 } from "./engine";
import { none, openShelf } from "./journal";
import { boot, is2004, leaves, type Boot } from "./launch";
import { read, type Ask, type State } from "./messages";
import { Outbox } from "./outbox";
import { Open, path12, type Path } from "./path";
import { overlay, replay } from "./replay";
import { road, WAIT_MAX } from "./road";
import { Sequenced } from "./sequenced";
import { Stage } from "./stage";
import { language, words } from "./words";

async function path(boot: Boot): Promise<Path> {
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
  const shelf = tracked ? await openShelf(`${told.registration?.id}#${told.registration?.instance}`) : none;
  const way = road(told.paths.results);
  const bytesMax = (told.settings?.bodyBytesMax ?? 1024 * 1024) - 1024;

  // What earlier pages could not say is said first, so that content reads it.
  const { saved, lost, rest } = await replay(await shelf.left(), way, bytesMax, WAIT_MAX);
  if (saved) told = (await boot(location.pathname).catch(() => undefined)) ?? told;
  overlay(told, rest);

  let stage: Stage | undefined;
  let last: Pick<State, "status" | "savedAt"> = { status: "saved", savedAt: null };
  const show = () => {
    if (!shell || !stage) return;
    shell.postMessage({ homeroom: "state", ...last, ...stage.state() } satisfies State, told.origins.main);
  };
  const outbox = new Outbox({
    road: way,
    journal: shelf.journal(told.launch, told.session),
    session: told.session,
    seconds: told.settings?.commitSeconds ?? 20,
    bytesMax,
    isTracked: tracked,
    ...(lost ? { note: "lost" as const } : {}),
    onStatus: (status, savedAt) => {
      last = { status, savedAt: savedAt ?? null };
      show();
    },
  });
  listen(outbox);

  const tag = language(told.culture, navigator.languages);
  document.documentElement.lang = tag;
  document.title = told.course.title;
  const heading = document.getElementById("title");
  if (heading) heading.textContent = told.course.title;
  const place = document.getElementById("stage") ?? document.body;
  stage = new Stage(place, told, await path(told), outbox, words(tag), show);
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
