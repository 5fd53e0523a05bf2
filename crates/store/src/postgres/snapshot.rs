//! A snapshot of the database: a read transaction on a connection of its own.
#![expect(clippy::disallowed_methods, reason = "a snapshot has a time limit")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_postgres::Row as SqlRow;
use tokio_postgres::types::ToSql;

use crate::dialect::Dialect;
use crate::error::StoreError;
use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::postgres::connection::{Connection, Connector, Role, Shared};
use crate::postgres::error::Fault;
use crate::postgres::migrate;
use crate::postgres::own_runtime::OwnRuntime;
use crate::postgres::value::{bytes, document, kind, values};
use crate::row::Row;
use crate::snapshot::{Deleted, Edge, Identity, Span};
use crate::sql::{Sql, Value};
use crate::store::PostgresUrl;
use crate::tie::Tie;

/// Longest time-out of a statement on the server: its milliseconds have 31 bits.
const TIME_MAX: Duration = Duration::from_millis(i32::MAX as u64);

const NEWEST: &str = "SELECT cv FROM counter WHERE name = 'writer'";
const KINDS: &str = "SELECT name, id FROM kind ORDER BY id";
const COUNTS: &str = "SELECT kind, CAST(sum(n) AS bigint) FROM tally \
     GROUP BY kind HAVING sum(n) > 0 ORDER BY kind";
/// Counts kind by kind, along the index; a count over all would read every document.
const CHANGED_COUNTS: &str = "SELECT k.id, c.n FROM kind k CROSS JOIN LATERAL \
     (SELECT count(*) AS n FROM doc d WHERE d.kind = k.id AND d.cv > ?1) c \
     WHERE c.n > 0 ORDER BY k.id";
const DELETED_COUNTS: &str =
    "SELECT kind, count(*) FROM tomb WHERE cv > ?1 GROUP BY kind ORDER BY kind";
/// The server limits a page, because it knows the sizes before it sends anything.
const BY_ID: &str = "SELECT id, uuid, kind, key, cv, modified, refs, body FROM ( \
     SELECT d.*, sum(octet_length(d.body) + octet_length(d.refs)) OVER (ORDER BY d.id) \
     - octet_length(d.body) - octet_length(d.refs) AS bytes_before \
     FROM doc d WHERE d.kind = ?1 AND d.id > ?2 ORDER BY d.id LIMIT ?3) p \
     WHERE bytes_before < ?4 ORDER BY id";
const BY_CHANGE: &str = "SELECT id, uuid, kind, key, cv, modified, refs, body FROM ( \
     SELECT d.*, sum(octet_length(d.body) + octet_length(d.refs)) OVER (ORDER BY d.cv) \
     - octet_length(d.body) - octet_length(d.refs) AS bytes_before \
     FROM doc d WHERE d.kind = ?1 AND d.cv > ?2 ORDER BY d.cv LIMIT ?3) p \
     WHERE bytes_before < ?4 ORDER BY cv";
const DELETES: &str = "SELECT cv, kind, uuid, key_values, modified, key FROM tomb \
     WHERE cv > ?1 ORDER BY cv LIMIT ?2";

const TIES: &str = "SELECT label, item, holder, via FROM tie \
     WHERE (label, item, holder, via) > (?1, ?2, ?3, ?4) \
     ORDER BY label, item, holder, via LIMIT ?5";

const IDENTITIES: &str = "SELECT d.id, d.uuid, d.kind, d.key, a.key \
     FROM unnest(CAST(CAST(?1 AS text) AS bigint[])) x (id) \
     JOIN doc d ON d.id = x.id LEFT JOIN alias a ON a.id = d.id";
const CARRIERS: &str = "SELECT d.key, d.id \
     FROM unnest(CAST(CAST(?1 AS text) AS uuid[])) x (key) JOIN doc d ON d.key = x.key \
     UNION ALL SELECT a.key, a.id \
     FROM unnest(CAST(CAST(?1 AS text) AS uuid[])) x (key) JOIN alias a ON a.key = x.key";
const EDGES: &str = "SELECT target, kind, source FROM ref \
     WHERE (target, kind, source) > (?1, ?2, ?3) ORDER BY target, kind, source LIMIT ?4";
const ALIASES: &str = "SELECT id, key FROM alias WHERE id > ?1 ORDER BY id LIMIT ?2";

/// An open read transaction.
pub(crate) struct PostgresSnapshot {
    connection: Shared,
    runtime: OwnRuntime,
    end: Instant,
    time_max: Duration,
}

impl Drop for PostgresSnapshot {
    fn drop(&mut self) {
        self.connection.abandon();
    }
}

impl PostgresSnapshot {
    /// Begins to read; at `end`, `time_max` after the start, the read is interrupted.
    pub(crate) fn take(
        url: &PostgresUrl,
        end: Instant,
        time_max: Duration,
    ) -> Result<Self, StoreError> {
        let connector = Connector::new(url, None, time_max.min(TIME_MAX), false)?;
        let runtime = OwnRuntime::new()?;
        let connection = runtime.wait(async move {
            let late = || StoreError::Deadline(time_max);
            match tokio::time::timeout_at(end.into(), begin(&connector)).await {
                Ok(begun) => begun.map_err(|fault| fault.told(late)),
                Err(_) => Err(late()),
            }
        })?;
        Ok(Self { connection: Arc::new(connection), runtime, end, time_max })
    }

    pub(crate) fn newest_change_version(&self) -> Result<i64, StoreError> {
        let found = self.ask(NEWEST, vec![], |row| Ok(row.try_get(0)?))?;
        found.first().copied().ok_or_else(|| self.told(super::error::damaged("counter")))
    }

    pub(crate) fn kinds(&self) -> Result<Vec<(String, KindId)>, StoreError> {
        self.ask(KINDS, vec![], |row| Ok((row.try_get(0)?, kind(row, 1)?)))
    }

    pub(crate) fn counts(&self) -> Result<Vec<(KindId, u64)>, StoreError> {
        self.ask(COUNTS, vec![], count)
    }

    pub(crate) fn changed_counts(&self, since: i64) -> Result<Vec<(KindId, u64)>, StoreError> {
        self.ask(CHANGED_COUNTS, vec![since.into()], count)
    }

    pub(crate) fn deleted_counts(&self, since: i64) -> Result<Vec<(KindId, u64)>, StoreError> {
        self.ask(DELETED_COUNTS, vec![since.into()], count)
    }

    pub(crate) fn documents(
        &self,
        kind: KindId,
        span: Span,
        last: i64,
        rows_max: u32,
        bytes_max: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let text = match span {
            Span::Whole => BY_ID,
            Span::Since(_) => BY_CHANGE,
        };
        let bytes_max = i64::try_from(bytes_max).unwrap_or(i64::MAX);
        let numbers = [i64::from(kind.0), last, rows_max.into(), bytes_max];
        self.ask(text, numbers.map(Value::from).into(), document)
    }

    pub(crate) fn deletes(&self, after: i64, rows_max: u32) -> Result<Vec<Deleted>, StoreError> {
        self.ask(DELETES, vec![after.into(), i64::from(rows_max).into()], |row| {
            Ok(Deleted {
                change_version: row.try_get(0)?,
                kind: kind(row, 1)?,
                uuid: Uuid(bytes(row, 2)?),
                key_values: row.try_get(3)?,
                modified: row.try_get(4)?,
                key: NaturalKey(bytes(row, 5)?),
            })
        })
    }

    pub(crate) fn ties(
        &self,
        after: [i64; 4],
        rows_max: u32,
    ) -> Result<Vec<(Tie, i64)>, StoreError> {
        let [label, item, holder, via] = after;
        let numbers = [label, item, holder, via, rows_max.into()];
        self.ask(TIES, numbers.map(Value::from).into(), |row| {
            let tie = Tie { label: kind(row, 0)?, item: row.try_get(1)?, holder: row.try_get(2)? };
            Ok((tie, row.try_get(3)?))
        })
    }

    pub(crate) fn identities(&self, ids: &[DocumentId]) -> Result<Vec<Identity>, StoreError> {
        let ids = Dialect::Postgres.list(ids.iter().map(|id| id.0));
        self.ask(IDENTITIES, vec![ids], |row| {
            let alias: Option<uuid::Uuid> = row.try_get(4)?;
            Ok(Identity {
                id: DocumentId(row.try_get(0)?),
                uuid: Uuid(bytes(row, 1)?),
                kind: kind(row, 2)?,
                key: NaturalKey(bytes(row, 3)?),
                alias: alias.map(|alias| NaturalKey(alias.into_bytes())),
            })
        })
    }

    pub(crate) fn carriers(
        &self,
        keys: &[NaturalKey],
    ) -> Result<Vec<(NaturalKey, i64)>, StoreError> {
        let keys: Vec<String> = keys.iter().map(|key| Uuid(key.0).to_string()).collect();
        let keys = format!("{{{}}}", keys.join(","));
        self.ask(CARRIERS, vec![keys.into()], |row| {
            Ok((NaturalKey(bytes(row, 0)?), row.try_get(1)?))
        })
    }

    pub(crate) fn edges(&self, after: [i64; 3], rows_max: u32) -> Result<Vec<Edge>, StoreError> {
        let [target, of, source] = after;
        let numbers = [target, of, source, rows_max.into()];
        self.ask(EDGES, numbers.map(Value::from).into(), |row| {
            Ok(Edge {
                target: DocumentId(row.try_get(0)?),
                kind: kind(row, 1)?,
                source: DocumentId(row.try_get(2)?),
            })
        })
    }

    pub(crate) fn aliases(
        &self,
        after: i64,
        rows_max: u32,
    ) -> Result<Vec<(i64, NaturalKey)>, StoreError> {
        self.ask(ALIASES, vec![after.into(), i64::from(rows_max).into()], |row| {
            Ok((row.try_get(0)?, NaturalKey(bytes(row, 1)?)))
        })
    }

    pub(crate) fn rows(&self, sql: Sql) -> Result<Vec<Vec<Value>>, StoreError> {
        self.ask(sql.text, sql.arguments, values)
    }

    /// Runs a statement within the remaining time, which is enforced here and on the server.
    fn ask<T: Send + 'static>(
        &self,
        text: &'static str,
        arguments: Vec<Value>,
        read: fn(&SqlRow) -> Result<T, Fault>,
    ) -> Result<Vec<T>, StoreError> {
        let (connection, end) = (Arc::clone(&self.connection), self.end);
        let asked = async move {
            let asked = async {
                let left = end.saturating_duration_since(Instant::now()).min(TIME_MAX);
                let left = left.as_millis().max(1);
                connection.simple(&format!("SET LOCAL statement_timeout = {left}")).await?;
                let arguments: Vec<_> =
                    arguments.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
                connection.query(text, &arguments).await?.iter().map(read).collect()
            };
            Ok(tokio::time::timeout_at(end.into(), asked).await.unwrap_or(Err(Fault::Late)))
        };
        self.runtime.wait(asked)?.map_err(|fault| self.told(fault))
    }

    fn told(&self, fault: Fault) -> StoreError {
        fault.told(|| StoreError::Deadline(self.time_max))
    }
}

/// Connects, checks that there is a store, and begins the transaction.
async fn begin(connector: &Connector) -> Result<Connection, Fault> {
    let connection = connector.connect(Role::Snapshot).await?;
    migrate::expect_newest(&connection, connector.shown()).await?;
    connection.simple("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    // The transaction's state is fixed by its first read.
    connection.simple("SELECT 1 FROM kind LIMIT 1").await?;
    Ok(connection)
}

/// Reads a kind and a number.
fn count(row: &SqlRow) -> Result<(KindId, u64), Fault> {
    Ok((kind(row, 0)?, row.try_get::<_, i64>(1)?.unsigned_abs()))
}
