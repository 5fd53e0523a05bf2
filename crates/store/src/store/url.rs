//! The location of a store.

use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::percent_decode_str;

use crate::error::StoreError;
use crate::store::mask::{masked_text, masked_url};
use crate::store::parameters;

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

    /// Refuses parameters that nobody knows, and ports that are no numbers, without showing what could be
    /// the rest of a password.
    ///
    /// # Errors
    ///
    /// The error says which one it is.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let Some((_, rest)) = self.0.split_once("://") else { return Ok(()) };
        // The driver takes everything before the first `@` for a user and a password.
        let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let hosts = place.split_once('/').map_or(place, |(hosts, _)| hosts);
        for (at, host) in hosts.split(',').enumerate() {
            let port = match host.rsplit_once(':') {
                Some((_, port)) if !host.ends_with(']') => port,
                _ => continue,
            };
            if port.parse::<u16>().is_err() {
                return Err(StoreError::Unusable(format!(
                    "the port of host {} is not a number up to 65535, such as 5432; in a user and a \
                     password, {ESCAPED}",
                    at + 1
                )));
            }
        }
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let name = parameter.split_once('=').map_or(parameter, |(name, _)| name);
            let name = percent_decode_str(name).decode_utf8_lossy();
            if parameters::is_known(&name) {
                continue;
            }
            let near = parameters::names().find(|known| is_near(&name, known));
            return Err(StoreError::Unusable(match near {
                Some(known) => format!("there is no parameter {name}; did you mean {known}?"),
                None => {
                    let known: Vec<&str> = parameters::names().collect();
                    format!("a parameter is unknown; known are {}", known.join(", "))
                }
            }));
        }
        Ok(())
    }

    /// Returns the same address with a password, unless it has one.
    #[must_use]
    pub fn with_password(&self, password: &str) -> Self {
        let has_one = tokio_postgres::Config::from_str(&without_tls(&self.0))
            .map_or(true, |config| config.get_password().is_some());
        if has_one || password.is_empty() {
            return self.clone();
        }
        let mut url = self.0.clone();
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str("password=");
        for byte in password.bytes() {
            if byte.is_ascii_alphanumeric() {
                url.push(byte.into());
            } else {
                _ = write!(url, "%{byte:02X}");
            }
        }
        Self(url)
    }

    /// Returns what distinguishes the database from others: hosts, ports, database, user and options, but no
    /// password. [`None`] for an address that the driver does not understand.
    pub fn place(&self) -> Option<String> {
        let config = tokio_postgres::Config::from_str(&without_tls(&self.0)).ok()?;
        Some(format!(
            "{:?} {:?} {:?} {:?} {:?} {:?}",
            config.get_hosts(),
            config.get_hostaddrs(),
            config.get_ports(),
            config.get_dbname(),
            config.get_user(),
            config.get_options(),
        ))
    }

    /// Returns the address of the same database with `schema` as the schema of unqualified table
    /// names.
    pub(super) fn with_schema(&self, schema: &str) -> Self {
        let divider = if self.0.contains('?') { '&' } else { '?' };
        Self(format!("{}{divider}options=-csearch_path%3D{schema}", self.0))
    }
}

/// Returns an address without its parameters about TLS and poolers, most of which the driver does not
/// know.
fn without_tls(url: &str) -> String {
    // The driver takes everything before the first `@` for a user and a password.
    let begin = url.find('@').unwrap_or(0);
    let Some(mark) = url[begin..].find('?').map(|at| begin + at) else { return url.to_owned() };
    let is_about_tls = |parameter: &str| {
        let name = parameter.split_once('=').map_or(parameter, |(name, _)| name);
        let name = percent_decode_str(name).decode_utf8_lossy();
        name.starts_with("ssl") || name == "pooling"
    };
    let rest: Vec<&str> =
        url[mark + 1..].split('&').filter(|p| !p.is_empty() && !is_about_tls(p)).collect();
    let divider = if rest.is_empty() { "" } else { "?" };
    format!("{}{divider}{}", &url[..mark], rest.join("&"))
}

/// What has to be escaped in a user and a password.
///
/// Source: RFC 3986 §3.2.1 (user information), §2.1 (percent-encoding).
///
/// The sentence has no at sign: before one, whatever masks messages would look for a password.
pub(crate) const ESCAPED: &str = "write % as %25, the at sign as %40, / as %2F, : as %3A, ? as %3F and # \
                                  as %23, or set the password in the variable PGPASSWORD";

/// Returns whether a name is another but for one or two letters, so that it is no secret.
fn is_near(name: &str, known: &str) -> bool {
    let (name, known): (Vec<char>, Vec<char>) = (name.chars().collect(), known.chars().collect());
    if known.len() < 5 || name.len().abs_diff(known.len()) > 2 {
        return false;
    }
    let same_at_begin = name.iter().zip(&known).take_while(|(a, b)| a == b).count();
    let of_rest = |list: &[char]| list[same_at_begin..].to_vec();
    let (name, known) = (of_rest(&name), of_rest(&known));
    let same_at_end = name.iter().rev().zip(known.iter().rev()).take_while(|(a, b)| a == b).count();
    (name.len() - same_at_end).max(known.len() - same_at_end) <= 2
}

/// Returns whether the part of an address before its host contains a character that would end it,
/// or a `%` that escapes nothing.
fn has_bare_mark(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let before_parameters = rest.split_once('?').map_or(rest, |(before, _)| before);
    let Some((user, _)) = before_parameters.rsplit_once('@') else { return false };
    let password = user.split_once(':').map_or("", |(_, password)| password);
    let escapes_nothing = |at: usize| {
        let code = user.as_bytes().get(at + 1..at + 3);
        !code.is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit))
    };
    user.contains(['@', '/', '#'])
        || password.contains(':')
        || user.match_indices('%').any(|(at, _)| escapes_nothing(at))
}

impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        if let Some(path) = text.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
            return Ok(Self::Sqlite(path.into()));
        }
        if ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            if has_bare_mark(text) {
                return Err(StoreError::Unusable(format!(
                    "the user or the password in the URL contains a character that has to be \
                     escaped; {ESCAPED}"
                )));
            }
            return Ok(Self::Postgres(PostgresUrl(text.to_owned())));
        }
        // Even an invalid URL may contain a password, so it is not shown.
        Err(StoreError::Unusable(
            "a store is sqlite:PATH or postgres://HOST/DATABASE, where HOST may have a user and a \
             password in front"
                .into(),
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
    fn a_database_is_told_from_others_without_its_password() {
        let place = |url: &str| match url.parse().unwrap() {
            StoreUrl::Postgres(url) => url.place(),
            StoreUrl::Sqlite(_) => None,
        };
        let own = place("postgres://me:Hunter2@h:5433/ods?sslmode=require").unwrap();

        assert_eq!(place("postgresql://me@h:5433/ods?password=other"), Some(own.clone()));
        assert!(!own.contains("Hunter2"), "{own}");
        for other in ["//you@h:5433/ods", "//me@i:5433/ods", "//me@h/ods", "//me@h:5433/x"] {
            assert_ne!(place(&format!("postgres:{other}")), Some(own.clone()), "{other}");
        }
        assert_ne!(place("postgres://me@h:5433/ods?options=-csearch_path%3Dx"), Some(own));
    }

    #[test]
    fn what_must_be_escaped_in_a_password_is_told() {
        for password in ["p@ss", "p/ss", "p#ss", "p:ss", "p%ss", "100%"] {
            let url = format!("postgres://me:{password}@db/ods");
            let refused = url.parse::<StoreUrl>().unwrap_err().to_string();

            assert!(refused.contains("%40") && refused.contains("PGPASSWORD"), "{refused}");
            assert!(!refused.contains(password), "{refused}");
        }
        for right in ["postgres://me:p%40ss@db/ods", "postgres://db/ods?user=me", "postgres:///ods"]
        {
            assert!(right.parse::<StoreUrl>().is_ok(), "{right}");
        }
    }

    #[test]
    fn what_is_wrong_with_an_address_is_told_without_its_password() {
        for (given, expected) in [
            ("postgres://localhost:99999/x", "the port of host 1 is not a number"),
            ("postgres://me:Hunter2@localhost:5433x/ods", "the port of host 1 is not a number"),
            ("postgres://h1,h2:abc/ods", "the port of host 2 is not a number"),
            ("postgres://me:Hunter2/ods", "the port of host 1 is not a number"),
            (
                "postgres://h/d?conect_timeout=3",
                "no parameter conect_timeout; did you mean connect",
            ),
            ("postgres://h/d?timeout=3", "a parameter is unknown; known are application_name"),
            ("postgres://me:p?Hunter2=3@h/d", ""),
            ("postgres://h/d?Hunter2", "a parameter is unknown"),
            ("postgres://h/d?pass%77ord=p&user=u", ""),
            ("postgres://[::1]:7,[::2]/d?connect_timeout=3", ""),
        ] {
            let StoreUrl::Postgres(url) = given.parse().unwrap() else { panic!("{given}") };

            let told = url.check().map_or_else(|error| error.to_string(), |()| String::new());

            assert!(told.contains(expected) && told.is_empty() == expected.is_empty(), "{told}");
            let shown = masked_text(&format!("{url}: {told}"));
            assert!(shown.contains(expected) && !shown.contains("Hunter2"), "{shown}");
        }
    }

    #[test]
    fn a_url_without_a_password_is_given_one_and_does_not_show_it() {
        for (given, shown) in [
            ("postgres://me@db/ods", "postgres://me@db/ods?password=***"),
            ("postgres://me@db/ods?port=1", "postgres://me@db/ods?port=1&password=***"),
            ("postgres://me:own@db/ods", "postgres://me:***@db/ods"),
            ("postgres://me@db/ods?password=own", "postgres://me@db/ods?password=***"),
        ] {
            let StoreUrl::Postgres(url) = given.parse().unwrap() else { panic!("{given}") };

            let with = url.with_password("p@ss w%rd");

            let config = tokio_postgres::Config::from_str(with.exposed()).unwrap();
            let wanted: &[u8] = if given.contains("own") { b"own" } else { b"p@ss w%rd" };
            assert_eq!(config.get_password(), Some(wanted), "{given}");
            assert_eq!(with.to_string(), shown);
        }
    }

    #[test]
    fn an_invalid_store_url_is_refused_without_being_shown() {
        for text in ["", "sqlite:", "homeroom.db", "mysql://u:secret@h/d"] {
            let refused = text.parse::<StoreUrl>().unwrap_err().to_string();

            assert!(!refused.contains("secret") && refused.contains("sqlite:PATH"), "{refused}");
        }
    }

    #[test]
    fn a_password_is_added_to_a_url_with_parameters_about_tls() {
        for parameters in [
            "sslmode=verify-ca",
            "sslmode=verify-full&sslrootcert=%2Fr.pem",
            "connect_timeout=3&sslrootcert=system",
            "ssl%6Dode=verify-full",
        ] {
            let url = PostgresUrl(format!("postgres://u@h/d?{parameters}"));
            let given = PostgresUrl(format!("postgres://u:own@h/d?{parameters}"));

            let expected = format!("postgres://u@h/d?{parameters}&password=p%40ss");
            assert_eq!(url.with_password("p@ss").exposed(), expected);
            assert_eq!(given.with_password("p@ss"), given, "its own password stays");
        }
    }
}
