//! Which upstreams the breaker leaves alone, and that callers' faults are not blamed on them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Answered, Place, Server, Upstream, eventually};
use crate::upstreams::{api, chunked, publish};

fn answering(head: &'static str) -> Upstream {
    Upstream::answering(move |_| {
        Answered::With(format!("{head}\r\ncontent-length: 0\r\n\r\n").into())
    })
}

#[test]
fn an_upstream_that_fails_in_a_row_is_left_alone() {
    let place = Place::new();
    let server = Server::start(&place);
    let (fails, well) = (answering("HTTP/1.1 503 No"), answering("HTTP/1.1 200 OK"));
    let file =
        api(
            "some",
            &[fails.url(), well.url()],
            "breaker = {failures = 3, rest = '1m', rest_max = '1m'}",
        ) + &api("only", &[fails.url()], "breaker = {failures = 3, rest = '1m', rest_max = '1m'}");
    publish(&place, &file);
    let mut client = server.client();

    let statuses: Vec<u16> = (0..100).map(|_| client.get("/apis/some/v1/x").status).collect();
    let failed = fails.take().len();
    let only: Vec<u16> = (0..10).map(|_| client.get("/apis/only/v1/x").status).collect();

    assert_eq!(failed, 3, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 97);
    assert_eq!(only, [503; 10], "answers of the only upstream are all that callers can get");
    assert_eq!(fails.take().len(), 10);
}

#[test]
fn the_only_upstream_is_left_alone_too_if_it_does_not_answer() {
    let place = Place::new();
    let server = Server::start(&place);
    let hangs = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&hangs);
    let upstream = Upstream::answering(move |_| {
        while asked.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        Answered::With(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec())
    });
    let breaker = "timeout = '300ms'\nbreaker = {failures = 3, rest = '2s', rest_max = '4s'}";
    publish(&place, &api("only", &[upstream.url()], breaker));
    let mut client = server.client();

    let begun = Instant::now();
    let statuses: Vec<u16> = (0..12).map(|_| client.get("/apis/only/v1/x").status).collect();
    let took = begun.elapsed();
    let refused = client.get("/apis/only/v1/x");
    hangs.store(false, Ordering::Relaxed);

    assert_eq!((&statuses[..3], &statuses[3..]), (&[504; 3][..], &[503; 9][..]));
    assert!(took < Duration::from_secs(2), "{took:?}");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=2).contains(&wait), "{wait}");
    eventually("a call tries", || client.get("/apis/only/v1/x").status == 200);
    assert_eq!([0; 5].map(|_| client.get("/apis/only/v1/x").status), [200; 5]);
}

#[test]
fn who_sends_slowly_does_not_have_the_only_upstream_left_alone() {
    let place = Place::new();
    let server = Server::start(&place);
    let upstream = Upstream::answering(|_| {
        std::thread::sleep(Duration::from_millis(300));
        Answered::With(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec())
    });
    let rules = "timeouts = {whole = '1s'}\nbreaker = {failures = 3, rest = '1m', rest_max = '1m'}";
    publish(&place, &api("only", &[upstream.url()], rules));
    let path = "/apis/only/v1/x";
    // One sends a little every now and then, the others send the last byte when hardly any time is left.
    for (length, late) in [(1_000_000, None), (1_000, Some(1)), (200_000, Some(1))] {
        let head = format!("POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n");
        let mut slow: Vec<_> = (0..8).map(|_| server.wire()).collect();
        for wire in &mut slow {
            wire.send(&head);
            wire.send("x".repeat(late.map_or(1_000, |late| length - late)));
        }
        for _ in 0..8 {
            std::thread::sleep(Duration::from_millis(100));
            if late.is_none() {
                for wire in &mut slow {
                    wire.send("x".repeat(1_000));
                }
            }
        }
        if let Some(late) = late {
            for wire in &mut slow {
                wire.send("x".repeat(late));
            }
        }

        for wire in &mut slow {
            assert_eq!(wire.answer().status, 504, "{length}");
        }
        assert_eq!(server.client().get(path).status, 200, "{length}");
    }
}

#[test]
fn an_upstream_that_closes_on_those_who_send_slowly_is_not_left_alone() {
    let (place, listener) = (Place::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    let server = Server::start(&place);
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).unwrap();
                std::thread::sleep(Duration::from_millis(200));
                if line.starts_with("GET") {
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
                }
            });
        }
    });
    publish(&place, &api("only", &[url], "breaker = {failures = 3, rest = '1m', rest_max = '1m'}"));
    let path = "/apis/only/v1/x";

    let mut slow: Vec<_> = (0..8).map(|_| server.wire()).collect();
    for wire in &mut slow {
        wire.send(format!("POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\nx"));
    }

    for wire in &mut slow {
        assert_eq!(wire.answer().status, 502);
    }
    assert_eq!(server.client().get(path).status, 200);
}

#[test]
fn a_body_that_waits_for_its_turn_does_not_have_the_only_upstream_left_alone() {
    let place = Place::new();
    let calls =
        [("HOMEROOM_BUDGETS__UPSTREAM_CALLS", "2"), ("HOMEROOM_BUDGETS__UPSTREAM_WAIT", "60s")];
    let server = Server::start_with(&place, &calls);
    let upstream = Upstream::answering(|seen| {
        if seen.line().ends_with("/long") {
            std::thread::sleep(Duration::from_secs(20));
        }
        Answered::With(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec())
    });
    let rules = "timeouts = {whole = '2s'}\nbreaker = {failures = 5, rest = '1m', rest_max = '1m'}";
    publish(&place, &api("only", &[upstream.url()], rules));
    let late = || [(); 2].map(|()| chunked(&server, "/apis/only/v1/long", "x"));
    let pause = || std::thread::sleep(Duration::from_millis(500));

    let mut first = late();
    pause();
    let mut waiting = [(); 4].map(|()| server.wire());
    for wire in &mut waiting {
        wire.send("POST /apis/only/v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 200000\r\n\r\n");
    }
    pause();
    // These are asked once the first are over, and keep the turns of those whose bodies end behind them.
    let mut second = late();
    pause();
    for wire in &mut waiting {
        wire.send("x".repeat(200_000));
    }

    for wire in first.iter_mut().chain(&mut waiting).chain(&mut second) {
        assert_eq!(wire.answer().status, 504);
    }
    assert_eq!(server.client().get("/apis/only/v1/x").status, 200);
}
