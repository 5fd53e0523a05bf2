// The ways to the server: requests that are answered, and beacons that are not.

import type { Answer, Road } from "./outbox";

/** Milliseconds after which an answer is no longer waited for. */
const WAIT_MAX = 30_000;

/** The road to the address that takes commits. */
export function road(results: string): Road {
  return {
    async post(body, keepalive): Promise<Answer> {
      let answer: Response;
      try {
        answer = await fetch(results, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body,
          keepalive,
          credentials: "omit",
          cache: "no-store",
          signal: AbortSignal.timeout(WAIT_MAX),
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

/** What an answer means. */
export async function understand(
  status: number,
  retryAfter: string | null,
  json: () => Promise<unknown>,
): Promise<Answer> {
  if (status >= 200 && status < 300) {
    const said = (await json().catch(() => ({}))) as { saved?: unknown; sequence?: unknown; superseded?: unknown };
    // Not everything that answers is the server: what does not say how far all is saved has saved nothing.
    if (typeof said?.sequence !== "number") return { kind: "again" };
    const superseded = typeof said.superseded === "object" && Object.keys(said.superseded ?? {}).length > 0;
    // The server's clock in microseconds; the learner's own clock is what the page shows.
    const at = typeof said.saved === "number" ? Math.round(said.saved / 1000) : Date.now();
    return { kind: "saved", at, sequence: said.sequence, superseded };
  }
  // 409: the server has forgotten the numbers of this page.
  if (status === 404 || status === 409 || status === 410) return { kind: "gone" };
  if (status === 429 || status === 408 || status >= 500) {
    const seconds = Number(retryAfter ?? "");
    return seconds > 0 ? { kind: "again", afterMs: Math.min(seconds, 60) * 1000 } : { kind: "again" };
  }
  return { kind: "refused" };
}
