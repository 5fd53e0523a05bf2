//! A snapshot of the file: a read transaction on a connection of its own.
#![expect(clippy::disallowed_methods, reason = "a snapshot has a time limit")]

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use super::counters::newest_change_version;
use crate::dialect::Dialect;
use crate::error::StoreError;
use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::migration::newest;
use crate::row::Row;
use crate::snapshot::{Deleted, Edge, Identity, Span};
use crate::sql::{Sql, Value};
use crate::sqlite::lock::{Reading, real_file};
use crate::sqlite::open::open_existing;
use crate::sqlite::probe::document;
use crate::sqlite::recent::{Missing, unpack};
use crate::sqlite::value::{list_of_keys, rows};
use crate::tie::Tie;

/// Virtual-machine steps between two checks of the clock.
const STEPS: i32 = 100_000;

/// An open read transaction. It ends on time even if nobody reads from it, because as long as it is
/// open, the log cannot restart.
pub(crate) struct SqliteSnapshot {
    /// [`None`] once its time is over.
    connection: Arc<Mutex<Option<Connection>>>,
    /// Keeps the rest of this process from opening the files.
    _reading: Reading,
    /// What is in the memory of a process that writes, once it was asked for.
    missing: OnceLock<Missing>,
    /// Dropping it ends the thread that waits for the time.
    _alive: Sender<()>,
    time_max: Duration,
}

impl Drop for SqliteSnapshot {
    fn drop(&mut self) {
        drop(locked(&self.connection).take());
    }
}

impl SqliteSnapshot {
    /// Begins to read; at `end`, `time_max` after the start, the read is interrupted.
    pub(crate) fn take(
        path: &Path,
        cache_kib: u32,
        end: Instant,
        time_max: Duration,
    ) -> Result<Self, StoreError> {
        let (mut connection, version) = open_existing(path, cache_kib)?;
        if version < newest() {
            return Err(StoreError::Unusable(format!(
                "{} was made by an older Homeroom; start this version on it once to migrate it",
                path.display()
            )));
        }
        connection.progress_handler(STEPS, Some(move || Instant::now() >= end))?;
        // The transaction begins with its first read.
        connection.execute_batch("BEGIN; SELECT 1 FROM kind LIMIT 1;")?;
        // The first read has opened the log.
        let reading = Reading::of(&real_file(path).unwrap_or_else(|_| path.to_owned()));
        let connection = Arc::new(Mutex::new(Some(connection)));
        let (alive, is_gone) = channel::<()>();
        let ended = Arc::clone(&connection);
        std::thread::Builder::new()
            .name("store-snapshot".into())
            .spawn(move || {
                let left = end.saturating_duration_since(Instant::now());
                if is_gone.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                    drop(locked(&ended).take());
                }
            })
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self {
            connection,
            missing: OnceLock::new(),
            _reading: reading,
            _alive: alive,
            time_max,
        })
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let connection = locked(&self.connection);
        read(connection.as_ref().ok_or(StoreError::Deadline(self.time_max))?)
    }

    pub(crate) fn newest_change_version(&self) -> Result<i64, StoreError> {
        self.read(newest_change_version)
    }

    pub(crate) fn kinds(&self) -> Result<Vec<(String, KindId)>, StoreError> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT name, id FROM kind ORDER BY id")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, KindId(row.get(1)?))))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    pub(crate) fn counts(&self) -> Result<Vec<(KindId, u64)>, StoreError> {
        self.numbers(
            "SELECT kind, sum(n) FROM tally WHERE ?1 GROUP BY kind HAVING sum(n) > 0 ORDER BY kind",
            1,
        )
    }

    pub(crate) fn changed_counts(&self, since: i64) -> Result<Vec<(KindId, u64)>, StoreError> {
        // Counts kind by kind, along the index; a count over all would read every document.
        self.numbers(
            "SELECT id, n FROM (SELECT id, (SELECT count(*) FROM doc INDEXED BY doc_kind_cv
                                            WHERE kind = k.id AND cv > ?1) AS n FROM kind k)
             WHERE n > 0 ORDER BY id",
            since,
        )
    }

    pub(crate) fn deleted_counts(&self, since: i64) -> Result<Vec<(KindId, u64)>, StoreError> {
        self.numbers(
            "SELECT kind, count(*) FROM tomb WHERE cv > ?1 GROUP BY kind ORDER BY kind",
            since,
        )
    }

    /// Runs a statement with one argument that returns kinds and numbers.
    fn numbers(&self, sql: &str, argument: i64) -> Result<Vec<(KindId, u64)>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([argument], |row| {
                Ok((KindId(row.get(0)?), row.get::<_, i64>(1)?.unsigned_abs()))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    pub(crate) fn documents(
        &self,
        kind: KindId,
        span: Span,
        last: i64,
        rows_max: u32,
        bytes_max: usize,
    ) -> Result<Vec<Row>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(match span {
                Span::Whole => {
                    "SELECT id, uuid, kind, key, cv, modified, refs, body
                 FROM doc INDEXED BY doc_kind_id
                 WHERE kind = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
                }
                Span::Since(_) => {
                    "SELECT id, uuid, kind, key, cv, modified, refs, body
                 FROM doc INDEXED BY doc_kind_cv
                 WHERE kind = ?1 AND cv > ?2 ORDER BY cv LIMIT ?3"
                }
            })?;
            let (mut page, mut bytes) = (vec![], 0);
            for row in statement.query_map(params![kind.0, last, rows_max], document)? {
                let row = row?;
                bytes += row.body.len() + row.references.len();
                page.push(row);
                if bytes >= bytes_max {
                    break;
                }
            }
            Ok(page)
        })
    }

    pub(crate) fn deletes(&self, after: i64, rows_max: u32) -> Result<Vec<Deleted>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT cv, kind, uuid, key_values, modified, key FROM tomb
             WHERE cv > ?1 ORDER BY cv LIMIT ?2",
            )?;
            let rows = statement.query_map(params![after, rows_max], |row| {
                Ok(Deleted {
                    change_version: row.get(0)?,
                    kind: KindId(row.get(1)?),
                    uuid: Uuid(row.get(2)?),
                    key_values: row.get(3)?,
                    modified: row.get(4)?,
                    key: NaturalKey(row.get(5)?),
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    pub(crate) fn ties(
        &self,
        after: [i64; 4],
        rows_max: u32,
    ) -> Result<Vec<(Tie, i64)>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT label, item, holder, via FROM tie
             WHERE (label, item, holder, via) > (?1, ?2, ?3, ?4)
             ORDER BY label, item, holder, via LIMIT ?5",
            )?;
            let [label, item, holder, via] = after;
            let rows = statement.query_map(params![label, item, holder, via, rows_max], |row| {
                let tie =
                    Tie { label: KindId(row.get(0)?), item: row.get(1)?, holder: row.get(2)? };
                Ok((tie, row.get(3)?))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    pub(crate) fn identities(&self, ids: &[DocumentId]) -> Result<Vec<Identity>, StoreError> {
        let Value::Text(ids) = Dialect::Sqlite.list(ids.iter().map(|id| id.0)) else {
            return Ok(vec![]);
        };
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT d.id, d.uuid, d.kind, d.key, a.key FROM json_each(?1) x
             CROSS JOIN doc d ON d.id = x.value LEFT JOIN alias a ON a.id = d.id",
            )?;
            let rows = statement.query_map([ids], |row| {
                Ok(Identity {
                    id: DocumentId(row.get(0)?),
                    uuid: Uuid(row.get(1)?),
                    kind: KindId(row.get(2)?),
                    key: NaturalKey(row.get(3)?),
                    alias: row.get::<_, Option<[u8; 16]>>(4)?.map(NaturalKey),
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    pub(crate) fn carriers(
        &self,
        keys: &[NaturalKey],
    ) -> Result<Vec<(NaturalKey, i64)>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT i.key, i.id FROM json_each(?1) x
             CROSS JOIN identity i ON i.key = unhex(x.value)
             UNION ALL
             SELECT a.key, a.id FROM json_each(?1) x CROSS JOIN alias a ON a.key = unhex(x.value)",
            )?;
            let rows = statement.query_map([list_of_keys(keys)], |row| {
                Ok((NaturalKey(row.get(0)?), row.get(1)?))
            })?;
            let mut found = rows.collect::<Result<Vec<_>, _>>()?;
            let identities = &self.missing(connection)?.identities;
            for key in keys {
                let from = identities.partition_point(|(other, _)| *other < key.0);
                let same = identities[from..].iter().take_while(|(other, _)| *other == key.0);
                found.extend(same.map(|(_, document)| (*key, *document)));
            }
            Ok(found)
        })
    }

    pub(crate) fn edges(&self, after: [i64; 3], rows_max: u32) -> Result<Vec<Edge>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT target, kind, source FROM ref WHERE (target, kind, source) > (?1, ?2, ?3)
             ORDER BY target, kind, source LIMIT ?4",
            )?;
            let [target, kind, source] = after;
            let mut rows = statement.query(params![target, kind, source, rows_max])?;
            let wanted = usize::try_from(rows_max).unwrap_or(usize::MAX);
            let mut page = Vec::with_capacity(wanted.min(1_024));
            let missing = &self.missing(connection)?.edges;
            let from = missing.partition_point(|edge| {
                let (to, of, by) = unpack(*edge);
                [to, of.into(), by] <= after
            });
            let mut missing = missing[from..].iter().map(|edge| unpack(*edge)).peekable();
            // Both are in order, and so is what they make together.
            while page.len() < wanted {
                let row = rows.next()?;
                let stored = match row {
                    Some(row) => Some((row.get(0)?, row.get(1)?, row.get(2)?)),
                    None => None,
                };
                let is_before = |edge: &(i64, u16, i64)| stored.is_none_or(|stored| *edge < stored);
                page.extend(
                    std::iter::from_fn(|| missing.next_if(is_before)).take(wanted - page.len()),
                );
                match stored {
                    Some(stored) if page.len() < wanted => page.push(stored),
                    Some(_) => {}
                    None => break,
                }
            }
            let edge = |(target, kind, source)| Edge {
                target: DocumentId(target),
                kind: KindId(kind),
                source: DocumentId(source),
            };
            Ok(page.into_iter().map(edge).collect())
        })
    }

    /// Returns what is not in the tables of identities and edges yet.
    fn missing(&self, connection: &Connection) -> Result<&Missing, StoreError> {
        if let Some(missing) = self.missing.get() {
            return Ok(missing);
        }
        let found = Missing::read(connection)?;
        Ok(self.missing.get_or_init(|| found))
    }

    pub(crate) fn aliases(
        &self,
        after: i64,
        rows_max: u32,
    ) -> Result<Vec<(i64, NaturalKey)>, StoreError> {
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT id, key FROM alias WHERE id > ?1 ORDER BY id LIMIT ?2")?;
            let rows = statement.query_map(params![after, rows_max], |row| {
                Ok((row.get(0)?, NaturalKey(row.get(1)?)))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    pub(crate) fn rows(&self, sql: &Sql) -> Result<Vec<Vec<Value>>, StoreError> {
        self.read(|connection| rows(connection, sql))
    }
}

fn locked(connection: &Mutex<Option<Connection>>) -> MutexGuard<'_, Option<Connection>> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}
