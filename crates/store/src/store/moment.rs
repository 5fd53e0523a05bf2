//! Answers several questions of one request from one state of the store.
//!
//! A question may depend on earlier answers. The questions go to the thread or connection that
//! holds the state, which it does no longer than a list may take.

use std::pin::Pin;

use tokio::sync::{mpsc, oneshot};

use crate::error::StoreError;
use crate::list::{ListQuery, Page};
use crate::sqlite;
use crate::store::handle::{Engine, Store};
use crate::store::list_request::ListRequest;

/// One state of a store, for as long as the work on it lasts.
#[derive(Debug)]
pub struct Moment {
    requests: mpsc::UnboundedSender<ListRequest>,
}

impl Moment {
    /// Returns a page of a list, like [`Store::list`].
    ///
    /// # Errors
    ///
    /// Those of [`Store::list`].
    pub async fn list(&self, mut query: ListQuery) -> Result<Page, StoreError> {
        let mut is_cut = false;
        loop {
            let (reply, answer) = oneshot::channel();
            match self.ask(ListRequest::Page(query.clone(), reply), answer).await {
                Err(StoreError::TooLarge { fits, .. }) if query.limit > 1 => {
                    query.limit = fits.clamp(1, query.limit - 1);
                    is_cut = true;
                }
                page => return page.map(|page| Page { is_cut, ..page }),
            }
        }
    }

    /// Counts the documents of a list, like [`Store::count`].
    ///
    /// # Errors
    ///
    /// Those of [`Store::count`].
    pub async fn count(&self, query: ListQuery) -> Result<u64, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.ask(ListRequest::Count(query, reply), answer).await
    }

    async fn ask<T>(
        &self,
        request: ListRequest,
        answer: oneshot::Receiver<Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let ended = || StoreError::Away("a read ended in the middle".into());
        self.requests.send(request).map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }
}

impl Store {
    /// Works on one state of the store; `is_long` says whether a list of it may have to look at
    /// very many documents.
    ///
    /// # Errors
    ///
    /// [`StoreError::Deadline`], [`StoreError::Busy`] if too many wait, other errors of the store.
    /// An error of the store is returned even if the work has made something else of it.
    pub async fn at_one_moment<T, F: Future<Output = T>>(
        &self,
        is_long: bool,
        work: impl FnOnce(Moment) -> F,
    ) -> Result<T, StoreError> {
        let (requests, mut received) = mpsc::unbounded_channel();
        let working = Box::pin(work(Moment { requests }));
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                let serve = move |c: &_| sqlite::serve(c, &mut received);
                let serving = sqlite.lister.read(is_long, self.list_deadline, serve);
                both(Box::pin(serving), working).await
            }
            Engine::Postgres(postgres) => {
                let received = tokio::sync::Mutex::new(received);
                both(Box::pin(postgres.serve(is_long, &received)), working).await
            }
        }
    }
}

/// Returns the result of the work, if its questions were answered to the end.
async fn both<T>(
    mut serving: Pin<Box<impl Future<Output = Result<(), StoreError>>>>,
    mut working: Pin<Box<impl Future<Output = T>>>,
) -> Result<T, StoreError> {
    tokio::select! {
        biased;
        served = &mut serving => {
            served?;
            Ok(working.await)
        }
        worked = &mut working => {
            serving.await?;
            Ok(worked)
        }
    }
}
