//! Translates the driver's errors into the store's.

use rusqlite::ErrorCode;

use crate::error::StoreError;
use crate::waiting::Busy;
use rusqlite::ffi::SQLITE_IOERR_FSYNC;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::SystemIoFailure) => Self::DiskFailed(error.to_string()),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(Busy::Locked),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// Returns the error of a failed COMMIT: only one whose frames are all written may come back.
pub(super) fn of_commit(error: rusqlite::Error) -> StoreError {
    if is_unsynced(&error) { StoreError::Unsure } else { error.into() }
}

/// Returns whether everything was written and only the sync failed.
pub(super) fn is_unsynced(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == SQLITE_IOERR_FSYNC)
}
