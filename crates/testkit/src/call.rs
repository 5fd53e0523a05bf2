//! A call as the front door hands it on, for tests that ask a part's handlers directly.

use bytes::Bytes;
use homeroom_http::{BodyLimits, Call, Credential, Params, RequestBody, Timestamp};
use http::{HeaderMap, Method};

/// Makes a call without credentials, headers or body.
pub fn call<C>(method: Method, path: impl Into<String>, now: Timestamp) -> Call<C> {
    Call {
        method,
        path: path.into(),
        query: String::new(),
        headers: HeaderMap::new(),
        params: Params::default(),
        client: None,
        foreign: None,
        accepts: &[Credential::Bearer],
        certificate: None,
        recognized_at: 0,
        request_id: "0".repeat(32),
        correlation_id: "0".repeat(32),
        base_url: "http://127.0.0.1:8080".into(),
        host: "127.0.0.1:8080".into(),
        from: None,
        now,
        body: RequestBody::Bytes(Bytes::new()),
        body_limits: BodyLimits::NONE,
        upgrade: None,
    }
}
