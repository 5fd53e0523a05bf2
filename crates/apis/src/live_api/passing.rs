//! A call on its way to an upstream: its body, its turn, and what becomes of it if one does not answer.
#![expect(clippy::disallowed_methods, reason = "a call as a whole has a time limit, and is timed")]

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use homeroom_access::Call;
use homeroom_client::{Error, Phase};
use homeroom_gateway::{WAITING_CALLS, patience};
use homeroom_http::{Kind, Problem, RequestBody, Response, Via};
use http::header::{CONTENT_LENGTH, RETRY_AFTER};
use http::{HeaderMap, HeaderValue};
use tokio::time::{Instant, timeout_at};

use super::{LiveApi, caller_of, malformed};
use crate::bodies::{Sent, Upload};
use crate::breaker::Ended;
use crate::groups::Groups;
use crate::headers::{ask_for_whole, to_upstream};
use crate::upgrade::{self, Agreed};
use crate::upstream::{Candidate, Leave, Upstream, is_slow, is_unreachable};

/// Bodies of at most this many bytes are read before they are sent, so that they can be sent again.
pub(super) const SHORT_BODY: usize = 128 << 10;
/// Longest time for reading a body ahead whose length is not known; then it is passed on as it arrives.
const AHEAD_TIME: Duration = Duration::from_secs(1);
/// How long a connection that has changed its protocol may be silent, unless the API says otherwise.
const SILENT_TIME: Duration = Duration::from_mins(10);
/// Most upstreams to which a call finds no connection before it is given up.
const UNREACHED_MAX: u32 = 8;

/// A call that is passed on, and what has become of it so far.
struct Passing<'a> {
    groups: &'a Groups,
    path_and_query: String,
    /// The time for the whole call, and when it is over.
    whole: Option<Duration>,
    until: Option<Instant>,
    attempts: Attempts<'a>,
    begun: Option<Instant>,
    asked: u32,
    /// The upstream that was asked last, and for how long all of them were.
    last: Option<(&'a Arc<Upstream>, Duration)>,
}

/// Where a call is sent next.
#[derive(Default)]
struct Attempts<'a> {
    chosen: Vec<Candidate<'a>>,
    next: usize,
    /// How often it may have arrived.
    sent: u32,
    unreached: u32,
    /// The first one that may have got it: its pooled connection may have been closed meanwhile.
    reached: Option<Candidate<'a>>,
}

impl<'a> Attempts<'a> {
    fn next(&mut self) -> Option<(Candidate<'a>, Leave<'a>)> {
        if self.unreached >= UNREACHED_MAX {
            return None;
        }
        while let Some(candidate) = self.chosen.get(self.next) {
            self.next += 1;
            if let Some(leave) = candidate.leave() {
                return Some((*candidate, leave));
            }
        }
        Some((self.reached?, Leave::default()))
    }
}

impl<'a> Passing<'a> {
    /// Completes something within the time for the whole call.
    fn in_time<T>(
        &self,
        done: Pin<&mut impl Future<Output = T>>,
    ) -> impl Future<Output = Result<T, Problem>> {
        in_time(self.until, done)
    }

    /// Returns how a call that has failed counts against the upstream that was asked; [`None`] if it was the
    /// doing of its caller, or of a turn that came late. Without an error, the time for the whole call is
    /// over. `there` is for how long the upstream has had all of the request.
    fn against(&self, error: Option<&Error>, there: Option<Duration>) -> Option<Ended> {
        match error {
            Some(error) if is_unreachable(error) => {
                Some(Ended::Unreachable { is_slow: is_slow(error) })
            }
            None | Some(Error::TimedOut { phase: Phase::Total, .. }) => {
                let (there, whole) = there.zip(self.whole)?;
                (there >= whole / 2).then_some(Ended::Unanswered)
            }
            // While some of the request is still to come, an upstream may close on whoever is too slow.
            Some(
                Error::TimedOut { phase: Phase::Send | Phase::Answer | Phase::Body, .. }
                | Error::Failed { .. },
            ) => there.map(|_| Ended::Unanswered),
            Some(_) => None,
        }
    }

    /// Counts a call that has failed against the upstream that was asked, if that is to blame.
    fn blame(&self, asked: Candidate<'a>, error: Option<&Error>, there: Option<Duration>) {
        if let Some(ended) = self.against(error, there) {
            asked.group.record(asked.upstream, ended);
        }
    }

    /// Records that an upstream is asked.
    fn asks(&mut self, upstream: &'a Arc<Upstream>) -> Instant {
        let now = Instant::now();
        let begun = *self.begun.get_or_insert(now);
        self.asked += 1;
        self.last = Some((upstream, now - begun));
        now
    }

    /// Records that it has answered or failed, and returns when.
    fn has_asked(&mut self) -> Instant {
        let now = Instant::now();
        if let (Some((_, time)), Some(begun)) = (&mut self.last, self.begun) {
            *time = now - begun;
        }
        now
    }

    /// Returns which upstream was asked last.
    fn via(&self) -> Option<Via> {
        let (upstream, time) = self.last?;
        Some(Via { upstream: Arc::clone(upstream.name()), time, attempts: self.asked })
    }

    /// Returns whether a call that has failed at an upstream is sent once more.
    fn goes_on(
        &mut self,
        candidate: Candidate<'a>,
        error: &Error,
        call: &Call,
        body: &Sent,
    ) -> bool {
        let repeats = &self.groups.repeats;
        let attempts = &mut self.attempts;
        if is_unreachable(error) {
            attempts.unreached += 1;
            attempts.sent += u32::from(is_slow(error));
            if attempts
                .reached
                .is_some_and(|reached| Arc::ptr_eq(reached.upstream, candidate.upstream))
            {
                attempts.reached = None;
            }
            return body.is_there() && attempts.sent < repeats.attempts();
        }
        attempts.sent += 1;
        attempts.reached.get_or_insert(candidate);
        let is_lost = matches!(error, Error::Failed { phase: Phase::Send | Phase::Answer, .. });
        if !is_lost || attempts.sent >= repeats.attempts() {
            return false;
        }
        let goes_on = if error.is_unsent() {
            body.is_there()
        } else {
            body.is_whole() && repeats.has(&call.method) && repeats.take()
        };
        if goes_on {
            candidate.upstream.counts.repeated();
        }
        goes_on
    }
}

impl LiveApi {
    /// Passes a call to an upstream of the group whose turn it is, or of another one if that does not help.
    pub(super) async fn pass_on(
        &self,
        call: &mut Call,
        rest: &str,
        groups: &Groups,
    ) -> Result<Response, Problem> {
        let query = if call.query.is_empty() { String::new() } else { format!("?{}", call.query) };
        groups.repeats.called();
        let whole = self.api.timeouts.whole.map(|time| time.0);
        // A caller that says how long it waits gets no later answer.
        let patience = patience(&call.headers);
        let time = whole.into_iter().chain(patience).min();
        let mut passing = Passing {
            groups,
            path_and_query: [rest, &query].concat(),
            whole,
            until: time.and_then(|time| Instant::now().checked_add(time)),
            attempts: Attempts::default(),
            begun: None,
            asked: 0,
            last: None,
        };
        let answered = if upgrade::is_asked(call) {
            Box::pin(self.change_protocol(call, &mut passing)).await
        } else {
            self.send_on(call, &mut passing).await
        };
        let via = passing.via();
        match answered {
            Ok(mut response) => {
                if let Some(via) = via {
                    response.extensions_mut().insert(via);
                }
                Ok(response)
            }
            Err(mut problem) => {
                problem.via = via;
                Err(problem)
            }
        }
    }

    async fn send_on(
        &self,
        call: &mut Call,
        passing: &mut Passing<'_>,
    ) -> Result<Response, Problem> {
        passing.in_time(pin!(self.change_request(call))).await??;
        let body = if call.body.is_empty() {
            Sent::Whole(Bytes::new())
        } else {
            passing.in_time(pin!(Box::pin(self.body(call)))).await??
        };
        // A body that is still arriving would hold its turn as long as its caller likes.
        let mut turn = if body.is_whole() {
            Some(passing.in_time(pin!(self.gate.enter(&caller_of(call)))).await??)
        } else {
            None
        };
        passing.attempts.chosen = passing.groups.choose(call, body.is_whole());
        let mut headers = std::mem::take(&mut call.headers);
        to_upstream(&mut headers, self.api.security, &self.asker(call));
        if self.response.is_some() {
            ask_for_whole(&mut headers);
        }
        self.request_headers.apply(&mut headers);
        let mut problem = None;
        let (answer, upstream, open, _leave) = loop {
            let Some((candidate, leave)) = passing.attempts.next() else {
                return Err(problem.unwrap_or_else(|| passing.nobody()));
            };
            let Candidate { group, upstream, .. } = candidate;
            let url = upstream.target(&passing.path_and_query).map_err(|_| malformed())?;
            let request = body.request(call.method.clone(), url, headers.clone());
            let begun = passing.asks(upstream);
            let open = upstream.call();
            let sent = {
                let sending = pin!(upstream.client().send(request));
                passing.in_time(sending).await
            };
            let ended = passing.has_asked();
            let error = match sent {
                Ok(Ok(answer)) => {
                    if let Sent::Stream(upload, _) = &body {
                        turn = upload.turn();
                    }
                    // What an upstream refuses or fails says nothing of what it can do.
                    let is_done = !answer.status().is_server_error();
                    if let Some(turn) = turn.take().filter(|_| is_done) {
                        turn.answered();
                    }
                    upstream.counts.answered(ended - begun);
                    group.record(upstream, Ended::with(answer.status()));
                    break (answer, upstream, open, leave);
                }
                Ok(Err(error)) => error,
                Err(late) => {
                    passing.blame(candidate, None, body.there_for(begun));
                    return Err(late);
                }
            };
            if let Sent::Stream(upload, _) = &body {
                if let Some(of_caller) = upload.broken() {
                    return Err(of_caller);
                }
                let is_over = matches!(error, Error::TimedOut { phase: Phase::Total, .. });
                if upload.waits() && !is_over {
                    return Err(Problem::busy(1).budget(WAITING_CALLS).detail(format!(
                        "Too many calls of this API wait for its upstream (budget {WAITING_CALLS})."
                    )));
                }
            }
            passing.blame(candidate, Some(&error), body.there_for(begun));
            let failed = self.failed(&error, upstream, &call.request_id);
            if !passing.goes_on(candidate, &error, call, &body) {
                return Err(failed);
            }
            problem = Some(failed);
        };
        self.respond(answer, open, call, upstream.sent()).await
    }

    /// Returns the body of a call: read whole if it is short, else to be passed on as it arrives.
    async fn body(&self, call: &mut Call) -> Result<Sent, Problem> {
        let length = declared(&call.headers);
        let is_short = length.is_some_and(|length| length <= SHORT_BODY);
        if is_short || matches!(call.body, RequestBody::Bytes(_)) {
            return Ok(Sent::Whole(call.read_body().await?));
        }
        let mut stream = call.stream_body()?;
        let mut ahead = Bytes::new();
        if length.is_none() {
            let (read, is_all) = stream.read_ahead(SHORT_BODY, AHEAD_TIME).await?;
            if is_all {
                return Ok(Sent::Whole(read));
            }
            ahead = read;
        }
        let caller = caller_of(call).into_owned();
        let place = self.gate.stream(&caller)?;
        let gate = Arc::clone(&self.gate);
        let enter = async move { gate.enter(&caller).await };
        let length = length.map(|length| length as u64);
        Ok(Sent::Stream(Upload::new((ahead, stream), length, place, enter), length))
    }

    /// Passes a call for another protocol to the first upstream that can be reached.
    async fn change_protocol(
        &self,
        call: &mut Call,
        passing: &mut Passing<'_>,
    ) -> Result<Response, Problem> {
        let mut headers = call.headers.clone();
        to_upstream(&mut headers, self.api.security, &self.asker(call));
        if self.response.is_some() {
            ask_for_whole(&mut headers);
        }
        self.request_headers.apply(&mut headers);
        let caller = caller_of(call);
        let place = self.gate.stream(&caller)?;
        let turn = passing.in_time(pin!(self.gate.enter(&caller))).await??;
        drop(caller);
        passing.attempts.chosen = passing.groups.choose(call, true);
        let body = Sent::Whole(Bytes::new());
        let mut problem = None;
        while let Some((candidate, _leave)) = passing.attempts.next() {
            let Candidate { group, upstream, .. } = candidate;
            let target = upstream.target(&passing.path_and_query).map_err(|_| malformed())?;
            let begun = passing.asks(upstream);
            let open = upstream.call();
            let opened = passing.in_time(pin!(upstream.client().open(&target))).await;
            passing.has_asked();
            match opened {
                Ok(Ok(stream)) => {
                    let time = self.api.timeouts.first_byte.unwrap_or(self.api.timeout).0;
                    let times = (time, self.api.timeouts.idle.map_or(SILENT_TIME, |idle| idle.0));
                    let held = (open, place, self.shared.upgraded.subscribe());
                    let passed = upgrade::pass(call, headers, &target, stream, times, held);
                    let answered = passing.in_time(pin!(passed)).await;
                    passing.has_asked();
                    match &answered {
                        Ok(Ok(agreed)) => {
                            // As for any other call.
                            if agreed.status().is_server_error() {
                                drop(turn);
                            } else {
                                turn.answered();
                            }
                            upstream.counts.answered(begun.elapsed());
                            group.record(upstream, Ended::with(agreed.status()));
                        }
                        Ok(Err(_)) => group.record(upstream, Ended::Unanswered),
                        Err(_) => passing.blame(candidate, None, Some(begun.elapsed())),
                    }
                    return match answered.flatten()? {
                        Agreed::Yes(response) => Ok(response),
                        Agreed::No(answer, held) => {
                            let until = passing.whole.and_then(|whole| begun.checked_add(whole));
                            let place = (upstream.sent(), until);
                            self.respond_without_upgrade(answer, held, call, place).await
                        }
                    };
                }
                Ok(Err(error)) => {
                    passing.blame(candidate, Some(&error), Some(begun.elapsed()));
                    problem = Some(self.failed(&error, upstream, &call.request_id));
                    if !passing.goes_on(candidate, &error, call, &body) {
                        break;
                    }
                }
                Err(late) => {
                    if passing.against(None, Some(begun.elapsed())).is_some() {
                        group.record(upstream, Ended::Unreachable { is_slow: true });
                    }
                    return Err(late);
                }
            }
        }
        Err(problem.unwrap_or_else(|| passing.nobody()))
    }

    fn failed(&self, error: &Error, upstream: &Upstream, request_id: &str) -> Problem {
        let name = upstream.name();
        tracing::debug!(api = self.api.name, upstream = %name, request_id, %error, "an upstream did not answer");
        if let Some(calls) = upstream.tells() {
            tracing::warn!(
                api = self.api.name, upstream = %name, request_id, %error, calls,
                "calls were not answered by an upstream; the last of them"
            );
        }
        match error {
            Error::TimedOut { phase, .. } => {
                debug_assert!(!matches!(phase, Phase::Wait), "calls wait in none of a client");
                late()
            }
            Error::Failed { phase: Phase::Resolve | Phase::Connect | Phase::Tls, .. } => {
                no_upstream("No upstream of this API can be reached.", 1)
            }
            Error::OwnBody { .. } => Problem::of(Kind::BadRequest)
                .detail("The request's body ended before its declared length."),
            _ => Problem::of(Kind::BadGateway),
        }
    }
}

impl Passing<'_> {
    /// Returns the answer where no upstream may be asked.
    fn nobody(&self) -> Problem {
        no_upstream("No upstream of this API is healthy.", self.groups.retry_after())
    }
}

/// Returns the length that a request states for its body.
pub(super) fn declared(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok())
}

/// Waits for `done`, until a time if there is one. The caller pins `done`, so this future holds only a reference: a
/// future that it took by value would be held twice, and each call moves what it holds.
pub(super) async fn in_time<T>(
    until: Option<Instant>,
    done: Pin<&mut impl Future<Output = T>>,
) -> Result<T, Problem> {
    match until {
        Some(until) => timeout_at(until, done).await.map_err(|_| late()),
        None => Ok(done.await),
    }
}

/// Returns the answer where none has come in time.
fn late() -> Problem {
    Problem::of(Kind::GatewayTimeout)
}

fn no_upstream(detail: &str, seconds: u64) -> Problem {
    Problem::of(Kind::ServiceUnavailable)
        .detail(detail)
        .header(RETRY_AFTER, HeaderValue::from(seconds))
}
