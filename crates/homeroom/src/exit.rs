//! Exit codes, the same for every command.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use homeroom_bulk::{LoadError, escaped};
use homeroom_store::masked_text;

/// How a command ended, other than by an error; the number is the process's exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything was done.
    Done = 0,
    /// The command finished, but records were rejected.
    Rejects = 3,
    /// Differences were found.
    Differences = 6,
    /// A goal was not met.
    GateNotMet = 7,
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The request cannot be done; the message says what to do instead.
    #[error("{0}")]
    Failed(String),
    /// The arguments contradict each other or name something that does not exist.
    #[error("{0}")]
    Usage(String),
    /// A file or folder that was named cannot be used.
    #[error("{problem}")]
    Input {
        /// The path as it was given.
        input: PathBuf,
        /// What is wrong, with the path that has the fault.
        problem: String,
    },
    /// What was named has no file to load.
    #[error("{0}")]
    NothingToLoad(String),
    /// The target does not accept the key.
    #[error("{0}")]
    NotAuthorized(String),
    /// The target cannot be reached.
    #[error("{0}")]
    Unreachable(String),
    /// The command was told to stop before it had finished.
    #[error("{0}")]
    Interrupted(String),
    /// The log already says why; the process ends with this code.
    #[error("the log says why")]
    Told(u8),
}

impl Failure {
    /// Returns a failure with what was being done and the error.
    pub fn because(doing: &str, error: impl std::fmt::Display) -> Self {
        Self::Failed(format!("{doing}: {error}"))
    }

    /// Returns the failure for a path in the settings. If the path itself is wrong, the failure is one of
    /// usage, so that systemd does not try again.
    pub fn of_path(setting: &str, path: &Path, error: &std::io::Error) -> Self {
        let text = format!("{setting}: {}: {error}", path.display());
        match error.kind() {
            ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::PermissionDenied => Self::Usage(text),
            _ => Self::Failed(text),
        }
    }

    fn code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) | Self::Input { .. } | Self::NothingToLoad(_) => 2,
            Self::NotAuthorized(_) => 4,
            Self::Unreachable(_) => 5,
            Self::Interrupted(_) => 130,
            Self::Told(code) => *code,
        }
    }

    /// Returns the failure without its message, for one that was logged.
    pub fn told(&self) -> Self {
        Self::Told(self.code())
    }
}

/// Prints text to stdout, where a terminal obeys nothing of it that others have written. A reader that closes
/// the stream early is not an error.
pub fn print(text: &str) {
    print_as_it_is(&escaped(text));
}

/// Prints a text of the program's own to stdout: one with colours, or one for another program.
pub fn print_as_it_is(text: &str) {
    _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Prints text to stderr, where a terminal obeys nothing of it that others have written.
pub fn print_aside(text: &str) {
    _ = std::io::stderr().lock().write_all(escaped(text).as_bytes());
}

/// Works like `println!`, but does not panic if the reader has closed the stream, and a terminal obeys nothing of
/// the text.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::exit::print(&format!("{}\n", format_args!($($text)*)))
    };
}
pub(crate) use say;

/// Does the same on stderr.
macro_rules! say_aside {
    ($($text:tt)*) => {
        $crate::exit::print_aside(&format!("{}\n", format_args!($($text)*)))
    };
}
pub(crate) use say_aside;

/// Prints a failure to stderr and returns the process's exit code.
pub fn report(done: Result<Exit, Failure>) -> ExitCode {
    match done {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(Failure::Told(code)) => ExitCode::from(code),
        Err(failure) => {
            say_aside!("homeroom: {}", masked_text(&failure.to_string()));
            ExitCode::from(failure.code())
        }
    }
}

/// Prints why a command line is invalid, or the requested help, and returns the process's exit
/// code.
pub fn usage(error: &clap::Error) -> ExitCode {
    let plain = error.render().to_string();
    let masked = masked_text(&plain);
    if !error.use_stderr() || masked == plain {
        _ = error.print();
    } else {
        eprint!("{masked}");
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Input { input, problem } => Self::Input { input, problem },
            LoadError::Nothing => Self::NothingToLoad(error.to_string()),
            LoadError::Path { .. }
            | LoadError::UnknownResource(_)
            | LoadError::NotDirect(_)
            | LoadError::Refused(_)
            | LoadError::RejectsNotEmpty { .. }
            | LoadError::RejectsInUse(_)
            | LoadError::CannotResume { .. }
            | LoadError::OutputIsSource(_) => Self::Usage(error.to_string()),
            LoadError::Output { .. }
            | LoadError::NotAuthorized(_)
            | LoadError::Stopped
            | LoadError::Thread(_)
            | LoadError::TooLargeForDryRun(_)
            | LoadError::Store(_) => Self::because("loading", error),
        }
    }
}
