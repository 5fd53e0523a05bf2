//! An HTTP/2 connection, with one stream at a time.
//!
//! The h2 crate implements the protocol. Its futures are polled whenever the socket is ready and
//! need no waker: that socket is all they can wait for.

use std::future::Future;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{self, ResponseFuture, SendRequest};
use h2::{RecvStream, client::Connection as Driver};
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::engine::exchange::{Fixed, Progress};
use crate::engine::http1::{HEADERS, Header, KEPT_ROOM};
use crate::engine::source::{Answer, Request};
use crate::engine::transport::Transport;
use crate::outcome::Outcome;

/// The most bytes of a body that are kept; the rest is only counted.
const BODY_BYTES: usize = 16 * 1024 * 1024;
/// The flow-control window for answers, in bytes.
const WINDOW: u32 = 1024 * 1024;

type Shaken = Result<(SendRequest<Bytes>, Driver<Socket, Bytes>), h2::Error>;

/// An HTTP/2 connection.
pub struct Http2Connection {
    state: State,
    to_send: Option<(http::Request<()>, Bytes)>,
    waiting: Option<ResponseFuture>,
    receiving: Option<RecvStream>,
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
    keep: bool,
    /// The number of body bytes received.
    heard: u64,
    /// The same when the current request began.
    heard_before: u64,
    answered: u64,
    over: bool,
    refused: bool,
}

enum State {
    Connecting(Transport),
    Shaking(Pin<Box<dyn Future<Output = Shaken> + Send>>),
    Open(Box<(SendRequest<Bytes>, Driver<Socket, Bytes>)>),
    Broken,
}

impl Http2Connection {
    /// Returns a connection over a transport that may still be connecting.
    pub fn new(transport: Transport) -> Self {
        Self {
            state: State::Connecting(transport),
            to_send: None,
            waiting: None,
            receiving: None,
            status: 0,
            headers: HeaderMap::new(),
            body: vec![],
            keep: false,
            heard: 0,
            heard_before: 0,
            answered: 0,
            over: false,
            refused: false,
        }
    }

    /// Sends as much of a request as the socket takes at once.
    pub fn send(
        &mut self,
        method: &str,
        request: &Request,
        fixed: Fixed<'_>,
        keep: bool,
    ) -> Progress {
        self.waiting = None;
        self.receiving = None;
        self.status = 0;
        self.body.clear();
        self.body.shrink_to(KEPT_ROOM);
        self.keep = keep;
        self.heard_before = self.heard;
        match head(method, request, fixed) {
            Some(head) => self.to_send = Some((head, Bytes::copy_from_slice(&request.body))),
            None => return Progress::Failed(Outcome::Garbled),
        }
        match self.state {
            State::Connecting(_) => Progress::Pending,
            _ => self.go_on(),
        }
    }

    /// Continues after the socket has become ready.
    pub fn advance(&mut self, hung_up: bool) -> Progress {
        if let State::Connecting(transport) = &self.state {
            if transport.connect_error().is_some() {
                return Progress::Failed(Outcome::Refused);
            }
            let State::Connecting(transport) = std::mem::replace(&mut self.state, State::Broken)
            else {
                return Progress::Failed(Outcome::Closed);
            };
            let mut builder = client::Builder::new();
            builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW);
            builder.enable_push(false);
            self.state = State::Shaking(Box::pin(async move {
                builder.handshake::<_, Bytes>(Socket(transport)).await
            }));
        }
        let progress = self.go_on();
        if progress == Progress::Pending && hung_up && self.over {
            return Progress::Failed(Outcome::Closed);
        }
        progress
    }

    /// Keeps the protocol going while no request is open. Returns false if the connection is over.
    pub fn is_alive(&mut self, hung_up: bool) -> bool {
        self.drive();
        !self.over && !hung_up
    }

    /// See [`Connection`](crate::engine::connection::Connection).
    pub fn may_have_been_idle_closed(&self) -> bool {
        self.answered > 0 && self.status == 0
    }

    /// See [`Connection`](crate::engine::connection::Connection).
    pub fn is_reusable(&self) -> bool {
        !self.over
    }

    /// Returns the status of the answer.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the complete answer.
    pub fn answer<'a, 'b: 'a>(&'a self, room: &'b mut [Header<'a>; HEADERS]) -> Answer<'a> {
        let mut count = 0;
        for (place, (name, value)) in room.iter_mut().zip(&self.headers) {
            *place = Header { name: name.as_str(), value: value.as_bytes() };
            count += 1;
        }
        Answer {
            outcome: Outcome::Status(self.status),
            headers: &room[..count],
            body: &self.body,
            length: self.heard - self.heard_before,
        }
    }

    fn go_on(&mut self) -> Progress {
        if let Err(outcome) = self.shake() {
            return Progress::Failed(outcome);
        }
        if let Err(outcome) = self.ask() {
            return Progress::Failed(outcome);
        }
        loop {
            self.drive();
            if self.refused {
                return Progress::Failed(Outcome::Refused);
            }
            let before = self.heard;
            match self.hear() {
                Ok(true) => {
                    self.answered += 1;
                    // What is left to send is a window update.
                    self.drive();
                    return Progress::Answered;
                }
                Ok(false) if self.over => return Progress::Failed(Outcome::Closed),
                // The server may send no more until it gets a window update.
                Ok(false) if self.heard > before => {}
                Ok(false) => return Progress::Pending,
                Err(outcome) => return Progress::Failed(outcome),
            }
        }
    }

    fn shake(&mut self) -> Result<(), Outcome> {
        let State::Shaking(shaking) = &mut self.state else { return Ok(()) };
        match shaking.as_mut().poll(&mut nobody()) {
            Poll::Pending => Ok(()),
            Poll::Ready(Ok(open)) => {
                self.state = State::Open(Box::new(open));
                Ok(())
            }
            Poll::Ready(Err(_)) => {
                self.over = true;
                Err(Outcome::Refused)
            }
        }
    }

    /// Opens the stream once the server allows one.
    fn ask(&mut self) -> Result<(), Outcome> {
        let State::Open(open) = &mut self.state else { return Ok(()) };
        let send = &mut open.0;
        if self.to_send.is_none() {
            return Ok(());
        }
        match send.poll_ready(&mut nobody()) {
            Poll::Pending => return Ok(()),
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return Err(Outcome::Closed),
        }
        let Some((head, body)) = self.to_send.take() else { return Ok(()) };
        let (response, mut stream) =
            send.send_request(head, body.is_empty()).map_err(|_| Outcome::Closed)?;
        if !body.is_empty() {
            stream.send_data(body, true).map_err(|_| Outcome::Closed)?;
        }
        self.waiting = Some(response);
        Ok(())
    }

    fn drive(&mut self) {
        if let State::Open(open) = &mut self.state
            && let Poll::Ready(end) = Pin::new(&mut open.1).poll(&mut nobody())
        {
            self.over = true;
            // An error that TLS reports about a certificate has no error kind.
            let kind = end.as_ref().err().and_then(h2::Error::get_io).map(io::Error::kind);
            self.refused |= kind == Some(ErrorKind::Other);
        }
    }

    /// Reads what has arrived. Returns true if the answer is complete.
    fn hear(&mut self) -> Result<bool, Outcome> {
        if self.to_send.is_some() {
            self.ask()?;
            self.drive();
        }
        if let Some(waiting) = &mut self.waiting {
            match Pin::new(waiting).poll(&mut nobody()) {
                Poll::Pending => return Ok(false),
                Poll::Ready(Ok(response)) => {
                    let (parts, body) = response.into_parts();
                    self.status = parts.status.as_u16();
                    self.headers = parts.headers;
                    self.waiting = None;
                    self.receiving = Some(body);
                }
                Poll::Ready(Err(error)) => return Err(failure(&error)),
            }
        }
        let Some(receiving) = &mut self.receiving else { return Ok(false) };
        loop {
            match receiving.poll_data(&mut nobody()) {
                Poll::Pending => return Ok(false),
                Poll::Ready(None) => break,
                Poll::Ready(Some(Ok(data))) => {
                    if self.keep {
                        let room = BODY_BYTES - self.body.len();
                        self.body.extend_from_slice(&data[..data.len().min(room)]);
                    }
                    self.heard += data.len() as u64;
                    _ = receiving.flow_control().release_capacity(data.len());
                }
                Poll::Ready(Some(Err(error))) => return Err(failure(&error)),
            }
        }
        self.receiving = None;
        Ok(true)
    }
}

fn failure(error: &h2::Error) -> Outcome {
    if error.is_io() || error.is_go_away() || error.is_reset() {
        Outcome::Closed
    } else {
        Outcome::Garbled
    }
}

fn nobody() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// Builds the head of a request, or `None` if one of its lines is not a valid header.
fn head(method: &str, request: &Request, fixed: Fixed<'_>) -> Option<http::Request<()>> {
    let path = std::str::from_utf8(&request.path).ok()?;
    let mut head = http::Request::builder()
        .method(method)
        .uri(format!("{}{}{path}", fixed.origin, fixed.prefix))
        .body(())
        .ok()?;
    let headers = head.headers_mut();
    let token = if request.auth { fixed.token } else { b"" };
    for line in [fixed.lines, token, &request.headers].into_iter().flat_map(lines) {
        let (name, value) = line?;
        if name != HOST {
            headers.append(name, value);
        }
    }
    if !request.body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
        headers.insert(CONTENT_LENGTH, request.body.len().into());
    }
    Some(head)
}

/// Parses header lines, each ending in CR LF; yields `None` for a line that is not a valid header.
fn lines(text: &[u8]) -> impl Iterator<Item = Option<(HeaderName, HeaderValue)>> {
    text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).map(
        |line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let name = HeaderName::from_bytes(line[..colon].trim_ascii()).ok()?;
            let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
            Some((name, value))
        },
    )
}

/// Adapts the transport to the traits that h2 needs.
struct Socket(Transport);

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.0.read(room.initialize_unfilled()) {
            Ok(length) => {
                room.advance(length);
                Poll::Ready(Ok(()))
            }
            Err(error) => pending(error),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.0.write(bytes) {
            Ok(taken) => Poll::Ready(Ok(taken)),
            Err(error) => pending(error),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.flush().map_or_else(pending, |()| Poll::Ready(Ok(())))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}

fn pending<T>(error: io::Error) -> Poll<io::Result<T>> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Poll::Pending,
        _ => Poll::Ready(Err(error)),
    }
}
