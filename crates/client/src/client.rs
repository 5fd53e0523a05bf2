//! Sends requests: permits, connections, retries, redirects.
#![expect(clippy::disallowed_methods, reason = "each phase of a request has a time limit")]

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::header::HOST;
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::{Instant, Sleep, sleep_until, timeout, timeout_at};

use crate::answer::{Answer, BodyLimits};
use crate::connect::{Connector, NotConnected};
use crate::driven::{Lent, Resting, Unanswered};
use crate::error::{Error, Phase, Tried, find, is_unsent};
use crate::outgoing::{Content, Outgoing, Progress, State};
use crate::permits::Permits;
use crate::request::{Body, Request};
use crate::retry::{Attempt, Ended, retry_after};
use crate::settings::Settings;
use crate::stall::{Alarm, Stalled, rings};
use crate::times::end_of;
use crate::tls::Trust;
use crate::url::{Origin, Url};

/// The interval between pings on an HTTP/2 connection with open requests.
const PING_EVERY: Duration = Duration::from_secs(20);
/// The longest wait for the answer to a ping, after which the connection counts as broken.
const PING_TIME: Duration = Duration::from_secs(10);

/// The longest body, in bytes, of a request that drives its connection itself. It is sent before anybody
/// reads the answer, or nearly.
const DRIVEN_BYTES_MAX: usize = 128 << 10;

/// The longest time that a connection is kept without a request. The pool adds it to the present time,
/// which an unlimited duration would overflow.
const IDLE_MAX: Duration = Duration::from_hours(24);

/// An HTTP client with a pool of connections. Its clones share the pool.
///
/// Connections live on the Tokio runtime that sent their first request.
#[derive(Clone)]
pub struct Client(Arc<ClientInner>);

struct ClientInner {
    settings: Settings,
    pool: legacy::Client<Connector, Outgoing>,
    resting: Resting,
    connector: Connector,
    permits: Permits,
}

/// An attempt that has failed.
struct FailedAttempt {
    error: Error,
    /// Whether the server may have received some of the request.
    was_sent: bool,
}

impl Client {
    /// Makes a client, and reads the certificates that it trusts.
    ///
    /// # Errors
    ///
    /// [`Error::Trust`] if these cannot be read, [`Error::Identity`] if the one that it shows cannot be used.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let limits = settings.pool.clone();
        let tls = settings.trust.read_as(settings.identity.as_ref(), settings.versions)?;
        let connector = Connector::new(&settings, tls);
        let pool = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .http2_keep_alive_interval(PING_EVERY)
            .http2_keep_alive_timeout(PING_TIME)
            .pool_idle_timeout(limits.idle.min(IDLE_MAX))
            .pool_max_idle_per_host(limits.idle_per_origin)
            .build(connector.clone());
        let resting = Resting::new(limits.idle_per_origin, limits.idle);
        let permits = Permits::new(limits.requests_per_origin, limits.requests);
        Ok(Self(Arc::new(ClientInner { settings, pool, resting, connector, permits })))
    }

    /// Sends a request. Returns the answer as soon as its head has arrived; any status is an
    /// answer, not an error.
    ///
    /// If the returned future is dropped, the request ends: its connection is closed, or on HTTP/2
    /// its stream reset.
    ///
    /// # Errors
    ///
    /// The reason why there is no answer; [`Error::phase`] says how far the request got.
    pub async fn send(&self, mut request: Request) -> Result<Answer, Error> {
        request.check()?;
        request.protect();
        let total = self.0.settings.times.total;
        let until = total.map(|limit| end_of(Instant::now(), limit));
        let tried = Tried::new(&request.method, &request.url);
        // Large, and part of each future around it.
        let mut following = Box::pin(self.follow(request, until));
        let (Some(limit), Some(until)) = (total, until) else { return following.await };
        match timeout_at(until, &mut following).await {
            Ok(done) => done,
            Err(_) => Err(Error::TimedOut { tried, phase: Phase::Total, limit }),
        }
    }

    /// Opens a connection of its own to the origin of a URL, on which HTTP/1.1 is spoken, for a request that
    /// changes to another protocol. No pool keeps it, and no permit counts it.
    ///
    /// # Errors
    ///
    /// The reason why there is no connection.
    pub async fn open(
        &self,
        url: &Url,
    ) -> Result<impl hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static, Error> {
        let opened = self.0.connector.open_http1(url).await;
        opened.map_err(|reason| not_connected(reason, Tried::new(&http::Method::GET, url)))
    }

    /// Sends a request and follows its redirects.
    async fn follow(&self, mut request: Request, until: Option<Instant>) -> Result<Answer, Error> {
        let mut number = 1;
        for followed in 0.. {
            let answer = self.try_often(&mut request, until, &mut number).await?;
            let refused = |reason| {
                let tried = Tried::new(&request.method, &request.url);
                Error::Redirect { tried, reason }
            };
            let from = (&request.method, &request.url);
            let redirects = self.0.settings.redirects;
            let step = redirects.step(followed, from, (answer.status(), answer.headers()));
            let Some(step) = step.map_err(refused)? else { return Ok(answer) };
            if step.keeps_body && request.body.is_streamed() {
                return Err(refused("the body was streamed and cannot be sent again"));
            }
            if step.keeps_body && step.leaves(&request.url) && !request.body.is_empty() {
                return Err(refused("the body would go to another origin"));
            }
            Box::pin(answer.discard()).await;
            step.strip(&request.url, &mut request.headers);
            if !step.keeps_body {
                request.body = Body::Whole(bytes::Bytes::new());
            }
            (request.method, request.url) = (step.method, step.url);
        }
        unreachable!("the policy ends a chain of redirects")
    }

    /// Sends a request as often as the policy allows. `number` counts the attempts; a redirect is not
    /// one.
    async fn try_often(
        &self,
        request: &mut Request,
        until: Option<Instant>,
        number: &mut u32,
    ) -> Result<Answer, Error> {
        if request.url.origin().is_secure && matches!(self.0.settings.trust, Trust::Nobody) {
            let reason = "this client was made without any, so it cannot use https".to_owned();
            return Err(Error::Trust { reason });
        }
        loop {
            let done = self.try_once(request, until).await;
            if self.0.settings.sends_once() {
                return done.map_err(|failure| failure.error);
            }
            let ended = match &done {
                Ok(answer) => Ended::Answered {
                    status: answer.status().as_u16(),
                    retry_after: retry_after(answer.headers(), jiff::Timestamp::now()),
                },
                Err(FailedAttempt { error, was_sent }) => match error.phase() {
                    Some(phase) if error.may_pass() => Ended::Failed { phase, was_sent: *was_sent },
                    _ => return done.map_err(|failure| failure.error),
                },
            };
            let attempt = Attempt {
                number: *number,
                method: &request.method,
                is_repeatable: request.is_repeatable,
                is_streamed: request.body.is_streamed(),
                ended,
            };
            let pause = self.0.settings.retries.pause(&attempt, fastrand::f64());
            // A pause that outlasts the request would hide how this try ended.
            let is_in_time =
                |pause| until.is_none_or(|until| end_of(Instant::now(), pause) < until);
            let Some(pause) = pause.filter(|pause| is_in_time(*pause)) else {
                return done.map_err(|failure| failure.error);
            };
            if let Ok(answer) = done {
                Box::pin(answer.discard()).await;
            }
            tokio::time::sleep(pause).await;
            *number += 1;
        }
    }

    async fn try_once(
        &self,
        request: &mut Request,
        until: Option<Instant>,
    ) -> Result<Answer, FailedAttempt> {
        let times = &self.0.settings.times;
        let tried = Tried::new(&request.method, &request.url);
        let late = |phase, limit| Error::TimedOut { tried: tried.clone(), phase, limit };
        let origin = Arc::clone(request.url.origin());
        let permit = match self.0.permits.without_limit() {
            Some(permit) => permit,
            None => timeout(times.wait, self.0.permits.take(&origin))
                .await
                .map_err(|_| FailedAttempt::unsent(late(Phase::Wait, times.wait)))?,
        };
        let until = until.zip(times.total);
        let is_short =
            matches!(&request.body, Body::Whole(bytes) if bytes.len() <= DRIVEN_BYTES_MAX);
        let content = match &mut request.body {
            Body::Whole(bytes) => Content::Whole(bytes.clone()),
            Body::Streamed(stream, length) => Content::Streamed(
                stream.take().expect("neither a retry nor a redirect repeats a streamed body"),
                *length,
            ),
        };
        let alarm = Alarm::new(times.send, until);
        let (outgoing, progress) = Outgoing::new(content, alarm, permit.clone());
        let mut sent = http::Request::new(outgoing);
        *sent.method_mut() = request.method.clone();
        *sent.headers_mut() = if self.0.settings.sends_once() {
            std::mem::take(&mut request.headers)
        } else {
            request.headers.clone()
        };
        let answered = if is_short && !origin.is_secure {
            let (response, lent) = self.drive(sent, &origin, &progress, &tried).await?;
            (response, Some(lent))
        } else {
            *sent.uri_mut() = request.url.as_uri().clone();
            (Box::pin(self.exchange(sent, &progress, &tried)).await?, None)
        };
        let limits = BodyLimits { tried, gap: times.body, until };
        Ok(Answer::new(answered, limits, permit, progress))
    }

    /// Sends a request on a connection that rests or on a new one, and waits for the head of the answer.
    async fn drive(
        &self,
        mut request: http::Request<Outgoing>,
        origin: &Arc<Origin>,
        progress: &Progress,
        tried: &Tried,
    ) -> Result<(http::Response<Incoming>, Lent), FailedAttempt> {
        *request.uri_mut() = tried.url.relative();
        request.headers_mut().insert(HOST, tried.url.host());
        loop {
            let resting = self.0.resting.take(origin);
            let is_new = resting.is_none();
            let mut lent = match resting {
                Some(lent) => lent,
                None => {
                    let begun = Box::pin(self.begin(origin, tried)).await?;
                    progress.moved();
                    begun
                }
            };
            let late = |alarm: &mut Option<Pin<Box<Sleep>>>, context: &mut Context<'_>| {
                let state = progress.state();
                let (phase, limit) = self.phase(state);
                let end = end_of(state.moved, limit);
                // The alarm stays with its connection: to put off one that is set costs little.
                let alarm = alarm.get_or_insert_with(|| Box::pin(sleep_until(end)));
                if alarm.deadline() != end {
                    alarm.as_mut().reset(end);
                }
                ready!(rings(alarm.as_mut(), context));
                Poll::Ready(Error::TimedOut { tried: tried.clone(), phase, limit })
            };
            let answered = lent.ask(request, late).await;
            match answered.map_err(|error| FailedAttempt { error, was_sent: true })? {
                Ok(response) => return Ok((response, lent)),
                // The server had closed the connection.
                Err(Unanswered { unsent: Some(unsent), .. }) if !is_new => request = unsent,
                Err(Unanswered { error, .. }) => {
                    return Err(FailedAttempt::of(error, progress, tried));
                }
            }
        }
    }

    /// Opens a connection that its requests drive.
    async fn begin(&self, origin: &Arc<Origin>, tried: &Tried) -> Result<Lent, FailedAttempt> {
        let opened = self.0.connector.open_http1(&tried.url).await;
        let socket =
            opened.map_err(|reason| FailedAttempt::unsent(not_connected(reason, tried.clone())))?;
        let begun = self.0.resting.begin(socket, origin).await;
        begun.map_err(|error| FailedAttempt::before_sending(error, tried))
    }

    /// Returns in which phase a request is on its connection, and how long it may last.
    fn phase(&self, state: State) -> (Phase, Duration) {
        let times = &self.0.settings.times;
        if state.is_done { (Phase::Answer, times.answer) } else { (Phase::Send, times.send) }
    }

    /// Sends a request on a connection of the pool or on a new one, and waits for the head of the
    /// answer.
    async fn exchange(
        &self,
        mut request: http::Request<Outgoing>,
        progress: &Progress,
        tried: &Tried,
    ) -> Result<http::Response<Incoming>, FailedAttempt> {
        let mut connection = capture_connection(&mut request);
        let captured = connection.clone();
        let mut response = std::pin::pin!(self.0.pool.request(request));
        // Until there is a connection, the connector measures the time of each phase.
        tokio::select! {
            biased;
            done = &mut response => {
                let is_connected = captured.connection_metadata().is_some();
                return done.map_err(|error| {
                    if is_connected {
                        FailedAttempt::of(error, progress, tried)
                    } else {
                        FailedAttempt::before_sending(error, tried)
                    }
                });
            }
            _ = connection.wait_for_connection_metadata() => {}
        }
        progress.moved();
        loop {
            let state = progress.state();
            let (phase, limit) = self.phase(state);
            tokio::select! {
                biased;
                done = &mut response => {
                    return done.map_err(|error| FailedAttempt::of(error, progress, tried));
                }
                () = progress.done() => {}
                () = tokio::time::sleep_until(end_of(state.moved, limit)) => {
                    if progress.state().moved == state.moved {
                        let error = Error::TimedOut { tried: tried.clone(), phase, limit };
                        return Err(FailedAttempt { error, was_sent: true });
                    }
                }
            }
        }
    }
}

impl FailedAttempt {
    fn unsent(error: Error) -> Self {
        Self { error, was_sent: false }
    }

    /// Returns the error of a request that failed before it got a connection.
    fn before_sending(error: impl StdError + Send + Sync + 'static, tried: &Tried) -> Self {
        let tried = tried.clone();
        let reason = find::<NotConnected>(&error).cloned();
        Self::unsent(match reason {
            Some(reason) => not_connected(reason, tried),
            // The connection broke before the protocol on it was ready for a request.
            None => {
                let is_secure = tried.url.origin().is_secure;
                let phase = if is_secure { Phase::Tls } else { Phase::Connect };
                Error::Failed { tried, phase, cause: Arc::new(error) }
            }
        })
    }

    /// Returns the error of a request that failed on a connection, and whether any of it was sent.
    fn of(
        error: impl StdError + Send + Sync + 'static,
        progress: &Progress,
        tried: &Tried,
    ) -> Self {
        if find::<NotConnected>(&error).is_some() {
            // The pooled connection was unusable and no other could be opened.
            return Self::before_sending(error, tried);
        }
        let tried = tried.clone();
        if let Some(&Stalled { phase, limit }) = find::<Stalled>(&error) {
            return Self { error: Error::TimedOut { tried, phase, limit }, was_sent: true };
        }
        let is_unsent = is_unsent(&error);
        let state = progress.state();
        let phase = if state.is_done { Phase::Answer } else { Phase::Send };
        let cause = Arc::new(error);
        let error = if state.is_broken {
            Error::OwnBody { tried, cause }
        } else {
            Error::Failed { tried, phase, cause }
        };
        Self { error, was_sent: !is_unsent }
    }
}

fn not_connected(reason: NotConnected, tried: Tried) -> Error {
    match reason {
        NotConnected::Refused(address, range) => Error::Refused { tried, address, range },
        NotConnected::TimedOut(phase, limit) => Error::TimedOut { tried, phase, limit },
        NotConnected::Failed(phase, cause) => Error::Failed { tried, phase, cause },
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}
