// What is not acknowledged, kept by the browser until it is. Where storage is blocked, as in frames of
// another site in some browsers, nothing is kept and everything else works as before. Content can read what
// is here: it has no secrets.

import type { Pending } from "./pending";

/** A place for what a page has not got acknowledged. */
export interface Journal {
  /** Keeps `pending` in place of what this page has kept before; undefined forgets it. `sequence`: the number of
   *  the page's last commit. */
  keep(pending: Pending | undefined, sequence: number): void;
}

/** The journals of a registration. */
export interface Shelf {
  /** Takes what pages have left, the oldest first. */
  left(): Promise<Left[]>;
  /** The journal of a page. */
  journal(launch: string, session: string): Journal;
}

/** What a page has left. */
export interface Left {
  launch: string;
  session: string;
  /** The number of its last commit before. */
  sequence: number;
  pending: Pending;
  /** Forgets it, unless its page is there after all and has kept something else since. */
  forget(): void;
}

/** A row of the database: a piece of what a page has left. */
export interface Row {
  registration: string;
  launch: string;
  session: string;
  /** Which piece of the text this is, from 0, of how many. */
  piece: number;
  pieces: number;
  sequence: number;
  at: number;
  /** Its piece of what is pending, as JSON. */
  text: string;
}

/** A row of earlier versions of the player: all of what a page has left. */
interface WholeRow {
  registration: string;
  launch: string;
  session?: string;
  sequence?: number;
  at: number;
  pending: Pending;
}

const STORE = "pieces";
/** Where earlier versions of the player have kept what a page has left, the first one for each launch. */
const OLD_STORES = ["pending", "left"];
/** The number that stands for all commits of a page: the server's greatest. */
const SEQUENCE_MAX = 2 ** 31 - 1;

/** The most characters of a piece. A browser fetches a row above 64 KiB from the page only later, when a closed page is
 *  gone. A character may take two bytes. */
const PIECE_CHARS_MAX = 24 * 1024;

/** What pages have left that is older than this is of no use to anyone: 90 days in milliseconds. */
const AGE_MAX = 90 * 24 * 3600 * 1000;

/** Journals that keep nothing. */
export const none: Shelf = { left: async () => [], journal: () => ({ keep: () => undefined }) };

/** Opens the journals of a registration; {@link none} where the browser allows no storage. */
export async function openShelf(registration: string): Promise<Shelf> {
  try {
    return new Stored(await open(), registration);
  } catch {
    return none;
  }
}

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const wait = setTimeout(() => reject(new Error("the database does not open")), 3000);
    const request = indexedDB.open("homeroom-player", 3);
    request.onupgradeneeded = () => upgrade(request.result, request.transaction);
    request.onsuccess = () => {
      clearTimeout(wait);
      request.result.onversionchange = () => request.result.close();
      resolve(request.result);
    };
    request.onerror = () => {
      clearTimeout(wait);
      reject(request.error ?? new Error("no database"));
    };
  });
}

function upgrade(database: IDBDatabase, transaction: IDBTransaction | null): void {
  const store = database.createObjectStore(STORE, { keyPath: ["registration", "launch", "session", "piece"] });
  for (const name of OLD_STORES) {
    if (!transaction || !database.objectStoreNames.contains(name)) continue;
    const old = transaction.objectStore(name).getAll();
    old.onsuccess = () => {
      for (const { pending, ...of } of old.result as WholeRow[]) {
        put(store, { session: "", sequence: SEQUENCE_MAX, ...of }, pending);
      }
      database.deleteObjectStore(name);
    };
  }
}

/** Writes what a page has left, in pieces. */
function put(store: IDBObjectStore, of: Omit<Row, "piece" | "pieces" | "text">, pending: Pending): void {
  const text = JSON.stringify(pending);
  const pieces = Math.ceil(text.length / PIECE_CHARS_MAX);
  for (let piece = 0; piece < pieces; piece += 1) {
    const part = text.slice(piece * PIECE_CHARS_MAX, (piece + 1) * PIECE_CHARS_MAX);
    store.put({ ...of, piece, pieces, text: part } satisfies Row);
  }
}

/** All pieces of what a page has left. */
function piecesOf(registration: string, launch: string, session: string): IDBKeyRange {
  return IDBKeyRange.bound([registration, launch, session], [registration, launch, session, []]);
}

/** What pages have left, from its pieces in the order of their keys. What has not all of them was never whole. */
export function whole(rows: readonly Row[]): (Omit<Left, "forget"> & { at: number })[] {
  const found = [];
  for (const [at, row] of rows.entries()) {
    if (row.piece !== 0) continue;
    const pieces = rows.slice(at, at + row.pieces);
    const texts = pieces.filter((one) => one.launch === row.launch && one.session === row.session).map(({ text }) => text);
    try {
      const pending = JSON.parse(texts.join("")) as Pending;
      found.push({ launch: row.launch, session: row.session, sequence: row.sequence, at: row.at, pending });
    } catch {
      // Nobody could say what it was.
    }
  }
  return found;
}

class Stored implements Shelf {
  constructor(
    private readonly database: IDBDatabase,
    private readonly registration: string,
  ) {}

  journal(launch: string, session: string): Journal {
    const { registration } = this;
    return {
      keep: (pending, sequence) =>
        this.change((store) => {
          store.delete(piecesOf(registration, launch, session));
          if (pending) put(store, { registration, launch, session, sequence, at: Date.now() }, pending);
          // A page that goes does not wait until the browser has written it.
          store.transaction.commit();
        }),
    };
  }

  left(): Promise<Left[]> {
    return new Promise((resolve) => {
      try {
        const range = IDBKeyRange.bound([this.registration], [this.registration, []]);
        const request = this.database.transaction(STORE).objectStore(STORE).getAll(range);
        request.onerror = () => resolve([]);
        request.onsuccess = () => resolve(this.inTime(whole(request.result as Row[])));
      } catch {
        resolve([]);
      }
    });
  }

  private inTime(all: ReturnType<typeof whole>): Left[] {
    const old = all.filter((one) => one.at < Date.now() - AGE_MAX);
    old.forEach((one) => this.forget(one));
    return all
      .filter((one) => !old.includes(one))
      .sort((one, other) => one.at - other.at)
      .map((one) => ({ ...one, forget: () => this.forget(one) }));
  }

  private forget({ launch, session, sequence, at }: ReturnType<typeof whole>[number]): void {
    const pieces = piecesOf(this.registration, launch, session);
    this.change((store) => {
      const found = store.get([this.registration, launch, session, 0]);
      found.onsuccess = () => {
        const now = found.result as Row | undefined;
        if (now && now.at === at && now.sequence === sequence) store.delete(pieces);
      };
    });
  }

  private change(what: (store: IDBObjectStore) => void): void {
    try {
      what(this.database.transaction(STORE, "readwrite").objectStore(STORE));
    } catch {
      // The database was closed or is full: the next commit carries the values all the same.
    }
  }
}
