//! One request on its way to a part.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method};

use crate::body::RequestBody;
use crate::problem::{Kind, Problem};
use crate::query::Query;
use crate::time::Timestamp;

/// Values of a route template's placeholders, by name.
#[derive(Debug, Clone, Default)]
pub struct Params(pub Vec<(String, String)>);

impl Params {
    /// The value of a placeholder.
    ///
    /// # Panics
    ///
    /// When the route's template has no such placeholder.
    pub fn get(&self, name: &str) -> &str {
        self.0
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
            .expect("a handler asks for the placeholders of its own route")
    }
}

/// A request, matched to a route and, where the route asks for it, to a client `C`.
#[derive(Debug)]
pub struct Call<C> {
    /// The request's method.
    pub method: Method,
    /// The path as it was sent.
    pub path: String,
    /// The query string as it was sent, without `?`.
    pub query: String,
    /// The request's headers.
    pub headers: HeaderMap,
    /// The values of the placeholders in the route's template.
    pub params: Params,
    /// The client that calls; always there on a route that is not public.
    pub client: Option<Arc<C>>,
    /// Which state of the client registry the client was recognized in, or an earlier one: a number
    /// that every change of the registry counts up.
    pub recognized_at: u64,
    /// Own id of this request, 32 hex digits; the trace id where the caller sent one.
    pub request_id: String,
    /// What the answer is correlated by: the caller's `correlationid`, or the request id.
    pub correlation_id: String,
    /// Scheme, host and port as the caller sees them, `http://127.0.0.1:8080`.
    pub base_url: String,
    /// Host and port that the request itself names, whatever a proxy says; empty where it names
    /// none, or more than one.
    pub host: String,
    /// The moment it arrived.
    pub now: Timestamp,
    /// The body, not yet read.
    pub body: RequestBody,
    /// Most bytes that [`Call::read_body`] accepts.
    pub body_limit: usize,
}

impl<C> Call<C> {
    /// The client of a route that is not public.
    ///
    /// # Panics
    ///
    /// On a public route.
    pub fn client(&self) -> &Arc<C> {
        self.client.as_ref().expect("the front door lets nobody unknown pass a guarded route")
    }

    /// The decoded query string.
    ///
    /// # Errors
    ///
    /// 400 `parameter-validation-failed`.
    pub fn query(&self) -> Result<Query, Problem> {
        Query::read(&self.query)
            .map_err(|error| Problem::of(Kind::ParameterValidationFailed).error(error.to_string()))
    }

    /// A header as text, if it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Takes and reads the body within the route's limit.
    ///
    /// # Errors
    ///
    /// As [`RequestBody::read`].
    pub async fn read_body(&mut self) -> Result<Bytes, Problem> {
        let body = std::mem::replace(&mut self.body, RequestBody::Bytes(Bytes::new()));
        body.read(self.body_limit).await
    }
}
