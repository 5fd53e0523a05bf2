// Where a learner goes after the course.

import type { Boot } from "./launch";

/** What becomes of the page: it is left for an address, closed, emptied, or says that the course has ended. */
export type Exit = { to: "address"; url: string } | { to: "close" } | { to: "blank" } | { to: "message" };

/** Reads what the launch asks for. Without anything to go to, the page says that the course has ended. */
export function exitOf(boot: Pick<Boot, "exit" | "exitUrl">, origin: string): Exit {
  if (boot.exit === "closer") return { to: "close" };
  if (boot.exit === "blank") return { to: "blank" };
  const url = address(boot.exitUrl, origin);
  return url === undefined ? { to: "message" } : { to: "address", url };
}

/** The address, if it is one that a browser opens as a page. */
function address(text: string | null | undefined, origin: string): string | undefined {
  if (!text) return undefined;
  try {
    const url = new URL(text, origin);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined;
  } catch {
    return undefined;
  }
}
