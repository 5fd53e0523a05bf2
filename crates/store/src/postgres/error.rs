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
    /// A value does not go into the driver's form, or comes out of it: the server was told nothing
    /// of it, or has done what it was told.
    Form(String),
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
    /// A server that has been silent for too long.
    pub(super) fn silent() -> Self {
        Self::Lost("the server does not answer".into())
    }

    /// Whether the server has answered with this error.
    pub(super) fn has_code(&self, code: &SqlState) -> bool {
        match self {
            Self::Own(StoreError::Failed(why)) | Self::Everybody(StoreError::Failed(why)) => {
                why.ends_with(&format!("(SQLSTATE {})", code.code()))
            }
            _ => false,
        }
    }

    /// What a caller is told; `late` is how it is told of a deadline.
    pub(super) fn told(self, late: impl FnOnce() -> StoreError) -> StoreError {
        match self {
            Self::Own(error) | Self::Everybody(error) => error,
            Self::Form(why) => StoreError::Failed(why),
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
        let Some(db) = error.as_db_error() else { return without_answer(&error) };
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
            // A server that shuts down, starts, is full, or has become a standby; a commit of which
            // it knows no more; a prepared statement that is gone, somebody else's, or fits the
            // tables no more.
            &SqlState::ADMIN_SHUTDOWN
            | &SqlState::CRASH_SHUTDOWN
            | &SqlState::CANNOT_CONNECT_NOW
            | &SqlState::TOO_MANY_CONNECTIONS
            | &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
            | &SqlState::READ_ONLY_SQL_TRANSACTION
            | &SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN
            | &SqlState::INVALID_SQL_STATEMENT_NAME
            | &SqlState::DUPLICATE_PSTATEMENT
            | &SqlState::FEATURE_NOT_SUPPORTED => Self::Lost(text),
            other if other.code().starts_with("08") || other.code() == "57P05" => Self::Lost(text),
            &SqlState::INSUFFICIENT_PRIVILEGE => Self::Everybody(StoreError::Failed(text)),
            other if OWN.iter().any(|class| other.code().starts_with(class)) => {
                Self::Own(StoreError::Failed(text))
            }
            _ => Self::Everybody(StoreError::Failed(text)),
        }
    }
}

/// Classes of errors that are a statement's own, so that others go through without it: its values,
/// the rules of the rows, its text, too much of something.
const OWN: [&str; 4] = ["22", "23", "42", "54"];

/// An error that is not the server's.
fn without_answer(error: &Error) -> Fault {
    let source = std::error::Error::source(error);
    let text = source.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
    let io = source.and_then(|source| source.downcast_ref::<io::Error>());
    // The driver says so of a message that is too long or has U+0000 in a name.
    let is_form = io.is_some_and(|io| io.kind() == io::ErrorKind::InvalidInput);
    let is_garbled = source.is_none() && error.to_string().starts_with("unexpected message");
    if error.is_closed() || is_garbled || (io.is_some() && !is_form) {
        Fault::Lost(text)
    } else {
        Fault::Form(text)
    }
}
