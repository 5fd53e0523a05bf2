//! The embedded store: one SQLite file, one writer thread with group commit, and concurrent
//! readers.
//!
//! A process that opens the file holds a lock on it, whatever path leads there. So a second process
//! is refused and cannot interfere with the first one's counters (`lock.rs`).

mod archive;
mod checkpoint;
mod copy;
mod counters;
mod direct;
mod erase;
mod erasures;
mod error;
mod file;
mod holders;
mod lister;
mod lock;
mod network;
mod open;
mod output;
mod place;
mod probe;
mod reach;
mod recent;
mod residue;
mod seal;
mod select;
mod shared;
mod snapshot;
mod statements;
mod value;
mod views;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::Connection;

use crate::error::StoreError;
use crate::id::Uuid;
use crate::queue::Queue;
use crate::row::Row;
use crate::sqlite::file::HeldFile;
use crate::sqlite::reach::is_settled;
use crate::store::Options;
use crate::tie::{Reached, Start, TieState, Way};

pub(crate) use archive::{Filling, Reading, carried, renew};
pub(crate) use copy::{HeldBackup, archive, backup, damaged, hold_backup, raise, restore};
pub use direct::DIRECT_DOCUMENTS_MAX;
pub(crate) use direct::{DirectWriter, begin as begin_direct};
pub(crate) use lister::Lister;
use lister::Readers;
pub use lock::{FileId, is_held_here, real_file};
pub(crate) use open::check;
pub use output::{OutputError, OutputKind, check_folder, is_database, make_folder, remove_folders};
pub(crate) use probe::{by_key, by_uuid, target};
pub(crate) use recent::{commit_seen, number_of_key};
pub(crate) use select::{count, cuts, list, pass, serve};
pub(crate) use shared::Shared;
pub(crate) use snapshot::SqliteSnapshot;
pub(crate) use value::rows;
pub(crate) use views::{replace_views, views_version};

/// An open SQLite store.
pub(crate) struct Sqlite {
    pub(crate) shared: Arc<Shared>,
    pub(crate) writer: Queue,
    pub(crate) lister: Lister,
}

/// Opens the store in a file, creating and migrating it as needed.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Sqlite, StoreError> {
    let cache_kib = options.cache_kib;
    let (lock, connection) = open::open_file(path, options.page_bytes, cache_kib)?;
    place::settle(&connection, &lock)?;
    let newest = counters::newest_change_version(&connection)?;
    let shared = Arc::new(Shared::new(HeldFile::new(lock, cache_kib), newest));
    recent::provide(&connection, &shared.file.recent)?;
    let positions = shared.file.recent.fill(&connection)?;
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let short = Readers { threads: cores, queue: options.list_queue };
    let long = Readers { threads: (cores / 2).max(1), queue: options.scan_queue };
    let lister = Lister::start(&shared, short, long)?;
    shared.probes.provide(&shared.file, cores)?;
    let writer = writer::start(connection, Arc::clone(&shared), positions, options)?;
    Ok(Sqlite { shared, writer, lister })
}

impl Sqlite {
    /// Reads one index entry immediately, on this thread's own connection.
    pub(crate) fn probe<T>(
        &self,
        probe: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.shared.probes.on_this_thread(&self.shared.file, probe)
    }

    /// Finds a document by its public id, and the version of the ties before the read.
    pub(crate) fn document_and_ties(
        &self,
        uuid: Uuid,
    ) -> Result<Option<(Row, TieState)>, StoreError> {
        let version = self.shared.ties.version();
        let found = self.probe(|c| by_uuid(c, uuid))?;
        Ok(found.map(|row| (row, TieState(i64::try_from(version).ok()))))
    }

    /// Returns whether all ways lead from their numbers to one of some sorted numbers in the state in which a
    /// document was read, if that is remembered.
    pub(crate) fn all_lead(
        &self,
        state: TieState,
        from: &[(i64, Way)],
        to: &[i64],
    ) -> Option<bool> {
        let version = u64::try_from(state.0?).ok()?;
        self.shared.ties.all_lead(version, from, to)
    }

    /// Follows ways, all on one state of the store, which has what any read has shown before.
    pub(crate) fn reach(&self, from: &[(Start, Way)]) -> Result<Vec<Reached>, StoreError> {
        let ties = &self.shared.ties;
        if let Some(reached) = ties.recall(ties.version(), from) {
            return Ok(reached);
        }
        let version = ties.begin(from);
        let look = |c: &Connection| ties.look(c, version, from);
        // This thread's snapshot has all ties that another one has shown, unless they are being committed; it may
        // lack documents.
        if is_settled(version) && from.iter().all(|(start, _)| matches!(start, Start::Number(_))) {
            self.probe(look)
        } else {
            self.shared.probes.anew_on_this_thread(&self.shared.file, look)
        }
    }

    /// Stops the readers, then the writer, which empties the log and closes the file.
    pub(crate) fn close(&self) {
        self.shared.file.is_closed.store(true, Ordering::Release);
        self.lister.close();
        self.shared.probes.close();
        self.writer.close();
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}
