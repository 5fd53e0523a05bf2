//! Connections that change their protocol, such as WebSocket: bytes go both ways unchanged.
#![expect(clippy::disallowed_methods, reason = "a connection may be silent for so long")]

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use homeroom_access::Call;
use homeroom_client::Url;
use homeroom_http::{Body, Kind, Problem, Response};
use http::header::{CONNECTION, HOST, UPGRADE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::headers::strip;

/// Returns whether a request asks for WebSocket. Others of its kind, such as HTTP/2 without TLS, would lead
/// past everything that is checked here; they are answered as if they did not ask.
pub(crate) fn is_asked(call: &Call) -> bool {
    let protocol = call.headers.get(UPGRADE).map(HeaderValue::as_bytes);
    let is_websocket = protocol.is_some_and(|name| name.eq_ignore_ascii_case(b"websocket"));
    is_websocket && call.upgrade.is_some() && call.method == Method::GET && call.body.is_empty()
}

/// How an upstream answers a request for another protocol.
pub(crate) enum Agreed<P> {
    /// It changes to the protocol; the answer says so to the caller.
    Yes(Response),
    /// It answers as it would answer any other request. The places are those that the call has taken.
    No(http::Response<Incoming>, P),
}

impl<P> Agreed<P> {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Yes(answer) => answer.status(),
            Self::No(answer, _) => answer.status(),
        }
    }
}

/// Passes a request for another protocol to an upstream, which agrees within `time`, and connects both sides. The
/// `places` that it takes are dropped when their connection ends: when both sides have, one has broken, or neither
/// has sent anything for the time `idle`.
///
/// # Errors
///
/// 502 or 504 where the upstream does not answer.
pub(crate) async fn pass<P: Send + 'static>(
    call: &mut Call,
    mut headers: HeaderMap,
    target: &Url,
    stream: impl Read + Write + Send + Unpin + 'static,
    (time, idle): (Duration, Duration),
    places: P,
) -> Result<Agreed<P>, Problem> {
    let upgrade = call.upgrade.take();
    let protocol = call.headers.get(UPGRADE).cloned().unwrap_or(HeaderValue::from_static(""));
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, protocol);
    let authority = target.as_uri().authority().map_or("", |authority| authority.as_str());
    headers.insert(HOST, HeaderValue::from_str(authority).map_err(|_| failed())?);
    let late = |_| Problem::of(Kind::GatewayTimeout);
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(stream).await.map_err(|_| failed())?;
    tokio::spawn(connection.with_upgrades());
    let mut request = http::Request::new(Empty::<bytes::Bytes>::new());
    *request.method_mut() = call.method.clone();
    *request.uri_mut() = target.path_and_query().parse().map_err(|_| failed())?;
    *request.headers_mut() = headers;
    let sent = tokio::time::timeout(time, sender.send_request(request)).await.map_err(late)?;
    let mut answer = sent.map_err(|_| failed())?;
    let agreed = answer.headers().get(UPGRADE).cloned();
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS
        && agreed.as_ref().is_none_or(|name| !name.as_bytes().eq_ignore_ascii_case(b"websocket"))
    {
        return Err(failed().error("It changed to another protocol than WebSocket."));
    }
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(Agreed::No(answer, places));
    }
    let upstream = hyper::upgrade::on(&mut answer);
    let (mut head, _) = answer.into_parts();
    strip(&mut head.headers);
    head.headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    if let Some(agreed) = agreed {
        head.headers.insert(UPGRADE, agreed);
    }
    let caller = upgrade.ok_or_else(failed)?;
    tokio::spawn(async move {
        if let (Ok(caller), Ok(upstream)) = tokio::join!(caller, upstream) {
            join(TokioIo::new(caller), TokioIo::new(upstream), idle).await;
        }
        drop(places);
    });
    Ok(Agreed::Yes(Response::from_parts(head, Body::empty())))
}

/// Passes bytes on in both directions until both have ended, or nothing has come for a while.
async fn join<A, B>(one: A, other: B, idle: Duration)
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let heard = Times { begun: Instant::now(), last_ms: AtomicU64::new(0) };
    let (mut one, mut other) = (Heard(one, &heard), Heard(other, &heard));
    let silent = async {
        loop {
            let last = Duration::from_millis(heard.last_ms.load(Ordering::Relaxed));
            let until = heard.begun + last + idle;
            if until <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut one, &mut other) => {}
        () = silent => {}
    }
}

/// When something has come last.
struct Times {
    begun: Instant,
    last_ms: AtomicU64,
}

/// A connection of which is noted when something has come.
struct Heard<'a, S>(S, &'a Times);

impl<S: AsyncRead + Unpin> AsyncRead for Heard<'_, S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.0).poll_read(context, into);
        if into.filled().len() > before {
            let now = u64::try_from(self.1.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.1.last_ms.store(now, Ordering::Relaxed);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Heard<'_, S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

fn failed() -> Problem {
    Problem::of(Kind::BadGateway)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_is_silent_for_too_long_ends_and_no_other() {
        let (mut caller, one) = duplex(64);
        let (mut upstream, other) = duplex(64);
        let begun = Instant::now();
        let joining = async {
            join(one, other, Duration::from_secs(10)).await;
            begun.elapsed().as_secs()
        };
        let talking = async {
            let mut heard = [0; 2];
            for _ in 0..5 {
                tokio::time::sleep(Duration::from_secs(8)).await;
                caller.write_all(b"hi").await.unwrap();
                upstream.read_exact(&mut heard).await.unwrap();
            }
            (upstream.read(&mut heard).await.unwrap(), heard)
        };

        let (ended, heard) = tokio::join!(joining, talking);

        assert_eq!(heard, (0, *b"hi"), "the other side learns of the end");
        assert_eq!(ended, 50);
    }
}
