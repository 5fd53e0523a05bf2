//! Writing statements and their arguments.

use bytes::BytesMut;
use tokio_postgres::types::ToSql;

use crate::lane::PartRows;
use crate::postgres::connection::{Connection, Ready};
use crate::postgres::error::Fault;
use crate::postgres::value::{Column, Written};
use crate::postgres::writer::prepared::AllPrepared;
use crate::sql::Sql;

/// Most bytes of values that are put together in one statement; a single one may be larger.
pub(super) const BYTES_MAX: usize = 4 << 20;
/// Most bytes of a statement's values. A server ends a connection on which a message of 1 GiB comes.
const MESSAGE_MAX: usize = 900 << 20;

/// A writing statement and its arguments.
pub(super) struct Statement {
    pub(super) text: &'static str,
    pub(super) columns: Vec<Column>,
    pub(super) values: Vec<Written>,
    pub(super) origin: Origin,
    /// The rows of a part that it writes.
    pub(super) rows: Option<PartRows>,
    /// The values of further statements of the same text, each of which writes rows of another key.
    pub(super) more: Vec<Vec<Written>>,
}

/// The origin of a statement, by which its effects are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The store itself.
    Store,
    /// The store itself, to hold a lane.
    Lock,
    /// A plan, on a part's own tables.
    Part,
    /// A plan, as plain SQL: its effect is unknown.
    Plan,
}

impl Origin {
    /// Returns whether it is unknown if a statement's values have the form that it needs.
    pub(super) fn is_foreign(self) -> bool {
        matches!(self, Self::Part | Self::Plan)
    }

    /// Returns whether it may change ties.
    pub(super) fn may_tie(self) -> bool {
        matches!(self, Self::Store | Self::Plan)
    }
}

impl Statement {
    fn arguments(&self) -> Vec<&(dyn ToSql + Sync)> {
        let columns = self.columns.iter().map(|column| column as &(dyn ToSql + Sync));
        columns.chain(self.values.iter().map(|value| value as &(dyn ToSql + Sync))).collect()
    }

    /// Returns its rows of values.
    fn all_values(&self) -> Vec<&[Written]> {
        [&self.values].into_iter().chain(&self.more).map(|values| &values[..]).collect()
    }

    /// Runs it.
    pub(super) async fn run(
        &self,
        connection: &Connection,
        prepared: &AllPrepared<'_>,
    ) -> Result<(), Fault> {
        if self.more.is_empty() {
            return connection.execute(&prepared[self.text], &self.arguments()).await;
        }
        prepared.run(connection, self.text, &self.all_values(), None).await.map(drop)
    }

    /// Fails if a value of a plan cannot be sent as what the statement takes there. The server would not
    /// notice that it was left out.
    pub(super) fn rehearse(&self, one: &Ready) -> Result<(), Fault> {
        if !self.origin.is_foreign() {
            return Ok(());
        }
        let (mut converted, mut bytes) = (BytesMut::new(), 0);
        for values in self.all_values() {
            one.expect(values.len())?;
            for (value, ty) in values.iter().zip(one.types()) {
                value
                    .to_sql_checked(ty, &mut converted)
                    .map_err(|error| Fault::Form(error.to_string()))?;
                bytes += converted.len();
                converted.clear();
            }
        }
        if bytes > MESSAGE_MAX {
            return Err(Fault::Form("the values are too large to be sent".into()));
        }
        Ok(())
    }
}

/// Returns a statement of the store itself, with an array for each column.
pub(super) fn arrays(text: &'static str, columns: Vec<Column>) -> Statement {
    Statement { text, columns, values: vec![], origin: Origin::Store, rows: None, more: vec![] }
}

/// Returns a statement of a plan.
pub(super) fn foreign(sql: Sql, origin: Origin) -> Statement {
    let values = sql.arguments.into_iter().map(Written).collect();
    Statement { values, origin, ..arrays(sql.text, vec![]) }
}

/// Returns the texts of the statements that have several rows of values.
pub(super) fn texts_of_many(all: &[Statement]) -> impl Iterator<Item = &str> {
    all.iter().filter(|statement| !statement.more.is_empty()).map(|statement| statement.text)
}
