//! Measures whether a part's rows are better in the transactions of documents or in a file of their own, on bare
//! SQLite without the store: `cargo run --release -p homeroom-store --example second_file -- [NAME=NUMBER …]`.
//! `LAYOUTS` names the folder of the files, which are removed at the end.
//!
//! One thread writes groups of 64 documents, one durable transaction after the other. Each document has an identity
//! and three edges at random places; as in the store, these wait in memory and reach their tables in order, as many
//! with each group as it adds. All tables are filled before. A second connection to each file copies its log into
//! it. A part's commits arrive at an even rate. `alone`: there are none. `one file`: each transaction takes those
//! that have arrived. `two files`: a second thread writes them to a file with a log and syncs of its own. The three
//! are measured in turn. Numbers: `rounds`, `seconds` of each, `rate` of the part's commits a second, `documents` in
//! the file at the start.
//!
//! It is not the store: nothing is looked up before it is written, there are no ties, change versions, memory of the
//! latest rows or readers; groups are always full; a commit of the part writes one row where a course reads two and
//! writes two; the log has no limit at which the writer waits.
#![expect(clippy::disallowed_methods, reason = "an example measures")]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are for people, and small"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

type Result<T> = rusqlite::Result<T>;

/// The documents of a group.
const GROUP: i64 = 64;
/// The rows of the part that commits change in turn.
const ROWS: i64 = 50_000;
/// The bytes of each.
const ROW_BYTES: usize = 400;
/// The edges of a document.
const EDGES: i64 = 3;
/// The documents whose identities and edges wait in memory.
const WAITING: usize = 50_000;
/// The pause between two copies of a log.
const PAUSE: Duration = Duration::from_millis(250);

/// Where a part's commits go.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Nowhere,
    SameFile,
    SecondFile,
}

/// The commits of the part, which arrive at an even rate.
struct Arrivals {
    begun: Instant,
    rate: f64,
    taken: i64,
    waited: Vec<f64>,
}

impl Arrivals {
    fn due(&self, number: i64) -> Instant {
        self.begun + Duration::from_secs_f64(number as f64 / self.rate)
    }

    /// Writes those that have arrived within the transaction of `store`, and returns their numbers.
    fn write(&mut self, store: &Connection) -> Result<std::ops::Range<i64>> {
        let from = self.taken;
        let now = Instant::now();
        while self.due(self.taken) <= now {
            store
                .prepare_cached("INSERT OR REPLACE INTO part VALUES (?1, ?2)")?
                .execute(params![self.taken * 7_919 % ROWS, [3_u8; ROW_BYTES]])?;
            self.taken += 1;
        }
        Ok(from..self.taken)
    }

    /// Notes how long these have waited until they are durable.
    fn durable(&mut self, numbers: std::ops::Range<i64>) {
        let now = Instant::now();
        let waited = numbers.map(|number| now.duration_since(self.due(number)).as_secs_f64() * 1e3);
        self.waited.extend(waited.collect::<Vec<_>>());
    }
}

/// Rows that wait for their table, into which they are moved in order of their keys, over and over from the first
/// to the last.
struct Waiting {
    into: &'static str,
    rows: BTreeMap<u128, i64>,
    most: usize,
    /// The key after the last that was moved.
    next: u128,
}

impl Waiting {
    fn new(into: &'static str, most: usize) -> Self {
        Self { into, rows: BTreeMap::new(), most, next: 0 }
    }

    /// Moves as many as are too many.
    fn make_room(&mut self, store: &Connection) -> Result<()> {
        while self.rows.len() > self.most {
            let found = self.rows.range(self.next..).next().map(|(key, _)| *key);
            let Some(key) = found else {
                self.next = 0;
                continue;
            };
            let id = self.rows.remove(&key);
            store.prepare_cached(self.into)?.execute(params![key.to_be_bytes(), id])?;
            self.next = key.saturating_add(1);
        }
        Ok(())
    }
}

/// The documents of a file.
struct Documents {
    count: i64,
    identities: Waiting,
    edges: Waiting,
    body: String,
}

impl Documents {
    /// Fills the tables with so many.
    fn fill(store: &Connection, documents: i64) -> Result<Self> {
        let identities = Waiting::new("INSERT INTO identity VALUES (?1, ?2)", WAITING);
        let edges = Waiting::new("INSERT INTO ref VALUES (?1, ?2)", WAITING * EDGES as usize);
        let mut all = Self { count: 0, identities, edges, body: "x".repeat(700) };
        store.execute_batch("BEGIN IMMEDIATE")?;
        while all.count < documents {
            all.write(store)?;
        }
        for row in 0..ROWS {
            store
                .prepare_cached("INSERT INTO part VALUES (?1, ?2)")?
                .execute(params![row, [3_u8; ROW_BYTES]])?;
        }
        store.execute_batch("COMMIT")?;
        Ok(all)
    }

    /// Writes a group within the transaction of `store`.
    fn write(&mut self, store: &Connection) -> Result<()> {
        for _ in 0..GROUP {
            self.count += 1;
            store
                .prepare_cached("INSERT INTO doc VALUES (?1, ?2)")?
                .execute(params![self.count, self.body])?;
            self.identities.rows.insert(random(self.count * (EDGES + 1)), self.count);
            for edge in 1..=EDGES {
                let target = random(self.count * (EDGES + 1) + edge);
                self.edges.rows.insert(target, self.count);
            }
        }
        self.identities.make_room(store)?;
        self.edges.make_room(store)?;
        store.prepare_cached("UPDATE tally SET documents = ?1")?.execute([self.count])?;
        Ok(())
    }
}

/// Returns a number that looks random, always the same for the same number (splitmix64).
fn random(number: i64) -> u128 {
    let half = |number: u64| {
        let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u128::from(z ^ (z >> 31))
    };
    let number = number.unsigned_abs() * 2;
    half(number + 1) << 64 | half(number + 2)
}

fn connect(file: &Path) -> Result<Connection> {
    let store = Connection::open(file)?;
    store.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;
         PRAGMA cache_size = -65536;",
    )?;
    Ok(store)
}

/// Opens a new file.
fn open(file: &Path) -> Result<Connection> {
    let store = connect(file)?;
    store.execute_batch(
        "CREATE TABLE doc (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
         CREATE TABLE identity (key BLOB PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID;
         CREATE TABLE ref (key BLOB PRIMARY KEY, source INTEGER NOT NULL) WITHOUT ROWID;
         CREATE TABLE tally (documents INTEGER NOT NULL);
         INSERT INTO tally VALUES (0);
         CREATE TABLE part (id INTEGER PRIMARY KEY, body BLOB NOT NULL);",
    )?;
    Ok(store)
}

/// Copies the log of a file into it while others write.
fn copy_log(file: &Path, is_over: &AtomicBool) -> Result<()> {
    let own = connect(file)?;
    while !is_over.load(Ordering::Relaxed) {
        std::thread::sleep(PAUSE);
        own.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    }
    Ok(())
}

/// What a round found.
struct Found {
    documents: f64,
    /// In milliseconds, in order.
    waited: Vec<f64>,
}

fn round(folder: &Path, place: Place, time: Duration, (rate, before): (f64, i64)) -> Result<Found> {
    let files = ["documents.db", "part.db"].map(|name| folder.join(name));
    let clear = || {
        for file in &files {
            for ending in ["", "-wal", "-shm"] {
                _ = std::fs::remove_file(format!("{}{ending}", file.display()));
            }
        }
    };
    clear();
    let (store, second) = (open(&files[0])?, open(&files[1])?);
    let mut all = Documents::fill(&store, before)?;
    if place == Place::SecondFile {
        Documents::fill(&second, 0)?;
    }
    let before = all.count;
    for one in [&store, &second] {
        one.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    }
    let (begun, is_over) = (Instant::now(), AtomicBool::new(false));
    let mut arrivals = Arrivals { begun, rate, taken: 0, waited: vec![] };
    let mut elsewhere = Arrivals { begun, rate, taken: 0, waited: vec![] };
    let documents = std::thread::scope(|scope| -> Result<i64> {
        let (is_over, elsewhere) = (&is_over, &mut elsewhere);
        let own = (place == Place::SecondFile).then(|| {
            scope.spawn(move || -> Result<()> {
                while !is_over.load(Ordering::Relaxed) {
                    let wait = elsewhere.due(elsewhere.taken);
                    std::thread::sleep(wait.saturating_duration_since(Instant::now()));
                    second.execute_batch("BEGIN IMMEDIATE")?;
                    let written = elsewhere.write(&second)?;
                    second.execute_batch("COMMIT")?;
                    elsewhere.durable(written);
                }
                Ok(())
            })
        });
        let used = if place == Place::SecondFile { &files[..] } else { &files[..1] };
        let copying: Vec<_> =
            used.iter().map(|file| scope.spawn(move || copy_log(file, is_over))).collect();
        let written = write_all(&store, &mut all, &mut arrivals, (place, begun + time));
        // Also where it has failed: the other threads wait for it.
        is_over.store(true, Ordering::Relaxed);
        for copying in copying {
            copying.join().expect("the thread ends")?;
        }
        own.map_or(Ok(()), |own| own.join().expect("the thread ends"))?;
        written.map(|()| all.count - before)
    })?;
    let rate = documents as f64 / begun.elapsed().as_secs_f64();
    clear();
    let mut waited = arrivals.waited;
    waited.extend(elsewhere.waited);
    waited.sort_by(f64::total_cmp);
    Ok(Found { documents: rate, waited })
}

/// Writes groups until the end, with what has arrived of the part where it has no file of its own.
fn write_all(
    store: &Connection,
    all: &mut Documents,
    arrivals: &mut Arrivals,
    (place, end): (Place, Instant),
) -> Result<()> {
    while Instant::now() < end {
        store.execute_batch("BEGIN IMMEDIATE")?;
        all.write(store)?;
        let written = if place == Place::SameFile { arrivals.write(store)? } else { 0..0 };
        store.execute_batch("COMMIT")?;
        arrivals.durable(written);
    }
    Ok(())
}

fn main() -> Result<()> {
    let number = |name: &str, usual: u32| {
        std::env::args()
            .find_map(|argument| argument.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
            .unwrap_or(usual)
    };
    let (rounds, seconds, rate) =
        (number("rounds", 5), number("seconds", 10), number("rate", 2_500));
    let documents = i64::from(number("documents", 500_000));
    let folder = std::env::var_os("LAYOUTS").map_or_else(std::env::temp_dir, PathBuf::from);
    println!(
        "| round | place | documents/s | part's commits | p50 ms | p99 ms |\n|---|---|---|---|---|---|"
    );
    for number in 1..=rounds {
        for (name, place) in [
            ("alone", Place::Nowhere),
            ("one file", Place::SameFile),
            ("two files", Place::SecondFile),
        ] {
            let time = Duration::from_secs(u64::from(seconds));
            let found = round(&folder, place, time, (f64::from(rate), documents))?;
            let count = found.waited.len();
            let at = |share: f64| found.waited.get((count as f64 * share) as usize).copied();
            let [p50, p99] = [0.5, 0.99].map(|share| at(share).unwrap_or(f64::NAN));
            println!(
                "| {number} | {name} | {:.0} | {count} | {p50:.1} | {p99:.1} |",
                found.documents
            );
        }
    }
    Ok(())
}
