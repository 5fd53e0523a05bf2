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

/** A row of the database. */
interface Row {
  registration: string;
  launch: string;
  session: string;
  sequence: number;
  at: number;
  pending: Pending;
}

const STORE = "left";
/** Where the first version of the player has kept what a launch has left. */
const FIRST_STORE = "pending";
/** The number that stands for all commits of a page: the server's greatest. */
const SEQUENCE_MAX = 2 ** 31 - 1;

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
    const request = indexedDB.open("homeroom-player", 2);
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
  const store = database.createObjectStore(STORE, { keyPath: ["registration", "launch", "session"] });
  if (!transaction || !database.objectStoreNames.contains(FIRST_STORE)) return;
  const first = transaction.objectStore(FIRST_STORE).getAll();
  first.onsuccess = () => {
    for (const row of first.result as Row[]) store.put({ ...row, session: "", sequence: SEQUENCE_MAX } satisfies Row);
    database.deleteObjectStore(FIRST_STORE);
  };
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
          const row = { registration, launch, session, sequence, at: Date.now() };
          if (pending) store.put({ ...row, pending } satisfies Row);
          else store.delete([registration, launch, session]);
        }),
    };
  }

  left(): Promise<Left[]> {
    return new Promise((resolve) => {
      try {
        const range = IDBKeyRange.bound([this.registration], [this.registration, []]);
        const request = this.database.transaction(STORE).objectStore(STORE).getAll(range);
        request.onerror = () => resolve([]);
        request.onsuccess = () => resolve(this.inTime(request.result as Row[]));
      } catch {
        resolve([]);
      }
    });
  }

  private inTime(rows: Row[]): Left[] {
    const old = rows.filter((row) => row.at < Date.now() - AGE_MAX);
    old.forEach((row) => this.forget(row));
    return rows
      .filter((row) => !old.includes(row))
      .sort((one, other) => one.at - other.at)
      .map((row) => ({ ...row, forget: () => this.forget(row) }));
  }

  private forget(row: Row): void {
    const key = [row.registration, row.launch, row.session];
    this.change((store) => {
      const found = store.get(key);
      found.onsuccess = () => {
        const now = found.result as Row | undefined;
        if (now && now.at === row.at && now.sequence === row.sequence) store.delete(key);
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
