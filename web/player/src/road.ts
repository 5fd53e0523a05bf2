// The ways to the server: requests that are answered, and beacons that are not.

import type { Answer, Road } from "./outbox";

/** Milliseconds to wait for an answer, and for what an earlier page has left. That must be saved before content begins,
 *  because what content sets later stays. Slow networks need most of it; a server that cannot be reached is noticed
 *  long before. */
export const WAIT_MAX = 30_000;

/** The prefix of the server's own problem types; no proxy sends it. */
const OWN = "urn:ed-fi:api:";

/** The problems that end a page's session, by status: there is no such launch, the server has forgotten the numbers of
 *  the page, the launch has ended for good. */
const ENDS: Record<number, string> = {
  404: `${OWN}not-found`,
  409: `${OWN}data-conflict:session-forgotten`,
  410: `${OWN}gone`,
};

/** The statuses with which the server says that it will never take a commit as it is. */
const REFUSES = [400, 413, 415];

/** The road to the address that takes commits. */
export function road(results: string): Road {
  return {
    async post(body, keepalive, ms = WAIT_MAX): Promise<Answer> {
      let answer: Response;
      try {
        answer = await fetch(results, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body,
          keepalive,
          credentials: "omit",
          cache: "no-store",
          signal: AbortSignal.timeout(Math.min(ms, WAIT_MAX)),
        });
      } catch {
        return { kind: "again" };
      }
      return understand(answer.status, answer.headers.get("Retry-After"), () => answer.json());
    },
    beacon(body): boolean {
      // Without a type that needs a question to the server first; it reads the JSON all the same.
      return navigator.sendBeacon(results, new Blob([body], { type: "text/plain;charset=UTF-8" }));
    },
  };
}

/** What an answer means. Proxies, filters and portals answer, too: what is not the server's own ends and refuses
 *  nothing. */
export async function understand(
  status: number,
  retryAfter: string | null,
  json: () => Promise<unknown>,
): Promise<Answer> {
  const said = ((await json().catch(() => null)) ?? {}) as Said;
  if (status >= 200 && status < 300) {
    // What does not say how far all is saved has saved nothing.
    if (typeof said.sequence !== "number") return { kind: "again" };
    const superseded = typeof said.superseded === "object" && Object.keys(said.superseded ?? {}).length > 0;
    // The server's clock in microseconds; the learner's own clock is what the page shows.
    const at = typeof said.saved === "number" ? Math.round(said.saved / 1000) : Date.now();
    return { kind: "saved", at, sequence: said.sequence, superseded };
  }
  const type = typeof said.type === "string" && said.status === status ? said.type : "";
  if (type !== "" && type === ENDS[status]) return { kind: "gone" };
  if (type.startsWith(OWN) && REFUSES.includes(status)) return { kind: "refused" };
  const seconds = Number(retryAfter ?? "");
  return seconds > 0 ? { kind: "again", afterMs: Math.min(seconds, 60) * 1000 } : { kind: "again" };
}

/** The members of the server's answers, as far as they are read. */
interface Said {
  saved?: unknown;
  sequence?: unknown;
  superseded?: unknown;
  /** Of a problem: RFC 9457. */
  type?: unknown;
  status?: unknown;
}
