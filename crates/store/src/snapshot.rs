//! A consistent state of a store, for exports and counts that read all of it.
#![expect(clippy::disallowed_methods, reason = "a snapshot has a time limit")]

mod records;

use std::time::{Duration, Instant};

pub use self::records::{Deleted, Edge, Identity, Span};
use crate::error::StoreError;
use crate::id::{DocumentId, KindId, NaturalKey};
use crate::postgres::PostgresSnapshot;
use crate::row::Row;
use crate::sql::{Sql, Value};
use crate::sqlite::SqliteSnapshot;
use crate::store::StoreUrl;
use crate::tie::Tie;

/// Most documents of one page.
const ROWS_MAX: u32 = 2_000;
/// Most ties on one page.
const TIES_MAX: u32 = 20_000;
/// Bytes of documents after which a page ends; its last document may exceed it.
const BYTES_MAX: usize = 8 << 20;

/// How a snapshot is taken.
#[derive(Debug, Clone)]
pub struct SnapshotOptions {
    /// Longest lifetime of the snapshot; after it, every read fails with [`StoreError::Deadline`].
    pub time_max: Duration,
    /// Page cache of its connection to an SQLite file, in KiB.
    pub cache_kib: u32,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        Self { time_max: Duration::from_hours(4), cache_kib: 65_536 }
    }
}

/// A consistent state of a store: reads never see later writes, however long they take. A snapshot
/// neither waits for the writer nor makes it wait.
///
/// While a snapshot of an SQLite store is open, the write-ahead log cannot restart and grows with
/// every write; PostgreSQL cannot remove replaced rows. So the snapshot ends after
/// [`SnapshotOptions::time_max`], whether or not anybody reads from it.
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
    /// [`StoreError::Unusable`] when it is not a store or has to be migrated first,
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

    /// Returns the newest change version in it.
    pub fn newest_change_version(&self) -> i64 {
        self.newest
    }

    /// Returns every kind to which the store has given a number, by name.
    ///
    /// # Errors
    ///
    /// [`StoreError::Deadline`], or the store's own.
    pub fn kinds(&self) -> Result<Vec<(String, KindId)>, StoreError> {
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.kinds(),
            Engine::Postgres(postgres) => postgres.kinds(),
        })
    }

    /// Returns how many documents each kind has; kinds without any are left out. The numbers are
    /// exact, and come from kept counts.
    ///
    /// # Errors
    ///
    /// The same as [`Snapshot::kinds`].
    pub fn counts(&self) -> Result<Vec<(KindId, u64)>, StoreError> {
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.counts(),
            Engine::Postgres(postgres) => postgres.counts(),
        })
    }

    /// Returns how many documents of each kind were created or changed after a change version and
    /// still exist; kinds without any are left out.
    ///
    /// # Errors
    ///
    /// The same as [`Snapshot::kinds`].
    pub fn changed_counts(&self, since: i64) -> Result<Vec<(KindId, u64)>, StoreError> {
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.changed_counts(since),
            Engine::Postgres(postgres) => postgres.changed_counts(since),
        })
    }

    /// Returns how many documents of each kind were deleted after a change version; kinds without
    /// any are left out.
    ///
    /// # Errors
    ///
    /// The same as [`Snapshot::kinds`].
    pub fn deleted_counts(&self, since: i64) -> Result<Vec<(KindId, u64)>, StoreError> {
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.deleted_counts(since),
            Engine::Postgres(postgres) => postgres.deleted_counts(since),
        })
    }

    /// Returns a page of a kind's documents after the given one: up to 2,000, or fewer where they
    /// are large. An empty page is the end.
    ///
    /// # Errors
    ///
    /// The same as [`Snapshot::kinds`].
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

    /// Returns a page of deletions of all kinds after a change version, in order. For the next
    /// page, pass the version of the last one.
    ///
    /// # Errors
    ///
    /// The same as [`Snapshot::kinds`].
    pub fn deletes(&self, after: i64) -> Result<Vec<Deleted>, StoreError> {
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.deletes(after, ROWS_MAX),
            Engine::Postgres(postgres) => postgres.deletes(after, ROWS_MAX),
        })
    }

    /// Returns a page of ties, each with the number of the document that makes it, in order. For
    /// the next page, pass the last one. An empty page is the end.
    ///
    /// # Errors
    ///
    /// The same as [`Snapshot::kinds`].
    pub fn ties(&self, after: Option<(Tie, i64)>) -> Result<Vec<(Tie, i64)>, StoreError> {
        let after =
            after.map_or([-1; 4], |(tie, via)| [i64::from(tie.label.0), tie.item, tie.holder, via]);
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.ties(after, TIES_MAX),
            Engine::Postgres(postgres) => postgres.ties(after, TIES_MAX),
        })
    }

    /// Returns the identifiers of documents with these numbers, in any order; numbers without a
    /// document are left out.
    ///
    /// # Errors
    ///
    /// The same as [`Snapshot::kinds`].
    pub fn identities(&self, ids: &[DocumentId]) -> Result<Vec<Identity>, StoreError> {
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.identities(ids),
            Engine::Postgres(postgres) => postgres.identities(ids),
        })
    }

    /// Returns the numbers of the documents that have these identities, as their own or an abstract
    /// base's, in any order.
    ///
    /// # Errors
    ///
    /// The same as [`Snapshot::kinds`].
    pub fn carriers(&self, keys: &[NaturalKey]) -> Result<Vec<(NaturalKey, i64)>, StoreError> {
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.carriers(keys),
            Engine::Postgres(postgres) => postgres.carriers(keys),
        })
    }

    /// Returns a page of edges, in order. For the next page, pass the last one. An empty page is
    /// the end.
    ///
    /// # Errors
    ///
    /// The same as [`Snapshot::kinds`].
    pub fn edges(&self, after: Option<Edge>) -> Result<Vec<Edge>, StoreError> {
        let after =
            after.map_or([-1; 3], |edge| [edge.target.0, edge.kind.0.into(), edge.source.0]);
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.edges(after, TIES_MAX),
            Engine::Postgres(postgres) => postgres.edges(after, TIES_MAX),
        })
    }

    /// Returns a page of identities under abstract bases, each with the number of its document, in
    /// order. For the next page, pass the last number. An empty page is the end.
    ///
    /// # Errors
    ///
    /// The same as [`Snapshot::kinds`].
    pub fn aliases(&self, after: i64) -> Result<Vec<(i64, NaturalKey)>, StoreError> {
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.aliases(after, TIES_MAX),
            Engine::Postgres(postgres) => postgres.aliases(after, TIES_MAX),
        })
    }

    /// Returns the rows of a reading statement, for a part that keeps its own tables in the store.
    ///
    /// # Errors
    ///
    /// The same as [`Snapshot::kinds`].
    pub fn rows(&self, sql: Sql) -> Result<Vec<Vec<Value>>, StoreError> {
        self.timed(|| match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.rows(&sql),
            Engine::Postgres(postgres) => postgres.rows(sql),
        })
    }

    /// Returns whether the store has skipped a change version, because another store, of which this
    /// one is a copy, has issued it or may have.
    ///
    /// # Errors
    ///
    /// The same as [`Snapshot::kinds`].
    pub fn is_passed_over(&self, change_version: i64) -> Result<bool, StoreError> {
        let text = "SELECT count(*) FROM passed_over WHERE first <= ?1 AND last > ?1";
        let rows = self.rows(Sql::new(text, vec![change_version.into()]))?;
        Ok(rows.first().and_then(|row| row[0].as_integer()) != Some(0))
    }

    /// Reads if there is time left. A read that the end interrupts is late, whatever error the
    /// engine gives.
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
