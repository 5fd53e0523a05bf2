//! One moment of a store, for those who read all of it: exports and counts.

use std::time::{Duration, Instant};

use crate::error::StoreError;
use crate::id::{KindId, Uuid};
use crate::postgres::PostgresSnapshot;
use crate::row::Row;
use crate::sqlite::SqliteSnapshot;
use crate::store::StoreUrl;
use crate::tie::Tie;

/// Most documents of one page.
const ROWS_MAX: u32 = 2_000;
/// Most ties on one page.
const TIES_MAX: u32 = 20_000;
/// Bytes of documents after which a page ends; one document may go beyond.
const BYTES_MAX: usize = 8 << 20;

/// How a snapshot is taken.
#[derive(Debug, Clone)]
pub struct SnapshotOptions {
    /// Longest time that it may be read; then every question is answered
    /// [`StoreError::Deadline`].
    pub time_max: Duration,
    /// Page cache of its connection to a file, in KiB.
    pub cache_kib: u32,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        Self { time_max: Duration::from_hours(4), cache_kib: 65_536 }
    }
}

/// Which documents are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// All, in order of creation.
    Whole,
    /// Those changed after this change version, in order of their change.
    Since(i64),
}

/// What was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// Change version of the deletion.
    pub change_version: i64,
    /// Kind.
    pub kind: KindId,
    /// Public id that it had.
    pub uuid: Uuid,
    /// Key values as JSON.
    pub key_values: String,
    /// Moment of the deletion, microseconds since 1970.
    pub modified: i64,
}

/// One moment of a store: whatever is read from it and however long that takes, later writes are
/// not seen. It neither waits for the writer nor makes it wait.
///
/// While a snapshot of an SQLite store is open, the write-ahead log cannot begin anew and grows by
/// all that is written meanwhile; PostgreSQL cannot clear away rows that were replaced. Hence
/// [`SnapshotOptions::time_max`], at which it ends, whether or not anybody reads from it.
pub struct Snapshot {
    engine: Engine,
    newest: i64,
    end: Instant,
    time_max: Duration,
}

enum Engine {
    Sqlite(SqliteSnapshot),
    Postgres(PostgresSnapshot),
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Snapshot(at {})", self.newest)
    }
}

impl Snapshot {
    /// Takes a snapshot of a store, whether or not a process has it open.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] when it is no store or one that has to be migrated first,
    /// [`StoreError::FromTheFuture`], [`StoreError::Away`] when the database cannot be reached.
    pub fn open(url: &StoreUrl, options: &SnapshotOptions) -> Result<Self, StoreError> {
        let end = Instant::now() + options.time_max;
        let (engine, newest) = match url {
            StoreUrl::Sqlite(path) => {
                let sqlite = SqliteSnapshot::take(path, options.cache_kib, end, options.time_max)?;
                let newest = sqlite.newest_change_version()?;
                (Engine::Sqlite(sqlite), newest)
            }
            StoreUrl::Postgres(url) => {
                let postgres = PostgresSnapshot::take(url, end, options.time_max)?;
                let newest = postgres.newest_change_version()?;
                (Engine::Postgres(postgres), newest)
            }
        };
        Ok(Self { engine, newest, end, time_max: options.time_max })
    }

    /// The newest change version that it shows.
    pub fn newest_change_version(&self) -> i64 {
        self.newest
    }

    /// Every kind that the store has given a number, by name.
    ///
    /// # Errors
    ///
    /// [`StoreError::Deadline`], the store's own.
    pub fn kinds(&self) -> Result<Vec<(String, KindId)>, StoreError> {
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.kinds(),
            Engine::Postgres(postgres) => postgres.kinds(),
        })
    }

    /// How many documents each kind has; kinds without any are left out. Exact, and read from kept
    /// counts.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::kinds`].
    pub fn counts(&self) -> Result<Vec<(KindId, u64)>, StoreError> {
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.counts(),
            Engine::Postgres(postgres) => postgres.counts(),
        })
    }

    /// How many documents of each kind were made or changed after a change version and are still
    /// there; kinds without any are left out.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::kinds`].
    pub fn changed_counts(&self, since: i64) -> Result<Vec<(KindId, u64)>, StoreError> {
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.changed_counts(since),
            Engine::Postgres(postgres) => postgres.changed_counts(since),
        })
    }

    /// How many documents of each kind were deleted after a change version; kinds without any are
    /// left out.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::kinds`].
    pub fn deleted_counts(&self, since: i64) -> Result<Vec<(KindId, u64)>, StoreError> {
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.deleted_counts(since),
            Engine::Postgres(postgres) => postgres.deleted_counts(since),
        })
    }

    /// A page of a kind's documents after the one given: up to 2,000, or fewer where they are
    /// large. An empty page is the end.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::kinds`].
    pub fn documents(
        &self,
        kind: KindId,
        span: Span,
        after: Option<&Row>,
    ) -> Result<Vec<Row>, StoreError> {
        let last = match (span, after) {
            (Span::Whole, after) => after.map_or(0, |row| row.id.0),
            (Span::Since(since), after) => after.map_or(since, |row| row.change_version),
        };
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.documents(kind, span, last, ROWS_MAX, BYTES_MAX),
            Engine::Postgres(postgres) => postgres.documents(kind, span, last, ROWS_MAX, BYTES_MAX),
        })
    }

    /// A page of what was deleted after a change version, of all kinds, in order; for the next page
    /// the last one's is given.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::kinds`].
    pub fn deletes(&self, after: i64) -> Result<Vec<Deleted>, StoreError> {
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.deletes(after, ROWS_MAX),
            Engine::Postgres(postgres) => postgres.deletes(after, ROWS_MAX),
        })
    }

    /// A page of ties, each with the number of the document that makes it, in order; for the next
    /// page the last one is given. An empty page is the end.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::kinds`].
    pub fn ties(&self, after: Option<(Tie, i64)>) -> Result<Vec<(Tie, i64)>, StoreError> {
        let after =
            after.map_or([-1; 4], |(tie, via)| [i64::from(tie.label.0), tie.item, tie.holder, via]);
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.ties(after, TIES_MAX),
            Engine::Postgres(postgres) => postgres.ties(after, TIES_MAX),
        })
    }

    /// Reads while there is time; a read that the end interrupts is late, whatever the engine says.
    fn timed<T>(&self, read: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let late = || StoreError::Deadline(self.time_max);
        if Instant::now() >= self.end {
            return Err(late());
        }
        read().map_err(|error| match error {
            StoreError::Failed(_) if Instant::now() >= self.end => late(),
            error => error,
        })
    }
}
