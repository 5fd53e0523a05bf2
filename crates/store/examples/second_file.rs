//! Measures whether a part's rows are better in the transactions of documents or in a file of their own, on bare
//! SQLite without the store: `cargo run --release -p homeroom-store --example second_file -- [NAME=NUMBER …]`.
//! `LAYOUTS` names the folder of the files, which are removed at the end.
//!
//! One thread writes groups of 64 documents, one durable transaction after the other, as the store's writer does
//! for 64 clients. A part's commits arrive at an even rate. `alone`: there are none. `one file`: each transaction
//! takes those that have arrived. `two files`: a second thread writes them to a file with a log and syncs of its
//! own. The three are measured in turn. Numbers: `rounds`, `seconds` of each, `rate` of the part's commits a second.
#![expect(clippy::disallowed_methods, reason = "an example measures")]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are for people, and small"
)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

type Result<T> = rusqlite::Result<T>;

/// The documents of a group.
const GROUP: i64 = 64;
/// The rows of the part that commits change in turn.
const ROWS: i64 = 50_000;

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
                .execute(params![self.taken * 7_919 % ROWS, [3_u8; 400]])?;
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

/// Opens a new file as the store does.
fn open(file: &Path) -> Result<Connection> {
    let store = Connection::open(file)?;
    store.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;
         CREATE TABLE doc (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
         CREATE TABLE part (id INTEGER PRIMARY KEY, body BLOB NOT NULL);",
    )?;
    Ok(store)
}

/// What a round found.
struct Found {
    documents: f64,
    /// In milliseconds, in order.
    waited: Vec<f64>,
}

fn round(folder: &Path, place: Place, time: Duration, rate: f64) -> Result<Found> {
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
    let (begun, is_over) = (Instant::now(), AtomicBool::new(false));
    let body = "x".repeat(700);
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
        let mut count = 0;
        while begun.elapsed() < time {
            store.execute_batch("BEGIN IMMEDIATE")?;
            for _ in 0..GROUP {
                count += 1;
                store
                    .prepare_cached("INSERT INTO doc VALUES (?1, ?2)")?
                    .execute(params![count, body])?;
            }
            let written = if place == Place::SameFile { arrivals.write(&store)? } else { 0..0 };
            store.execute_batch("COMMIT")?;
            arrivals.durable(written);
        }
        is_over.store(true, Ordering::Relaxed);
        own.map_or(Ok(()), |own| own.join().expect("the thread ends"))?;
        Ok(count)
    })?;
    let rate = documents as f64 / begun.elapsed().as_secs_f64();
    clear();
    let mut waited = arrivals.waited;
    waited.extend(elsewhere.waited);
    waited.sort_by(f64::total_cmp);
    Ok(Found { documents: rate, waited })
}

fn main() -> Result<()> {
    let number = |name: &str, usual: u32| {
        std::env::args()
            .find_map(|argument| argument.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
            .unwrap_or(usual)
    };
    let (rounds, seconds, rate) =
        (number("rounds", 5), number("seconds", 10), number("rate", 2_500));
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
            let found = round(&folder, place, time, f64::from(rate))?;
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
