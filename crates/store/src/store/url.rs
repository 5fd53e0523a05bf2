//! Where a store is.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::StoreError;

/// Where a store is. Written out, it shows no password.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// `sqlite:PATH`: a file.
    Sqlite(PathBuf),
    /// `postgres://…` or `postgresql://…`: a database of a server.
    Postgres(PostgresUrl),
}

/// The address of a PostgreSQL database, which may hold a password. Written out, it shows none.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl(String);

impl PostgresUrl {
    /// The address as it was given, password and all.
    pub(crate) fn exposed(&self) -> &str {
        &self.0
    }

    /// The same database, where tables that are named without their schema are those of `schema`.
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
        // What is no URL may still hold a password, so it is not shown.
        Err(StoreError::Unusable(
            "a store is sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE".into(),
        ))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(url) => url.fmt(f),
        }
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(&self.0))
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

/// A URL without its passwords: that before the host and that among the parameters. In a doubtful
/// case more is hidden than need be.
fn masked(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "***".into() };
    let shown = match rest.rsplit_once('@') {
        // Whether this is the end of a user's password or within a parameter, nobody can say.
        Some((user, _)) if user.contains('?') => return format!("{scheme}://***"),
        Some((user, place)) if user.contains(':') => {
            let name = user.split(':').next().unwrap_or("");
            format!("{scheme}://{name}:***@{place}")
        }
        _ => url.to_owned(),
    };
    let Some((place, parameters)) = shown.split_once('?') else { return shown };
    let parameters: Vec<String> = parameters
        .split('&')
        .map(|parameter| match parameter.split_once('=') {
            Some((name, _)) if name.to_ascii_lowercase().contains("password") => {
                format!("{name}=***")
            }
            _ => parameter.to_owned(),
        })
        .collect();
    format!("{place}?{}", parameters.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_the_store_is_and_no_password() {
        for (given, shown) in [
            ("sqlite:a/b.db", "sqlite:a/b.db"),
            ("postgres://h/d", "postgres://h/d"),
            ("postgres://u@h:5/d?x=1", "postgres://u@h:5/d?x=1"),
            ("postgres://u:p@h/d", "postgres://u:***@h/d"),
            ("postgresql://u:p@x@h/d", "postgresql://u:***@h/d"),
            ("postgresql://u:p?q@h/d", "postgresql://***"),
            ("postgres://h:5/d?password=p@q", "postgres://***"),
            (
                "postgres:///d?host=/s&password=p&sslpassword=q",
                "postgres:///d?host=/s&password=***&sslpassword=***",
            ),
        ] {
            let url: StoreUrl = given.parse().unwrap();

            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), shown);
        }
    }

    #[test]
    fn what_is_no_url_of_a_store_is_refused_without_being_shown() {
        for text in ["", "sqlite:", "homeroom.db", "mysql://u:secret@h/d"] {
            let refused = text.parse::<StoreUrl>().unwrap_err().to_string();

            assert!(!refused.contains("secret") && refused.contains("sqlite:PATH"), "{refused}");
        }
    }
}
