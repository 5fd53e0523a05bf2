//! Which upstream a call goes to: by turns, by open requests, by groups and by hash, whatever its body is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{Answered, Place, Server, Upstream, Wire, eventually};
use crate::upstreams::{api, chunked, publish};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const SWITCHES: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";

fn counts(upstreams: &[Upstream]) -> Vec<usize> {
    upstreams.iter().map(|upstream| upstream.take().len()).collect()
}

fn urls(upstreams: &[Upstream]) -> Vec<String> {
    upstreams.iter().map(Upstream::url).collect()
}

#[test]
fn calls_go_to_each_upstream_in_turn() {
    let place = Place::new();
    let server = Server::start(&place);
    let upstreams = [(); 3].map(|()| Upstream::answering(|_| Answered::With(OK.to_vec())));
    publish(&place, &api("turns", &urls(&upstreams), ""));
    let mut client = server.client();

    for _ in 0..4 {
        for _ in 0..3 {
            assert_eq!(client.get("/apis/turns/v1/x").status, 200);
        }
        assert_eq!(counts(&upstreams), [1, 1, 1]);
    }
}

#[test]
fn a_call_goes_to_the_upstream_with_the_fewest_open_requests() {
    let place = Place::new();
    let server = Server::start(&place);
    let holds = Arc::new(AtomicBool::new(true));
    let held = Arc::clone(&holds);
    let slow = Upstream::answering(move |_| {
        while held.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        Answered::With(OK.to_vec())
    });
    let upstreams = [slow, Upstream::answering(|_| Answered::With(OK.to_vec()))];
    let rule = "balance = 'least-requests'\ntimeout = '20s'";
    publish(&place, &api("least", &urls(&upstreams), rule));
    let begin = || {
        let mut wire = server.wire();
        wire.send("GET /apis/least/v1/x HTTP/1.1\r\nhost: a\r\n\r\n");
        wire
    };
    let mut open: Vec<Wire> = vec![];
    eventually("one call is held", || {
        open.push(begin());
        std::thread::sleep(Duration::from_millis(50));
        upstreams[0].take().len() == 1
    });
    upstreams[1].take();

    for number in 0..30 {
        assert_eq!(begin().answer().status, 200, "{number}");
    }
    let others = counts(&upstreams);
    holds.store(false, Ordering::Relaxed);
    for mut wire in open {
        assert_eq!(wire.answer().status, 200);
    }

    assert_eq!(others, [0, 30], "the one that is busy gets no more");
    for _ in 0..20 {
        assert_eq!(begin().answer().status, 200);
    }
    let after = counts(&upstreams);
    assert!(after[0] > 0, "it has none open any more: {after:?}");
}

fn groups(name: &str, upstreams: &[Upstream], weights: [u32; 2], more: &str) -> String {
    let group =
        |at: usize| format!("{{upstream = ['{}'], weight = {}}}", upstreams[at].url(), weights[at]);
    format!(
        "[[apis]]\nname = '{name}'\ncontext = '{name}'\nversion = 'v1'\nsecurity = 'none'\n\
         groups = [{}, {}]\n{more}\n",
        group(0),
        group(1)
    )
}

#[test]
fn groups_get_their_shares_of_streamed_bodies_and_of_changed_protocols() {
    let place = Place::new();
    let server = Server::start(&place);
    let answers = |seen: &crate::support::Seen| {
        let upgrades = !seen.values("upgrade").is_empty();
        Answered::With(if upgrades { SWITCHES.to_vec() } else { OK.to_vec() })
    };
    let upstreams = [(); 2].map(|()| Upstream::answering(answers));
    publish(&place, &groups("canary", &upstreams, [3, 1], ""));
    let body = "x".repeat(200_000);

    for _ in 0..20 {
        assert_eq!(chunked(&server, "/apis/canary/v1/x", &body).answer().status, 200);
    }
    let streamed = counts(&upstreams);
    for _ in 0..20 {
        let mut wire = server.wire();
        wire.send(
            "GET /apis/canary/v1/x HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\n\
             upgrade: websocket\r\nsec-websocket-key: x\r\nsec-websocket-version: 13\r\n\r\n",
        );
        assert_eq!(wire.answer().status, 101);
    }

    assert_eq!(streamed, [15, 5]);
    assert_eq!(counts(&upstreams), [15, 5]);
}

#[test]
fn a_caller_keeps_its_upstream_and_its_group_with_streamed_bodies_too() {
    let place = Place::new();
    let server = Server::start(&place);
    let upstreams = [(); 2].map(|()| Upstream::answering(|_| Answered::With(OK.to_vec())));
    let hash = "balance = 'consistent-hash'\nhash = 'header:x-session'";
    let file = api("hash", &urls(&upstreams), hash)
        + &groups("sticky", &upstreams, [1, 1], "sticky = 'header:x-session'");
    publish(&place, &file);
    let body = "x".repeat(200_000);

    for name in ["hash", "sticky"] {
        let mut both = [false; 2];
        for session in 0..12 {
            let session = session.to_string();
            let asked = |headers: &[(&str, &str)], body: &str| {
                let headers = [headers, &[("x-session", session.as_str())]].concat();
                let path = format!("/apis/{name}/v1/x");
                let sent = server.client().send("POST", &path, &headers, Some(body.as_bytes()));
                assert_eq!(sent.unwrap().status, 200);
                let took = counts(&upstreams);
                took.iter().position(|count| *count == 1).unwrap()
            };

            let first = asked(&[], "x");

            assert_eq!(asked(&[], &body), first, "{name}, {session}");
            assert_eq!(asked(&[], "y"), first, "{name}, {session}");
            both[first] = true;
        }
        assert_eq!(both, [true; 2], "{name}: twelve callers are at both");
    }
}

#[test]
fn a_streamed_body_that_may_have_arrived_is_not_sent_again() {
    let place = Place::new();
    let server = Server::start(&place);
    let upstreams = [(); 3].map(|()| Upstream::answering(|_| Answered::Last(vec![])));
    let rules =
        "breaker = {failures = 1000}\nretries = {attempts = 3, methods = ['PUT'], share = 1.0}";
    publish(&place, &api("closes", &urls(&upstreams), rules));
    let mut client = server.client();
    let mut sent = |body: &[u8]| {
        let answer = client.send("PUT", "/apis/closes/v1/x", &[], Some(body)).unwrap();
        assert_eq!(answer.status, 502);
        counts(&upstreams).iter().sum::<usize>()
    };

    assert_eq!(sent(b"short"), 3, "what was kept can be sent again");
    assert_eq!(sent(&vec![b'x'; 300_000]), 1, "what was passed on cannot");
}
