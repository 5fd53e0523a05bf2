//! Answers: a head, and a body that is whole or a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// An answer to a request.
pub type Response = http::Response<Body>;

/// Why the rest of a body cannot be sent. The connection is closed (HTTP/1.1) or the request is reset
/// (HTTP/2), so that the caller does not take the part for the whole.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// The body of an answer: its bytes in memory, or a stream of them.
///
/// A stream is asked for its next bytes only when its caller has taken the ones before, so a slow
/// caller slows down what makes the stream and fills no memory.
pub struct Body(Kind);

enum Kind {
    Whole(Bytes),
    Stream(Pin<Box<dyn HttpBody<Data = Bytes, Error = BodyError> + Send>>),
}

impl Body {
    /// Creates the body of an answer without one.
    pub const fn empty() -> Self {
        Self(Kind::Whole(Bytes::new()))
    }

    /// Creates a body from a stream. If the stream states its exact size
    /// ([`SizeHint::exact`]), the answer has a `Content-Length`.
    pub fn stream<B>(stream: B) -> Self
    where
        B: HttpBody<Data = Bytes, Error = BodyError> + Send + 'static,
    {
        Self(Kind::Stream(Box::pin(stream)))
    }

    /// Returns the bytes of a body that is in memory; [`None`] for a stream.
    pub fn as_whole(&self) -> Option<&Bytes> {
        match &self.0 {
            Kind::Whole(bytes) => Some(bytes),
            Kind::Stream(_) => None,
        }
    }

    /// Returns whether the body is a stream.
    pub fn is_stream(&self) -> bool {
        matches!(self.0, Kind::Stream(_))
    }

    /// Replaces the bytes of a body that is in memory; a stream stays as it is.
    #[must_use]
    pub fn map(self, replace: impl FnOnce(Bytes) -> Bytes) -> Self {
        match self.0 {
            Kind::Whole(bytes) => Self(Kind::Whole(replace(bytes))),
            stream @ Kind::Stream(_) => Self(stream),
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self(Kind::Whole(bytes))
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::empty()
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Whole(bytes) => write!(f, "Body({} bytes)", bytes.len()),
            Kind::Stream(_) => f.write_str("Body(stream)"),
        }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.get_mut().0 {
            Kind::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Kind::Stream(stream) => stream.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(bytes) => bytes.is_empty(),
            Kind::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Stream(stream) => stream.size_hint(),
        }
    }
}

/// Builds an answer with a JSON body.
///
/// # Panics
///
/// Never: status and header are constants.
pub fn json_response(status: http::StatusCode, body: impl Into<Bytes>) -> Response {
    let mut response = http::Response::new(Body::from(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static("application/json; charset=utf-8"),
    );
    response
}

/// Builds an answer without a body.
pub fn empty_response(status: http::StatusCode) -> Response {
    let mut response = http::Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
