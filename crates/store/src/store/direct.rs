//! A load of documents into an empty store that nothing else has open.

use crate::error::StoreError;
use crate::id::KindId;
use crate::plan::{Decide, Plan};
use crate::sqlite::{self, DirectWriter};
use crate::store::handle::submit;
use crate::store::options::Options;
use crate::store::submitted::Submitted;
use crate::store::url::StoreUrl;

/// A direct load: the same plans with the same results, into a file whose edges and indexes are
/// built when the load ends.
///
/// Outcomes come before they are on disk. What is on disk is told by
/// [`DirectLoad::durable_batches`], and all of it is after [`DirectLoad::finish`]. If the process
/// ends before, the store is completed when it is opened next, with the documents that were on
/// disk.
pub struct DirectLoad {
    writer: DirectWriter,
}

impl std::fmt::Debug for DirectLoad {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DirectLoad")
    }
}

impl DirectLoad {
    /// Begins a load. Documents of the kinds `besides` do not count, because a new store has them.
    ///
    /// # Errors
    ///
    /// [`StoreError::InUse`] when a process has the store open; [`StoreError::Unusable`] when it is
    /// not a file, or not empty.
    pub fn begin(options: &Options, besides: &[KindId]) -> Result<Self, StoreError> {
        match &options.url {
            StoreUrl::Sqlite(path) => {
                let writer = sqlite::begin_direct(path, options, besides)?;
                Ok(Self { writer })
            }
            StoreUrl::Postgres(_) => Err(StoreError::Unusable(
                "a direct load needs a store in a file, and this one is a database on a server; \
                 load without --direct"
                    .into(),
            )),
        }
    }

    /// Submits a batch of plans, which run one after the other. They may look up documents and
    /// targets, and create and replace documents.
    pub fn submit<D: Decide>(&self, plans: Vec<Plan<D>>) -> Submitted<D> {
        submit(plans, |job| self.writer.queue.push(job))
    }

    /// Sets the number of documents between two commits.
    pub fn commit_after(&self, documents: u64) {
        self.writer.commit_after(documents);
    }

    /// Returns the store's newest change version when the load began.
    pub fn version_before(&self) -> i64 {
        self.writer.version_before
    }

    /// Returns how many batches, in the order in which they were submitted, are on disk.
    pub fn durable_batches(&self) -> u64 {
        self.writer.durable_jobs()
    }

    /// Ends the load: the store is complete and closed, and all of it is on disk. Ending it twice
    /// has no further effect.
    ///
    /// # Errors
    ///
    /// The first error of the load or of its end. The store has what was on disk before.
    pub fn finish(&self) -> Result<(), StoreError> {
        self.writer.finish()
    }
}
