//! Requests for lists and counts that are answered from one state of the store.

use tokio::sync::{mpsc, oneshot};

use crate::error::StoreError;
use crate::list::{ListQuery, Page};

/// A request, and the channel for its answer.
pub(crate) enum ListRequest {
    /// A page of a list.
    Page(ListQuery, oneshot::Sender<Result<Page, StoreError>>),
    /// The number of documents of a list.
    Count(ListQuery, oneshot::Sender<Result<u64, StoreError>>),
}

/// The requests in order; the channel closes when the work ends.
pub(crate) type ListRequests = mpsc::UnboundedReceiver<ListRequest>;
