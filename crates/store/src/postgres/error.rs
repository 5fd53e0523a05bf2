//! From the driver's errors to what can be done about them, and to the store's own.

use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::error::StoreError;

/// Why something was not done, by what can be done about it.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// The statement's own: it fails wherever it is run.
    Own(StoreError),
    /// Two transactions were in each other's way; this one can be run again.
    Again(String),
    /// The connection is of no use any more; another one may be.
    Lost(String),
    /// The statement took too long.
    Late,
    /// Nothing can be done at the moment, with whatever statement.
    Everybody(StoreError),
}

impl Fault {
    /// What a caller is told; `late` is how it is told of a deadline.
    pub(super) fn told(self, late: impl FnOnce() -> StoreError) -> StoreError {
        match self {
            Self::Own(error) | Self::Everybody(error) => error,
            Self::Again(why) | Self::Lost(why) => StoreError::Away(why),
            Self::Late => late(),
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Own(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let Some(db) = error.as_db_error() else {
            let source = std::error::Error::source(&error);
            let is_io = source.is_some_and(<dyn std::error::Error>::is::<io::Error>);
            let text =
                source.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
            return if error.is_closed() || is_io {
                Self::Lost(text)
            } else {
                Self::Own(StoreError::Failed(text))
            };
        };
        let code = db.code();
        // A message about a value may quote it.
        let text = if code.code().starts_with("22") {
            format!("a value was refused (SQLSTATE {})", code.code())
        } else {
            format!("{} (SQLSTATE {})", db.message(), code.code())
        };
        match code {
            &SqlState::T_R_SERIALIZATION_FAILURE
            | &SqlState::T_R_DEADLOCK_DETECTED
            | &SqlState::LOCK_NOT_AVAILABLE => Self::Again(text),
            &SqlState::QUERY_CANCELED => Self::Late,
            &SqlState::DISK_FULL => Self::Everybody(StoreError::DiskFull),
            // A server that shuts down, starts, is full, or has become a standby.
            &SqlState::ADMIN_SHUTDOWN
            | &SqlState::CRASH_SHUTDOWN
            | &SqlState::CANNOT_CONNECT_NOW
            | &SqlState::TOO_MANY_CONNECTIONS
            | &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
            | &SqlState::READ_ONLY_SQL_TRANSACTION => Self::Lost(text),
            other if other.code().starts_with("08") || other.code() == "57P05" => Self::Lost(text),
            other if other.code().starts_with("53") => Self::Everybody(StoreError::Failed(text)),
            _ => Self::Own(StoreError::Failed(text)),
        }
    }
}
