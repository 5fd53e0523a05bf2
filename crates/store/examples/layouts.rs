//! Measures what layouts of the tables write to the disk for each created document, on bare SQLite
//! without the store: `cargo run --release -p homeroom-store --example layouts -- LAYOUT
//! [NAME=NUMBER …]`. `LAYOUTS` names the folder of the file, which is removed at the end.
//!
//! Layouts: `present` (the store's), `clustered` (identities in a table of their own), `neither`
//! (no identities and edges, what cannot be saved), `runs` (levels in tables), `deferred-keys` and
//! `deferred` (merged in order from memory). Numbers: `documents` at the start, `students`, `create`
//! and `warm` (created before the measurement), `window` (documents in memory), `group` (documents
//! in a transaction), `page` in bytes, `cache` in KiB, `log` (MiB after which it is copied).
#![expect(clippy::disallowed_methods, reason = "an example measures")]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are for people, and small"
)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::{Connection, params};

/// A document's key: the first bytes of a hash.
type Key = [u8; 16];
/// Target, kind, source.
type Edge = (i64, i64, i64);
type Result<T> = rusqlite::Result<T>;

const KIND: i64 = 7;

/// The settings of a run.
struct Settings {
    layout: String,
    numbers: HashMap<String, i64>,
}

impl Settings {
    fn get(&self, name: &str, usual: i64) -> i64 {
        self.numbers.get(name).copied().unwrap_or(usual)
    }
}

/// Documents as a function of their number.
struct Documents {
    students: i64,
    body: String,
}

impl Documents {
    fn key(id: i64) -> Key {
        let mut key = [0; 16];
        key.copy_from_slice(&blake3::hash(&id.to_le_bytes()).as_bytes()[..16]);
        key
    }

    /// A student, the student's school, one of its sessions, and two descriptors.
    fn edges(&self, id: i64) -> [Edge; 5] {
        let random =
            i64::from_le_bytes(Self::key(-id)[..8].try_into().expect("8 bytes")) & i64::MAX;
        let student = random % self.students;
        let school = student / 500;
        let targets = [
            student,
            1_000_000_000 + school,
            1_001_000_000 + school * 4 + random / 1_000 % 4,
            1_002_000_000 + random / 10_000 % 10,
            1_003_000_000 + random / 100_000 % 5,
        ];
        targets.map(|target| (target, KIND, id))
    }
}

const COMMON: &str = "
CREATE TABLE doc (id INTEGER PRIMARY KEY, uuid BLOB NOT NULL, kind INTEGER NOT NULL,
    key BLOB NOT NULL, cv INTEGER NOT NULL, modified INTEGER NOT NULL, refs BLOB NOT NULL,
    body TEXT NOT NULL);
CREATE TABLE tally (kind INTEGER NOT NULL, block INTEGER NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (kind, block)) WITHOUT ROWID;
CREATE TABLE state (id INTEGER PRIMARY KEY, state BLOB NOT NULL);
CREATE TABLE identity (key BLOB PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE ref (target INTEGER NOT NULL, kind INTEGER NOT NULL, source INTEGER NOT NULL,
    PRIMARY KEY (target, kind, source)) WITHOUT ROWID;
CREATE TABLE identity_run (run INTEGER NOT NULL, key BLOB NOT NULL, id INTEGER NOT NULL,
    PRIMARY KEY (run, key)) WITHOUT ROWID;
CREATE TABLE ref_run (run INTEGER NOT NULL, target INTEGER NOT NULL, kind INTEGER NOT NULL,
    source INTEGER NOT NULL, PRIMARY KEY (run, target, kind, source)) WITHOUT ROWID;";

const INDEXES: &str = "
CREATE UNIQUE INDEX doc_uuid ON doc (uuid);
CREATE INDEX doc_kind_id ON doc (kind, id);
CREATE INDEX doc_kind_cv ON doc (kind, cv);";

fn insert_document(store: &Connection, documents: &Documents, id: i64) -> Result<()> {
    let mut uuid = [0; 16];
    uuid[..8].copy_from_slice(&id.to_be_bytes());
    uuid[8..].copy_from_slice(&Documents::key(id)[8..]);
    store.prepare_cached("INSERT INTO doc VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?.execute(
        params![id, uuid, KIND, Documents::key(id), id, id, [7_u8; 140], documents.body],
    )?;
    Ok(())
}

fn insert_edge(store: &Connection, (target, kind, source): Edge) -> Result<()> {
    store
        .prepare_cached("INSERT INTO ref VALUES (?1, ?2, ?3)")?
        .execute(params![target, kind, source])?;
    Ok(())
}

fn insert_key(store: &Connection, key: Key, id: i64) -> Result<()> {
    store.prepare_cached("INSERT INTO identity VALUES (?1, ?2)")?.execute(params![key, id])?;
    Ok(())
}

/// Makes a store of documents, quickly.
fn seed(store: &Connection, documents: &Documents, count: i64, by_rowid: bool) -> Result<()> {
    for from in (1..=count).step_by(20_000) {
        store.execute_batch("BEGIN")?;
        let upto = (from + 20_000).min(count + 1);
        for id in from..upto {
            insert_document(store, documents, id)?;
        }
        store.execute_batch("COMMIT; PRAGMA wal_checkpoint(PASSIVE)")?;
    }
    store.execute_batch(INDEXES)?;
    if by_rowid {
        store.execute_batch("CREATE UNIQUE INDEX doc_key ON doc (key)")?;
    } else {
        store.execute_batch("INSERT INTO identity SELECT key, id FROM doc ORDER BY key")?;
    }
    let mut edges: Vec<Edge> = (1..=count).flat_map(|id| documents.edges(id)).collect();
    edges.sort_unstable();
    for some in edges.chunks(100_000) {
        store.execute_batch("BEGIN")?;
        some.iter().try_for_each(|edge| insert_edge(store, *edge))?;
        store.execute_batch("COMMIT; PRAGMA wal_checkpoint(PASSIVE)")?;
    }
    store.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").map(drop)
}

/// How identities and edges get into their tables.
trait Layout {
    /// Adds a document's; the group's transaction is open.
    fn add(&mut self, store: &Connection, key: Key, id: i64, edges: &[Edge]) -> Result<()>;

    /// Does what is due at the end of a group.
    fn end(&mut self, _store: &Connection, _group: i64) -> Result<()> {
        Ok(())
    }
}

/// Each at once in its place, as far as asked for.
struct AtOnce {
    keys: bool,
    edges: bool,
}

impl Layout for AtOnce {
    fn add(&mut self, store: &Connection, key: Key, id: i64, edges: &[Edge]) -> Result<()> {
        if self.keys {
            insert_key(store, key, id)?;
        }
        if self.edges {
            edges.iter().try_for_each(|edge| insert_edge(store, *edge))?;
        }
        Ok(())
    }
}

/// Runs of 512 documents, merged 16 at a time into longer ones, and at last into the tables.
struct Runs {
    first: i64,
    lengths: Vec<Vec<i64>>,
    tiers: usize,
    added: i64,
}

impl Layout for Runs {
    fn add(&mut self, store: &Connection, key: Key, id: i64, edges: &[Edge]) -> Result<()> {
        if self.added == 0 {
            self.first = id;
        }
        self.added += 1;
        store
            .prepare_cached("INSERT INTO identity_run VALUES (?1, ?2, ?3)")?
            .execute(params![self.first, key, id])?;
        for (target, kind, source) in edges {
            store
                .prepare_cached("INSERT INTO ref_run VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![self.first, target, kind, source])?;
        }
        Ok(())
    }

    fn end(&mut self, store: &Connection, _group: i64) -> Result<()> {
        if self.added < 512 {
            return Ok(());
        }
        self.added = 0;
        self.lengths[0].push(self.first);
        for tier in 0..self.tiers {
            if self.lengths[tier].len() < 16 {
                break;
            }
            let runs = std::mem::take(&mut self.lengths[tier]);
            let (low, high) = (runs[0], runs[15]);
            let is_last = tier + 1 == self.tiers;
            let (keys, edges) = if is_last {
                (
                    "INSERT INTO identity SELECT key, id",
                    "INSERT INTO ref SELECT target, kind, source",
                )
            } else {
                (
                    "INSERT INTO identity_run SELECT -?1, key, id",
                    "INSERT INTO ref_run SELECT -?1, target, kind, source",
                )
            };
            let merge = |sql: &str, table: &str, order: &str| -> Result<()> {
                let sql =
                    format!("{sql} FROM {table} WHERE run BETWEEN ?1 AND ?2 ORDER BY {order}");
                store.execute(&sql, [low, high])?;
                let sql = format!("DELETE FROM {table} WHERE run BETWEEN ?1 AND ?2");
                store.execute(&sql, [low, high])?;
                let sql = format!("UPDATE {table} SET run = -run WHERE run < 0");
                if is_last { Ok(()) } else { store.execute(&sql, []).map(drop) }
            };
            merge(keys, "identity_run", "key")?;
            merge(edges, "ref_run", "target, kind, source")?;
            if !is_last {
                self.lengths[tier + 1].push(low);
            }
        }
        Ok(())
    }
}

/// In memory, and merged in order into the tables: half a window waits while the other half is
/// merged, a little with each group.
struct Deferred {
    window: usize,
    keys: bool,
    edges: bool,
    new_keys: Vec<(Key, i64)>,
    new_edges: Vec<Edge>,
    old_keys: std::vec::IntoIter<(Key, i64)>,
    old_edges: std::vec::IntoIter<Edge>,
    /// Keys and edges that are merged with each document.
    pace: (f64, f64),
}

impl Layout for Deferred {
    fn add(&mut self, store: &Connection, key: Key, id: i64, edges: &[Edge]) -> Result<()> {
        if self.keys {
            self.new_keys.push((key, id));
        } else {
            insert_key(store, key, id)?;
        }
        if self.edges {
            self.new_edges.extend(edges);
            return Ok(());
        }
        edges.iter().try_for_each(|edge| insert_edge(store, *edge))
    }

    fn end(&mut self, store: &Connection, group: i64) -> Result<()> {
        let count = |pace: f64| (pace * group as f64).ceil() as usize;
        for (key, id) in self.old_keys.by_ref().take(count(self.pace.0)) {
            insert_key(store, key, id)?;
        }
        for edge in self.old_edges.by_ref().take(count(self.pace.1)) {
            insert_edge(store, edge)?;
        }
        store
            .prepare_cached("INSERT OR REPLACE INTO state VALUES (1, ?1)")?
            .execute([[7_u8; 60]])?;
        let waiting = self.new_keys.len().max(self.new_edges.len() / 5);
        if waiting >= self.window / 2 && self.old_keys.len() == 0 && self.old_edges.len() == 0 {
            let (mut keys, mut edges) =
                (std::mem::take(&mut self.new_keys), std::mem::take(&mut self.new_edges));
            keys.sort_unstable();
            edges.sort_unstable();
            self.pace = (
                keys.len() as f64 / waiting as f64 * 1.02,
                edges.len() as f64 / waiting as f64 * 1.02,
            );
            (self.old_keys, self.old_edges) = (keys.into_iter(), edges.into_iter());
        }
        Ok(())
    }
}

fn layout(settings: &Settings) -> Option<Box<dyn Layout>> {
    let deferred = |keys, edges| {
        Box::new(Deferred {
            window: usize::try_from(settings.get("window", 262_144)).expect("a size"),
            keys,
            edges,
            new_keys: vec![],
            new_edges: vec![],
            old_keys: vec![].into_iter(),
            old_edges: vec![].into_iter(),
            pace: (0.0, 0.0),
        })
    };
    Some(match settings.layout.as_str() {
        // The identity's index belongs to the table of documents.
        "present" => Box::new(AtOnce { keys: false, edges: true }),
        "clustered" => Box::new(AtOnce { keys: true, edges: true }),
        "neither" => Box::new(AtOnce { keys: false, edges: false }),
        "runs" => Box::new(Runs { first: 0, lengths: vec![vec![]; 4], tiers: 3, added: 0 }),
        "deferred-keys" => deferred(true, false),
        "deferred" => deferred(true, true),
        _ => return None,
    })
}

/// Bytes that this process has made the disk write, and its processor time in seconds.
fn spent() -> (u64, f64) {
    let io = std::fs::read_to_string("/proc/self/io").expect("Linux");
    let bytes = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).expect("a figure");
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let ticks = stat.split(' ').skip(13).take(2).map(|n| n.parse::<f64>().expect("ticks"));
    (bytes.parse().expect("a number"), ticks.sum::<f64>() / 100.0)
}

fn open(file: &Path, settings: &Settings) -> Result<Connection> {
    let store = Connection::open(file)?;
    store.pragma_update(None, "page_size", settings.get("page", 4_096))?;
    store.pragma_update(None, "journal_mode", "wal")?;
    store.pragma_update(None, "wal_autocheckpoint", 0)?;
    store.pragma_update(None, "cache_size", -settings.get("cache", 65_536))?;
    store.set_prepared_statement_cache_capacity(64);
    Ok(store)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let layout_name = arguments.next().expect("a layout");
    let numbers = arguments.map(|argument| {
        let (name, number) = argument.split_once('=').expect("NAME=NUMBER");
        (name.to_owned(), number.parse().expect("a number"))
    });
    let settings = Settings { layout: layout_name, numbers: numbers.collect() };
    let folder = std::env::var_os("LAYOUTS").map_or_else(std::env::temp_dir, PathBuf::from);
    let file = folder.join(format!("layouts-{}.db", std::process::id()));
    let (count, create) = (settings.get("documents", 100_000), settings.get("create", 100_000));
    let students = settings.get("students", 1_000);
    let documents = Documents { students, body: "x".repeat(700) };
    let mut layout = layout(&settings).expect("a layout that is known");
    let store = open(&file, &settings)?;
    store.execute_batch(COMMON)?;
    store.pragma_update(None, "synchronous", "off")?;
    seed(&store, &documents, count, ["present"].contains(&settings.layout.as_str()))?;
    store.pragma_update(None, "synchronous", "full")?;
    let other = open(&file, &settings)?;

    let (group, log_max) = (settings.get("group", 50), settings.get("log", 64) << 20);
    let per_frame = settings.get("page", 4_096) + 24;
    let warm = settings.get("warm", 0);
    let (mut frames, mut begun, mut before) = (0_i64, Instant::now(), spent());
    let mut in_log = 0;
    for first in (count + 1..=count + warm + create).step_by(usize::try_from(group).expect("small"))
    {
        if first > count + warm && first <= count + warm + group {
            (frames, begun, before) = (0, Instant::now(), spent());
        }
        store.execute_batch("BEGIN IMMEDIATE")?;
        for id in first..first + group {
            insert_document(&store, &documents, id)?;
            layout.add(&store, Documents::key(id), id, &documents.edges(id))?;
        }
        store
            .prepare_cached(
                "INSERT INTO tally VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET n = n + ?3",
            )?
            .execute([KIND, first / 4_096, group])?;
        layout.end(&store, group)?;
        store.execute_batch("COMMIT")?;
        // Frames of the log since it began anew, as the file that only grows cannot say.
        let now: i64 =
            store.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1)).unwrap_or(0);
        frames += if now >= in_log { now - in_log } else { now };
        in_log = now;
        if now * per_frame > log_max {
            let sql = "PRAGMA wal_checkpoint(PASSIVE)";
            let (all, copied): (i64, i64) =
                other.query_row(sql, [], |row| Ok((row.get(1)?, row.get(2)?)))?;
            assert_eq!(all, copied, "nobody reads");
            in_log = 0;
        }
    }
    let (bytes, cpu) = spent();
    let (bytes, cpu) = ((bytes - before.0) as f64, cpu - before.1);
    let (log_bytes, n) = ((frames * per_frame) as f64, create as f64);
    drop((store, other));
    let size = std::fs::metadata(&file).map_or(0, |about| about.len());
    println!(
        "{} {:?}: a document writes {:.2} KB (log {:.2}, file {:.2}), {:.1} µs of CPU, {:.1} µs; \
         {:.0} bytes of file a document",
        settings.layout,
        settings.numbers,
        bytes / n / 1e3,
        log_bytes / n / 1e3,
        (bytes - log_bytes) / n / 1e3,
        cpu / n * 1e6,
        begun.elapsed().as_secs_f64() / n * 1e6,
        size as f64 / (count + warm + create) as f64,
    );
    for ending in ["", "-wal", "-shm"] {
        _ = std::fs::remove_file(format!("{}{ending}", file.display()));
    }
    Ok(())
}
