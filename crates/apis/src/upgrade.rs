//! Connections that change their protocol, such as WebSocket: bytes go both ways unchanged.

use std::time::Duration;

use homeroom_access::Call;
use homeroom_client::Url;
use homeroom_http::{Body, Kind, Problem, Response};
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, UPGRADE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;

use crate::headers::{is_doubtful, strip};

/// Returns whether a request asks for WebSocket. Others of its kind, such as HTTP/2 without TLS, would lead
/// past everything that is checked here; they are answered as if they did not ask.
pub(crate) fn is_asked(call: &Call) -> bool {
    let protocol = call.headers.get(UPGRADE).map(HeaderValue::as_bytes);
    let is_websocket = protocol.is_some_and(|name| name.eq_ignore_ascii_case(b"websocket"));
    is_websocket && call.upgrade.is_some() && call.method == Method::GET && call.body.is_empty()
}

/// Passes a request for another protocol to an upstream, and connects both sides once it agrees. The
/// `places` that it takes are dropped when their connection ends.
///
/// # Errors
///
/// 502 or 504 where the upstream does not answer.
pub(crate) async fn pass(
    call: &mut Call,
    mut headers: HeaderMap,
    target: &Url,
    stream: impl Read + Write + Send + Unpin + 'static,
    time: Duration,
    places: impl Send + 'static,
) -> Result<Response, Problem> {
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
        let (mut head, body) = answer.into_parts();
        if is_doubtful(head.status, &head.headers) {
            return Err(failed());
        }
        strip(&mut head.headers);
        head.headers.remove(CONTENT_LENGTH);
        return Ok(Response::from_parts(head, Body::stream(body.map_err(Into::into))));
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
            let (mut caller, mut upstream) = (TokioIo::new(caller), TokioIo::new(upstream));
            _ = tokio::io::copy_bidirectional(&mut caller, &mut upstream).await;
        }
        drop(places);
    });
    Ok(Response::from_parts(head, Body::empty()))
}

fn failed() -> Problem {
    Problem::of(Kind::BadGateway)
}
