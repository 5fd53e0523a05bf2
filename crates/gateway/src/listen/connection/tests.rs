//! What a connection does with callers that are deaf, slow, late or kept out.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use homeroom_http::{Body, BodyError, json_response};
use http::{Request, StatusCode};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};

use super::super::connected::{Connected, PATIENCE, connected, connected_by};
use super::super::conversation::{Versions, converse};
use super::*;
use crate::caller::Idleness;
use crate::entrance::{Entered, Entrance};

/// Serves one connection whose answers fit in no buffer, to a caller who sends `requests` and
/// does not read. Returns whether the connection ends.
async fn is_ended(requests: &str) -> bool {
    let quiet = Duration::from_millis(300);
    let times = Times { header: PATIENCE, quiet, rest: PATIENCE };
    let Connected { client: mut deaf, connection, caller, .. } = connected(times).await;
    deaf.write_all(requests.as_bytes()).await.unwrap();
    let service = service_fn(move |_: Request<Incoming>| {
        let one = caller.one();
        async move {
            drop(one);
            Ok::<_, Error>(json_response(StatusCode::OK, "x".repeat(32 << 20)))
        }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    let served = builder.serve_connection(TokioIo::new(connection), service);
    timeout(PATIENCE, served).await.is_ok()
}

/// A connection to a server with an entrance, which answers at once.
struct Guest {
    client: TcpStream,
    caller: Arc<Caller>,
    /// Whether what is asked next is answered with what is sent as a part, without end.
    streams: Arc<AtomicBool>,
    part: mpsc::UnboundedSender<&'static str>,
    drain: watch::Sender<()>,
}

/// A stream of parts, without end.
struct Parts(Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<&'static str>>>);

impl hyper::body::Body for Parts {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, BodyError>>> {
        let mut parts = self.0.try_lock().expect("one request is open at a time");
        parts.poll_recv(cx).map(|part| part.map(|part| Ok(Frame::data(part.into()))))
    }
}

async fn guest(entrance: &Arc<Entrance>) -> Guest {
    guest_who(entrance, PATIENCE).await
}

/// A guest whose request waits at the entrance.
async fn guest_outside(entrance: &Arc<Entrance>) -> Guest {
    let mut guest = guest(entrance).await;
    has_had_its_turn(entrance, &guest).await;
    guest.asks().await;
    guest.is_noticed().await;
    guest
}

/// A guest who may be silent for so long.
async fn guest_who(entrance: &Arc<Entrance>, quiet: Duration) -> Guest {
    let times = Times { header: PATIENCE, quiet, rest: PATIENCE };
    let Connected { client, connection, caller, .. } = connected_by(entrance, times).await;
    let (part, parts) = mpsc::unbounded_channel();
    let parts = Arc::new(tokio::sync::Mutex::new(parts));
    let (asking, streams) = (Arc::clone(&caller), Arc::new(AtomicBool::new(false)));
    let is_streamed = Arc::clone(&streams);
    let service = service_fn(move |_: Request<Incoming>| {
        let (caller, one) = (Arc::clone(&asking), asking.one());
        let (parts, is_streamed) = (Arc::clone(&parts), Arc::clone(&is_streamed));
        async move {
            drop(one);
            caller.leaves();
            let whole = json_response(StatusCode::OK, "\"well\"");
            let is_streamed = is_streamed.load(Ordering::Relaxed);
            Ok::<_, h2::Error>(if is_streamed {
                whole.map(|_| Body::stream(Parts(parts)))
            } else {
                whole
            })
        }
    });
    let (drain, draining) = watch::channel(());
    let (connection, versions) = (Box::new(connection), Arc::new(Versions::new()));
    tokio::spawn(converse(connection, service, versions, Arc::clone(&caller), draining));
    Guest { client, caller, streams, part, drain }
}

impl Guest {
    async fn asks(&mut self) {
        self.client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    }

    async fn is_answered(&mut self) {
        let mut said = vec![];
        while !said.ends_with(b"\"well\"") {
            let read = timeout(PATIENCE, self.client.read_buf(&mut said)).await;
            assert_ne!(read.expect("it is answered").unwrap(), 0, "it ended");
        }
    }

    /// Waits until it waits to be let in.
    async fn is_noticed(&self) {
        until(|| self.caller.is_outside()).await;
    }

    /// Asks, and reads the beginning of an answer that does not end.
    async fn is_answered_for_long(&mut self) {
        self.streams.store(true, Ordering::Relaxed);
        self.asks().await;
        self.part.send("\"well\"").unwrap();
        self.has_come("\"well\"").await;
    }

    async fn has_come(&mut self, part: &str) {
        let mut said = vec![];
        while !String::from_utf8_lossy(&said).contains(part) {
            let read = timeout(PATIENCE, self.client.read_buf(&mut said)).await;
            assert_ne!(read.expect("it is sent").unwrap(), 0, "it ended");
        }
    }
}

async fn until(is_so: impl Fn() -> bool) {
    let waits = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, waits).await.expect("it comes to that");
}

/// An entrance that lets one in in each round, where turns are taken.
fn narrow() -> Arc<Entrance> {
    let entrance = Arc::new(Entrance::new(1));
    entrance.begin_turns();
    entrance
}

/// Begins a round in which a guest has had its turn, so that what it asks next has to wait.
async fn has_had_its_turn(entrance: &Entrance, guest: &Guest) {
    let is_gone = until(|| entrance.figures().used == 0 && !guest.caller.is_outside());
    in_rounds(entrance, is_gone).await;
    entrance.round();
    let cx = Context::from_waker(std::task::Waker::noop());
    let entered = entrance.enter(guest.caller.holders().number(), &cx);
    assert!(matches!(entered, Entered::Inside));
    entrance.leave();
}

/// Has one round follow the other until something is done.
async fn in_rounds<T>(entrance: &Entrance, done: impl Future<Output = T>) -> T {
    let rounds = async {
        loop {
            entrance.round();
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        done = done => done,
        () = rounds => unreachable!("they do not end"),
    }
}

#[tokio::test]
async fn a_request_is_read_when_its_connection_is_let_in() {
    let entrance = narrow();
    let mut guest = guest(&entrance).await;
    for _ in 0..3 {
        has_had_its_turn(&entrance, &guest).await;
        guest.asks().await;
        guest.is_noticed().await;
        assert!(!guest.caller.has_asked.load(Ordering::Relaxed));

        entrance.round();

        guest.is_answered().await;
        assert!(guest.caller.has_asked.swap(false, Ordering::Relaxed));
        until(|| entrance.figures().used == 0).await;
    }
}

#[tokio::test]
async fn a_part_of_a_request_and_a_connection_that_ends_keep_nobody_out() {
    let entrance = narrow();
    let (mut slow, mut ended, mut guest) =
        (guest(&entrance).await, guest(&entrance).await, guest(&entrance).await);
    slow.client.write_all(b"GET / HTTP/1.1\r\nho").await.unwrap();
    ended.client.shutdown().await.unwrap();

    guest.asks().await;

    in_rounds(&entrance, guest.is_answered()).await;
    slow.client.write_all(b"st: a\r\n\r\n").await.unwrap();
    let has_asked = until(|| slow.caller.has_asked.load(Ordering::Relaxed));
    in_rounds(&entrance, has_asked).await;
    in_rounds(&entrance, until(|| entrance.figures().used == 0)).await;
}

#[tokio::test]
async fn who_sends_more_while_an_answer_is_sent_keeps_nobody_out() {
    for more in ["G", "GET / HTTP/1.1\r\nhost: a\r\n\r\nG"] {
        let entrance = narrow();
        let mut long = guest(&entrance).await;
        long.is_answered_for_long().await;

        long.client.write_all(more.as_bytes()).await.unwrap();
        long.part.send("next").unwrap();
        long.has_come("next").await;
        // What was sent has been noticed by now, and once more, for good measure.
        long.client.write_all(b"E").await.unwrap();
        in_rounds(&entrance, tokio::time::sleep(Duration::from_millis(50))).await;

        until(|| entrance.figures().used == 0).await;
        let mut other = guest(&entrance).await;
        other.asks().await;
        in_rounds(&entrance, other.is_answered()).await;
    }
}

#[tokio::test]
async fn who_is_let_in_while_nothing_is_read_of_it_keeps_nobody_out() {
    let entrance = narrow();
    let mut long = guest(&entrance).await;
    long.is_answered_for_long().await;
    has_had_its_turn(&entrance, &long).await;
    long.client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    long.is_noticed().await;

    entrance.round();

    until(|| entrance.figures().used == 0 && !long.caller.is_outside()).await;
}

#[tokio::test]
async fn a_request_that_waits_to_be_let_in_is_answered_by_a_server_that_stops() {
    let entrance = narrow();
    let mut guest = guest_outside(&entrance).await;
    assert_eq!(guest.caller.idleness(std::time::Instant::now()), Some(Idleness::Waits));

    guest.drain.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;

    in_rounds(&entrance, guest.is_answered()).await;
    let mut rest = vec![];
    let ended = timeout(PATIENCE, guest.client.read_to_end(&mut rest));
    assert_eq!(in_rounds(&entrance, ended).await.expect("it ends").unwrap(), 0);
}

#[tokio::test]
async fn a_request_that_waits_to_be_let_in_is_answered_when_the_turns_end() {
    let entrance = narrow();
    let mut guest = guest_outside(&entrance).await;

    entrance.end_turns();

    guest.is_answered().await;
    guest.asks().await;
    guest.is_answered().await;
    until(|| entrance.figures().used == 0).await;
}

#[tokio::test]
async fn who_is_kept_out_and_silent_for_too_long_is_closed() {
    let entrance = narrow();
    let mut guest = guest_who(&entrance, Duration::from_millis(50)).await;
    has_had_its_turn(&entrance, &guest).await;
    guest.asks().await;

    let ended = timeout(PATIENCE, guest.client.read_to_end(&mut vec![])).await;

    assert!(ended.is_ok());
    assert!(!guest.caller.has_asked.load(Ordering::Relaxed));
    assert_eq!(entrance.figures().used, 0);
}

#[tokio::test]
async fn a_caller_who_does_not_read_is_left_in_the_end() {
    let request = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

    assert!(is_ended(request).await);
    assert!(is_ended(&request.repeat(3)).await, "with further requests behind the first");
}
