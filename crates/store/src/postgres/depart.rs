//! Reads all rows of a database, in one state of it, for an archive.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use futures_core::Stream as _;
use tokio::task::block_in_place;
use tokio::time::timeout;
use tokio_postgres::binary_copy::BinaryCopyOutStream;

use super::error::{damaged, of_copy};
use crate::carried::{Batch, Table, WAITING_MAX};
use crate::error::StoreError;
use crate::postgres::connection::{Connection, Connector, Role};
use crate::postgres::error::Fault;
use crate::postgres::migrate;
use crate::postgres::own_runtime::OwnRuntime;
use crate::sql::Value;
use crate::store::PostgresUrl;

/// Longest wait for the next row: the server may have to sort a table first.
const ROW_TIME_MAX: Duration = Duration::from_mins(30);

const NUMBER: &str = "SELECT id FROM counter WHERE name = 'writer'";

/// Rows on their way out of a database.
pub(crate) struct Departing {
    batches: Receiver<Batch>,
    ended: Receiver<Result<i64, StoreError>>,
    _runtime: OwnRuntime,
}

impl Departing {
    /// Waits for the next rows; [`None`] after the last ones, or when the reading has failed.
    pub(crate) fn next(&self) -> Option<Batch> {
        self.batches.recv().ok()
    }

    /// Ends the reading. Returns the greatest number that the store has given to a document.
    pub(crate) fn end(self) -> Result<i64, StoreError> {
        self.ended.recv().unwrap_or(Err(StoreError::Closed))
    }
}

/// Begins to read all rows of a database's tables.
pub(crate) fn depart(url: &PostgresUrl, tables: Vec<Table>) -> Result<Departing, StoreError> {
    let connector = Connector::new(url, None, ROW_TIME_MAX, false)?;
    let runtime = OwnRuntime::new()?;
    let (give, batches) = sync_channel(WAITING_MAX);
    let ended =
        runtime.begin(async move { read(&connector, &tables, give).await.map_err(of_copy) });
    Ok(Departing { batches, ended, _runtime: runtime })
}

async fn read(
    connector: &Connector,
    tables: &[Table],
    give: SyncSender<Batch>,
) -> Result<i64, Fault> {
    let connection = connector.connect(Role::Copy).await?;
    migrate::expect_newest(&connection, connector.shown()).await?;
    connection.simple("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    // The transaction's state is fixed by its first read.
    let rows = connection.query(NUMBER, &[]).await?;
    let number = rows.first().ok_or_else(|| damaged("counter"))?.try_get(0)?;
    for (at, table) in tables.iter().enumerate() {
        copy(&connection, at, table, &give).await?;
    }
    Ok(number)
}

async fn copy(
    connection: &Connection,
    at: usize,
    table: &Table,
    give: &SyncSender<Batch>,
) -> Result<(), Fault> {
    let select = format!("SELECT {} FROM \"{}\"", table.columns(), table.name);
    let types = connection.types(table).await?;
    let text = format!("COPY ({select} ORDER BY {}) TO STDOUT (FORMAT binary)", table.key());
    let mut rows = pin!(BinaryCopyOutStream::new(connection.copy_out(&text).await?, &types));
    let mut batch = Batch::of(at);
    loop {
        let next = timeout(ROW_TIME_MAX, poll_fn(|context| rows.as_mut().poll_next(context))).await;
        let Some(row) = next.map_err(|_| Fault::silent())? else { break };
        let row = row?;
        let values = (0..types.len()).map(|column| row.try_get::<Value>(column));
        if batch.add(values.collect::<Result<_, _>>()?) {
            send(give, std::mem::replace(&mut batch, Batch::of(at)))?;
        }
    }
    send(give, batch)
}

/// Waits until there is room for rows. Nobody takes them any more once writing them has failed.
fn send(give: &SyncSender<Batch>, batch: Batch) -> Result<(), Fault> {
    block_in_place(|| give.send(batch)).map_err(|_| Fault::Own(StoreError::Closed))
}
