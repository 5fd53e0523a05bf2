//! The requests of a connection, and the rests between them.
//!
//! While HTTP/1.1 is spoken, hyper keeps some 30 KiB for a connection: buffers for reading and writing,
//! room for a request's future. A connection that is idle for a while gives all of it back and rests;
//! the next byte has it built anew. An HTTP/2 connection does not rest, since its state is its own.

use std::pin::pin;
use std::sync::Arc;

use homeroom_http::Response;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::sync::watch;

use super::connection::Connection;
use super::farewell;
use super::lent::Lent;
use crate::caller::Caller;

/// Most bytes of an HTTP/1 request's header, and of what a connection reads ahead.
const HEADER_BYTES_MAX: usize = 16 << 10;
/// Most bytes of an HTTP/2 request's header, uncompressed, with 32 per field (RFC 9113 §6.5.2).
const HEADER_LIST_BYTES_MAX: u32 = 16 << 10;
/// Most concurrent requests on an HTTP/2 connection; at least 100 are advised (RFC 9113 §6.5.2).
const STREAMS_MAX: u32 = 128;
/// Most bytes of one HTTP/2 request's body, and of all bodies on a connection, that are sent before
/// they are read.
const STREAM_WINDOW: u32 = 128 << 10;
const CONNECTION_WINDOW: u32 = 512 << 10;
/// Most bytes of an HTTP/2 answer that the connection buffers.
const STREAM_SEND_BYTES_MAX: usize = 64 << 10;
/// Most HTTP/2 requests that a caller resets before they are read, and most that are refused
/// for errors, before the connection is closed.
const RESETS_PENDING_MAX: usize = 20;
const RESETS_FOR_FAULTS_MAX: usize = 256;

/// The versions of HTTP that a connection may speak, and their limits.
pub(super) struct Versions {
    /// For a connection that has sent nothing yet: its first bytes tell the version.
    any: auto::Builder<TokioExecutor>,
    /// For one that has spoken HTTP/1.1 before.
    http1: http1::Builder,
}

impl Versions {
    /// Returns the limits of a connection, whichever client is at its other end. No pings are sent on
    /// HTTP/2: a connection on which the server itself speaks would never be quiet.
    pub(super) fn new() -> Self {
        let mut http1 = http1::Builder::new();
        http1.timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(HEADER_BYTES_MAX);
        let mut any = auto::Builder::new(TokioExecutor::new());
        any.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(None)
            .max_buf_size(HEADER_BYTES_MAX);
        any.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_MAX)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buf_size(STREAM_SEND_BYTES_MAX)
            .max_header_list_size(HEADER_LIST_BYTES_MAX)
            .max_pending_accept_reset_streams(RESETS_PENDING_MAX)
            .max_local_error_reset_streams(RESETS_FOR_FAULTS_MAX);
        Self { any, http1 }
    }
}

/// Answers the requests of a connection until it ends. Between them it rests.
pub(super) async fn converse<S>(
    mut connection: Box<Connection>,
    service: S,
    versions: Arc<Versions>,
    caller: Arc<Caller>,
    mut draining: watch::Receiver<()>,
) where
    S: Service<Request<Incoming>, Response = Response, Error = h2::Error> + Clone + Send,
    S::Future: Send + 'static,
{
    let mut is_first = true;
    while farewell::woken(&mut connection, &caller, &mut draining).await {
        let (lent, home) = Lent::new(connection);
        // Boxed, so that nothing of it is kept for a connection that rests.
        let service = service.clone();
        let served = Box::pin(serve(lent, is_first, service, &versions, &caller, &mut draining));
        if !served.await {
            return;
        }
        match home.returned() {
            Some(rests) => connection = rests,
            None => return,
        }
        is_first = false;
    }
}

/// Serves a connection until it ends or rests. Returns whether there may be further requests.
async fn serve<S>(
    lent: Lent,
    is_first: bool,
    service: S,
    versions: &Versions,
    caller: &Caller,
    draining: &mut watch::Receiver<()>,
) -> bool
where
    S: Service<Request<Incoming>, Response = Response, Error = h2::Error>,
    S::Future: Send + 'static,
{
    let io = TokioIo::new(lent);
    if is_first {
        let served = pin!(versions.any.serve_connection_with_upgrades(io, service));
        farewell::serve(served, caller, draining).await
    } else {
        let served = pin!(versions.http1.serve_connection(io, service).with_upgrades());
        farewell::serve(served, caller, draining).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use homeroom_http::{Body, json_response};
    use http::StatusCode;
    use hyper::body::Frame;
    use hyper::service::service_fn;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio::sync::mpsc;
    use tokio::task::JoinHandle;
    use tokio::time::{sleep, timeout};

    use super::super::connected::{Connected, PATIENCE, connected};
    use super::super::connection::Times;
    use super::*;
    use crate::caller::Leave;

    const REST: Duration = Duration::from_millis(20);
    const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

    /// A connection whose requests are answered with streams of what a test sends.
    struct Conversation {
        client: TcpStream,
        caller: Arc<Caller>,
        answer: mpsc::UnboundedSender<Option<&'static str>>,
        drain: watch::Sender<()>,
        /// Counts those that hold it: the test, the conversation, and what is there while hyper is.
        held: Arc<()>,
        task: JoinHandle<()>,
    }

    /// A stream of what a test sends, until it sends nothing.
    struct Sent(Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Option<&'static str>>>>);

    impl hyper::body::Body for Sent {
        type Data = Bytes;
        type Error = homeroom_http::BodyError;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            let mut sent = self.0.try_lock().expect("one request is open at a time");
            let part = std::task::ready!(sent.poll_recv(cx)).flatten();
            std::task::Poll::Ready(part.map(|part| Ok(Frame::data(part.into()))))
        }
    }

    async fn conversation(quiet: Duration) -> Conversation {
        let times = Times { header: PATIENCE, quiet, rest: REST };
        let Connected { client, connection, caller, .. } = connected(times).await;
        let (answer, sent) = mpsc::unbounded_channel();
        let sent = Arc::new(tokio::sync::Mutex::new(sent));
        let held = Arc::new(());
        let service = {
            let (caller, held) = (Arc::clone(&caller), Arc::clone(&held));
            service_fn(move |_: Request<Incoming>| {
                let (caller, held, sent) = (Arc::clone(&caller), Arc::clone(&held), sent.clone());
                async move {
                    let one = caller.one();
                    let stream = Body::stream(Sent(sent));
                    let answer = json_response(StatusCode::OK, "").map(|_| stream);
                    drop((one, held));
                    let now = std::time::Instant::now();
                    Ok::<_, h2::Error>(caller.sending.follow(answer, 0, None, now))
                }
            })
        };
        let (drain, draining) = watch::channel(());
        let versions = Arc::new(Versions::new());
        let connection = Box::new(connection);
        let conversing = converse(connection, service, versions, Arc::clone(&caller), draining);
        let task = tokio::spawn(conversing);
        Conversation { client, caller, answer, drain, held, task }
    }

    impl Conversation {
        /// Waits until hyper holds nothing.
        async fn rests(&self) {
            let resting = async {
                while Arc::strong_count(&self.held) > 2 {
                    sleep(REST / 4).await;
                }
            };
            timeout(PATIENCE, resting).await.expect("it rests");
        }

        /// Reads up to the end of a chunked answer.
        async fn answered(&mut self) -> String {
            let mut text = vec![];
            while !text.ends_with(b"\r\n0\r\n\r\n") {
                let read = timeout(PATIENCE, self.client.read_buf(&mut text)).await;
                assert_ne!(read.expect("it is answered").unwrap(), 0, "it ended");
            }
            String::from_utf8(text).unwrap()
        }

        async fn says(&mut self, text: &str) {
            self.client.write_all(text.as_bytes()).await.unwrap();
        }

        async fn ended(&mut self) {
            let mut rest = vec![];
            let ended = timeout(PATIENCE, self.client.read_to_end(&mut rest)).await;
            ended.expect("it ends").unwrap();
            assert_eq!(rest, b"");
        }
    }

    #[tokio::test]
    async fn a_connection_rests_between_its_requests_and_before_the_first() {
        let mut it = conversation(PATIENCE).await;
        for _ in 0..3 {
            it.rests().await;
            it.says(GET).await;
            it.answer.send(Some("well")).unwrap();
            it.answer.send(None).unwrap();

            assert!(it.answered().await.contains("\r\n4\r\nwell\r\n"));
        }
        it.rests().await;
        assert!(!it.task.is_finished());
    }

    #[tokio::test]
    async fn a_connection_with_a_request_or_an_answer_under_way_does_not_rest() {
        let mut it = conversation(PATIENCE).await;
        for _ in 0..2 {
            let (start, end) = GET.split_at(9);
            it.says(start).await;
            sleep(REST * 5).await;
            it.says(end).await;
            it.answer.send(Some("half")).unwrap();
            sleep(REST * 5).await;
            assert!(Arc::strong_count(&it.held) > 2);
            it.answer.send(Some("rest")).unwrap();
            it.answer.send(None).unwrap();

            let answered = it.answered().await;
            assert!(answered.contains("half") && answered.contains("rest"), "{answered}");
            it.rests().await;
        }
    }

    #[tokio::test]
    async fn requests_in_one_packet_are_all_answered() {
        let mut it = conversation(PATIENCE).await;
        it.says(&GET.repeat(3)).await;
        for part in [Some("first"), None, Some("second"), None, Some("third"), None] {
            it.answer.send(part).unwrap();
        }

        // The head of an answer may come in one packet with the end of the one before.
        let mut answered = String::new();
        while answered.matches("\r\n0\r\n\r\n").count() < 3 {
            answered += &it.answered().await;
        }
        let places = ["first", "second", "third"].map(|part| answered.find(part));
        assert!(places.is_sorted() && places[0].is_some(), "{answered}");
    }

    #[tokio::test]
    async fn a_connection_that_rests_ends_when_it_is_quiet_for_too_long() {
        let mut it = conversation(REST * 4).await;
        it.ended().await;
        timeout(PATIENCE, it.task).await.expect("its task ends").unwrap();
    }

    #[tokio::test]
    async fn a_connection_that_rests_ends_when_its_caller_is_to_leave_or_the_server_stops() {
        for leave in [Some(Leave::Politely), Some(Leave::AtOnce), None] {
            let mut it = conversation(PATIENCE).await;
            it.says(GET).await;
            it.answer.send(None).unwrap();
            it.answered().await;
            it.rests().await;

            match leave {
                Some(leave) => it.caller.tell_to(leave),
                None => it.drain.send(()).unwrap(),
            }

            it.ended().await;
            timeout(PATIENCE, it.task).await.expect("its task ends").unwrap();
        }
    }

    #[tokio::test]
    async fn a_connection_that_has_spoken_http_1_does_not_change_to_http_2() {
        let mut it = conversation(PATIENCE).await;
        it.says(GET).await;
        it.answer.send(None).unwrap();
        it.answered().await;
        it.rests().await;

        it.says("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;

        let mut answer = vec![];
        let ended = timeout(PATIENCE, it.client.read_to_end(&mut answer)).await;
        ended.expect("it ends").unwrap();
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 "), "{answer:?}");
    }
}
