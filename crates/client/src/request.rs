//! A request and its body.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, HOST, PROXY_AUTHORIZATION, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body_util::BodyExt as _;

use crate::error::Error;
use crate::url::Url;

/// The headers that define where a request ends, where it goes, and what happens to its connection. If
/// a caller could set them, they might contradict the body, and a server might read the rest of it as
/// another request.
pub static OWN_HEADERS: [HeaderName; 8] = [
    CONNECTION,
    CONTENT_LENGTH,
    HOST,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// A body that arrives in parts while it is sent.
pub type Stream = Pin<
    Box<
        dyn hyper::body::Body<Data = Bytes, Error = Box<dyn std::error::Error + Send + Sync>>
            + Send,
    >,
>;

/// A request that a [`Client`](crate::Client) can send.
pub struct Request {
    /// The method.
    pub method: Method,
    /// The URL.
    pub url: Url,
    /// The headers. `Host` and those about the body's length or the connection are not among them: the
    /// client adds what is needed, and refuses a request that has one of them.
    pub headers: HeaderMap,
    pub(crate) body: Body,
    pub(crate) is_repeatable: bool,
}

/// The body of a request.
pub(crate) enum Body {
    /// All bytes.
    Whole(Bytes),
    /// A stream, which is `None` once it is being sent, and its length if that was declared.
    Streamed(Option<Stream>, Option<u64>),
}

impl Request {
    /// Makes a request with no headers and an empty body.
    pub fn new(method: Method, url: Url) -> Self {
        let body = Body::Whole(Bytes::new());
        Self { method, url, headers: HeaderMap::new(), body, is_repeatable: false }
    }

    /// Makes a GET request.
    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url)
    }

    /// Makes a POST request with a body.
    pub fn post(url: Url, body: impl Into<Bytes>) -> Self {
        Self::new(Method::POST, url).body(body)
    }

    /// Adds a header.
    ///
    /// # Errors
    ///
    /// [`Error::Header`] if HTTP does not allow its name or value.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, Error> {
        let wrong = || Error::Header { name: name.to_owned() };
        let value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        self.headers.append(name, value);
        Ok(self)
    }

    /// Sends these bytes as the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Body::Whole(body.into());
        self
    }

    /// Sends a body as it arrives. Such a request is never sent again.
    ///
    /// The length in bytes is declared to the server if the caller or the stream itself knows it. A
    /// stream that turns out to be shorter or longer ends the request with [`Error::OwnBody`].
    #[must_use]
    pub fn stream<B>(mut self, body: B, length: Option<u64>) -> Self
    where
        B: hyper::body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let length = length.or_else(|| body.size_hint().exact());
        self.body = Body::Streamed(Some(Box::pin(body.map_err(Into::into))), length);
        self
    }

    /// Declares that the request may arrive twice although its method is not idempotent, for example
    /// because it carries an idempotency key or creates something that its content identifies.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }

    /// Checks that no header of the request is one that only the client writes.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.method == Method::CONNECT {
            return Err(Error::Method { method: self.method.to_string() });
        }
        match OWN_HEADERS.iter().find(|name| self.headers.contains_key(*name)) {
            Some(name) => Err(Error::OwnHeader { name: name.to_string() }),
            None => Ok(()),
        }
    }

    /// Marks credentials, so that neither debug output nor the header compression of HTTP/2 keeps
    /// them.
    pub(crate) fn protect(&mut self) {
        for name in [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION] {
            if let http::header::Entry::Occupied(mut values) = self.headers.entry(name) {
                values.iter_mut().for_each(|value| value.set_sensitive(true));
            }
        }
    }
}

impl Body {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    pub(crate) fn is_streamed(&self) -> bool {
        matches!(self, Self::Streamed(..))
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} {})", self.method, self.url)
    }
}
