//! Bodies on their way: of requests to upstreams, and of their answers.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use homeroom_client::{Request, Url};
use homeroom_http::{BodyError, BodyStream, Problem};
use http::{HeaderMap, Method};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use crate::upstream::OpenCall;

/// A request's body on its way to an upstream.
pub(crate) enum Sent {
    Whole(Bytes),
    Stream(Option<Noted>, Option<u64>),
}

impl Sent {
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, Self::Whole(_))
    }

    /// Makes a request, which takes a body that is a stream.
    pub(crate) fn request(&mut self, method: Method, url: Url, headers: HeaderMap) -> Request {
        let mut request = Request::new(method, url);
        request.headers = headers;
        match self {
            Self::Whole(bytes) => request.body(bytes.clone()),
            Self::Stream(stream, length) => match stream.take() {
                Some(stream) => request.stream(stream, *length),
                None => request,
            },
        }
    }
}

/// A request's body that notes why it broke, so that its caller is told and not its upstream blamed.
pub(crate) struct Noted {
    pub(crate) stream: BodyStream,
    pub(crate) broken: Arc<Mutex<Option<Problem>>>,
}

impl HttpBody for Noted {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let frame = ready!(Pin::new(&mut self.stream).poll_frame(cx));
        Poll::Ready(frame.map(|frame| {
            frame.map_err(|problem| {
                *self.broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
                std::io::Error::other("the caller's body broke off")
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.stream.size_hint()
    }
}

/// An upstream's body on its way to the caller; the call is open until it ends.
pub(crate) struct Answering {
    body: UnsyncBoxBody<Bytes, BodyError>,
    _open: OpenCall,
}

impl Answering {
    pub(crate) fn new(body: UnsyncBoxBody<Bytes, BodyError>, open: OpenCall) -> Self {
        Self { body, _open: open }
    }
}

impl HttpBody for Answering {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
