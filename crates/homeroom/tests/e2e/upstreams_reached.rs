//! Connections to upstreams that do not come about or are over, and upstreams that probes keep calls away from.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Answered, Place, Server, Upstream, eventually};
use crate::upstreams::{api, publish};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// An address at which no connection comes about: as many wait there as may, and nobody takes them.
struct Full {
    address: SocketAddr,
    _listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

impl Full {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut waiting = vec![];
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
            waiting.push(stream);
        }
        Self { address, _listener: listener, _waiting: waiting }
    }
}

#[test]
fn a_connection_that_does_not_come_about_ends_at_its_time() {
    let place = Place::new();
    let server = Server::start(&place);
    let (full, echo) = (Full::new(), Upstream::echo());
    let full = format!("http://{}", full.address);
    let times = "timeout = '50s'\ntimeouts = {connect = '400ms'}";
    let file =
        api("full", std::slice::from_ref(&full), times) + &api("both", &[full, echo.url()], times);
    publish(&place, &file);

    let begun = Instant::now();
    let answer = server.client().get("/apis/full/v1/x");
    let took = begun.elapsed();

    assert_eq!(answer.status, 504, "{answer:?}");
    // Without the setting it would be five seconds.
    assert!(took >= Duration::from_millis(400) && took < Duration::from_secs(4), "{took:?}");
    for method in ["GET", "POST"] {
        for _ in 0..4 {
            let sent = server.client().send(method, "/apis/both/v1/x", &[], Some(b"x")).unwrap();
            assert_eq!(sent.status, 200, "{method}: nothing has arrived, so it goes on");
        }
    }
    assert_eq!(echo.take().len(), 8);
}

/// An upstream that closes each of its connections: once it has answered so many requests, and has got one
/// more if `gets_more`. Returns its URL and how many requests have arrived.
fn closing(answers: usize, gets_more: bool) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let arrived = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&arrived);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let count = Arc::clone(&count);
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                for number in 0..=answers {
                    if number == answers && !gets_more {
                        return;
                    }
                    let mut line = String::new();
                    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                        line.clear();
                    }
                    if line.is_empty() {
                        return;
                    }
                    count.fetch_add(1, Ordering::Relaxed);
                    if number < answers && stream.write_all(OK).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (url, arrived)
}

#[test]
fn a_connection_that_its_upstream_has_closed_meanwhile_costs_no_call() {
    let place = Place::new();
    let server = Server::start(&place);
    let (url, arrived) = closing(1, false);
    publish(&place, &api("closed", &[url], ""));
    let mut client = server.client();

    for number in 1..=20 {
        let sent = client.send("POST", "/apis/closed/v1/x", &[], None).unwrap();
        assert_eq!(sent.status, 200, "{number}");
        assert_eq!(arrived.load(Ordering::Relaxed), number);
        // So that this end knows that the other has closed.
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_connection_that_closes_on_a_call_costs_only_what_may_not_arrive_twice() {
    let place = Place::new();
    let server = Server::start(&place);
    let (url, arrived) = closing(1, true);
    publish(&place, &api("stale", &[url], "breaker = {failures = 1000}\nretries = {share = 1.0}"));
    let mut client = server.client();
    let mut sent = |method: &str| {
        let before = arrived.load(Ordering::Relaxed);
        let status = client.send(method, "/apis/stale/v1/x", &[], None).unwrap().status;
        (status, arrived.load(Ordering::Relaxed) - before)
    };

    assert_eq!(sent("GET"), (200, 1), "on a new connection");
    assert_eq!(sent("GET"), (200, 2), "on that one, which closes, and then on a new one");
    assert_eq!(sent("POST"), (502, 1), "it may have arrived");
    assert_eq!(sent("POST"), (200, 1), "on a new connection");
}

#[test]
fn probes_that_fail_or_hang_keep_calls_away_until_one_is_answered_well() {
    const WELL: u8 = 0;
    let place = Place::new();
    let server = Server::start(&place);
    let standing = Arc::new(AtomicU8::new(WELL));
    let now = Arc::clone(&standing);
    let probed = Upstream::answering(move |seen| {
        let is_probe = seen.line().ends_with("/health");
        Answered::With(match now.load(Ordering::Relaxed) {
            1 if is_probe => b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n".to_vec(),
            2 if is_probe => b"HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n".to_vec(),
            3 if is_probe => {
                std::thread::sleep(Duration::from_secs(20));
                OK.to_vec()
            }
            _ => OK.to_vec(),
        })
    });
    let other = Upstream::answering(|_| Answered::With(OK.to_vec()));
    let health = "timeout = '500ms'\nhealth = {path = '/health', interval = '100ms'}";
    publish(&place, &api("probed", &[probed.url(), other.url()], health));
    let mut client = server.client();
    let mut calls = |count: usize| {
        let asked = |upstream: &Upstream| {
            upstream.take().iter().filter(|seen| !seen.line().ends_with("/health")).count()
        };
        _ = (asked(&probed), asked(&other));
        for _ in 0..count {
            assert_eq!(client.get("/apis/probed/v1/x").status, 200);
        }
        (asked(&probed), asked(&other))
    };

    for bad in [1, 2, 3] {
        eventually("both get calls", || calls(10) == (5, 5));
        standing.store(bad, Ordering::Relaxed);
        eventually("the one whose probes fail gets none", || calls(10) == (0, 10));
        assert_eq!(calls(50), (0, 50), "{bad}");
        standing.store(WELL, Ordering::Relaxed);
    }
    eventually("both get calls again", || calls(10) == (5, 5));
}

/// Returns how long each of so many calls took, sorted, and checks their status.
fn times(server: &Server, path: &str, count: usize, status: u16) -> Vec<Duration> {
    let mut client = server.client();
    let one = |_| {
        let begun = Instant::now();
        assert_eq!(client.get(path).status, status, "{path}");
        begun.elapsed()
    };
    let mut times: Vec<Duration> = (0..count).map(one).collect();
    times.sort();
    times
}

#[test]
fn an_upstream_that_is_slow_or_gone_costs_only_its_own_api_time() {
    let place = Place::new();
    let server = Server::start(&place);
    let slow = Upstream::answering(|_| {
        std::thread::sleep(Duration::from_secs(20));
        Answered::With(OK.to_vec())
    });
    let well = Upstream::answering(|_| Answered::With(OK.to_vec()));
    let file = api("slow", &[slow.url()], "timeout = '60s'")
        + &api("well", &[well.url()], "")
        + &api("gone", &["http://127.0.0.1:9".to_owned()], "");
    publish(&place, &file);
    times(&server, "/apis/well/v1/x", 50, 200);

    let before = times(&server, "/apis/well/v1/x", 300, 200);
    let mut held: Vec<_> = (0..200).map(|_| server.wire()).collect();
    for wire in &mut held {
        wire.send("GET /apis/slow/v1/x HTTP/1.1\r\nhost: a\r\n\r\n");
    }
    eventually("they are held", || {
        let name = "homeroom_api_budget_used{api=\"slow\",budget=\"upstream_calls\"}";
        crate::support::metric(&server, name) > 50
    });
    let during = times(&server, "/apis/well/v1/x", 300, 200);
    let refused = times(&server, "/apis/gone/v1/x", 300, 503);

    // What it is on a machine of its own is measured by `cargo xtask bench --gateway`; here others compile.
    let (median, bound) = (during[150], 10 * before[150] + Duration::from_millis(100));
    assert!(median < bound, "{median:?}, before {:?}", before[150]);
    assert!(refused[150] < Duration::from_millis(200), "{:?}", refused[150]);
    assert!(refused[297] < Duration::from_secs(2), "{:?}", refused[297]);
}
