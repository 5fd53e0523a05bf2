//! Upstreams that go, come back, fail and are slow, and which of them is asked.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Answered, Client, Place, Server, Upstream, eventually, metric};

/// An echo in a process of its own, which is killed when the value is dropped.
struct Echo {
    child: Child,
    address: SocketAddr,
}

impl Echo {
    fn start(place: &Place, address: &str) -> Self {
        let mut command: Command = place.command(&["lab", "echo", "--listen", address]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit("//").next().unwrap().parse().unwrap();
        Self { child, address }
    }

    /// Returns how many requests have arrived.
    fn arrived(&self) -> u64 {
        let counts = Client::new(self.address).get("/_lab/counts").json();
        counts["arrived"].as_u64().unwrap()
    }

    /// Sends requests until more than so many of them have arrived here.
    fn gets(&self, client: &mut Client, path: &str, more: u64) {
        let begun = self.arrived();
        eventually("the upstream gets calls again", || {
            for _ in 0..10 {
                assert_eq!(client.get(path).status, 200);
            }
            self.arrived() > begun + more
        });
    }

    fn kill(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Defines an API without security, with a context of its own name.
pub(crate) fn api(name: &str, upstreams: &[String], more: &str) -> String {
    format!(
        "[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\nsecurity = 'none'\n\
         upstream = ['{}']\n{more}\n",
        upstreams.join("', '")
    )
}

/// Publishes a file of definitions.
pub(crate) fn publish(place: &Place, file: &str) {
    place.write("apis.toml", file);
    place.done(&["gateway", "apply", "apis.toml"]);
}

#[test]
fn an_upstream_that_is_killed_costs_no_idempotent_request_and_gets_calls_when_it_is_back() {
    let place = Place::new();
    let server = Server::start(&place);
    let (kept, mut killed) =
        (Echo::start(&place, "127.0.0.1:0"), Echo::start(&place, "127.0.0.1:0"));
    let urls = [kept.address, killed.address].map(|address| format!("http://{address}"));
    publish(&place, &api("both", &urls, "health = {path = '/', interval = '200ms'}"));
    let (stop, done, failed) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));

    let late = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = server.client();
                while !stop.load(Ordering::Relaxed) {
                    let sent = client.send("PUT", "/apis/both/v1/x", &[], Some(b"hello"));
                    if !sent.is_ok_and(|answer| answer.status == 200) {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        eventually("calls are answered", || done.load(Ordering::Relaxed) > 200);
        killed.kill();
        std::thread::sleep(Duration::from_millis(500));
        let (before, failed_before) =
            (done.load(Ordering::Relaxed), failed.load(Ordering::Relaxed));
        eventually("more are", || done.load(Ordering::Relaxed) > before + 500);
        stop.store(true, Ordering::Relaxed);
        failed.load(Ordering::Relaxed) - failed_before
    });

    assert_eq!(late, 0, "after a health interval no request fails");
    let back = Echo::start(&place, &killed.address.to_string());
    let mut client = server.client();
    back.gets(&mut client, "/apis/both/v1/x", 20);
}

#[test]
fn a_request_that_may_not_arrive_twice_is_sent_once() {
    let place = Place::new();
    let server = Server::start(&place);
    let closes = Upstream::answering(|_| Answered::Last(vec![]));
    publish(&place, &api("closes", &[closes.url()], ""));
    let mut client = server.client();

    let post = client.send("POST", "/apis/closes/v1/x", &[], Some(b"x")).unwrap();
    let posts = closes.take().len();
    let get = client.get("/apis/closes/v1/x");

    assert_eq!((post.status, get.status), (502, 502));
    assert_eq!((posts, closes.take().len()), (1, 2));
}

/// An address at which connections are accepted and nothing is answered.
fn silent() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    std::thread::spawn(move || {
        let mut kept = vec![];
        for stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::Relaxed);
            kept.push(stream);
        }
    });
    (url, accepted)
}

#[test]
fn a_group_that_cannot_be_reached_loses_its_share() {
    let place = Place::new();
    let server = Server::start(&place);
    let (kept, mut gone) = (Echo::start(&place, "127.0.0.1:0"), Echo::start(&place, "127.0.0.1:0"));
    gone.kill();
    let file = format!(
        "[[apis]]\nname = 'g'\ncontext = 'g'\nversion = 'v1'\nsecurity = 'none'\n\
         groups = [{{upstream = ['http://{}'], weight = 80}}, \
         {{upstream = ['http://{}'], weight = 20}}]\n",
        kept.address, gone.address
    );
    publish(&place, &file);
    let mut client = server.client();

    let gets: Vec<u16> = (0..50).map(|_| client.get("/apis/g/v1/x").status).collect();
    let posts: Vec<u16> = (0..50)
        .map(|_| client.send("POST", "/apis/g/v1/x", &[], Some(b"x")).unwrap().status)
        .collect();
    let back = Echo::start(&place, &gone.address.to_string());

    assert_eq!((gets, posts), (vec![200; 50], vec![200; 50]));
    back.gets(&mut client, "/apis/g/v1/x", 5);
}

/// Sends a body in chunks, of an unknown length.
pub(crate) fn chunked(server: &Server, path: &str, body: &str) -> crate::support::Wire {
    let mut wire = server.wire();
    wire.send(format!(
        "POST {path} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n\
         {:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    ));
    wire
}

#[test]
fn calls_of_any_kind_find_out_that_an_upstream_is_back() {
    let place = Place::new();
    let server = Server::start(&place);
    let long = "x".repeat(200_000);
    for (name, body) in [("short", "x"), ("long", &*long)] {
        let (kept, mut killed) =
            (Echo::start(&place, "127.0.0.1:0"), Echo::start(&place, "127.0.0.1:0"));
        let urls = [kept.address, killed.address].map(|address| format!("http://{address}"));
        publish(&place, &api(name, &urls, ""));
        let path = format!("/apis/{name}/v1/x");
        killed.kill();
        for _ in 0..6 {
            assert_eq!(chunked(&server, &path, body).answer().status, 200, "{name}");
        }
        let back = Echo::start(&place, &killed.address.to_string());
        let begun = back.arrived();
        eventually("it gets calls again", || {
            for _ in 0..10 {
                assert_eq!(chunked(&server, &path, body).answer().status, 200, "{name}");
            }
            back.arrived() > begun + 4
        });
    }
}

#[test]
fn a_connection_that_changes_its_protocol_tells_that_an_upstream_is_well() {
    let place = Place::new();
    let server = Server::start(&place);
    let agrees = || {
        Upstream::answering(|_| {
            Answered::With(
                b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n\
                  upgrade: websocket\r\n\r\n"
                    .to_vec(),
            )
        })
    };
    let (kept, other) = (agrees(), agrees());
    let gone = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    publish(&place, &api("ws", &[kept.url(), format!("http://{address}")], ""));
    let upgraded = || {
        let mut wire = server.wire();
        wire.send(
            "GET /apis/ws/v1/x HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\n\
             upgrade: websocket\r\nsec-websocket-key: x\r\nsec-websocket-version: 13\r\n\r\n",
        );
        wire.answer().status
    };
    assert_eq!([0; 4].map(|_| upgraded()), [101; 4]);

    // What connects to the address is passed on to the other one.
    let back = TcpListener::bind(address).unwrap();
    let to = other.address;
    std::thread::spawn(move || {
        for stream in back.incoming().flatten() {
            let onward = std::net::TcpStream::connect(to).unwrap();
            let (mut from, mut into) = (stream.try_clone().unwrap(), onward.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut into));
            let (mut from, mut into) = (onward, stream);
            std::thread::spawn(move || std::io::copy(&mut from, &mut into));
        }
    });
    eventually("it gets its half", || {
        other.take();
        for _ in 0..10 {
            assert_eq!(upgraded(), 101);
        }
        other.take().len() >= 5
    });
}

#[test]
fn a_call_is_sent_again_as_the_policy_says() {
    let place = Place::new();
    let server = Server::start(&place);
    let closing: Vec<Upstream> =
        (0..4).map(|_| Upstream::answering(|_| Answered::Last(vec![]))).collect();
    let urls: Vec<String> = closing.iter().map(Upstream::url).collect();
    let calm = "breaker = {failures = 1000}\n";
    let file = api("usual", &urls, calm)
        + &api("more", &urls, &format!("{calm}retries = {{attempts = 4, methods = ['POST']}}"))
        + &api("never", &urls, &format!("{calm}retries = {{attempts = 1}}"))
        + &api("little", &urls, &format!("{calm}retries = {{share = 0.1}}"));
    publish(&place, &file);
    let mut client = server.client();
    let mut sends = |method: &str, name: &str| {
        let body: Option<&[u8]> = (method == "POST").then_some(b"x");
        let sent = client.send(method, &format!("/apis/{name}/v1/x"), &[], body).unwrap();
        assert_eq!(sent.status, 502);
        closing.iter().map(|upstream| upstream.take().len()).sum::<usize>()
    };

    assert_eq!((sends("GET", "usual"), sends("POST", "usual")), (2, 1));
    assert_eq!((sends("GET", "more"), sends("POST", "more")), (1, 4));
    assert_eq!((sends("GET", "never"), sends("POST", "never")), (1, 1));
    let all: usize = (0..100).map(|_| sends("GET", "little")).sum();
    assert!((110..=121).contains(&all), "ten at first, then one of ten: {all}");
}

#[test]
fn a_body_that_is_passed_on_as_it_arrives_goes_on_to_the_next_upstream_if_one_is_gone() {
    let place = Place::new();
    let server = Server::start(&place);
    let echo = Echo::start(&place, "127.0.0.1:0");
    let urls = ["http://127.0.0.1:9".to_owned(), format!("http://{}", echo.address)];
    publish(&place, &api("long", &urls, "breaker = {rest = '1ms', rest_max = '1ms'}"));
    let body = "y".repeat(300_000);

    for _ in 0..4 {
        let answer = chunked(&server, "/apis/long/v1/x", &body).answer();
        assert_eq!((answer.status, answer.text().len()), (200, body.len()));
        let sized = server.client().send("POST", "/apis/long/v1/x", &[], Some(body.as_bytes()));
        assert_eq!(sized.unwrap().status, 200);
    }
}

#[test]
fn calls_count_however_their_bodies_are_sent() {
    let place = Place::new();
    let server = Server::start_with(
        &place,
        &[
            ("HOMEROOM_BUDGETS__UPSTREAM_CALLS", "4"),
            ("HOMEROOM_BUDGETS__UPSTREAM_WAITING", "2"),
            ("HOMEROOM_BUDGETS__UPSTREAM_STREAMS", "100"),
            ("HOMEROOM_BUDGETS__UPSTREAM_WAIT", "60s"),
        ],
    );
    let used = |budget: &str| {
        let text = server.admin_client().get("/metrics").text();
        let line = format!("homeroom_api_budget_used{{api=\"hangs\",budget=\"{budget}\"}} ");
        let found = text.lines().find_map(|found| found.strip_prefix(&line));
        found.unwrap_or_else(|| panic!("{line}: {text}")).parse::<u64>().unwrap()
    };
    let long = "x".repeat(200_000);
    for body in ["x", &*long] {
        let (url, accepted) = silent();
        publish(&place, &api("hangs", &[url], "timeout = '60s'"));
        let calls: Vec<_> = (0..12).map(|_| chunked(&server, "/apis/hangs/v1/x", body)).collect();
        eventually("those that may are there", || {
            used("upstream_calls") == 4 && used("upstream_waiting") == 1
        });
        eventually("the others are refused", || {
            calls.iter().filter(|call| call.has_answer()).count() == 7
        });
        if body.len() == 1 {
            assert_eq!(accepted.load(Ordering::Relaxed), 4, "what waits has not begun");
        } else {
            assert_eq!(used("upstream_streams"), 1, "it waits with its last bytes");
        }
        for mut refused in calls.into_iter().filter(crate::support::Wire::has_answer) {
            assert_eq!(refused.answer().status, 503);
        }
        eventually("nothing is left", || used("upstream_calls") == 0);
    }
}

#[test]
fn without_any_upstream_the_answer_is_503_and_the_first_one_that_is_back_is_asked() {
    let place = Place::new();
    let server = Server::start(&place);
    let mut echo = Echo::start(&place, "127.0.0.1:0");
    let urls = [format!("http://{}", echo.address), "http://127.0.0.1:9".to_owned()];
    publish(&place, &api("gone", &urls, ""));
    let mut client = server.client();
    assert_eq!(client.get("/apis/gone/v1/x").status, 200);
    echo.kill();

    let times = (0..100).map(|_| {
        let begun = Instant::now();
        let answer = client.get("/apis/gone/v1/x");
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")), "{answer:?}");
        begun.elapsed()
    });
    assert_within(times.collect(), Duration::from_millis(250), "nobody waits to be refused");
    let _back = Echo::start(&place, &echo.address.to_string());
    eventually("it is asked", || client.get("/apis/gone/v1/x").status == 200);
}

/// Checks that of a hundred times all but one are within a bound, which is lax: other tests run meanwhile.
fn assert_within(mut times: Vec<Duration>, bound: Duration, what: &str) {
    assert_eq!(times.len(), 100);
    times.sort_unstable();
    assert!(times[98] <= bound, "{what}: {:?}", &times[90..]);
}

#[test]
fn an_upstream_that_is_slow_slows_no_other_api() {
    let place = Place::new();
    let server = Server::start(&place);
    let (slow, _) = silent();
    let echo = Upstream::echo();
    let file = api("slow", &[slow], "timeout = '60s'") + &api("echo", &[echo.url()], "");
    publish(&place, &file);
    let hanging: Vec<_> = (0..200)
        .map(|_| {
            let mut wire = server.wire();
            wire.send("GET /apis/slow/v1/x HTTP/1.1\r\nhost: a\r\n\r\n");
            wire
        })
        .collect();
    let name = "homeroom_api_budget_used{api=\"slow\",budget=\"upstream_calls\"}";
    eventually("they are at their upstream", || metric(&server, name) == 200);
    let mut client = server.client();

    let times = (0..100).map(|_| {
        let begun = Instant::now();
        assert_eq!(client.get("/apis/echo/v1/x").status, 200);
        begun.elapsed()
    });

    assert_within(times.collect(), Duration::from_millis(250), "others are as fast as ever");
    assert!(hanging.iter().all(|wire| !wire.has_answer()));
}

#[test]
fn an_answer_is_an_open_call_of_its_upstream_until_it_has_ended() {
    let place = Place::new();
    let server = Server::start(&place);
    let begins = Upstream::answering(|_| {
        Answered::With(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello".to_vec())
    });
    publish(&place, &api("begins", &[begins.url()], "timeout = '60s'"));
    let url = begins.url();
    let open = format!("homeroom_upstream_open_calls{{api=\"begins\",upstream=\"{url}\"}}");
    let turns = "homeroom_api_budget_used{api=\"begins\",budget=\"upstream_calls\"}";
    let mut wire = server.wire();

    wire.send("GET /apis/begins/v1/x HTTP/1.1\r\nhost: a\r\n\r\n");
    eventually("the answer has begun", || wire.has_answer());

    assert_eq!((metric(&server, &open), metric(&server, turns)), (1, 0));
    drop(wire);
    eventually("nobody reads it", || metric(&server, &open) == 0);
}

#[test]
fn each_phase_of_a_call_has_its_time() {
    let place = Place::new();
    let server = Server::start(&place);
    let begins = Upstream::answering(|seen| {
        if seen.line().ends_with("/silent") {
            std::thread::sleep(Duration::from_secs(20));
        }
        Answered::With(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello".to_vec())
    });
    let echo = Upstream::echo();
    let of = |name: &str, timeouts: &str| {
        api(name, &[begins.url()], &format!("timeout = '60s'\ntimeouts = {{{timeouts}}}"))
    };
    let file = of("first", "first_byte = '300ms'")
        + &of("idle", "idle = '300ms'")
        + &of("whole", "whole = '300ms'")
        + &api("echo", &[echo.url()], "");
    publish(&place, &file);
    let raw = |path: &str| {
        let mut wire = server.wire();
        wire.send(format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"));
        String::from_utf8_lossy(&wire.rest()).into_owned()
    };

    std::thread::scope(|scope| {
        let begun = Instant::now();
        let late = [
            "/apis/first/v1/silent",
            "/apis/whole/v1/silent",
            "/apis/idle/v1/x",
            "/apis/whole/v1/x",
        ]
        .map(|path| scope.spawn(move || raw(path)));
        for _ in 0..20 {
            assert_eq!(server.client().get("/apis/echo/v1/x").status, 200);
        }
        let [first, whole, idle, cut] = late.map(|answer| answer.join().unwrap());
        for answer in [&first, &whole] {
            assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
        }
        for answer in [&idle, &cut] {
            assert!(answer.ends_with("\r\n\r\nhello"), "it is cut off: {answer}");
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "nobody waited for the upstream");
    });
}

#[test]
fn a_consistent_hash_keeps_callers_at_their_upstream_while_it_is_well() {
    let place = Place::new();
    let server = Server::start(&place);
    let upstreams: Vec<Upstream> = (0..3).map(|_| Upstream::echo()).collect();
    let urls: Vec<String> = upstreams.iter().map(Upstream::url).collect();
    let hashed = "balance = 'consistent-hash'\nhash = 'header:x-session'\n";
    publish(&place, &(api("by", &urls, hashed) + &api("rest", &urls[1..], hashed)));
    let mut client = server.client();
    let mut asked_by = |api: &str, session: usize| {
        let session = session.to_string();
        let answer =
            client.send("GET", &format!("/apis/{api}/v1/x"), &[("x-session", &session)], None);
        assert_eq!(answer.unwrap().status, 200);
        let took: Vec<usize> = upstreams.iter().map(|upstream| upstream.take().len()).collect();
        took.iter().position(|count| *count == 1).unwrap()
    };

    let chosen: Vec<usize> = (0..60).map(|session| asked_by("by", session)).collect();

    for (session, upstream) in chosen.iter().enumerate() {
        assert_eq!(asked_by("by", session), *upstream, "{session}");
        if *upstream != 0 {
            assert_eq!(asked_by("rest", session), *upstream, "{session} does not move");
        }
    }
    for upstream in 0..3 {
        assert!(chosen.contains(&upstream), "{chosen:?}");
    }
}
