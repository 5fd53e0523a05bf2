// Activities without a run-time of their own: films, sounds, documents and links. The page itself says how
// far the learner has come, in the names of SCORM 2004.

import type { Activity, Cmi } from "./launch";
import { isoDuration } from "./time";
import { fill, type Words } from "./words";

/** Sets a value of the activity. */
export type Set = (name: string, value: string) => void;

/** Share of a film or sound that counts as all of it. */
const ALL = 0.95;

/** Shows an activity in `stage`; the result ends the session. */
export function show(stage: HTMLElement, activity: Activity, url: string, cmi: Cmi, words: Words, set: Set): () => void {
  const began = Date.now();
  const timer = setInterval(() => tell(), 10_000);
  const tell = () => set("cmi.session_time", isoDuration(Math.round((Date.now() - began) / 10)));
  if (cmi["cmi.completion_status"] !== "completed") set("cmi.completion_status", "incomplete");
  const type = activity.media ?? "";
  if (type.startsWith("video/") || type.startsWith("audio/")) play(stage, activity, url, cmi, words, set);
  else read(stage, activity, url, cmi, words, set);
  return () => {
    clearInterval(timer);
    tell();
  };
}

/** A film or sound: what was played counts, not where the learner has jumped to. */
function play(stage: HTMLElement, activity: Activity, url: string, cmi: Cmi, words: Words, set: Set): void {
  const player = document.createElement((activity.media ?? "").startsWith("audio/") ? "audio" : "video");
  player.controls = true;
  player.preload = "metadata";
  player.setAttribute("aria-label", activity.title);
  player.src = url;
  const shown = document.createElement("p");
  shown.className = "progress";
  let seen = Number(cmi["cmi.progress_measure"] ?? 0) || 0;
  const display = () => (shown.textContent = fill(words.progress, { percent: Math.round(seen * 100) }));
  player.addEventListener("loadedmetadata", () => {
    const at = Number(cmi["cmi.location"] ?? 0);
    if (at > 0 && at < player.duration - 1) player.currentTime = at;
  });
  const earlier = seen;
  let told = 0;
  const note = () => {
    if (!(player.duration > 0)) return;
    let played = 0;
    for (let range = 0; range < player.played.length; range += 1) {
      played += player.played.end(range) - player.played.start(range);
    }
    seen = Math.min(1, earlier + played / player.duration);
    if (player.ended && seen >= 0.5) seen = 1;
    if (seen >= ALL) seen = 1;
    display();
    if (Date.now() - told < 2000 && !player.ended && !player.paused) return;
    told = Date.now();
    set("cmi.location", player.currentTime.toFixed(1));
    set("cmi.progress_measure", String(Math.round(seen * 1000) / 1000));
    if (seen === 1) set("cmi.completion_status", "completed");
  };
  for (const event of ["timeupdate", "pause", "ended"]) player.addEventListener(event, note);
  player.addEventListener("error", () => (shown.textContent = words.noMedia));
  display();
  const box = document.createElement("div");
  box.className = "media";
  box.append(player, shown);
  stage.replaceChildren(box);
}

/** A document or another site: only the learner knows when it is finished. */
function read(stage: HTMLElement, activity: Activity, url: string, cmi: Cmi, words: Words, set: Set): void {
  const bar = document.createElement("div");
  bar.className = "bar";
  const open = document.createElement("a");
  open.href = url;
  open.target = "_blank";
  open.rel = "noreferrer noopener";
  open.textContent = words.open;
  const finish = document.createElement("button");
  finish.type = "button";
  const done = () => {
    finish.textContent = words.finished;
    finish.disabled = true;
  };
  finish.textContent = words.finish;
  if (cmi["cmi.completion_status"] === "completed") done();
  finish.addEventListener("click", () => {
    set("cmi.progress_measure", "1");
    set("cmi.completion_status", "completed");
    done();
  });
  bar.append(finish, open);
  stage.replaceChildren(bar, contentFrame(url, fill(words.content, { title: activity.title })));
}

/** A frame for content. */
export function contentFrame(url: string, title: string): HTMLIFrameElement {
  const frame = document.createElement("iframe");
  frame.title = title;
  frame.name = "content";
  frame.allow = "autoplay; fullscreen; clipboard-write";
  frame.src = url;
  return frame;
}
