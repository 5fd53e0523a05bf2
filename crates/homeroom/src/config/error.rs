//! Why a configuration cannot be used, and where a value of it came from.

use std::fmt;
use std::path::PathBuf;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {0}: {1}")]
    Unreadable(PathBuf, std::io::Error),
    /// The file is not valid TOML. Its content is not shown, since it may be a password.
    #[error(
        "{}: line {line}, column {column}{}: {message}",
        path.display(),
        setting.as_ref().map_or(String::new(), |name| format!(", `{name}`"))
    )]
    NotToml {
        /// The path of the file.
        path: PathBuf,
        /// The line of the error, from 1.
        line: usize,
        /// The column of the error in characters, from 1.
        column: usize,
        /// The setting at the beginning of the line, if it is a known one.
        setting: Option<String>,
        /// What is wrong.
        message: String,
    },
    /// A value that is kept in a file of its own cannot be read.
    #[error("{origin}: {name}: cannot read {}: {error}", path.display())]
    NoValue {
        /// The origin of the file's name.
        origin: Origin,
        /// The setting that names the file.
        name: String,
        /// The path of the file.
        path: PathBuf,
        /// Why it cannot be read.
        error: std::io::Error,
    },
    /// There is no setting of this name.
    #[error("{origin}: `{name}` is not a setting{}", nearest.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?")))]
    Unknown {
        /// The origin of the name.
        origin: Origin,
        /// The unknown name.
        name: String,
        /// The nearest known name.
        nearest: Option<String>,
    },
    /// An environment variable that looks like a setting is not one.
    #[error(
        "{variable} is not a setting; settings are named HOMEROOM_SECTION__KEY, with two \
         underscores{}; `homeroom config show` lists all",
        nearest.as_ref().map_or(String::new(), |nearest| format!("; did you mean {nearest}?"))
    )]
    UnknownVariable {
        /// The name of the variable.
        variable: String,
        /// The nearest variable that is a setting.
        nearest: Option<String>,
    },
    /// A value does not fit its setting.
    #[error("{origin}: {name}: {message}")]
    Value {
        /// The origin of the value.
        origin: Origin,
        /// The setting's name.
        name: String,
        /// What is wrong.
        message: String,
    },
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The built-in default.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// An environment variable.
    Environment(String),
    /// The command line.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "{name}"),
            Self::Flag => f.write_str("command line"),
        }
    }
}
