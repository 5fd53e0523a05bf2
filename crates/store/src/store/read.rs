//! What is read without a plan: one document at once, many on threads of their own.

use crate::error::StoreError;
use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::list::{ListQuery, Page};
use crate::row::Row;
use crate::sql::{Sql, Value};
use crate::sqlite;
use crate::store::{Engine, Store};

impl Store {
    /// Finds a document by its public id, at once.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub fn document(&self, uuid: Uuid) -> Result<Option<Row>, StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite::probe_here(&sqlite.shared, |connection| sqlite::by_uuid(connection, uuid))
    }

    /// Finds a document by its identity, at once.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub fn document_by_key(&self, key: NaturalKey) -> Result<Option<Row>, StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite::probe_here(&sqlite.shared, |connection| sqlite::by_key(connection, key))
    }

    /// Finds what carries an identity, as its own or as an abstract base's, at once.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub fn target(
        &self,
        key: NaturalKey,
    ) -> Result<Option<(DocumentId, Uuid, KindId)>, StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite::probe_here(&sqlite.shared, |connection| sqlite::target(connection, key))
    }

    /// Gives a page of documents in order of creation.
    ///
    /// # Errors
    ///
    /// [`StoreError::Deadline`], [`StoreError::Busy`] when too many wait, [`StoreError::TooLarge`].
    pub async fn list(&self, query: ListQuery) -> Result<Page, StoreError> {
        let is_long = query.is_long_list(self.newest_change_version());
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite.lister.read(is_long, self.list_deadline, move |c| sqlite::list(c, &query)).await
    }

    /// Counts, exactly, what a list would give without `skip` and `limit`.
    ///
    /// # Errors
    ///
    /// As [`Store::list`].
    pub async fn count(&self, query: ListQuery) -> Result<u64, StoreError> {
        let is_long = query.is_long_count();
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite.lister.read(is_long, self.list_deadline, move |c| sqlite::count(c, &query)).await
    }

    /// Cuts a kind's documents into at most `parts` runs of at least `smallest`; gives the last id
    /// of each run but the last.
    ///
    /// # Errors
    ///
    /// As [`Store::list`].
    pub async fn cuts(
        &self,
        kind: KindId,
        parts: u64,
        smallest: u64,
    ) -> Result<Vec<DocumentId>, StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite
            .lister
            .read(false, self.list_deadline, move |c| sqlite::cuts(c, kind, parts, smallest))
            .await
    }

    /// Runs a reading statement.
    ///
    /// # Errors
    ///
    /// As [`Store::list`].
    pub async fn query(&self, sql: Sql) -> Result<Vec<Vec<Value>>, StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite.lister.read(false, self.list_deadline, move |c| sqlite::rows(c, &sql)).await
    }

    /// As [`Store::query`], for threads that may wait.
    ///
    /// # Errors
    ///
    /// As [`Store::list`].
    pub fn query_blocking(&self, sql: Sql) -> Result<Vec<Vec<Value>>, StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite.lister.read_blocking(false, self.list_deadline, move |c| sqlite::rows(c, &sql))
    }
}
