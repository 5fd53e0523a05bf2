//! The end of a call: what its target has answered becomes the answer of the API.
#![expect(clippy::disallowed_methods, reason = "an answer has a time limit")]

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use homeroom_access::Call;
use homeroom_client::Answer;
use homeroom_gateway::Until;
use homeroom_http::{Body, BodyError, Kind, Problem, RequestBody, Response};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, Method, StatusCode, response};
use hyper::body::{Body as HttpBody, Incoming};
use tokio::time::Instant;

use super::passing::{SHORT_BODY, declared, in_time};
use super::{LiveApi, caller_of, malformed};
use crate::bodies::{Answering, Timed};
use crate::changing::Unread;
use crate::headers::{ask_for_whole, is_doubtful, no_longer_vouch, strip, weaken};
use crate::location::{Places, lead_back};
use crate::shared::Local;
use crate::transform::Transform;

/// Answers of at most this many bytes that have arrived with their head are passed on whole.
const SMALL_ANSWER: u64 = 16 << 10;

/// What an answer is to.
struct Answered<'a> {
    method: &'a Method,
    /// The name under which the caller takes shares.
    caller: &'a str,
    /// Scheme, host and port of the target, and its path without a slash at its end.
    target: (&'a str, &'a str),
    base_url: &'a str,
}

impl LiveApi {
    /// Lets a part of this server answer.
    pub(super) async fn answer_by_part(
        &self,
        call: &mut Call,
        rest: &str,
        path: &str,
        local: &Local,
    ) -> Result<Response, Problem> {
        let whole = self.api.timeouts.whole.map(|time| time.0);
        let end = whole.and_then(|whole| Instant::now().checked_add(whole));
        in_time(end, pin!(self.read_request(call))).await??;
        let query = if call.query.is_empty() { String::new() } else { format!("?{}", call.query) };
        let uri = format!("{path}{rest}{query}");
        let mut request = http::Request::new(());
        *request.method_mut() = call.method.clone();
        *request.uri_mut() = uri.parse().map_err(|_| malformed())?;
        *request.headers_mut() = std::mem::take(&mut call.headers);
        if self.response.is_some() {
            ask_for_whole(request.headers_mut());
        }
        self.request_headers.apply(request.headers_mut());
        let (mut head, ()) = request.into_parts();
        let caller = caller_of(call).into_owned();
        let body = std::mem::replace(&mut call.body, Bytes::new().into());
        // Of a body that is still arriving, nobody knows here when the part has all of it.
        let is_there = matches!(body, RequestBody::Bytes(_)) || body.is_empty();
        let first_byte = self.api.timeouts.first_byte.unwrap_or(self.api.timeout).0;
        let begun = Instant::now().checked_add(first_byte).filter(|_| is_there);
        let until = begun.into_iter().chain(end).min();
        if let Some(until) = until {
            head.extensions.insert(Until(until.into_std()));
        }
        let (mut head, body) = in_time(until, pin!(local(head, body))).await?.into_parts();
        let gap = self.api.timeouts.idle.unwrap_or(self.api.timeout).0;
        let body = if body.is_stream() { Body::stream(Timed::new(body, gap, end)) } else { body };
        let of = Answered {
            method: &call.method,
            caller: &caller,
            target: (&call.base_url, path),
            base_url: &call.base_url,
        };
        let body = match self.change_of(&mut head, of.method)? {
            Some(transform) => Box::pin(self.changed(transform, &of, body)).await?,
            None => body,
        };
        Ok(self.finish(head, body, &of))
    }

    /// Changes the body of a request to a part, and reads a short one, so that the part has all of it.
    async fn read_request(&self, call: &mut Call) -> Result<(), Problem> {
        self.change_request(call).await?;
        if declared(&call.headers).is_some_and(|length| length <= SHORT_BODY) {
            call.body = RequestBody::Bytes(call.read_body().await?);
        }
        Ok(())
    }

    /// Passes on what an upstream has answered. The call is open until its body has ended.
    pub(super) fn respond<'a>(
        &'a self,
        answer: Answer,
        open: impl Send + 'static,
        call: &'a Call,
        target: (&'a str, &'a str),
    ) -> impl Future<Output = Result<Response, Problem>> {
        let status = answer.status();
        let (headers, body) = answer.into_parts();
        let mut head = response::Response::new(()).into_parts().0;
        (head.status, head.headers) = (status, headers);
        // This runs before the future is made, so the future does not hold the answer.
        let head = own_head(head, &call.method);
        async move {
            let mut head = head?;
            let of = Answered {
                method: &call.method,
                caller: &caller_of(call),
                target,
                base_url: &call.base_url,
            };
            let body = match self.change_of(&mut head, of.method)? {
                Some(transform) => Box::pin(self.changed(transform, &of, body)).await?,
                None => match body.at_hand(SMALL_ANSWER).await {
                    Ok(whole) => whole.into(),
                    Err(body) => Body::stream(Answering::new(body, open)),
                },
            };
            Ok(self.finish(head, body, &of))
        }
    }

    /// Passes on what an upstream has answered that was asked for another protocol and stays with HTTP. Its
    /// `places` are dropped when its body has ended.
    pub(super) async fn respond_without_upgrade(
        &self,
        answer: http::Response<Incoming>,
        places: impl Send + 'static,
        call: &Call,
        (target, until): ((&str, &str), Option<Instant>),
    ) -> Result<Response, Problem> {
        let (head, body) = answer.into_parts();
        let mut head = own_head(head, &call.method)?;
        let of = Answered {
            method: &call.method,
            caller: &caller_of(call),
            target,
            base_url: &call.base_url,
        };
        let gap = self.api.timeouts.idle.unwrap_or(self.api.timeout).0;
        let body = Answering::new(Timed::new(body, gap, until), places);
        let body = match self.change_of(&mut head, of.method)? {
            Some(transform) => Box::pin(self.changed(transform, &of, body)).await?,
            None => Body::stream(body),
        };
        Ok(self.finish(head, body, &of))
    }

    /// Makes what a target has answered, with its body changed, the answer of this API.
    fn finish(&self, mut head: response::Parts, body: Body, of: &Answered<'_>) -> Response {
        self.lead_back(&mut head.headers, of);
        self.response_headers.apply(&mut head.headers);
        Response::from_parts(head, body)
    }

    /// Makes an answer that leads to the target lead to this API.
    fn lead_back(&self, headers: &mut HeaderMap, of: &Answered<'_>) {
        if self.api.keep_location {
            return;
        }
        let places = Places { target: of.target, base_url: of.base_url, base: &self.base };
        lead_back(headers, places, &|rest| self.target_changes.back(rest));
    }

    /// Returns how an answer is changed, if it is, and makes its head that of a changed one.
    ///
    /// # Errors
    ///
    /// The answer is 502 if it is to be changed and cannot be.
    fn change_of(
        &self,
        head: &mut response::Parts,
        method: &Method,
    ) -> Result<Option<&Arc<Transform>>, Problem> {
        let Some(transform) = &self.response else { return Ok(None) };
        if head.status == StatusCode::PARTIAL_CONTENT {
            return Err(lied("it is a part of one, although the whole was asked for"));
        }
        if head.status == StatusCode::NOT_MODIFIED {
            weaken(&mut head.headers);
        }
        if !is_json(&head.headers) {
            return Ok(None);
        }
        if *method != Method::HEAD && head.headers.contains_key(CONTENT_ENCODING) {
            return Err(lied("it is compressed, although the request did not allow that"));
        }
        no_longer_vouch(&mut head.headers);
        head.headers.remove(CONTENT_LENGTH);
        Ok(Some(transform))
    }

    /// Changes the body of an answer.
    async fn changed<B>(
        &self,
        transform: &Arc<Transform>,
        of: &Answered<'_>,
        body: B,
    ) -> Result<Body, Problem>
    where
        B: HttpBody<Data = Bytes> + Unpin,
        B::Error: Into<BodyError>,
    {
        if *of.method == Method::HEAD {
            return Ok(Body::empty());
        }
        let changing = &self.shared.changing;
        let (whole, _room) = match changing.read([&self.api.name, of.caller], body).await {
            Ok(read) => read,
            Err(Unread::Refused(problem)) => return Err(*problem),
            Err(Unread::Broken(reason)) => return Err(lied(reason)),
        };
        if whole.is_empty() {
            return Ok(Body::empty());
        }
        Ok(changing.change(transform, whole).await?.map_err(lied)?.into())
    }
}

/// Returns the head of an upstream's answer as one of this server.
///
/// # Errors
///
/// 502 if it does not say where the answer ends.
fn own_head(mut head: response::Parts, method: &Method) -> Result<response::Parts, Problem> {
    if is_doubtful(head.status, &head.headers) {
        return Err(Problem::of(Kind::BadGateway)
            .error("Its answer states its length in more than one way."));
    }
    strip(&mut head.headers);
    if *method != Method::HEAD && head.status != StatusCode::NOT_MODIFIED {
        // The front door writes it from the size of the body.
        head.headers.remove(CONTENT_LENGTH);
    }
    Ok(head)
}

fn is_json(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let media = media.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    media == "application/json" || media.ends_with("+json")
}

fn lied(error: impl std::fmt::Display) -> Problem {
    Problem::of(Kind::BadGateway).error(format!("Its answer cannot be changed: {error}."))
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Poll};
    use std::time::Duration;

    use homeroom_http::Timestamp;
    use http_body_util::BodyExt as _;
    use hyper::body::Frame;
    use serde_json::{Value, json};

    use super::*;
    use crate::shared::{ApisLimits, Shared};

    /// A body that never goes on.
    struct Silent;

    impl HttpBody for Silent {
        type Data = Bytes;
        type Error = BodyError;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
            Poll::Pending
        }
    }

    /// Asks a part that begins to answer after some seconds and never ends, published with these times. Returns the
    /// status, whether the part was told how long it is waited for, and the seconds until the answer ended.
    async fn asked(seconds: u64, times: &Value) -> (StatusCode, bool, u64) {
        let mut api = json!({"name": "a", "context": "a", "version": "v1", "part": "data", "security": "none"});
        api.as_object_mut().unwrap().extend(times.as_object().unwrap().clone());
        let is_told = Arc::new(AtomicBool::new(false));
        let telling = Arc::clone(&is_told);
        let local: Local = Arc::new(move |head, _| {
            telling.store(head.extensions.get::<Until>().is_some(), Ordering::Relaxed);
            Box::pin(async move {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                http::Response::new(Body::stream(Silent))
            })
        });
        let api = Arc::new(serde_json::from_value(api).unwrap());
        let shared = Arc::new(Shared::new(ApisLimits::default()));
        let live = LiveApi::new(&api, None, &[], &shared, &local).unwrap();
        let begun = Instant::now();

        let mut call = homeroom_testkit::call(Method::GET, "/apis/a/v1/x", Timestamp(0));
        let answering = live.answer(&mut call);
        // Each call moves this future into an allocation of its own.
        assert!(size_of_val(&answering) <= 2 << 10, "{} bytes", size_of_val(&answering));
        let status = match answering.await {
            Ok(mut answer) => {
                assert!(answer.body_mut().frame().await.unwrap().is_err());
                answer.status()
            }
            Err(problem) => problem.kind.status(),
        };
        (status, is_told.load(Ordering::Relaxed), begun.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn the_times_of_an_api_hold_for_a_part() {
        let (ok, late) = (StatusCode::OK, StatusCode::GATEWAY_TIMEOUT);
        for (seconds, times, status, end) in [
            (3, json!({"timeout": "2s"}), late, 2),
            (3, json!({"timeouts": {"first_byte": "2s"}}), late, 2),
            (3, json!({"timeouts": {"whole": "2s"}}), late, 2),
            (1, json!({"timeout": "2s"}), ok, 3),
            (1, json!({"timeouts": {"idle": "5s"}}), ok, 6),
            (1, json!({"timeouts": {"whole": "2s"}}), ok, 2),
        ] {
            assert_eq!(asked(seconds, &times).await, (status, true, end), "{times}");
        }
    }
}
