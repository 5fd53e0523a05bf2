//! The part of these tests.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use homeroom_access::{Access, ApiClient, Call, Caller, Scope};
use homeroom_http::{
    Body, BodyError, BodyLimits, Credential, Guard, Kind, Known, Params, Problem, Refusals,
    Response, Route, Served, Timestamp, empty_response, handler, json_response,
};
use http::{HeaderValue, Method, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Frame};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Bytes of a frame that the part streams.
pub const FRAME: usize = 64 << 10;
/// Most bytes of a body that the part takes.
pub const BODY_MAX: usize = 3 << 30;
/// Most bytes of a body of which little progress is expected in a test.
pub const SMALL_MAX: usize = 1 << 20;

/// What the part has seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// Bytes handed to the front door by streams.
    pub sent: AtomicU64,
    /// Bytes taken from request bodies.
    pub taken: AtomicU64,
}

/// The form in which this part's clients expect refusals.
pub static OWN: Refusals = Refusals { prefix: "/floor", answer: own };

fn own(problem: Problem, correlation_id: &str) -> Response {
    let body = json!({"message": problem.kind.title(), "id": correlation_id});
    let mut response = json_response(problem.kind.status(), body.to_string());
    for (name, value) in &problem.headers {
        response.headers_mut().append(name, value.clone());
    }
    response
}

/// Returns the part's routes.
pub fn routes(seen: &Arc<Seen>, access: &Arc<Access>) -> Vec<Route<ApiClient>> {
    const ANY: &[Credential] = &[
        Credential::Basic,
        Credential::Bearer,
        Credential::ApiKey,
        Credential::Form,
        Credential::Certificate,
    ];
    let certified = Guard::Key { scope: "data", by: &[Credential::Certificate] };
    let data = Guard::Token { scope: "data" };
    let slow = BodyLimits {
        bytes: SMALL_MAX,
        time: Duration::from_secs(20),
        grace: Duration::from_millis(300),
        rate: 1 << 20,
    };
    let routes = vec![
        Route::new(Method::GET, "/floor/stream/{bytes}", Guard::Public, handler(seen, stream)),
        Route::new(Method::GET, "/floor/broken", Guard::Public, handler(seen, broken)),
        Route::new(Method::PUT, "/floor/count", data, handler(seen, count))
            .with_body(BodyLimits { time: Duration::MAX, ..BodyLimits::of_bytes(BODY_MAX) }),
        Route::new(Method::PUT, "/floor/slow", data, handler(seen, count)).with_body(slow),
        Route::new(Method::PUT, "/floor/through", data, handler(seen, through))
            .or(Method::POST)
            .with_body(BodyLimits::of_bytes(SMALL_MAX)),
        Route::new(Method::GET, "/floor/socket", Guard::Public, handler(seen, socket)),
        Route::new(
            Method::POST,
            "/floor/whoami",
            Guard::Key { scope: "data", by: ANY },
            handler(access, whoami),
        )
        .or(Method::GET)
        .with_body(BodyLimits::of_bytes(SMALL_MAX)),
        Route::new(Method::POST, "/floor/certified", certified, handler(access, whoami))
            .with_body(BodyLimits::of_bytes(SMALL_MAX)),
        Route::new(Method::GET, "/floor/play/{launch}/{*rest}", Guard::Secret, handler(seen, rest))
            .by_secret(launched)
            .served(Served::Both),
        Route::new(
            Method::GET,
            "/floor/show/{launch}/{bytes}",
            Guard::Secret,
            handler(seen, stream),
        )
        .by_secret(launched),
        Route::new(Method::GET, "/floor/page", Guard::Public, handler(seen, page))
            .served(Served::Content),
    ];
    routes.into_iter().map(|route| route.refused_as(&OWN)).collect()
}

/// A stream of so many zeros.
pub struct Zeros {
    left: u64,
    seen: Arc<Seen>,
    frame: Bytes,
}

impl Zeros {
    pub fn new(bytes: u64, seen: &Arc<Seen>) -> Self {
        Self { left: bytes, seen: Arc::clone(seen), frame: vec![0; FRAME].into() }
    }
}

impl HttpBody for Zeros {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let next = self.left.min(FRAME as u64);
        if next == 0 {
            return Poll::Ready(None);
        }
        self.left -= next;
        self.seen.sent.fetch_add(next, Ordering::SeqCst);
        let frame = self.frame.slice(..usize::try_from(next).unwrap());
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }
}

async fn stream(seen: Arc<Seen>, call: Call) -> Result<Response, Problem> {
    let bytes = call.params.get("bytes").parse().map_err(|_| Problem::of(Kind::NotFound))?;
    Ok(http::Response::new(Body::stream(Zeros::new(bytes, &seen))))
}

/// Answers with a stream that fails after its first frame.
async fn broken(_: Arc<Seen>, _: Call) -> Result<Response, Problem> {
    let frames = futures_frames(vec![Ok("first".into()), Err("lost".into())]);
    Ok(http::Response::new(Body::stream(frames)))
}

/// A stream of these frames.
fn futures_frames(
    frames: Vec<Result<Bytes, BodyError>>,
) -> impl HttpBody<Data = Bytes, Error = BodyError> + Send + 'static {
    struct Frames(std::vec::IntoIter<Result<Bytes, BodyError>>);
    impl HttpBody for Frames {
        type Data = Bytes;
        type Error = BodyError;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
            Poll::Ready(self.0.next().map(|next| next.map(Frame::data)))
        }
    }
    Frames(frames.into_iter())
}

async fn count(seen: Arc<Seen>, mut call: Call) -> Result<Response, Problem> {
    let mut body = call.stream_body()?;
    while let Some(bytes) = body.next().await? {
        seen.taken.fetch_add(bytes.len() as u64, Ordering::SeqCst);
    }
    Ok(json_response(StatusCode::OK, body.bytes().to_string()))
}

/// Answers with the body of the request while that still arrives.
async fn through(_: Arc<Seen>, mut call: Call) -> Result<Response, Problem> {
    let body = call.stream_body()?;
    let body = body.map_err(|problem| BodyError::from(problem.kind.title()));
    Ok(http::Response::new(Body::stream(body)))
}

/// Sends back whatever arrives, in a protocol of its own.
async fn socket(_: Arc<Seen>, call: Call) -> Result<Response, Problem> {
    let Some(upgrade) = call.upgrade else {
        return Err(Problem::of(Kind::BadRequest).error("Ask for the protocol echo."));
    };
    tokio::spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        let mut stream = TokioIo::new(upgraded);
        let mut buffer = [0; 1_024];
        while let Ok(bytes @ 1..) = stream.read(&mut buffer).await {
            if stream.write_all(&buffer[..bytes]).await.is_err() {
                return;
            }
        }
    });
    let mut response = empty_response(StatusCode::SWITCHING_PROTOCOLS);
    let headers = response.headers_mut();
    headers.insert(http::header::UPGRADE, HeaderValue::from_static("echo"));
    headers.insert(http::header::CONNECTION, HeaderValue::from_static("upgrade"));
    Ok(response)
}

/// Names its caller, whom it recognizes again after the body has arrived, as parts do that write.
async fn whoami(access: Arc<Access>, mut call: Call) -> Result<Response, Problem> {
    let caller = Caller::of(&call, Scope::Data);
    if call.header("content-type") == Some("application/xml") {
        return Err(Problem::of(Kind::UnsupportedMediaType));
    }
    let body = call.read_body().await?;
    let key = caller.again(&access)?.client.key.clone();
    let body = json!({"key": key, "bytes": body.len()});
    Ok(json_response(StatusCode::OK, body.to_string()))
}

/// The secrets of two launches.
async fn launched(params: Params, _: Timestamp) -> Result<Known<ApiClient>, Problem> {
    match params.get("launch") {
        secret @ ("opensesame" | "openbarley") => {
            Ok(Known { name: format!("launch of {}", secret.len()), client: None })
        }
        _ => Err(Problem::of(Kind::NotFound)),
    }
}

/// A page of a course.
async fn page(_: Arc<Seen>, call: Call) -> Result<Response, Problem> {
    Ok(json_response(StatusCode::OK, json!(call.base_url).to_string()))
}

async fn rest(_: Arc<Seen>, call: Call) -> Result<Response, Problem> {
    Ok(json_response(StatusCode::OK, json!(call.params.get("rest")).to_string()))
}
