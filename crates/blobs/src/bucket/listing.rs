//! Lists the blobs that have an object, in order.

use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore as _};
use tokio::sync::mpsc;

use super::link::{Ended, Link};
use crate::blob::{Blob, BlobId};
use crate::error::BlobError;
use crate::folder::BEGIN;

/// Most objects that are handed on together.
const PAGE: usize = 500;

/// An object of a blob.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed {
    pub(crate) id: BlobId,
    pub(crate) bytes: u64,
    /// The moment of its last change, in microseconds.
    pub(crate) changed: i64,
}

/// A list that is read as it is asked for.
pub(crate) struct Listing {
    pages: mpsc::Receiver<Result<Vec<Listed>, BlobError>>,
    _task: Ended<()>,
}

impl Listing {
    /// Begins with a blob, or with the first. It must be called on the bucket's thread.
    pub(crate) fn from(link: &Link, first: Option<BlobId>) -> Self {
        let (tell, pages) = mpsc::channel(1);
        let task = tokio::spawn(carry(link.clone(), first, tell));
        Self { pages, _task: Ended(task) }
    }

    /// Returns the next blobs; [`None`] at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Listed>>, BlobError> {
        self.pages.recv().await.transpose()
    }
}

impl Link {
    /// Returns the sizes of those blobs, given in order, that have an object.
    pub(crate) async fn sizes(self, blobs: Vec<Blob>) -> Result<Vec<Option<u64>>, BlobError> {
        let (Some(first), Some(last)) = (blobs.first(), blobs.last()) else { return Ok(vec![]) };
        let (last, mut sizes) = (last.id, vec![None; blobs.len()]);
        let mut listing = Listing::from(&self, Some(first.id));
        while let Some(found) = listing.next().await? {
            for object in &found {
                if let Ok(at) = blobs.binary_search_by_key(&object.id, |blob| blob.id) {
                    sizes[at] = Some(object.bytes);
                }
            }
            if found.last().is_some_and(|object| object.id > last) {
                break;
            }
        }
        Ok(sizes)
    }
}

async fn carry(
    link: Link,
    first: Option<BlobId>,
    tell: mpsc::Sender<Result<Vec<Listed>, BlobError>>,
) {
    let prefix = &link.settings.prefix;
    let prefix = (!prefix.is_empty()).then(|| Path::from(prefix.as_str()));
    let mut objects = match first {
        None => link.store.list(prefix.as_ref()),
        Some(first) => {
            // A store lists what comes after a name: the beginning of a name comes before it.
            let path = link.path(first).to_string();
            let before = Path::from(&path[..path.len() - 1]);
            link.store.list_with_offset(prefix.as_ref(), &before)
        }
    };
    let mut page = vec![];
    loop {
        let next = std::future::poll_fn(|context| {
            futures_core::Stream::poll_next(objects.as_mut(), context)
        });
        match next.await {
            Some(Ok(object)) => page.extend(listed(&link, &object)),
            Some(Err(error)) => {
                _ = tell.send(Err(link.trouble("list", &error))).await;
                return;
            }
            None => {
                if !page.is_empty() {
                    _ = tell.send(Ok(page)).await;
                }
                return;
            }
        }
        if page.len() == PAGE && tell.send(Ok(std::mem::take(&mut page))).await.is_err() {
            return;
        }
    }
}

/// Returns the blob of an object; [`None`] for what is none.
fn listed(link: &Link, object: &ObjectMeta) -> Option<Listed> {
    let path = object.location.as_ref();
    let prefix = &link.settings.prefix;
    let name =
        if prefix.is_empty() { path } else { path.strip_prefix(prefix)?.strip_prefix('/')? };
    let (folder, name) = name.split_once('/')?;
    let id = BlobId::read(name).filter(|_| name.get(..BEGIN) == Some(folder))?;
    let changed = object.last_modified.timestamp_micros();
    Some(Listed { id, bytes: object.size, changed })
}
