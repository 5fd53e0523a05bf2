//! Values that a definition names and does not contain: `env:NAME` and `file:PATH`.

use std::time::SystemTime;

use crate::definition::Api;

/// Returns the value that a definition means. One that is neither `env:` nor `file:` is itself.
///
/// # Errors
///
/// What is not there. The message does not contain the value.
pub(crate) fn secret(value: &str) -> Result<String, String> {
    homeroom_client::reveal(value, |name| {
        std::env::var(name)
            .map_err(|_| format!("the server has no environment variable {name}, or it is no text"))
    })
}

/// What tells whether a file has changed: time and length; [`None`] for one that is not there.
pub(crate) type Seen = Option<(SystemTime, u64)>;

/// Returns the state of the file in which a value is; [`None`] for a value that is in no file.
pub(crate) fn seen(value: &str) -> Option<Seen> {
    let about = std::fs::metadata(value.strip_prefix("file:")?);
    Some(about.ok().and_then(|about| Some((about.modified().ok()?, about.len()))))
}

/// Returns the values of an API that are in files.
pub(crate) fn files_of(api: &Api) -> impl Iterator<Item = &str> {
    let headers = [&api.request_headers, &api.response_headers];
    let headers = headers.into_iter().flat_map(|headers| headers.set.values().map(String::as_str));
    let all = headers.chain(api.peer.values().map(|(_, value)| value));
    all.filter(|value| value.starts_with("file:"))
}

/// What the names of variables begin with that may be named over HTTP: whoever sets one has meant it for a
/// published API.
const FOR_APIS: &str = "HOMEROOM_API_";

/// Returns whether only someone on the server itself may name a place: a file, or a variable that is not
/// meant for published APIs.
///
/// Who publishes over HTTP could otherwise have any file or secret of the machine sent to an upstream.
pub(crate) fn is_reserved(value: &str) -> bool {
    value.starts_with("file:")
        || value.strip_prefix("env:").is_some_and(|name| !name.starts_with(FOR_APIS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_itself_or_is_elsewhere() {
        assert_eq!(secret("plain"), Ok("plain".into()));
        assert!(
            secret("env:HOMEROOM_NO_SUCH_VARIABLE")
                .unwrap_err()
                .contains("has no environment variable")
        );
        assert!(secret("file:/no/such/file").unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn files_and_variables_that_are_not_for_apis_are_reserved() {
        for value in
            ["file:/etc/passwd", "env:HOMEROOM_STORE__URL", "env:AWS_SECRET_ACCESS_KEY", "env:"]
        {
            assert!(is_reserved(value), "{value}");
        }
        for value in ["env:HOMEROOM_API_KEY", "plain", ""] {
            assert!(!is_reserved(value), "{value}");
        }
    }
}
