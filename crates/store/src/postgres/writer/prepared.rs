//! The prepared statements of a flight.

use std::collections::HashMap;
use std::ops::Index;

use tokio_postgres::Row as SqlRow;
use tokio_postgres::types::ToSql;

use crate::postgres::connection::{Connection, Ready, Rewrite, in_order};
use crate::postgres::error::Fault;
use crate::postgres::many;

/// Prepared statements by their texts.
#[derive(Default)]
pub(super) struct AllPrepared<'t> {
    for_one: HashMap<&'t str, Ready>,
    for_many: HashMap<&'t str, Ready>,
}

impl<'t> AllPrepared<'t> {
    /// Prepares the statements of a flight, so that nothing in it waits for that.
    pub(super) async fn prepare(
        connection: &Connection,
        texts: impl Iterator<Item = &'t str>,
    ) -> Result<Self, Fault> {
        let mut for_one = HashMap::new();
        for text in texts {
            if !for_one.contains_key(text) {
                for_one.insert(text, connection.prepared(text).await?);
            }
        }
        Ok(Self { for_one, for_many: HashMap::new() })
    }

    /// Adds the statements that take many rows of arguments, where there are such.
    pub(super) async fn add_for_many(
        &mut self,
        connection: &Connection,
        texts: impl Iterator<Item = &'t str>,
        rewrite: Rewrite,
    ) -> Result<(), Fault> {
        for text in texts {
            if let Some(many) = connection.prepared_for_many(text, rewrite).await? {
                self.for_many.insert(text, many);
            }
        }
        Ok(())
    }

    /// Runs a statement for many rows of values: all together, with the numbers of the rows if the form takes
    /// them, or else one after the other.
    pub(super) async fn run<V: ToSql + Sync>(
        &self,
        connection: &Connection,
        text: &str,
        rows: &[&[V]],
        numbers: Option<&Vec<i64>>,
    ) -> Result<Asked, Fault> {
        if let Some(many) = self.for_many.get(text) {
            let columns = many::columns(rows);
            let columns = columns.iter().map(|column| column as &(dyn ToSql + Sync));
            let arguments: Vec<_> = columns.chain(numbers.map(|numbers| numbers as _)).collect();
            let found = connection.all(many, &arguments).await;
            return found
                .map(Asked::Numbered)
                .map_err(|fault| connection.unless_unsupported(text, fault));
        }
        let each = rows.iter().map(|values| async {
            let values: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
            connection.all(&self[text], &values).await
        });
        Ok(Asked::Each(in_order(each).await.into_iter().collect::<Result<_, _>>()?))
    }
}

/// The rows that answer a statement.
pub(super) enum Asked {
    /// Those of one question.
    Rows(Vec<SqlRow>),
    /// Those of many questions, each row after the number of its question.
    Numbered(Vec<SqlRow>),
    /// Those of each of many questions.
    Each(Vec<Vec<SqlRow>>),
}

impl Index<&str> for AllPrepared<'_> {
    type Output = Ready;

    fn index(&self, text: &str) -> &Ready {
        &self.for_one[text]
    }
}
