//! Requests and answers, and who may send them.

use std::fmt::Write as _;

use percent_encoding::percent_decode_str;

/// The key that may use the server.
pub const ACCESS_KEY_ID: &str = "AKIDEXAMPLE";
/// Its secret.
pub const SECRET_ACCESS_KEY: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
/// The region of the server.
pub const REGION: &str = "eu-test-1";
/// The bucket that it has.
pub const BUCKET: &str = "homeroom-test";

/// A request, as it arrived.
pub(crate) struct Asked {
    pub(crate) method: String,
    /// The path as it was sent, with percent encoding.
    pub(crate) path: String,
    /// The query as it was sent, without `?`.
    pub(crate) query: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// An answer.
#[derive(Default)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Returns a parameter of the query, decoded; an empty text where it has no value.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs =
            self.query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.find(|(own, _)| *own == name).map(|(_, value)| decoded(value))
    }
}

/// Returns an error as S3 writes it.
pub(crate) fn error(status: u16, code: &str, message: &str) -> Answered {
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code><Message>{message}\
         </Message><RequestId>4442587FB7D0A2F9</RequestId></Error>"
    );
    Answered { status, headers: vec![], body: body.into_bytes() }
}

pub(crate) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        _ = write!(out, "{byte:02x}");
        out
    })
}
