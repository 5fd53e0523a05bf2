//! Serves a connection until it ends, which the server may want sooner than the caller.
#![expect(clippy::disallowed_methods, reason = "a connection that is closed has a last time limit")]

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use homeroom_http::{QuietWaker, Response};
use http::Request;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioExecutor;
use hyper_util::server::conn::auto;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::connection::Connection;
use super::seldom::Seldom;
use crate::caller::{Caller, Leave};

/// How long a caller that keeps an idle connection open has to leave it. Another connection is
/// waiting for its place.
const FAREWELL_TIME_MAX: Duration = Duration::from_millis(100);

/// What hyper has of a connection while it serves it.
pub(super) trait Served: Future<Output = Result<(), Self::Error>> {
    /// Why it ended early.
    type Error: std::fmt::Display;

    /// Takes no further requests. What is under way is answered.
    fn end(self: Pin<&mut Self>);
}

impl<I, S> Served for auto::UpgradeableConnection<'_, I, S, TokioExecutor>
where
    I: Read + Write + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response, Error = h2::Error>,
    S::Future: Send + 'static,
{
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn end(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<I, S> Served for http1::UpgradeableConnection<I, S>
where
    I: Read + Write + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response, Error = h2::Error>,
{
    type Error = hyper::Error;

    fn end(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Why a connection that is served is to end.
enum Leaving {
    /// Its caller is told to leave.
    Told,
    /// The caller was told before, and has not left in time.
    Late,
    /// The server stops.
    Draining,
}

/// Waits until something arrives on a connection that rests. Returns false where it ends: nothing
/// arrives in time, the server stops, or the caller is told to leave.
pub(super) async fn woken(
    connection: &mut Connection,
    caller: &Caller,
    draining: &mut watch::Receiver<()>,
) -> bool {
    tokio::select! {
        is_awake = connection.woken() => return is_awake,
        () = caller.told_to(Leave::Politely) => {}
        _ = draining.changed() => {}
    }
    if !caller.shall(Leave::AtOnce) {
        _ = timeout(FAREWELL_TIME_MAX, connection.end()).await;
    }
    false
}

/// Serves a connection until it ends or rests. Returns whether there may be further requests on it.
///
/// When `draining` changes, or when the caller is told to leave politely, the connection takes no
/// further requests: HTTP/1.1 closes it between two requests, HTTP/2 sends the caller a GOAWAY
/// first (RFC 9113 §6.8). A caller told to leave politely has [`FAREWELL_TIME_MAX`] to do so; a
/// request that the server is already working on is still answered. A caller told to leave at once
/// is cut off. A request that has arrived and waits to be let in is read and answered first.
///
/// A connection on HTTP/1 that does nothing more at the moment waits for something else than the processor, so it
/// leaves the entrance whenever it was polled.
pub(super) async fn serve(
    mut served: Pin<&mut impl Served>,
    caller: &Caller,
    draining: &mut watch::Receiver<()>,
) -> bool {
    let mut is_draining = false;
    // Whether it is still to be told to take no further requests.
    let mut shall_end = false;
    let mut waker = QuietWaker::default();
    // When to cut off a caller that was asked to leave.
    let mut end: Option<Instant> = None;
    loop {
        let next = if end.is_none() { Leave::Politely } else { Leave::AtOnce };
        let leaving = Seldom::new(async {
            tokio::select! {
                () = caller.told_to(next) => Leaving::Told,
                () = sleep_until(end.unwrap_or_else(Instant::now)), if end.is_some() => Leaving::Late,
                _ = draining.changed(), if !is_draining => Leaving::Draining,
            }
        });
        let mut ending = poll_fn(|cx| {
            let mut cx = Context::from_waker(waker.of(cx.waker()));
            loop {
                caller.is_polled();
                let polled = served.as_mut().poll(&mut cx);
                if polled.is_ready() {
                    caller.goes();
                    return polled;
                }
                caller.leaves();
                if !shall_end || caller.is_outside() {
                    return polled;
                }
                shall_end = false;
                served.as_mut().end();
            }
        });
        let leaving = tokio::select! {
            ended = &mut ending => {
                if let Err(error) = &ended {
                    tracing::trace!(%error, "a connection ended early");
                }
                return ended.is_ok() && !is_draining && end.is_none();
            }
            leaving = leaving => leaving,
        };
        match leaving {
            Leaving::Told if caller.shall(Leave::AtOnce) => {
                tracing::trace!("a connection was cut to make room");
                return false;
            }
            Leaving::Told => {
                shall_end = true;
                end = Some(Instant::now() + FAREWELL_TIME_MAX);
            }
            Leaving::Late if !caller.is_at_work() && !caller.is_outside() => {
                tracing::trace!("a connection that was told to close was cut");
                return false;
            }
            Leaving::Late => end = Some(Instant::now() + FAREWELL_TIME_MAX),
            Leaving::Draining => {
                is_draining = true;
                shall_end = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;

    use homeroom_http::json_response;
    use http::StatusCode;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio::sync::Semaphore;

    use super::super::connected::{Connected, PATIENCE, connected};
    use super::super::connection::Times;
    use super::*;
    use crate::budget::{Budget, Capacity, Taken};
    use crate::callers::Callers;

    const HTTP_1: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    /// The preface, empty settings, and a GET of `/` whose header is one frame.
    const HTTP_2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\
        \0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x41\x01a";
    const GOAWAY: u8 = 7;

    /// A connection being served: both of its ends, and the switch that releases answers.
    struct Served {
        client: TcpStream,
        caller: Arc<Caller>,
        callers: Arc<Callers>,
        leave: Arc<Semaphore>,
        drain: watch::Sender<()>,
    }

    async fn served(request: &[u8]) -> Served {
        let times = Times { header: PATIENCE, quiet: PATIENCE, rest: PATIENCE };
        let Connected { mut client, connection, caller, callers } = connected(times).await;
        client.write_all(request).await.unwrap();
        let leave = Arc::new(Semaphore::new(0));
        let (answering, asking) = (Arc::clone(&leave), Arc::clone(&caller));
        let service = service_fn(move |_: Request<Incoming>| {
            let (leave, one) = (Arc::clone(&answering), asking.one());
            async move {
                leave.acquire().await.expect("it is never closed").forget();
                drop(one);
                Ok::<_, h2::Error>(json_response(StatusCode::OK, "\"well\""))
            }
        });
        let (drain, mut draining) = watch::channel(());
        let at_end = Arc::clone(&caller);
        tokio::spawn(async move {
            let builder = auto::Builder::new(TokioExecutor::new());
            let served = builder.serve_connection_with_upgrades(TokioIo::new(connection), service);
            serve(pin!(served), &at_end, &mut draining).await
        });
        Served { client, caller, callers, leave, drain }
    }

    impl Served {
        /// Waits for the one answer, whose body is known.
        async fn answered(&mut self) -> Vec<u8> {
            let mut said = vec![];
            while !said.windows(6).any(|part| part == b"\"well\"") {
                assert_ne!(self.client.read_buf(&mut said).await.unwrap(), 0, "it ended");
            }
            while self.caller.has_requests() {
                tokio::task::yield_now().await;
            }
            said
        }

        /// Reads everything that arrives until the connection ends.
        async fn rest(&mut self) -> Vec<u8> {
            let mut rest = vec![];
            let ended = timeout(PATIENCE, self.client.read_to_end(&mut rest)).await;
            ended.expect("it ends").expect("it is not broken");
            rest
        }
    }

    /// Returns the types of the frames, in order.
    fn frames(mut bytes: &[u8]) -> Vec<u8> {
        let mut types = vec![];
        while let [a, b, c, kind, ..] = bytes {
            types.push(*kind);
            let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
            bytes = &bytes[9 + length..];
        }
        types
    }

    #[tokio::test]
    async fn on_http_2_who_keeps_a_connection_is_told_before_it_is_closed_to_make_room() {
        let mut served = served(HTTP_2).await;
        served.leave.add_permits(1);
        let mut said = served.answered().await;

        assert_eq!(served.callers.close_idle(1, 0), 1);

        // The client answers nothing, not even the ping that follows the GOAWAY.
        said.extend(served.rest().await);
        assert!(frames(&said).contains(&GOAWAY), "{:?}", frames(&said));
    }

    #[tokio::test]
    async fn on_http_1_a_request_that_meets_the_end_is_answered_whole() {
        let mut served = served(HTTP_1).await;
        while !served.caller.has_requests() {
            tokio::task::yield_now().await;
        }
        let budget = Budget::new(Capacity::InFlight, 1, 0);
        let work = Taken::of(budget, served.caller.holders(), 1).unwrap();

        // The connection was idle a moment ago.
        served.caller.tell_to(Leave::Politely);
        let cut = timeout(FAREWELL_TIME_MAX * 3, served.client.readable()).await;

        assert!(cut.is_err(), "what is worked on is not cut");
        served.leave.add_permits(1);
        let said = String::from_utf8(served.rest().await).unwrap();
        drop(work);
        assert!(said.starts_with("HTTP/1.1 200 OK\r\n"), "{said}");
        assert!(said.contains("connection: close\r\n"), "{said}");
        assert!(said.ends_with("\r\n\r\n\"well\""), "{said}");
    }

    #[tokio::test]
    async fn on_http_1_a_connection_that_is_kept_is_closed_between_two_requests() {
        let mut served = served(HTTP_1).await;
        served.leave.add_permits(1);
        served.answered().await;

        assert_eq!(served.callers.close_idle(1, 0), 1);

        assert_eq!(served.rest().await, b"");
    }

    #[tokio::test]
    async fn who_does_not_leave_is_cut_off() {
        for request in [HTTP_1, HTTP_2] {
            let mut served = served(request).await;
            while !served.caller.has_requests() {
                tokio::task::yield_now().await;
            }

            // No answer comes, and nothing works on the request.
            served.caller.tell_to(Leave::Politely);

            let ended = timeout(PATIENCE, served.client.read_to_end(&mut vec![])).await;
            assert!(ended.is_ok());
        }
    }

    #[tokio::test]
    async fn who_is_told_to_leave_at_once_is_told_nothing_else() {
        let mut served = served(HTTP_2).await;
        served.leave.add_permits(1);
        let mut said = served.answered().await;

        served.caller.tell_to(Leave::AtOnce);

        said.extend(served.rest().await);
        assert!(!frames(&said).contains(&GOAWAY), "{:?}", frames(&said));
    }

    #[tokio::test]
    async fn a_server_that_stops_waits_for_what_is_under_way() {
        let mut served = served(HTTP_1).await;
        while !served.caller.has_requests() {
            tokio::task::yield_now().await;
        }

        served.drain.send(()).unwrap();
        let early = timeout(FAREWELL_TIME_MAX * 3, served.drain.closed()).await;

        assert!(early.is_err());
        served.leave.add_permits(1);
        served.answered().await;
        timeout(PATIENCE, served.drain.closed()).await.unwrap();
    }
}
