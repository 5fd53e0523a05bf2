//! Says why a bucket did not do what was asked, and how to mend it.

use std::error::Error as StdError;

use homeroom_client::Error as ClientError;
use object_store::Error;

use super::settings::BucketSettings;
use crate::error::BlobError;

/// Most characters of what a store itself says.
const SAID_CHARS_MAX: usize = 300;

/// Returns the code of the error with which a store has answered, such as `NoSuchBucket`.
pub(crate) fn code(error: &Error) -> Option<String> {
    code_in(&error.to_string())
}

/// Returns the code that an answer of a store names.
pub(crate) fn code_in(text: &str) -> Option<String> {
    inner(text, "Code")
}

/// Returns whether a store has answered that it does not know what was asked for.
pub(crate) fn is_unknown_to_store(error: &Error) -> bool {
    matches!(error, Error::NotImplemented { .. })
        || matches!(code(error).as_deref(), Some("NotImplemented" | "MethodNotAllowed"))
}

/// Returns the error of a bucket.
pub(crate) fn trouble(place: &BucketSettings, doing: &'static str, error: &Error) -> BlobError {
    let text = error.to_string();
    let is_refused =
        matches!(error, Error::PermissionDenied { .. } | Error::Unauthenticated { .. });
    // The answer to HEAD has no text.
    let code = code(error).or_else(|| is_refused.then(|| "AccessDenied".to_owned()));
    let (why, mend, is_passing) = match code.as_deref() {
        Some("NoSuchBucket") => {
            ("there is no such bucket".to_owned(), "create it, or correct blobs.url", false)
        }
        Some("InvalidAccessKeyId" | "InvalidToken" | "ExpiredToken" | "InvalidClientTokenId") => (
            said("the store does not know the key", &text),
            "correct blobs.access_key_id, or the credentials in the environment (AWS_…)",
            false,
        ),
        Some("SignatureDoesNotMatch") => (
            "the store says that another secret was used".to_owned(),
            "correct blobs.secret_access_key, and blobs.region",
            false,
        ),
        Some("RequestTimeTooSkewed") => (
            "the clocks of this machine and of the store differ".to_owned(),
            "set the clock",
            false,
        ),
        Some("AccessDenied" | "AllAccessDisabled" | "AccountProblem") => (
            said("the key may not do this", &text),
            "allow it s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload, \
             s3:ListBucket and s3:ListBucketMultipartUploads there",
            false,
        ),
        Some(
            "AuthorizationHeaderMalformed"
            | "PermanentRedirect"
            | "IllegalLocationConstraintException",
        ) => (said("the bucket is in another region", &text), "correct blobs.region", false),
        Some("QuotaExceeded" | "XMinioStorageFull" | "InsufficientStorage") => {
            return BlobError::DiskFull(place.to_string());
        }
        Some(_) => {
            (said("the store refuses", &text), "see the store's own log", is_server_error(&text))
        }
        None if text.contains("without LOCATION") => (
            "the store sends the request elsewhere".to_owned(),
            "correct blobs.region and blobs.endpoint",
            false,
        ),
        None => match client_error(error) {
            Some(error) => (
                error,
                "see whether blobs.endpoint is right, and the store runs and can be reached",
                true,
            ),
            None => (short(&text), "see whether blobs.endpoint is that of an S3 store", true),
        },
    };
    BlobError::Bucket { doing, place: place.to_string(), why, mend, is_passing }
}

/// Returns what the client says of a request that nobody answered.
fn client_error(error: &(dyn StdError + 'static)) -> Option<String> {
    let mut error = Some(error);
    while let Some(this) = error {
        if let Some(found) = this.downcast_ref::<ClientError>() {
            return Some(found.to_string());
        }
        error = this.source();
    }
    None
}

fn is_server_error(text: &str) -> bool {
    ["status code: 5", "status code: 429", "SlowDown", "InternalError"]
        .iter()
        .any(|word| text.contains(word))
}

fn said(why: &str, text: &str) -> String {
    match inner(text, "Message") {
        Some(message) => format!("{why} ({})", short(&message)),
        None => why.to_owned(),
    }
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SAID_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

fn inner(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once("</")?.0.trim().to_owned())
}
