import assert from "node:assert/strict";
import { test } from "node:test";
import type { Journal } from "../src/journal";
import { Outbox, type Answer, type Status } from "../src/outbox";
import type { Pending } from "../src/pending";

interface Body {
  session: string;
  sequence: number;
  part?: number;
  parts?: number;
  activity?: string;
  cmi?: Record<string, string>;
  exit?: boolean;
  final?: boolean;
  closing?: boolean;
  activities?: { activity: string; cmi: Record<string, string> }[];
  calls?: unknown[];
}

/** An outbox whose server answers when it is told to. */
function outbox(options: { bytesMax?: number; isTracked?: boolean; beacons?: boolean; note?: "lost" } = {}) {
  const posts: { body: Body; keepalive: boolean; answer(kind: Answer): void }[] = [];
  const beacons: Body[] = [];
  const statuses: Status[] = [];
  let kept: Pending | undefined;
  let keptAt = 0;
  const journal: Journal = {
    keep: (pending, sequence) => {
      kept = structuredClone(pending);
      keptAt = sequence;
    },
  };
  const box = new Outbox({
    road: {
      post: (text, keepalive) =>
        new Promise((answer) => posts.push({ body: JSON.parse(text) as Body, keepalive, answer })),
      beacon: (text) => {
        if (options.beacons === false) return false;
        beacons.push(JSON.parse(text) as Body);
        return true;
      },
    },
    journal,
    session: "page-1",
    ...(options.note ? { note: options.note } : {}),
    seconds: 20,
    bytesMax: options.bytesMax ?? 1_000_000,
    isTracked: options.isTracked ?? true,
    onStatus: (status) => statuses.push(status),
  });
  return { box, posts, beacons, statuses, kept: () => kept, keptAt: () => keptAt };
}

/** All that was sent so far is saved. */
const saved: Answer = { kind: "saved", at: 1, sequence: 1_000, superseded: false };
const turn = () => new Promise((resume) => setImmediate(resume));

test("a burst of values is one commit with the first number of its page", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  const { box, posts } = outbox();

  box.set("a", "cmi.location", "1");
  box.set("a", "cmi.location", "2");
  box.set("a", "cmi.suspend_data", "x");
  assert.equal(posts.length, 0);
  context.mock.timers.tick(300);

  assert.equal(posts.length, 1);
  assert.equal(posts[0]?.body.session, "page-1");
  assert.equal(posts[0]?.body.sequence, 1);
  assert.equal(posts[0]?.body.activity, "a");
  assert.deepEqual(posts[0]?.body.cmi, { "cmi.location": "2", "cmi.suspend_data": "x" });
  assert.equal(posts[0]?.keepalive, true);
});

test("content that never pauses is still committed after two seconds", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  const { box, posts } = outbox();

  for (let step = 0; step < 20; step += 1) {
    box.set("a", "cmi.location", String(step));
    context.mock.timers.tick(120);
  }

  assert.ok(posts.length >= 1);
});

test("only one commit is under way, and the next carries what was set meanwhile", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  const { box, posts } = outbox();
  box.set("a", "cmi.location", "1");
  void box.flush();
  box.set("a", "cmi.location", "2");
  void box.flush();
  assert.equal(posts.length, 1);

  posts[0]?.answer(saved);
  await turn();
  context.mock.timers.tick(300);

  assert.equal(posts.length, 2);
  assert.deepEqual(posts[1]?.body.cmi, { "cmi.location": "2" });
  assert.equal(posts[1]?.body.sequence, 2);
});

test("a commit that fails is sent again with what was set since, under a new number", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  const { box, posts, statuses } = outbox();
  box.set("a", "cmi.location", "1");
  box.set("a", "cmi.suspend_data", "old");
  void box.flush();
  box.set("a", "cmi.suspend_data", "new");

  posts[0]?.answer({ kind: "again" });
  await turn();
  assert.equal(statuses.at(-1), "unsaved");
  context.mock.timers.tick(1000);

  assert.equal(posts.length, 2);
  assert.equal(posts[1]?.body.sequence, 2);
  assert.deepEqual(posts[1]?.body.cmi, { "cmi.location": "1", "cmi.suspend_data": "new" });
  posts[1]?.answer(saved);
  await turn();
  assert.equal(statuses.at(-1), "saved");
});

test("the network's return ends the wait for the next attempt", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  const { box, posts } = outbox();
  box.set("a", "cmi.location", "1");
  void box.flush();
  posts[0]?.answer({ kind: "again", afterMs: 60_000 });
  await turn();
  assert.equal(posts.length, 1);

  box.online();

  assert.equal(posts.length, 2);
});

test("a page that goes sends everything that is not acknowledged, in beacons below 60 KiB", () => {
  const { box, beacons } = outbox();
  box.set("a", "cmi.location", "1");
  void box.flush();
  for (let step = 0; step < 100; step += 1) box.set("a", `cmi.interactions.${step}.description`, "é".repeat(1000));

  box.close();

  const all = Object.assign({}, ...beacons.map((body) => body.cmi)) as Record<string, string>;
  assert.equal(Object.keys(all).length, 101);
  assert.equal(all["cmi.location"], "1");
  assert.ok(beacons.every((body) => new TextEncoder().encode(JSON.stringify(body)).length <= 60 * 1024));
  // They are the parts of one commit, which may come in any order.
  assert.ok(beacons.length > 1);
  assert.deepEqual(beacons.map((body) => body.sequence), beacons.map(() => 2));
  assert.deepEqual(beacons.map((body) => body.part), beacons.map((_, at) => at));
  assert.deepEqual(beacons.map((body) => body.parts), beacons.map(() => beacons.length));
});

test("an answer below the commit's own number saves nothing", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  const { box, posts, statuses, kept } = outbox();
  box.set("a", "cmi.location", "1");
  void box.flush();

  posts[0]?.answer({ kind: "saved", at: 1, sequence: 0, superseded: false });
  await turn();

  assert.equal(box.isClean, false);
  assert.equal(statuses.at(-1), "unsaved");
  assert.deepEqual(kept()?.activities["a"]?.cmi, { "cmi.location": "1" });
  context.mock.timers.tick(1000);
  assert.deepEqual(posts[1]?.body.cmi, { "cmi.location": "1" });
  assert.equal(posts[1]?.body.sequence, 2);
});

test("a learner whose values give way to a later page's reads it", async () => {
  const { box, posts, statuses } = outbox();
  box.set("a", "cmi.location", "1");
  void box.flush();
  posts[0]?.answer({ ...saved, superseded: true } as Answer);
  await turn();
  assert.equal(statuses.at(-1), "elsewhere");

  box.set("a", "cmi.session_time", "PT1M");
  void box.flush();
  posts[1]?.answer(saved);
  await turn();

  assert.equal(statuses.at(-1), "elsewhere", "it stays the earlier page");
});

test("what an earlier visit has lost is said until the page goes", async () => {
  const { box, posts, statuses } = outbox({ note: "lost" });
  box.set("a", "cmi.location", "1");
  void box.flush();
  posts[0]?.answer(saved);
  await turn();

  assert.equal(statuses.at(-1), "lost");
});

test("what content says while the page goes is sent as it is said", () => {
  const { box, beacons } = outbox();
  box.close();

  box.set("a", "cmi.exit", "suspend");
  box.session("a", true);

  assert.equal(beacons.length, 2);
  assert.deepEqual(beacons[1]?.cmi, { "cmi.exit": "suspend" });
  assert.equal(beacons[1]?.exit, true);
});

test("what is said while the page goes says so, until the page comes back", async () => {
  const { box, posts, beacons } = outbox();
  box.set("a", "cmi.location", "1");
  void box.flush();
  assert.equal(posts[0]?.body.closing, undefined);

  box.set("a", "cmi.location", "2");
  box.hide();
  box.close();
  assert.deepEqual(beacons.map(({ closing }) => closing), [undefined, true]);

  box.reopen();
  posts[0]?.answer({ kind: "saved", at: 1, sequence: 1, superseded: false });
  await turn();
  assert.equal(posts.length, 2);
  assert.equal(posts[1]?.body.closing, undefined);
});

test("a beacon that the browser refuses goes as a request that outlives the page", () => {
  const { box, posts } = outbox({ beacons: false });
  box.set("a", "cmi.location", "1");

  box.close();

  assert.equal(posts.length, 1);
  assert.equal(posts[0]?.keepalive, true);
});

test("the journal holds what is not acknowledged and is emptied by the acknowledgement", async () => {
  const { box, posts, kept, keptAt } = outbox();
  box.set("a", "cmi.location", "1");
  await turn();
  assert.deepEqual(kept()?.activities, { a: { cmi: { "cmi.location": "1" }, exit: false } });
  assert.equal(keptAt(), 0);

  void box.flush();
  await turn();
  assert.ok(kept());
  assert.equal(keptAt(), 1, "it is kept as of the commit that is under way");
  posts[0]?.answer(saved);
  await turn();

  assert.equal(kept(), undefined);
});

test("a launch that has ended is not asked again, and the journal keeps what it did not take", async () => {
  const { box, posts, statuses, kept } = outbox();
  box.set("a", "cmi.location", "1");
  void box.flush();
  posts[0]?.answer({ kind: "gone" });
  await turn();

  box.set("a", "cmi.location", "2");
  await box.flush();

  assert.equal(posts.length, 1);
  assert.equal(statuses.at(-1), "expired");
  assert.deepEqual(kept()?.activities["a"]?.cmi, { "cmi.location": "1" });
});

test("a body is never larger than the server takes", async () => {
  const { box, posts } = outbox({ bytesMax: 5000 });
  for (let step = 0; step < 20; step += 1) box.set("a", `cmi.objectives.${step}.description`, "x".repeat(1000));
  box.session("a", true);
  while (posts.length < 100 && !box.isClean) {
    posts.at(-1)?.answer(saved);
    await turn();
  }

  assert.ok(posts.length > 4);
  assert.ok(posts.every(({ body }) => JSON.stringify(body).length <= 5000));
  assert.equal(posts.at(-1)?.body.exit, true);
  assert.ok(posts.slice(0, -1).every(({ body }) => body.exit === false));
});

test("a preview sends and keeps nothing", async () => {
  const { box, posts, beacons, kept } = outbox({ isTracked: false });
  box.set("a", "cmi.location", "1");
  box.call([1, "SetValue", "cmi.location", "1", "true", 0]);
  await box.flush(true);
  box.close();

  assert.deepEqual([posts.length, beacons.length, kept()], [0, 0, undefined]);
  assert.equal(await box.done(10), true);
});

test("several activities and the calls travel in one commit", async () => {
  const { box, posts } = outbox();
  box.set("a", "cmi.location", "1");
  box.set("b", "cmi.location", "2");
  box.call([1, "Commit", "", "", "true", 0]);
  box.tell({ final: true, suspended: "b" });
  await Promise.race([box.flush(true), turn()]);

  const body = posts[0]?.body;
  assert.equal(body?.activity, "a");
  assert.deepEqual(body?.activities, [{ activity: "b", cmi: { "cmi.location": "2" }, exit: false }]);
  assert.deepEqual(body?.calls, [[1, "Commit", "", "", "true", 0]]);
  assert.equal(body?.final, true);
});
