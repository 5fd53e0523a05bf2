//! What an archive carries of a store: the rows of its tables, in a form that both databases read.

use crate::sql::Value;

/// A table whose rows are carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: String,
    /// Its columns, in order.
    pub(crate) columns: Vec<String>,
    /// The columns of its primary key.
    pub(crate) key: Vec<String>,
}

/// Most rows that travel together.
const ROWS_MAX: usize = 1_000;
/// Bytes after which rows travel; the last of them may exceed it.
const BYTES_MAX: usize = 1 << 20;
/// Batches that wait for whoever writes them.
pub(crate) const WAITING_MAX: usize = 4;

/// Some rows of a table.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The place of the table in the list of tables.
    pub(crate) table: usize,
    /// The values of its columns.
    pub(crate) rows: Vec<Vec<Value>>,
    bytes: usize,
}

impl Batch {
    /// Returns a batch for rows of a table.
    pub(crate) fn of(table: usize) -> Self {
        Self { table, rows: vec![], bytes: 0 }
    }

    /// Adds a row. Returns whether the batch is to travel now.
    pub(crate) fn add(&mut self, row: Vec<Value>) -> bool {
        let bytes = |value: &Value| match value {
            Value::Text(text) => text.len(),
            Value::Blob(bytes) => bytes.len(),
            Value::Null | Value::Integer(_) => 8,
        };
        self.bytes += row.iter().map(bytes).sum::<usize>();
        self.rows.push(row);
        self.rows.len() >= ROWS_MAX || self.bytes >= BYTES_MAX
    }
}

impl Table {
    /// Returns its columns as SQL names them.
    pub(crate) fn columns(&self) -> String {
        quoted(&self.columns)
    }

    /// Returns the columns of its key as SQL names them.
    pub(crate) fn key(&self) -> String {
        quoted(&self.key)
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
