//! Reads without a plan: single documents immediately, many on separate threads or connections.
//!
//! On the embedded store the futures that read single documents are ready at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::error::StoreError;
use crate::id::{DocumentId, NaturalKey, Uuid};
use crate::list::{ListQuery, Page};
use crate::plan::Target;
use crate::row::Row;
use crate::sql::{Sql, Value};
use crate::sqlite;
use crate::store::handle::{Engine, Store};
use crate::through::{DocumentTest, Passed};
use crate::tie::{Reached, Start, TieState, Way};

/// Reads. Each future of PostgreSQL is boxed, because it is large: a request's future holds the larger of the two
/// stores' futures, on SQLite too.
impl Store {
    /// Finds a document by its public id.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn document(&self, uuid: Uuid) -> Result<Option<Row>, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.probe(|c| sqlite::by_uuid(c, uuid)),
            Engine::Postgres(postgres) => Box::pin(postgres.document(uuid)).await,
        }
    }

    /// Does the same as [`Store::document`], for threads that may block.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub fn document_blocking(&self, uuid: Uuid) -> Result<Option<Row>, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.probe(|c| sqlite::by_uuid(c, uuid)),
            Engine::Postgres(postgres) => postgres.wait(|p| async move { p.document(uuid).await }),
        }
    }

    /// Finds a document by its identity.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn document_by_key(&self, key: NaturalKey) -> Result<Option<Row>, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.probe(|c| sqlite::by_key(c, key)),
            Engine::Postgres(postgres) => Box::pin(postgres.document_by_key(key)).await,
        }
    }

    /// Does the same as [`Store::document_by_key`], for threads that may block.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub fn document_by_key_blocking(&self, key: NaturalKey) -> Result<Option<Row>, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.probe(|c| sqlite::by_key(c, key)),
            Engine::Postgres(postgres) => {
                postgres.wait(|p| async move { p.document_by_key(key).await })
            }
        }
    }

    /// Finds the document that has an identity, as its own or as an abstract base's.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn target(&self, key: NaturalKey) -> Result<Option<Target>, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.probe(|c| sqlite::target(c, key)),
            Engine::Postgres(postgres) => Box::pin(postgres.target(key)).await,
        }
    }

    /// Does the same as [`Store::target`], for threads that may block.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub fn target_blocking(&self, key: NaturalKey) -> Result<Option<Target>, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.probe(|c| sqlite::target(c, key)),
            Engine::Postgres(postgres) => postgres.wait(|p| async move { p.target(key).await }),
        }
    }

    /// Does the same as [`Store::document`], and also returns the state of the ties at that moment,
    /// for [`Store::all_lead`] and [`Store::reach_in`].
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn document_and_ties(
        &self,
        uuid: Uuid,
    ) -> Result<Option<(Row, TieState)>, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.document_and_ties(uuid),
            Engine::Postgres(postgres) => Box::pin(postgres.document_and_ties(uuid)).await,
        }
    }

    /// Returns whether all ways lead from their numbers to one of `to`, which are sorted, in a state that the
    /// caller has just read; [`None`] where not all of that is remembered, and [`Store::reach_in`] has to look.
    pub fn all_lead(&self, state: TieState, from: &[(i64, Way)], to: &[i64]) -> Option<bool> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.all_lead(state, from, to),
            Engine::Postgres(postgres) => postgres.all_lead(state, from, to),
        }
    }

    /// Follows ways, all on one state of the ties, and returns what each has reached.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn reach(&self, from: &[(Start, Way)]) -> Result<Vec<Reached>, StoreError> {
        self.reach_in(TieState::default(), from).await
    }

    /// Does the same as [`Store::reach`], but reuses what is known about a state that the caller
    /// has just read. What is not known is looked up in a state that may be a later one.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn reach_in(
        &self,
        state: TieState,
        from: &[(Start, Way)],
    ) -> Result<Vec<Reached>, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.reach(from),
            Engine::Postgres(postgres) => Box::pin(postgres.reach(state, from)).await,
        }
    }

    /// Does the same as [`Store::reach`], for threads that may block.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub fn reach_blocking(&self, from: Vec<(Start, Way)>) -> Result<Vec<Reached>, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.reach(&from),
            Engine::Postgres(postgres) => {
                postgres.wait(|p| async move { p.reach(TieState::default(), &from).await })
            }
        }
    }

    /// Tests documents, all on one state of the store; the results are in the order of `starts`.
    ///
    /// # Errors
    ///
    /// The same as [`Store::list`].
    pub async fn pass(
        &self,
        starts: Vec<Start>,
        test: Arc<DocumentTest>,
    ) -> Result<Vec<Passed>, StoreError> {
        if starts.is_empty() {
            return Ok(vec![]);
        }
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                let pass = move |c: &_| sqlite::pass(c, &starts, &test);
                sqlite.lister.read(false, self.list_deadline, pass).await
            }
            Engine::Postgres(postgres) => Box::pin(postgres.pass(&starts, &test)).await,
        }
    }

    /// Returns the newest durable change version, whichever process wrote it.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn newest_change_version(&self) -> Result<i64, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                Ok(sqlite.shared.newest_change_version.load(Ordering::Acquire))
            }
            Engine::Postgres(postgres) => Box::pin(postgres.newest_change_version()).await,
        }
    }

    /// Returns the size of the store's file, or of its database, in bytes.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn bytes(&self) -> Result<u64, StoreError> {
        match &*self.engine {
            Engine::Sqlite(_) => Ok(self.load().file_bytes),
            Engine::Postgres(postgres) => Box::pin(postgres.bytes()).await,
        }
    }

    /// Does the same as [`Store::newest_change_version`], for threads that may block.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub fn newest_change_version_blocking(&self) -> Result<i64, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                Ok(sqlite.shared.newest_change_version.load(Ordering::Acquire))
            }
            Engine::Postgres(postgres) => {
                postgres.wait(|p| async move { p.newest_change_version().await })
            }
        }
    }

    /// Returns a page of documents in order of creation: as many as were asked for and fit into a
    /// page, and at least one if there is one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Deadline`], [`StoreError::Busy`] when too many reads are waiting.
    pub async fn list(&self, mut query: ListQuery) -> Result<Page, StoreError> {
        let mut is_cut = false;
        loop {
            match self.list_whole(query.clone()).await {
                // A database may return a page's documents in any order, so the documents that were
                // read before the limit was exceeded need not be the page's first ones.
                Err(StoreError::TooLarge { fits, .. }) if query.limit > 1 => {
                    query.limit = fits.clamp(1, query.limit - 1);
                    is_cut = true;
                }
                page => return page.map(|page| Page { is_cut, ..page }),
            }
        }
    }

    /// Returns a page of as many documents as were asked for.
    async fn list_whole(&self, query: ListQuery) -> Result<Page, StoreError> {
        let newest =
            if query.changed.is_some() { self.newest_change_version().await? } else { i64::MAX };
        let is_long = query.is_long_list(newest);
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                let list = move |c: &_| sqlite::list(c, &query);
                sqlite.lister.read(is_long, self.list_deadline, list).await
            }
            Engine::Postgres(postgres) => Box::pin(postgres.list(is_long, query)).await,
        }
    }

    /// Counts the documents of a list exactly, ignoring `skip` and `limit`.
    ///
    /// # Errors
    ///
    /// The same as [`Store::list`].
    pub async fn count(&self, query: ListQuery) -> Result<u64, StoreError> {
        let is_long = query.is_long_count();
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                let count = move |c: &_| sqlite::count(c, &query);
                sqlite.lister.read(is_long, self.list_deadline, count).await
            }
            Engine::Postgres(postgres) => Box::pin(postgres.count(is_long, query)).await,
        }
    }

    /// Divides a list, without `skip` and `limit`, into at most `parts` runs of at least about
    /// `smallest` documents. Returns the last id of each run except the last.
    ///
    /// # Errors
    ///
    /// The same as [`Store::list`].
    pub async fn cuts(
        &self,
        query: ListQuery,
        parts: u64,
        smallest: u64,
    ) -> Result<Option<Vec<DocumentId>>, StoreError> {
        let is_long = query.is_long_count();
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                let cuts = move |c: &_| sqlite::cuts(c, &query, parts, smallest);
                sqlite.lister.read(is_long, self.list_deadline, cuts).await
            }
            Engine::Postgres(postgres) => {
                Box::pin(postgres.cuts(is_long, query, parts, smallest)).await
            }
        }
    }

    /// Returns the longest time that a list may take.
    pub fn list_deadline(&self) -> Duration {
        self.list_deadline
    }

    /// Runs a reading statement that is as fast as an index look-up. On PostgreSQL it does not wait
    /// for lists.
    ///
    /// # Errors
    ///
    /// The same as [`Store::list`].
    pub async fn look_up(&self, sql: Sql) -> Result<Vec<Vec<Value>>, StoreError> {
        match &*self.engine {
            Engine::Sqlite(_) => self.query(sql).await,
            Engine::Postgres(postgres) => Box::pin(postgres.look_up(sql)).await,
        }
    }

    /// Runs a reading statement that looks at one entry of an index. On SQLite it is read at once on
    /// this thread's own connection, as documents are.
    ///
    /// # Errors
    ///
    /// The same as [`Store::list`].
    pub async fn probe(&self, sql: Sql) -> Result<Vec<Vec<Value>>, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.probe(|c| sqlite::rows(c, &sql)),
            Engine::Postgres(postgres) => Box::pin(postgres.look_up(sql)).await,
        }
    }

    /// Runs a reading statement.
    ///
    /// # Errors
    ///
    /// The same as [`Store::list`].
    pub async fn query(&self, sql: Sql) -> Result<Vec<Vec<Value>>, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                let rows = move |c: &_| sqlite::rows(c, &sql);
                sqlite.lister.read(false, self.list_deadline, rows).await
            }
            Engine::Postgres(postgres) => Box::pin(postgres.query(false, sql)).await,
        }
    }

    /// Runs a reading statement that may look at a large part of a table. It waits for others of these, and no
    /// short read waits for it.
    ///
    /// # Errors
    ///
    /// The same as [`Store::list`].
    pub async fn scan(&self, sql: Sql) -> Result<Vec<Vec<Value>>, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                let rows = move |c: &_| sqlite::rows(c, &sql);
                sqlite.lister.read(true, self.list_deadline, rows).await
            }
            Engine::Postgres(postgres) => Box::pin(postgres.query(true, sql)).await,
        }
    }

    /// Does the same as [`Store::query`], for threads that may block.
    ///
    /// # Errors
    ///
    /// The same as [`Store::list`].
    pub fn query_blocking(&self, sql: Sql) -> Result<Vec<Vec<Value>>, StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                let rows = move |c: &_| sqlite::rows(c, &sql);
                sqlite.lister.read_blocking(false, self.list_deadline, rows)
            }
            Engine::Postgres(postgres) => {
                postgres.wait(|p| async move { p.query(false, sql).await })
            }
        }
    }
}
