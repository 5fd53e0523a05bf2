//! The store in a PostgreSQL database. This build has no engine for it yet and says so.

#![expect(clippy::unused_async, reason = "what a database answers is awaited")]

use std::future::Future;

use crate::error::StoreError;
use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::list::{ListQuery, Page};
use crate::row::Row;
use crate::sql::{Sql, Value};
use crate::store::{Job, Options, PostgresUrl};

/// An open store in a PostgreSQL database.
#[derive(Clone)]
pub(crate) enum Postgres {}

pub(crate) fn open(
    url: &PostgresUrl,
    _options: &Options,
    _schema: Option<&str>,
) -> Result<Postgres, StoreError> {
    _ = url.exposed();
    Err(StoreError::Unusable(format!("{url}: this build has no PostgreSQL engine")))
}

pub(crate) fn check(url: &PostgresUrl) -> Result<Vec<String>, StoreError> {
    Err(StoreError::Unusable(format!("{url}: this build has no PostgreSQL engine")))
}

impl Postgres {
    pub(crate) fn offer(&self, _: Box<dyn Job>) -> Result<(), StoreError> {
        match *self {}
    }
    pub(crate) fn push(&self, _: Box<dyn Job>) -> Result<(), StoreError> {
        match *self {}
    }
    pub(crate) fn waiting(&self) -> usize {
        match *self {}
    }
    pub(crate) fn close(&self) {
        match *self {}
    }
    pub(crate) fn wait<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        _: impl FnOnce(Self) -> F,
    ) -> Result<T, StoreError> {
        match *self {}
    }
    pub(crate) async fn document(&self, _: Uuid) -> Result<Option<Row>, StoreError> {
        match *self {}
    }
    pub(crate) async fn document_by_key(&self, _: NaturalKey) -> Result<Option<Row>, StoreError> {
        match *self {}
    }
    pub(crate) async fn target(
        &self,
        _: NaturalKey,
    ) -> Result<Option<(DocumentId, Uuid, KindId)>, StoreError> {
        match *self {}
    }
    pub(crate) async fn newest_change_version(&self) -> Result<i64, StoreError> {
        match *self {}
    }
    pub(crate) async fn list(&self, _: bool, _: ListQuery) -> Result<Page, StoreError> {
        match *self {}
    }
    pub(crate) async fn count(&self, _: bool, _: ListQuery) -> Result<u64, StoreError> {
        match *self {}
    }
    pub(crate) async fn cuts(
        &self,
        _: KindId,
        _: u64,
        _: u64,
    ) -> Result<Vec<DocumentId>, StoreError> {
        match *self {}
    }
    pub(crate) async fn query(&self, _: Sql) -> Result<Vec<Vec<Value>>, StoreError> {
        match *self {}
    }
}
