//! The questions that are answered from one state of the store.

use tokio::sync::{mpsc, oneshot};

use crate::error::StoreError;
use crate::list::{ListQuery, Page};

/// A question, and the channel for its answer.
pub(crate) enum Asked {
    /// A page of a list.
    Page(ListQuery, oneshot::Sender<Result<Page, StoreError>>),
    /// The number of documents of a list.
    Count(ListQuery, oneshot::Sender<Result<u64, StoreError>>),
}

/// The questions in order; the channel closes when the work ends.
pub(crate) type Questions = mpsc::UnboundedReceiver<Asked>;
