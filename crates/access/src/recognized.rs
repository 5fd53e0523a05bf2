//! A client as it was recognized, and what it has proved.

use std::sync::Arc;

use homeroom_http::{Problem, Timestamp};

use crate::client::ApiClient;
use crate::token_scope::TokenScope;

/// A client as it was recognized, and the version of the registry that was used.
#[derive(Debug, Clone)]
pub struct Recognized {
    /// The client.
    pub client: Arc<ApiClient>,
    /// The version, as [`Ask::AccessVersion`](homeroom_store::Ask::AccessVersion) returns it.
    pub version: i64,
}

/// What a verified token, or a key with its secret, has proved. It stays true whatever becomes of the
/// registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proven {
    /// The client's key.
    pub(crate) key: Box<str>,
    /// The id of the secret or certificate that was shown, or that the token was issued for.
    pub(crate) secret: Box<str>,
    /// What the token was asked for.
    pub(crate) scope: TokenScope,
    /// When it proves nothing any more.
    pub(crate) ends: Timestamp,
}

/// Returns 503: keys or claim sets change faster than the request can be decided.
pub(crate) fn changing() -> Problem {
    Problem::busy(1).detail("Keys or claim sets are being changed at this moment.")
}
