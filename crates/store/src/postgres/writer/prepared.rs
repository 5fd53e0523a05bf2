//! The prepared statements of a flight.

use std::collections::HashMap;
use std::ops::Index;

use crate::postgres::connection::{Connection, Ready, Rewrite};
use crate::postgres::error::Fault;

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

    /// Returns the statement that does for many rows of arguments what another does for one.
    pub(super) fn for_many(&self, text: &str) -> Option<&Ready> {
        self.for_many.get(text)
    }
}

impl Index<&str> for AllPrepared<'_> {
    type Output = Ready;

    fn index(&self, text: &str) -> &Ready {
        &self.for_one[text]
    }
}
