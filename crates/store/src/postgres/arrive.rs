//! Writes all rows of an archive into a database, as one transaction: whoever is killed meanwhile
//! leaves the database as it was.

use std::pin::Pin;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tokio::task::block_in_place;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::ToSql;

use crate::carried::{Batch, Table, WAITING_MAX};
use crate::copies::Counted;
use crate::error::StoreError;
use crate::postgres::connection::{Connection, Connector, Role};
use crate::postgres::error::{Fault, of_copy};
use crate::postgres::own_runtime::OwnRuntime;
use crate::postgres::value::Written;
use crate::postgres::{migrate, place};
use crate::sql::Sql;
use crate::store::PostgresUrl;

/// Longest read of a connection that only copies; it has none.
const TIME_MAX: Duration = Duration::from_hours(1);

/// Tables that a server fills when it opens a database, or that say nothing by themselves: rows in
/// all others are somebody's.
const FILLED_BY_SERVERS: &[&str] = &[
    "access_version",
    "alias",
    "blob_store",
    "doc",
    "gone",
    "job_turn",
    "kind",
    "managed",
    "managed_last",
    "passed_over",
    "published",
    "published_state",
    "ref",
    "revocation",
    "server_key",
    "standard",
    "tally",
    "tie",
];
/// Rows of those tables that are somebody's all the same.
const SOMEBODYS: &[(&str, &str)] = &[
    ("managed", "SELECT 1 FROM managed WHERE kind <> 'ods-instance' LIMIT 1"),
    ("published", "SELECT 1 FROM published WHERE definition <> '' LIMIT 1"),
];

/// Counts the other sessions of this database that nodes and commands have.
const OTHERS: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
     AND application_name = current_setting('application_name') AND pid <> pg_backend_pid()";
/// How often it is looked whether sessions that were just closed are gone.
const TRIES: u32 = 40;
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Gives every label that has ties a version, which is then raised with all others.
const LABELS: &str = "INSERT INTO tie_version (label, version) \
     SELECT label, 0 FROM (SELECT label FROM tie UNION SELECT label FROM past_tie) t (label) \
     WHERE true ON CONFLICT (label) DO NOTHING";

/// Makes the tables of a database as needed. Refuses one that has somebody's rows, other than
/// documents, or that others have open.
pub(crate) fn prepare(url: &PostgresUrl, tables: &[Table]) -> Result<(), StoreError> {
    let connector = Connector::new(url, None, TIME_MAX, false)?;
    let tables = tables.to_vec();
    OwnRuntime::new()?.wait(async move {
        migrate::migrate(&connector, None).await?;
        let refused = async {
            let connection = connector.connect(Role::Copy).await?;
            refuse_open(&connection, connector.shown()).await?;
            refuse_used(&connection, connector.shown(), &tables).await?;
            connection.end().await;
            Ok(())
        };
        refused.await.map_err(of_copy)
    })
}

/// Refuses a database that others have open, as far as the server tells: what they remember of it
/// would not be true any more.
async fn refuse_open(connection: &Connection, shown: &str) -> Result<(), Fault> {
    if connection.is_pooled() {
        // The pooler's sessions are there whether or not anybody uses them.
        return Ok(());
    }
    let mut others = 0;
    for _ in 0..TRIES {
        others = match connection.answered(connection.query(OTHERS, &[])).await {
            Ok(rows) => rows.first().map_or(Ok(0), |row| row.try_get::<_, i64>(0))?,
            Err(fault @ (Fault::Lost(_) | Fault::Again(_))) => return Err(fault),
            // Some related databases do not tell.
            Err(_) => 0,
        };
        if others == 0 {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(StoreError::Unusable(format!(
        "{shown} is in use: nodes or commands have {others} session(s) there; stop them first"
    ))
    .into())
}

async fn refuse_used(connection: &Connection, shown: &str, tables: &[Table]) -> Result<(), Fault> {
    let all = tables.iter().filter(|table| !FILLED_BY_SERVERS.contains(&table.name.as_str()));
    let all =
        all.map(|table| (table.name.as_str(), format!("SELECT 1 FROM \"{}\" LIMIT 1", table.name)));
    let some = SOMEBODYS.iter().map(|(name, text)| (*name, (*text).to_owned()));
    for (name, text) in all.chain(some) {
        if !connection.query(&text, &[]).await?.is_empty() {
            return Err(StoreError::Unusable(format!(
                "{shown} is in use: its table {name} has rows; restore into an empty database, \
                 which createdb makes"
            ))
            .into());
        }
    }
    Ok(())
}

/// Rows on their way into a database.
pub(crate) struct Arriving {
    /// [`None`] after the last rows; without it, nothing is committed.
    batches: SyncSender<Option<Batch>>,
    ended: Receiver<Result<i64, StoreError>>,
    _runtime: OwnRuntime,
}

impl Arriving {
    /// Gives rows, table by table. [`StoreError::Closed`] once writing has failed; [`Self::end`]
    /// then tells why.
    pub(crate) fn give(&self, batch: Batch) -> Result<(), StoreError> {
        self.batches.send(Some(batch)).map_err(|_| StoreError::Closed)
    }

    /// Commits. Returns the version above which the store continues.
    pub(crate) fn end(self) -> Result<i64, StoreError> {
        // Where nobody takes it, the result says why.
        _ = self.batches.send(None);
        self.ended.recv().unwrap_or(Err(StoreError::Closed))
    }
}

/// Begins to replace all rows of a database. The rows are those of a store that had counted up to
/// `own`, and that was copied at `moment`; `settled` is run on them.
pub(crate) fn arrive(
    url: &PostgresUrl,
    tables: Vec<Table>,
    settled: Vec<Sql>,
    own: Counted,
    moment: i64,
) -> Result<Arriving, StoreError> {
    let connector = Connector::new(url, None, TIME_MAX, false)?;
    let runtime = OwnRuntime::new()?;
    let (batches, take) = sync_channel(WAITING_MAX);
    let ended = runtime.begin(async move {
        let work = Work { tables, settled, own, moment };
        work.run(&connector, take).await.map_err(of_copy)
    });
    Ok(Arriving { batches, ended, _runtime: runtime })
}

struct Work {
    tables: Vec<Table>,
    settled: Vec<Sql>,
    own: Counted,
    moment: i64,
}

impl Work {
    async fn run(self, connector: &Connector, take: Receiver<Option<Batch>>) -> Result<i64, Fault> {
        let connection = connector.connect(Role::Copy).await?;
        // Within a transaction the server would always tell the same.
        refuse_open(&connection, connector.shown()).await?;
        connection.simple("BEGIN").await?;
        migrate::hold(&connection).await?;
        let before = place::hold(&connection).await?;
        refuse_used(&connection, connector.shown(), &self.tables).await?;
        for table in &self.tables {
            connection.simple(&format!("DELETE FROM \"{}\"", table.name)).await?;
        }
        self.copy(&connection, take).await?;
        for sql in &self.settled {
            let arguments: Vec<_> =
                sql.arguments.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
            connection.query(sql.text, &arguments).await?;
        }
        connection.simple(LABELS).await?;
        let raised = place::restored(&connection, self.own, before, self.moment).await?;
        connection.simple("COMMIT").await?;
        for table in &self.tables {
            // Statistics of the server; it would gather them by itself a little later.
            _ = connection.simple(&format!("ANALYZE \"{}\"", table.name)).await;
        }
        connection.end().await;
        Ok(raised.version)
    }

    /// Writes the rows of each table with one statement.
    async fn copy(
        &self,
        connection: &Connection,
        take: Receiver<Option<Batch>>,
    ) -> Result<(), Fault> {
        let mut open: Option<(usize, Pin<Box<BinaryCopyInWriter>>)> = None;
        loop {
            let Ok(next) = block_in_place(|| take.recv()) else {
                return Err(StoreError::Closed.into());
            };
            let Some(Batch { table, rows, .. }) = next else { return finish(open).await };
            if open.as_ref().is_none_or(|(at, _)| *at != table) {
                finish(open.take()).await?;
                open = Some((table, begin(connection, &self.tables[table]).await?));
            }
            let Some((_, writer)) = &mut open else { continue };
            for row in rows {
                let row: Vec<_> = row.into_iter().map(Written).collect();
                writer.as_mut().write_raw(&row).await?;
            }
        }
    }
}

async fn begin(
    connection: &Connection,
    table: &Table,
) -> Result<Pin<Box<BinaryCopyInWriter>>, Fault> {
    let (name, columns) = (&table.name, table.columns());
    let types = connection.types(table).await?;
    let text = format!("COPY \"{name}\" ({columns}) FROM STDIN (FORMAT binary)");
    Ok(Box::pin(BinaryCopyInWriter::new(connection.copy_in(&text).await?, &types)))
}

async fn finish(open: Option<(usize, Pin<Box<BinaryCopyInWriter>>)>) -> Result<(), Fault> {
    if let Some((_, mut writer)) = open {
        writer.as_mut().finish().await?;
    }
    Ok(())
}
