//! A request and its body.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body_util::BodyExt as _;

use crate::error::Error;
use crate::url::Url;

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
    /// The headers; `Host`, `Content-Length` and `Transfer-Encoding` are added.
    pub headers: HeaderMap,
    pub(crate) body: Body,
    pub(crate) is_repeatable: bool,
}

/// The body of a request.
pub(crate) enum Body {
    /// All bytes.
    Whole(Bytes),
    /// A stream; `None` once it has been taken to be sent.
    Streamed(Option<Stream>),
}

impl Request {
    /// Makes a request without headers and with an empty body.
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

    /// Sends a body as it arrives. Such a request is never sent again. If the length of the stream
    /// is known, it is declared.
    #[must_use]
    pub fn stream<B>(mut self, body: B) -> Self
    where
        B: hyper::body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.body = Body::Streamed(Some(Box::pin(body.map_err(Into::into))));
        self
    }

    /// Declares that the request may arrive twice, although its method is not idempotent: it carries
    /// an idempotency key, for example, or creates what is identified by its content.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
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
    pub(crate) fn is_streamed(&self) -> bool {
        matches!(self, Self::Streamed(_))
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} {})", self.method, self.url)
    }
}
