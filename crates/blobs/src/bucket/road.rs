//! Carries the requests of `object_store` by the client of all outbound requests.
#![expect(clippy::disallowed_methods, reason = "how long an answer takes is measured")]

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use homeroom_client::{
    AnswerBody, Client, Error, OWN_HEADERS, Phase, Pool, Request, Settings, Times, Url,
};
use http::{Method, Uri};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Frame, SizeHint};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};

use super::counts::{Counts, Outcome};

/// Most requests to the store at a time. A download is one until it is read.
const REQUESTS_MAX: usize = 256;
/// How long a connection is kept without a request; stores close theirs after 20 seconds and more.
const IDLE: Duration = Duration::from_secs(15);
/// Most bytes of an answer that is no object: a page of a list, an error.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// Makes the client for a bucket: it was named by the operator, so that any address will do.
pub(crate) fn client() -> Result<Client, Error> {
    let [short, long] = [Duration::from_secs(5), Duration::from_secs(30)];
    let times = Times {
        wait: long,
        resolve: short,
        connect: short,
        tls: short,
        send: long,
        // A store may put the parts of a large object together first.
        answer: Duration::from_mins(1),
        body: long,
        total: None,
    };
    let pool = Pool {
        requests_per_origin: REQUESTS_MAX,
        requests: REQUESTS_MAX,
        idle: IDLE,
        ..Pool::default()
    };
    Client::new(Settings { times, pool, ..Settings::for_operator(long) })
}

/// The client, as `object_store` asks for one.
#[derive(Debug, Clone)]
pub(crate) struct Road {
    pub(crate) client: Client,
    pub(crate) counts: Arc<Counts>,
}

impl HttpConnector for Road {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait::async_trait]
impl HttpService for Road {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let method = request.method().clone();
        let begun = Instant::now();
        let answered = self.send(request).await;
        let outcome = match &answered {
            Ok(answer) => Outcome::of(answer.status()),
            Err(_) => Outcome::Failed,
        };
        self.counts.answered(&method, outcome, begun.elapsed());
        answered
    }
}

impl Road {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (head, body) = request.into_parts();
        let unknown = |why: String| HttpError::new_boxed(HttpErrorKind::Unknown, why.into());
        let url = Url::parse(&head.uri.to_string()).map_err(|error| unknown(error.to_string()))?;
        let body = body.collect().await?.to_bytes();
        let is_object = asks_for_object(&head.method, &head.uri);
        self.counts.sent(body.len());
        let mut request = Request::new(head.method, url).body(body);
        request.headers = head.headers;
        for name in &OWN_HEADERS {
            request.headers.remove(name);
        }
        let answer = self.client.send(request).await.map_err(of_client)?;
        let mut response = http::Response::new(());
        *response.status_mut() = answer.status();
        *response.headers_mut() = answer.headers().clone();
        let is_text = !is_object || !answer.status().is_success();
        let counts = Arc::clone(&self.counts);
        let body = Received { body: Mutex::new(answer.into_body()), counts };
        let body = if is_text {
            let limited = Limited::new(body, TEXT_BYTES_MAX);
            HttpResponseBody::new(limited.map_err(|error| match error.downcast::<HttpError>() {
                Ok(error) => *error,
                Err(error) => HttpError::new_boxed(HttpErrorKind::Decode, error),
            }))
        } else {
            HttpResponseBody::new(body)
        };
        Ok(response.map(|()| body))
    }
}

/// Returns whether the answer to a request is the bytes of an object, which may be many; every other one is a
/// text.
fn asks_for_object(method: &Method, uri: &Uri) -> bool {
    *method == Method::GET && uri.query().is_none()
}

/// Says whether a request may be sent again.
fn of_client(error: Error) -> HttpError {
    let kind = match (error.phase(), &error) {
        (
            Some(Phase::Wait | Phase::Resolve | Phase::Connect | Phase::Tls),
            Error::TimedOut { .. } | Error::Failed { .. },
        ) => HttpErrorKind::Connect,
        (Some(_), Error::TimedOut { .. }) => HttpErrorKind::Timeout,
        (Some(_), Error::Failed { .. }) => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}

/// The body of an answer; what arrives is counted.
struct Received {
    /// It is polled by one task at a time; the lock makes it one that threads may share.
    body: Mutex<AnswerBody>,
    counts: Arc<Counts>,
}

impl Body for Received {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let this = &mut *self;
        let body = this.body.get_mut().unwrap_or_else(PoisonError::into_inner);
        Pin::new(body).poll_frame(context).map(|frame| {
            let frame = frame?;
            if let Some(bytes) = frame.as_ref().ok().and_then(Frame::data_ref) {
                this.counts.received(bytes.len());
            }
            Some(frame.map_err(of_client))
        })
    }

    fn size_hint(&self) -> SizeHint {
        self.body.lock().unwrap_or_else(PoisonError::into_inner).size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bytes_of_an_object_have_no_limit() {
        for (method, uri, wanted) in [
            (Method::GET, "http://store/bucket/key", true),
            (Method::GET, "http://store/bucket?list-type=2", false),
            (Method::GET, "http://store/bucket?uploads=&prefix=", false),
            (Method::POST, "http://store/bucket/key?uploadId=1", false),
            (Method::PUT, "http://store/bucket/key", false),
            (Method::DELETE, "http://store/bucket/key", false),
        ] {
            assert_eq!(asks_for_object(&method, &uri.parse().unwrap()), wanted, "{method} {uri}");
        }
    }
}
