//! Translates the driver's errors into what can be done about them, and into the store's errors.

use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::error::StoreError;

/// What is the likely cause where a session has other prepared statements than it should.
const POOLER: &str = "behind a pooler that gives each transaction another session, such as PgBouncer \
     with pool_mode=transaction, add pooling=transaction to the URL";

/// How the driver says that there is no password, and what that means.
const NO_PASSWORD: &str = "password missing";
const ASKS_FOR_PASSWORD: &str = "the server asks for a password; set it in the variable PGPASSWORD, or in the \
     URL";

/// Why something failed, by what can be done about it.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// The statement's own fault: it fails wherever it is run.
    Own(StoreError),
    /// A value could not be converted to or from the driver's form: the server did not get the
    /// statement, or has executed it.
    Form(String),
    /// Two transactions conflicted; this one can be run again.
    Again(String),
    /// The connection is unusable; another one may work.
    Lost(String),
    /// The statement took too long.
    Late,
    /// Nothing can be done at the moment, with any statement.
    Everybody(StoreError),
}

impl Fault {
    /// Returns the fault of a server that has been silent for too long.
    pub(super) fn silent() -> Self {
        Self::Lost("the server does not answer".into())
    }

    /// Returns the fault with the servers that it comes from, where no connection was made.
    pub(super) fn at(self, hosts: &str) -> Self {
        let failed = |error| match error {
            StoreError::Failed(why) => StoreError::Failed(format!("{hosts}: {why}")),
            other => other,
        };
        match self {
            Self::Lost(why) => Self::Lost(format!("{hosts}: {why}")),
            Self::Form(why) if why.ends_with(NO_PASSWORD) => {
                Self::Form(format!("{hosts}: {ASKS_FOR_PASSWORD}"))
            }
            Self::Form(why) => Self::Form(format!("{hosts}: {why}")),
            Self::Again(why) => Self::Again(format!("{hosts}: {why}")),
            Self::Own(error) => Self::Own(failed(error)),
            Self::Everybody(error) => Self::Everybody(failed(error)),
            Self::Late => Self::Late,
        }
    }

    /// Returns the faults of all servers of an address as one, which may pass if one of them may.
    pub(super) fn of_all(mut faults: Vec<Self>) -> Self {
        let text = |fault: &Self| match fault {
            Self::Form(why) | Self::Again(why) | Self::Lost(why) => why.clone(),
            Self::Own(error) | Self::Everybody(error) => error.to_string(),
            Self::Late => String::from("the statement took too long"),
        };
        let Some(last) = faults.pop() else { return Self::Lost("no server is named".into()) };
        if faults.is_empty() {
            return last;
        }
        faults.push(last);
        let all = faults.iter().map(text).collect::<Vec<_>>().join("; ");
        if faults.iter().any(|fault| matches!(fault, Self::Lost(_) | Self::Again(_))) {
            return Self::Lost(all);
        }
        Self::Everybody(StoreError::Failed(all))
    }

    /// Returns whether the server has answered with this error code.
    pub(super) fn has_code(&self, code: &SqlState) -> bool {
        match self {
            Self::Own(StoreError::Failed(why)) | Self::Everybody(StoreError::Failed(why)) => {
                why.ends_with(&format!("(SQLSTATE {})", code.code()))
            }
            _ => false,
        }
    }

    /// Returns whether the server does not support something in a statement.
    pub(super) fn is_unsupported(&self) -> bool {
        let code = SqlState::FEATURE_NOT_SUPPORTED;
        matches!(self, Self::Lost(why) if why.ends_with(&format!("(SQLSTATE {})", code.code())))
    }

    /// Returns the caller's error; `late` supplies the one for a deadline.
    pub(super) fn told(self, late: impl FnOnce() -> StoreError) -> StoreError {
        match self {
            Self::Own(error) | Self::Everybody(error) => error,
            Self::Form(why) => StoreError::Failed(why),
            Self::Again(why) | Self::Lost(why) => StoreError::Away(why),
            Self::Late => late(),
        }
    }
}

/// Returns the error of a transaction that copies a whole store, which has no deadline of its own.
pub(super) fn of_copy(fault: Fault) -> StoreError {
    fault.told(|| StoreError::Failed("the server has ended it after its own time-out".into()))
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
        // A message about a value may quote the value.
        let is_unprepared =
            [&SqlState::INVALID_SQL_STATEMENT_NAME, &SqlState::DUPLICATE_PSTATEMENT]
                .contains(&code);
        let text = if code.code().starts_with("22") {
            format!("a value was refused (SQLSTATE {})", code.code())
        } else if is_unprepared {
            format!("{}; {POOLER} (SQLSTATE {})", db.message(), code.code())
        } else {
            format!("{} (SQLSTATE {})", db.message(), code.code())
        };
        match code {
            &SqlState::T_R_SERIALIZATION_FAILURE
            | &SqlState::T_R_DEADLOCK_DETECTED
            | &SqlState::LOCK_NOT_AVAILABLE => Self::Again(text),
            &SqlState::QUERY_CANCELED => Self::Late,
            &SqlState::DISK_FULL => Self::Everybody(StoreError::DiskFull),
            // A server that shuts down, starts, is full, or has become a standby; a commit whose
            // outcome it no longer knows; a prepared statement that is gone, belongs to another
            // session, or no longer fits the tables.
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

/// Classes of errors that are a statement's own fault, so that other plans succeed without it:
/// rows that are written twice by one statement, data, constraints, syntax, limits.
const OWN: [&str; 5] = ["21", "22", "23", "42", "54"];

/// Returns the fault for an error that did not come from the server.
fn without_answer(error: &Error) -> Fault {
    let source = std::error::Error::source(error);
    let text = source.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
    let io = source.and_then(|source| source.downcast_ref::<io::Error>());
    // The driver reports this for a message that is too long, or a name with U+0000.
    let is_form = io.is_some_and(|io| io.kind() == io::ErrorKind::InvalidInput);
    let is_garbled = source.is_none() && error.to_string().starts_with("unexpected message");
    if error.is_closed() || is_garbled || (io.is_some() && !is_form) {
        Fault::Lost(text)
    } else {
        Fault::Form(text)
    }
}

/// Returns the error for a row that cannot be read.
pub(super) fn told(fault: Fault) -> StoreError {
    fault.told(|| StoreError::Failed("it took too long".into()))
}

/// Returns the fault for a table that lacks its row.
pub(super) fn damaged(table: &str) -> Fault {
    Fault::Own(StoreError::Failed(format!("the table {table} has lost its row")))
}
