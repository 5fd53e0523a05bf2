//! A client as it was recognized.

use std::sync::Arc;

use homeroom_http::Problem;

use crate::client::ApiClient;

/// A client as it was recognized, and the version of the registry that was used.
#[derive(Debug, Clone)]
pub struct Recognized {
    /// The client.
    pub client: Arc<ApiClient>,
    /// The version, as [`Ask::AccessVersion`](homeroom_store::Ask::AccessVersion) returns it.
    pub version: i64,
}

/// Returns 503: keys or claim sets change faster than the request can be decided.
pub(crate) fn changing() -> Problem {
    Problem::busy(1).detail("Keys or claim sets are being changed at this moment.")
}
