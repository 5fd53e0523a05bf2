//! A direct load: documents into an empty store that nothing else has open.
//!
//! Plans run as in any other writer, with the same results. What is different is where the answers
//! come from, and when the tables are written:
//!
//! - All identities are in memory, so no question reads the file, except for a document that is
//!   stored twice.
//! - The identities and the edges, each of which would go to another page, are written to their
//!   tables last, in order (`complete.rs`).
//! - New pages are written once, to the file itself: the journal holds pages as they were, and new
//!   ones were nothing. A commit comes after some thousand documents.
//!
//! A load that is interrupted leaves what was committed. The store is completed when it is opened
//! next.

mod complete;
mod edges;
mod identities;
mod journal;
mod pace;
mod tables;
mod worker;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use crate::error::StoreError;
use crate::id::KindId;
use crate::queue::Queue;
use crate::sqlite::counters::{LAST_ID, newest_change_version};
use crate::sqlite::{open, place, recent};
use crate::store::Options;
use journal::set_journal;
use pace::Pace;
use worker::Worker;

pub(crate) use complete::{complete_if_left, refuse_incomplete};

/// Most documents of a store that is loaded directly; their identities take 760 megabytes.
pub const DIRECT_DOCUMENTS_MAX: u64 = 16 << 20;

/// The file's page cache during a direct load, in KiB.
const CACHE_KIB: u32 = 64 << 10;
/// Most jobs that may wait.
const JOBS_MAX: usize = 4;

/// A store that is being loaded directly.
pub(crate) struct DirectWriter {
    pub(crate) queue: Queue,
    /// The newest change version when the load began.
    pub(crate) version_before: i64,
    pace: Arc<Pace>,
    ended: Arc<Mutex<Option<Result<(), StoreError>>>>,
}

/// Begins a direct load. Documents of the kinds `besides` do not count: a new store has them.
pub(crate) fn begin(
    path: &Path,
    options: &Options,
    besides: &[KindId],
) -> Result<DirectWriter, StoreError> {
    let (lock, connection) = open::prepare_file(path, options.page_bytes, CACHE_KIB)?;
    place::settle(&connection, &lock)?;
    complete_if_left(&connection)?;
    recent::complete(&connection)?;
    refuse_filled(&connection, besides)?;
    let version_before = newest_change_version(&connection)?;
    let last_id: i64 = connection.query_row(LAST_ID, [], |row| row.get(0))?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    complete::leave_out(&connection)?;
    connection.execute_batch("COMMIT")?;
    connection.pragma_update(None, "locking_mode", "exclusive")?;
    set_journal(&connection, "truncate")?;
    connection.pragma_update(None, "temp_store", "file")?;
    lock.keep_file()?;
    let (pace, ended) = (Arc::<Pace>::default(), Arc::<Mutex<_>>::default());
    let (told, result) = (Arc::clone(&pace), Arc::clone(&ended));
    let waiting = Arc::<AtomicUsize>::default();
    let answered = Arc::clone(&waiting);
    let worker = Worker::new(connection, (last_id, version_before), told)?;
    let queue = Queue::start(JOBS_MAX, waiting, move |arrivals| {
        let done = worker.work(&arrivals, &answered);
        // What nobody will find again is not loaded.
        let done = done.and_then(|()| lock.check());
        drop(lock);
        *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
    })?;
    Ok(DirectWriter { queue, version_before, pace, ended })
}

impl DirectWriter {
    /// Returns the number of jobs, in their order, whose documents are on disk.
    pub(crate) fn durable_jobs(&self) -> u64 {
        self.pace.durable.load(Ordering::Acquire)
    }

    /// Sets the number of documents between two commits.
    pub(crate) fn commit_after(&self, documents: u64) {
        self.pace.commit_after.store(documents, Ordering::Relaxed);
    }

    /// Ends the load: completes the store and closes it.
    pub(crate) fn finish(&self) -> Result<(), StoreError> {
        self.queue.close();
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ended.unwrap_or_else(|| Err(StoreError::Failed("the load's writer panicked".into())))
    }
}

/// Refuses a store that has documents of other kinds than `besides`, or tombstones.
fn refuse_filled(connection: &Connection, besides: &[KindId]) -> Result<(), StoreError> {
    let mut kinds = connection.prepare("SELECT DISTINCT kind FROM tally WHERE n > 0")?;
    let kinds = kinds.query_map([], |row| row.get::<_, u16>(0))?;
    let mut has_others = false;
    for kind in kinds {
        has_others |= !besides.contains(&KindId(kind?));
    }
    let text = "SELECT EXISTS (SELECT 1 FROM ref) OR EXISTS (SELECT 1 FROM tomb)";
    if has_others || connection.query_row(text, [], |row| row.get::<_, bool>(0))? {
        return Err(StoreError::Unusable(
            "a direct load needs an empty store, and this one has documents or had some; load \
             without --direct, or into another store"
                .into(),
        ));
    }
    Ok(())
}
