//! What requests to a bucket need.

use std::sync::Arc;

use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt as _};
use tokio::sync::Semaphore;

use super::road::Road;
use super::settings::BucketSettings;
use super::trouble::{code_in, trouble};
use crate::blob::BlobId;
use crate::error::BlobError;
use crate::folder::BEGIN;

/// What requests need; clones share it.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) store: AmazonS3,
    pub(crate) road: Road,
    pub(crate) settings: Arc<BucketSettings>,
    /// Room for parts of blobs in memory.
    pub(crate) parts: Arc<Semaphore>,
}

impl Link {
    /// Returns the path of a blob's object.
    pub(crate) fn path(&self, id: BlobId) -> Path {
        let name = id.to_string();
        Path::from(self.settings.key(&format!("{}/{name}", &name[..BEGIN])))
    }

    pub(crate) fn trouble(&self, doing: &'static str, error: &Error) -> BlobError {
        trouble(&self.settings, doing, error)
    }

    /// Returns the size of a blob's object, if there is one.
    pub(crate) async fn bytes(&self, id: BlobId) -> Result<Option<u64>, BlobError> {
        match self.store.head(&self.path(id)).await {
            Ok(found) => Ok(Some(found.size)),
            Err(Error::NotFound { source, .. }) if !is_bucket_missing(&*source) => Ok(None),
            Err(error) => Err(self.trouble("look at a blob in", &error)),
        }
    }

    /// Removes a blob's object, if there is one. Returns its size.
    pub(crate) async fn remove(self, id: BlobId) -> Result<Option<u64>, BlobError> {
        let Some(bytes) = self.bytes(id).await? else { return Ok(None) };
        match self.store.delete(&self.path(id)).await {
            Ok(()) => Ok(Some(bytes)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.trouble("remove a blob from", &error)),
        }
    }
}

/// A task that ends when nobody waits for it any more.
pub(crate) struct Ended<T>(pub(crate) tokio::task::JoinHandle<T>);

impl<T> Drop for Ended<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns whether an answer of 404 is about the bucket and not about the object.
pub(crate) fn is_bucket_missing(error: &(dyn std::error::Error + 'static)) -> bool {
    code_in(&error.to_string()).as_deref() == Some("NoSuchBucket")
}
