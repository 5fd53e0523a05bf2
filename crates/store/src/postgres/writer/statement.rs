//! Writing statements and their arguments.

use tokio_postgres::types::ToSql;

use crate::postgres::value::{Column, Written};
use crate::sql::Sql;

/// A writing statement and its arguments.
pub(super) struct Statement {
    pub(super) text: &'static str,
    pub(super) columns: Vec<Column>,
    pub(super) values: Vec<Written>,
    pub(super) origin: Origin,
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
    pub(super) fn arguments(&self) -> Vec<&(dyn ToSql + Sync)> {
        let columns = self.columns.iter().map(|column| column as &(dyn ToSql + Sync));
        columns.chain(self.values.iter().map(|value| value as &(dyn ToSql + Sync))).collect()
    }
}

/// Returns a statement of the store itself, with an array for each column.
pub(super) fn arrays(text: &'static str, columns: Vec<Column>) -> Statement {
    Statement { text, columns, values: vec![], origin: Origin::Store }
}

/// Returns a statement of a plan.
pub(super) fn foreign(sql: Sql, origin: Origin) -> Statement {
    let values = sql.arguments.into_iter().map(Written).collect();
    Statement { text: sql.text, columns: vec![], values, origin }
}
