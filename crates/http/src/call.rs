//! A request on its way to the part that answers it.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method};
use hyper::upgrade::OnUpgrade;

use crate::body::{BodyLimits, BodyStream, RequestBody};
use crate::credential::Credential;
use crate::fingerprint::Fingerprint;
use crate::foreign::Foreign;
use crate::problem::{Kind, Problem};
use crate::query::Query;
use crate::time::Timestamp;

/// Values of a route template's placeholders, by name.
#[derive(Debug, Clone, Default)]
pub struct Params(pub Vec<(Cow<'static, str>, String)>);

impl Params {
    /// Returns the value of a placeholder.
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
    /// The client that sent the request; always present on a route that is not public, unless another
    /// issuer vouches for the caller.
    pub client: Option<Arc<C>>,
    /// The caller for whom another issuer vouches, on a route that has some.
    pub foreign: Option<Arc<Foreign>>,
    /// What the route accepts from a client, for when it is recognized again.
    pub accepts: &'static [Credential],
    /// The certificate that the client has shown in TLS, verified when the connection began.
    pub certificate: Option<Fingerprint>,
    /// The state of the client registry in which the client was recognized, or an earlier one.
    /// Every change of the registry increments the number.
    pub recognized_at: u64,
    /// Id of this request, 32 hex digits; the trace id where the caller sent one.
    pub request_id: String,
    /// The id to correlate the answer by: the caller's `correlationid`, or the request id.
    pub correlation_id: String,
    /// Scheme, host and port as the caller sees them, `http://127.0.0.1:8080`, and the path that a
    /// trusted proxy puts in front, if there is one.
    pub base_url: String,
    /// Host and port that the request itself names, regardless of proxies; empty where it names
    /// none, or more than one.
    pub host: String,
    /// The caller's address: that of its connection, or as a trusted proxy gives it; [`None`] for a
    /// request over no connection.
    pub from: Option<IpAddr>,
    /// When the request arrived.
    pub now: Timestamp,
    /// The body, not yet read.
    pub body: RequestBody,
    /// Limits of the body.
    pub body_limits: BodyLimits,
    /// Resolves to the bare connection once 101 has been answered; present on HTTP/1.1 where the
    /// request asks for another protocol.
    pub upgrade: Option<OnUpgrade>,
}

impl<C> Call<C> {
    /// Returns the client of a route that is not public.
    ///
    /// # Panics
    ///
    /// On a public route.
    pub fn client(&self) -> &Arc<C> {
        self.client.as_ref().expect("the front door lets nobody unknown pass a guarded route")
    }

    /// Returns the decoded query string.
    ///
    /// # Errors
    ///
    /// 400 `parameter-validation-failed`.
    pub fn query(&self) -> Result<Query, Problem> {
        Query::read(&self.query)
            .map_err(|error| Problem::of(Kind::ParameterValidationFailed).error(error.to_string()))
    }

    /// Returns a header's value, if it is present and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Takes the body and reads it within the route's limits.
    ///
    /// # Errors
    ///
    /// The same as [`RequestBody::read`].
    pub async fn read_body(&mut self) -> Result<Bytes, Problem> {
        self.take_body().read(self.body_limits).await
    }

    /// Takes the body as a stream within the route's limits.
    ///
    /// # Errors
    ///
    /// The same as [`RequestBody::stream`].
    pub fn stream_body(&mut self) -> Result<BodyStream, Problem> {
        self.take_body().stream(self.body_limits)
    }

    fn take_body(&mut self) -> RequestBody {
        std::mem::replace(&mut self.body, RequestBody::Bytes(Bytes::new()))
    }
}
