//! OpenAPI documents and the requests that are checked by them: any document is read or refused, and so is any
//! request.

use std::sync::LazyLock;

use bytes::Bytes;
use homeroom_access::Call;
use homeroom_apis::fuzz::check_request;
use homeroom_http::{BodyLimits, Credential, Params, RequestBody, Timestamp};
use http::{HeaderMap, Method, Uri};
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_multi_thread().worker_threads(1).enable_time().build().expect("there is one")
});

/// What separates the document, the request line, and the body.
const SEPARATOR: u8 = 0;

/// Most bytes of a body.
const BODY_MAX: usize = 1 << 20;

/// A document, a method and a target, a media type, and a body, each up to a null byte.
///
/// # Panics
///
/// When the refusal of a request is none.
pub fn openapi(bytes: &[u8]) {
    let mut parts = bytes.splitn(4, |byte| *byte == SEPARATOR);
    let mut text = || std::str::from_utf8(parts.next().unwrap_or_default()).ok();
    let (Some(document), Some(line), Some(media)) = (text(), text(), text()) else { return };
    let body = parts.next().unwrap_or_default();
    let (method, target) = line.split_once(' ').unwrap_or((line, "/"));
    let (Ok(method), Ok(uri)) = (Method::from_bytes(method.as_bytes()), target.parse::<Uri>())
    else {
        return;
    };
    let mut headers = HeaderMap::new();
    if let Ok(media) = media.parse() {
        headers.insert("content-type", media);
    }
    let mut call = Call {
        method,
        path: uri.path().to_owned(),
        query: uri.query().unwrap_or_default().to_owned(),
        headers,
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
        now: Timestamp(0),
        body: RequestBody::Bytes(Bytes::copy_from_slice(body)),
        body_limits: BodyLimits::of_bytes(BODY_MAX),
        upgrade: None,
    };
    let Err(problem) = RUNTIME.block_on(check_request(document, &mut call)) else { return };
    let status = problem.kind.status().as_u16();
    assert!(matches!(status, 400 | 404 | 405 | 413 | 415), "{status}: {:?}", problem.errors);
}
