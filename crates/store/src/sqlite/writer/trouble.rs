//! Handles a failing disk: a refused write must not come back, and the writer notices when writing
//! works again.
//!
//! A commit writes its frames to the log and syncs it. When the sync fails, SQLite forgets the
//! frames, but they are complete in the file, and the next start would take them for committed. So
//! an empty commit is written in their place, and the frames after it no longer match.
//!
//! Source: SQLite file format, section 4.2 (a frame's checksum continues that of the frame before).

use std::sync::PoisonError;

use crate::error::StoreError;
use crate::migration::newest;
use crate::sqlite::error::is_unsynced;
use crate::sqlite::writer::Writer;

impl Writer {
    /// Makes sure that a lost transaction stays lost. Returns the error for the plans that wait for
    /// it.
    pub(super) fn settle(&mut self, error: StoreError) -> StoreError {
        let told = match error {
            StoreError::Unsure => match self.write_nothing() {
                Ok(()) => StoreError::DiskFailed("a sync failed".into()),
                Err(error) if is_unsynced(&error) => {
                    StoreError::DiskFailed("every sync fails".into())
                }
                Err(_) => StoreError::Unsure,
            },
            StoreError::DiskFull | StoreError::DiskFailed(_) => error,
            other => return other,
        };
        self.is_troubled = true;
        self.tell(Some(told.clone()));
        told
    }

    /// Records that something was written.
    pub(super) fn writes_work(&mut self) {
        if self.is_troubled {
            self.is_troubled = false;
            self.tell(None);
            tracing::info!("the disk accepts writes again");
        }
    }

    /// Retries a disk that has failed.
    pub(super) fn try_again(&mut self) {
        if self.is_troubled && self.write_nothing().is_ok() {
            self.writes_work();
        }
    }

    /// Makes a commit that changes nothing; it overwrites what a lost one has left in the log.
    fn write_nothing(&self) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "user_version", newest())
    }

    fn tell(&self, trouble: Option<StoreError>) {
        *self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }
}
