// The real binary with courses: `start(PATH-OF-HOMEROOM)`.

import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const API = "/learning/api/v2";
const START_MS = 60_000;
const IMPORT_MS = 60_000;

/** A port of this machine that nothing listens on at this moment. */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** Starts the server on an empty store; gives what the suite asks of it. `apart`: content has another
 *  site than the player, not only another origin. */
export async function start(binary, { apart = false } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "homeroom-player-"));
  const data = ["--data-dir", join(folder, "data")];
  const [api, content, admin] = [await freePort(), await freePort(), await freePort()];
  const main = `http://127.0.0.1:${api}`;
  const address = (port) => `127.0.0.1:${port}`;
  const flags = ["--listen", address(api), "--content-listen", address(content), "--admin-listen", address(admin)];
  const urls = { HOMEROOM_SERVER__PUBLIC_URL: main, HOMEROOM_SERVER__CONTENT_URL: `http://localhost:${content}` };
  const env = { ...process.env, ...(apart ? urls : {}) };
  let server = await serve(binary, [...data, ...flags], env, main);
  const stop = async () => {
    await server.end();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const created = await promisify(execFile)(binary, ["keys", "create", "--scope", "learning", "--json", ...data]);
    const { key, secret } = JSON.parse(created.stdout);
    const authorization = `Basic ${Buffer.from(`${key}:${secret}`).toString("base64")}`;
    /** The server is away while `work` is done. */
    const without = async (work) => {
      await server.end();
      await work();
      server = await serve(binary, [...data, ...flags], env, main);
    };
    return { main, stop, without, ...calls(main, authorization) };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs `homeroom serve` and waits until it is ready. */
async function serve(binary, flags, env, main) {
  const server = spawn(binary, ["serve", ...flags], { stdio: ["ignore", "ignore", "pipe"], env });
  let log = "";
  server.stderr.on("data", (bytes) => (log = (log + bytes).slice(-20_000)));
  const ended = new Promise((resolve) => server.on("exit", resolve));
  const end = async () => {
    server.kill("SIGTERM");
    const limit = setTimeout(() => server.kill("SIGKILL"), 20_000);
    await ended;
    clearTimeout(limit);
  };
  try {
    await eventually("the server is ready", START_MS, async () => {
      if (server.exitCode !== null) throw new Error(`the server ended: ${log}`);
      const answer = await fetch(`${main}/readyz`).catch(() => undefined);
      return answer?.ok ? true : undefined;
    });
  } catch (error) {
    await end();
    throw error;
  }
  return { end };
}

function calls(main, authorization) {
  const ask = async (method, path, body) => {
    const json = body !== undefined && !(body instanceof FormData);
    const answer = await fetch(`${main}${API}${path}`, {
      method,
      headers: { authorization, ...(json ? { "content-type": "application/json" } : {}) },
      ...(body === undefined ? {} : { body: json ? JSON.stringify(body) : body }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === "" ? {} : JSON.parse(text);
  };
  const registered = new Set();
  return {
    /** Imports a package, or a file of another kind. */
    async add(id, { zip, name = "course.zip", type = "application/zip" }) {
      const form = new FormData();
      form.append("file", new Blob([zip], { type }), name);
      const { result } = await ask("POST", `/courses/importJobs/upload?courseId=${id}&mayCreateNewVersion=true`, form);
      const job = await eventually("the import ends", IMPORT_MS, async () => {
        const found = await ask("GET", `/courses/importJobs/${result}`);
        return found.status === "RUNNING" ? undefined : found;
      });
      if (job.status !== "COMPLETE") throw new Error(`the import of ${id} failed: ${job.message}`);
    },
    /** A link that launches a registration, which is made if there is none. */
    async link(courseId, registrationId, options = {}) {
      if (!registered.has(registrationId)) {
        const learner = { id: `learner-${registrationId}`, firstName: "First", lastName: "Last" };
        await ask("POST", "/registrations", { courseId, registrationId, learner });
        registered.add(registrationId);
      }
      const asked = { expiry: 3600, redirectOnExitUrl: "", ...options };
      return (await ask("POST", `/registrations/${registrationId}/launchLink`, asked)).launchLink;
    },
    report: (registrationId) =>
      ask("GET", `/registrations/${registrationId}?includeChildResults=true&includeInteractionsAndObjectives=true&includeRuntime=true`),
    /** A link that shows a course and records nothing. */
    preview: async (courseId) => (await ask("POST", `/courses/${courseId}/preview`, { redirectOnExitUrl: "" })).launchLink,
  };
}

async function eventually(what, ms, ask) {
  const end = Date.now() + ms;
  while (Date.now() < end) {
    const found = await ask();
    if (found !== undefined) return found;
    await new Promise((resume) => setTimeout(resume, 100));
  }
  throw new Error(`not in time: ${what}`);
}
