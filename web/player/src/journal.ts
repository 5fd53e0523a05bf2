// What is not acknowledged, kept by the browser until it is. Where storage is blocked, as in frames of
// another site in some browsers, the journal keeps nothing and everything else works as before.

import type { Pending } from "./pending";

/** A place for what is not acknowledged. */
export interface Journal {
  /** Keeps `pending` in place of what this launch has kept before; undefined forgets it. */
  keep(pending: Pending | undefined): void;
  /** Takes what other launches of the registration have left, the oldest first. */
  left(): Promise<Left[]>;
}

/** What another launch has left. */
export interface Left {
  pending: Pending;
  forget(): void;
}

/** A row of the database. */
interface Row {
  registration: string;
  launch: string;
  at: number;
  pending: Pending;
}

const STORE = "pending";

/** Entries of launches that are older than this are of no use to anyone: 90 days in milliseconds. */
const AGE_MAX = 90 * 24 * 3600 * 1000;

/** A journal that keeps nothing. */
export const none: Journal = { keep: () => undefined, left: async () => [] };

/** Opens the journal of a launch; {@link none} where the browser allows no storage. */
export async function openJournal(registration: string, launch: string): Promise<Journal> {
  try {
    const database = await open();
    return new Stored(database, registration, launch);
  } catch {
    return none;
  }
}

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const wait = setTimeout(() => reject(new Error("the database does not open")), 3000);
    const request = indexedDB.open("homeroom-player", 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(STORE, { keyPath: ["registration", "launch"] });
    };
    request.onsuccess = () => {
      clearTimeout(wait);
      resolve(request.result);
    };
    request.onerror = () => {
      clearTimeout(wait);
      reject(request.error ?? new Error("no database"));
    };
  });
}

class Stored implements Journal {
  constructor(
    private readonly database: IDBDatabase,
    private readonly registration: string,
    private readonly launch: string,
  ) {}

  keep(pending: Pending | undefined): void {
    this.change((store) => {
      const { registration, launch } = this;
      if (pending) store.put({ registration, launch, at: Date.now(), pending } satisfies Row);
      else store.delete([registration, launch]);
    });
  }

  left(): Promise<Left[]> {
    return new Promise((resolve) => {
      try {
        const range = IDBKeyRange.bound([this.registration], [this.registration, []]);
        const request = this.database.transaction(STORE).objectStore(STORE).getAll(range);
        request.onerror = () => resolve([]);
        request.onsuccess = () => resolve(this.others(request.result as Row[]));
      } catch {
        resolve([]);
      }
    });
  }

  private others(rows: Row[]): Left[] {
    const forget = (row: Row) => () => this.change((store) => store.delete([row.registration, row.launch]));
    const old = rows.filter((row) => row.at < Date.now() - AGE_MAX);
    old.forEach((row) => forget(row)());
    return rows
      .filter((row) => row.launch !== this.launch && !old.includes(row))
      .sort((one, other) => one.at - other.at)
      .map((row) => ({ pending: row.pending, forget: forget(row) }));
  }

  private change(what: (store: IDBObjectStore) => void): void {
    try {
      what(this.database.transaction(STORE, "readwrite").objectStore(STORE));
    } catch {
      // The database was closed or is full: the next commit carries the values all the same.
    }
  }
}
