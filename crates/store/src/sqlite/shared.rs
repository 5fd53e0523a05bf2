//! What the threads of an embedded store share.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize};
use std::sync::{Arc, Mutex};

use crate::commits::Commits;
use crate::error::StoreError;
use crate::sqlite::erasures::Erasures;
use crate::sqlite::file::HeldFile;
use crate::sqlite::probe::Probes;
use crate::sqlite::reach::SharedTies;

/// State that writer, readers and the checkpointer share.
pub(crate) struct Shared {
    pub(crate) file: HeldFile,
    pub(crate) newest_change_version: AtomicI64,
    pub(crate) probes: Probes,
    /// What readers remember of ties.
    pub(crate) ties: SharedTies,
    /// The commits of this process.
    pub(crate) commits: Commits,
    /// Number of jobs that the writer has not answered yet.
    pub(crate) waiting: Arc<AtomicUsize>,
    /// Why nothing can be written at the moment.
    pub(crate) trouble: Mutex<Option<StoreError>>,
    /// Whether the log is kept until the next start, which copies all of it into the file anew.
    pub(crate) is_log_kept: AtomicBool,
    /// Who waits until the bytes of deleted rows are gone.
    pub(crate) erasures: Erasures,
}

impl Shared {
    /// Creates the state of a store whose greatest change version is `newest`.
    pub(crate) fn new(file: HeldFile, newest: i64) -> Self {
        Self {
            file,
            newest_change_version: AtomicI64::new(newest),
            probes: Probes::new(),
            ties: SharedTies::default(),
            commits: Commits::default(),
            waiting: Arc::default(),
            trouble: Mutex::new(None),
            is_log_kept: AtomicBool::new(false),
            erasures: Erasures::default(),
        }
    }
}
