//! What a URL says about TLS.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use crate::error::StoreError;

/// Whether a connection is secured, and what is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::postgres) enum Mode {
    /// It is not.
    Disable,
    /// It is if the server can; nothing is checked. The default.
    Prefer,
    /// It is; nothing is checked, unless `sslrootcert` is given.
    Require,
    /// The server's certificate is signed by an authority that is trusted.
    VerifyCa,
    /// And it is for the host of the URL.
    VerifyFull,
}

/// The parameters of a URL about TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::postgres) struct TlsOptions {
    mode: Mode,
    /// PEM file with the authorities that are trusted; [`None`] for the system's.
    pub(super) root: Option<PathBuf>,
    /// PEM file with the client's certificate.
    pub(super) certificate: Option<PathBuf>,
    /// PEM file with the client's key.
    pub(super) key: Option<PathBuf>,
}

impl TlsOptions {
    /// Returns the mode in force. As in libpq, `require` with an authority checks it.
    pub(super) fn mode(&self) -> Mode {
        match self.mode {
            Mode::Require if self.root.is_some() => Mode::VerifyCa,
            mode => mode,
        }
    }
}

/// Takes the parameters about TLS out of a URL; the driver reads the rest.
///
/// # Errors
///
/// Says which value is wrong and what would be right, without the URL.
pub(in crate::postgres) fn split(url: &str) -> Result<(String, TlsOptions), StoreError> {
    let mut options = TlsOptions { mode: Mode::Prefer, root: None, certificate: None, key: None };
    // The driver takes everything before the first `@` for a user and a password.
    let begin = url.find('@').unwrap_or(0);
    let Some(query) = url[begin..].find('?').map(|at| begin + at + 1) else {
        return Ok((url.to_owned(), options));
    };
    let decoded = |text| percent_decode_str(text).decode_utf8_lossy();
    let mut rest = vec![];
    for parameter in url[query..].split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = decoded(value).into_owned();
        let path = || Some(PathBuf::from(&value)).filter(|path| !path.as_os_str().is_empty());
        match &*decoded(name) {
            "sslmode" => options.mode = mode(&value)?,
            "sslrootcert" => options.root = path().filter(|_| value != "system"),
            "sslcert" => options.certificate = path(),
            "sslkey" => options.key = path(),
            _ => rest.push(parameter),
        }
    }
    if options.certificate.is_some() != options.key.is_some() {
        return Err(StoreError::Unusable(
            "sslcert and sslkey belong together: give both, each a PEM file".into(),
        ));
    }
    let place = &url[..query - 1];
    let divider = if rest.is_empty() { "" } else { "?" };
    Ok((format!("{place}{divider}{}", rest.join("&")), options))
}

fn mode(value: &str) -> Result<Mode, StoreError> {
    Ok(match value {
        "disable" => Mode::Disable,
        "prefer" => Mode::Prefer,
        "require" => Mode::Require,
        "verify-ca" => Mode::VerifyCa,
        "verify-full" => Mode::VerifyFull,
        _ => {
            return Err(StoreError::Unusable(
                "sslmode is one of disable, prefer, require, verify-ca and verify-full".into(),
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_about_tls_are_taken_out_of_a_url() {
        for (url, rest, mode) in [
            ("postgres://h/d", "postgres://h/d", Mode::Prefer),
            ("postgres://h/d?sslmode=disable", "postgres://h/d", Mode::Disable),
            (
                "postgres://h/d?a=b&sslmode=verify-full&c=d",
                "postgres://h/d?a=b&c=d",
                Mode::VerifyFull,
            ),
            ("postgres://u:p?q@h/d?sslmode=require", "postgres://u:p?q@h/d", Mode::Require),
            ("postgres://h/d?sslmode=require&sslrootcert=system", "postgres://h/d", Mode::Require),
            (
                "postgres://h/d?ssl%6Dode=require&sslrootcert=%2Fr.pem",
                "postgres://h/d",
                Mode::VerifyCa,
            ),
        ] {
            let (left, options) = split(url).unwrap();

            assert_eq!((left.as_str(), options.mode()), (rest, mode), "{url}");
        }
        let (_, options) = split("postgres://h/d?sslcert=c%20d.pem&sslkey=k").unwrap();
        assert_eq!(options.certificate, Some("c d.pem".into()));
        assert_eq!(options.key, Some("k".into()));
    }

    #[test]
    fn a_wrong_parameter_says_what_is_right() {
        for (url, right) in [
            ("postgres://u:secret@h/d?sslmode=always", "verify-full"),
            ("postgres://u:secret@h/d?sslcert=c.pem", "sslkey belong together"),
        ] {
            let refused = split(url).unwrap_err().to_string();

            assert!(refused.contains(right) && !refused.contains("secret"), "{refused}");
        }
    }
}
