//! The location of a store.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::StoreError;
use crate::store::mask::{masked_text, masked_url};

/// The location of a store. Formatting it shows no password.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// `sqlite:PATH`: a file.
    Sqlite(PathBuf),
    /// `postgres://…` or `postgresql://…`: a database on a server.
    Postgres(PostgresUrl),
}

/// The address of a PostgreSQL database, which may contain a password. Formatting it shows none.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl(String);

impl PostgresUrl {
    /// Returns the address as given, including the password.
    pub(crate) fn exposed(&self) -> &str {
        &self.0
    }

    /// Returns the address of the same database with `schema` as the schema of unqualified table
    /// names.
    pub(super) fn with_schema(&self, schema: &str) -> Self {
        let divider = if self.0.contains('?') { '&' } else { '?' };
        Self(format!("{}{divider}options=-csearch_path%3D{schema}", self.0))
    }
}

impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        if let Some(path) = text.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
            return Ok(Self::Sqlite(path.into()));
        }
        if ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Ok(Self::Postgres(PostgresUrl(text.to_owned())));
        }
        // Even an invalid URL may contain a password, so it is not shown.
        Err(StoreError::Unusable(
            "a store is sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE".into(),
        ))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The path may be a URL that was taken for a path.
            Self::Sqlite(path) => {
                write!(f, "sqlite:{}", masked_text(&path.display().to_string()))
            }
            Self::Postgres(url) => url.fmt(f),
        }
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked_url(&self.0))
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_password() {
        for (given, shown) in [
            ("sqlite:a/b.db", "sqlite:a/b.db"),
            ("sqlite:postgres://u:p@h/d", "sqlite:postgres://***@h/d"),
            ("postgres://h/d", "postgres://h/d"),
            ("postgres://u:p@h/d", "postgres://u:***@h/d"),
        ] {
            let url: StoreUrl = given.parse().unwrap();

            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), shown);
        }
    }

    #[test]
    fn an_invalid_store_url_is_refused_without_being_shown() {
        for text in ["", "sqlite:", "homeroom.db", "mysql://u:secret@h/d"] {
            let refused = text.parse::<StoreUrl>().unwrap_err().to_string();

            assert!(!refused.contains("secret") && refused.contains("sqlite:PATH"), "{refused}");
        }
    }
}
