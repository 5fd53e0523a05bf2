//! Overload: the server refuses excess requests at once, and the requests that it accepts are not
//! affected.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Client, Place, STUDENTS, Server, Wire, eventually, metric, student};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// Starts a request without sending its body.
fn begun(server: &Server, client: &Client, length: usize) -> Wire {
    let mut wire = server.wire();
    wire.send(client.head("POST", STUDENTS, &JSON, Some(length)));
    wire
}

#[test]
fn a_key_over_its_share_of_waiting_requests_gets_503_at_once_and_can_still_read() {
    let place = Place::new();
    let key = place.key("FullAccess");
    // Eight requests may wait, half of them from one key.
    let server = Server::start_with(&place, &[("HOMEROOM_SERVER__IN_FLIGHT_MAX", "2")]);
    let mut client = server.client_of(&key);
    let body = student("1", "Ada").to_string();
    let mut slow: Vec<Wire> = (0..4).map(|_| begun(&server, &client, body.len())).collect();
    eventually("all wait", || metric(&server, "http_server_active_requests") == 4);

    let mut wire = begun(&server, &client, body.len());
    let refused = wire.answer();

    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.json()["type"], "urn:ed-fi:api:service-unavailable");
    assert!(refused.text().contains("budget awaited"), "{}", refused.text());
    assert_eq!(metric(&server, "homeroom_requests_refused_total"), 1);
    assert_eq!(metric(&server, "homeroom_budget_refused_total{budget=\"awaited\"}"), 1);
    assert_eq!(
        client.get(STUDENTS).status,
        200,
        "those who are worked on have places of their own"
    );
    // The accepted requests continue and then make room.
    for (wire, status) in slow.iter_mut().zip([201, 200, 200, 200]) {
        wire.send(&body);
        assert_eq!(wire.answer().status, status);
    }
    eventually("there is room again", || client.post(STUDENTS, &student("2", "Ada")).status == 201);
}

#[test]
fn what_a_caller_does_not_wait_for_is_not_done() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start(&place);
    let mut client = server.client_of(&key);
    let impatient = [("content-type", "application/json"), ("prefer", "wait=0")];
    let patient = [("content-type", "application/json"), ("prefer", "wait=30")];
    let body = student("1", "Ada").to_string();

    let write = client.send("POST", STUDENTS, &impatient, Some(body.as_bytes())).unwrap();
    let list = client.send("GET", STUDENTS, &impatient, None).unwrap();
    let count =
        client.get(&format!("{STUDENTS}?totalCount=true")).header("total-count").map(str::to_owned);
    let in_time = client.send("POST", STUDENTS, &patient, Some(body.as_bytes())).unwrap();

    for (answer, queue) in [(write, "store_writes"), (list, "store_lists")] {
        assert_eq!(answer.status, 503, "{answer:?}");
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert!(answer.text().contains(&format!("budget {queue}")), "{}", answer.text());
        let refused = format!("homeroom_budget_refused_total{{budget=\"{queue}\"}}");
        assert!(metric(&server, &refused) >= 1);
    }
    assert_eq!(count.as_deref(), Some("0"));
    assert_eq!(in_time.status, 201, "{in_time:?}");
}

#[test]
fn strangers_who_withhold_bodies_do_not_block_other_callers() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start_with(&place, &[("HOMEROOM_SERVER__IN_FLIGHT_MAX", "2")]);
    let mut client = server.client_of(&key);

    let mut strangers: Vec<Wire> = (0..20)
        .map(|_| {
            let mut wire = server.wire();
            wire.send("POST /oauth/token HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\na");
            wire
        })
        .collect();

    for number in 0..20 {
        assert_eq!(server.client().get("/readyz").status, 200);
        assert_eq!(client.post(STUDENTS, &student(&number.to_string(), "Ada")).status, 201);
    }
    assert_eq!(metric(&server, "homeroom_requests_refused_total"), 0);
    assert_eq!(strangers[0].answer().status, 408);
}

#[test]
fn strangers_who_do_not_read_their_answers_give_way_to_those_who_do() {
    const DOCUMENT: &str = "/metadata/data/v3/resources/swagger.json";
    const ROOM: &str = "homeroom_budget_used{budget=\"public_answers\"}";
    const SIZE: &str = "homeroom_budget_size{budget=\"public_answers\"}";
    let place = Place::new();
    let server = Server::start(&place);
    let whole = server.client().get(DOCUMENT);
    assert_eq!(whole.status, 200);
    let size = usize::try_from(metric(&server, SIZE)).unwrap();
    // One connection requests more than the buffers on the way can hold.
    let asked = format!("GET {DOCUMENT} HTTP/1.1\r\nhost: a\r\n\r\n").repeat(4);

    let _deaf: Vec<Wire> = (0..2 * size / whole.body.len())
        .map(|_| {
            let mut wire = server.wire();
            wire.send(&asked);
            wire
        })
        .collect();

    eventually("others are answered", || server.client().get(DOCUMENT).status == 200);
    assert!(usize::try_from(metric(&server, ROOM)).unwrap() <= size);
    assert_eq!(server.client().get("/metadata").status, 200);
}

#[test]
fn every_request_of_a_burst_of_writes_is_answered_and_nothing_is_left_behind() {
    const WRITERS: usize = 32;
    let place = Place::new();
    let key = place.key("FullAccess");
    // With more room to wait, nobody is refused.
    let limits = [
        ("HOMEROOM_STORE__QUEUE", "1"),
        ("HOMEROOM_SERVER__IN_FLIGHT_MAX", "16"),
        ("HOMEROOM_BUDGETS__WAITING_REQUESTS", "2"),
    ];
    let server = Server::start_with(&place, &limits);
    let token = server.client_of(&key).token;
    let (written, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));

    for storm in 0..20 {
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let mut client = server.client();
                client.token.clone_from(&token);
                let (written, refused) = (&written, &refused);
                scope.spawn(move || {
                    for number in 0..10 {
                        let id = format!("{storm}-{writer}-{number}");
                        let answer = client.post(STUDENTS, &student(&id, "Ada"));
                        match answer.status {
                            201 => written.fetch_add(1, Ordering::Relaxed),
                            503 if answer.header("retry-after").is_some() => {
                                refused.fetch_add(1, Ordering::Relaxed)
                            }
                            _ => panic!("{answer:?}"),
                        };
                    }
                });
            }
        });
        if refused.load(Ordering::Relaxed) > 0 {
            break;
        }
    }

    let (written, refused) = (written.into_inner(), refused.into_inner());
    assert!(written > 0 && refused > 0, "{written} written, {refused} refused");
    let mut client = server.client_of(&key);
    let stored = client.get(&format!("{STUDENTS}?limit=1&totalCount=true"));
    assert_eq!(stored.header("total-count"), Some(&*written.to_string()));
    eventually("nothing is in flight", || metric(&server, "http_server_active_requests") == 0);
    assert_eq!(client.post(STUDENTS, &student("after", "Ada")).status, 201);
}

#[test]
fn idle_connections_do_not_block_other_callers() {
    let place = Place::new();
    let server = Server::start(&place);
    let key = place.key("FullAccess");
    // A thousand connections, if both processes may have that many files open.
    let count = 1_000.min(open_files_max().saturating_sub(300));

    let idle: Vec<Wire> = (0..count)
        .map(|number| {
            let mut wire = server.wire();
            wire.send(match number % 3 {
                0 => "",
                1 => "GET /livez HTTP/1.1\r\nhost: a\r\n\r\n",
                _ => "POST /oauth/token HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\na",
            });
            wire
        })
        .collect();

    let mut client = server.client_of(&key);
    for number in 0..20 {
        assert_eq!(client.post(STUDENTS, &student(&number.to_string(), "Ada")).status, 201);
    }
    assert_eq!(server.client().get("/readyz").status, 200);
    let open =
        idle.iter().enumerate().filter(|(number, wire)| number % 3 != 1 && !wire.is_closed());
    assert!(open.count() >= count / 3, "the idle were there all the time");
}

#[test]
fn an_endless_header_closes_the_connection_and_a_slow_body_does_not() {
    let place = Place::new();
    let key = place.key("FullAccess");
    let server = Server::start_with(&place, &[("HOMEROOM_SERVER__HEADER_TIME", "400ms")]);
    let mut client = server.client_of(&key);
    let body = student("1", "Slow").to_string();
    let mut slow = begun(&server, &client, body.len());
    let starts: &[&[u8]] =
        &[b"G", b"PRI * HT", b"GET / HTTP/1.1\r\nhost: a\r\nx-1: y\r\n", b"\r\n\r\nPOST"];

    let closed: Vec<_> = std::thread::scope(|scope| {
        let each = starts.iter().map(|start| {
            let mut wire = server.wire();
            scope.spawn(move || {
                wire.send(start);
                for _ in 0..600 {
                    std::thread::sleep(std::time::Duration::from_millis(100));
                    // A byte from time to time does not extend the limit.
                    let is_sent = start.starts_with(b"PRI") || wire.try_send("z").is_ok();
                    if !is_sent || wire.is_closed() {
                        return true;
                    }
                }
                false
            })
        });
        let each: Vec<_> = each.collect();
        for piece in body.as_bytes().chunks(body.len() / 8) {
            std::thread::sleep(std::time::Duration::from_millis(100));
            slow.send(piece);
        }
        each.into_iter().map(|thread| thread.join().unwrap()).collect()
    });

    assert_eq!(closed, vec![true; starts.len()]);
    let answer = slow.answer();
    assert_eq!(answer.status, 201, "{answer:?}");
    // A kept connection may be idle for longer than a header may take.
    assert_eq!(client.get(STUDENTS).status, 200);
    slow.send("GET /livez HTTP/1.1\r\nhost: a\r\n\r\n");
    assert_eq!(slow.answer().status, 200);
}

#[test]
fn a_silent_connection_is_closed_eventually() {
    if std::env::var_os("HOMEROOM_LONG").is_none() {
        println!("skipped: it waits for 75 seconds; `cargo xtask long` runs it");
        return;
    }
    let place = Place::new();
    let server = Server::start(&place);
    let never = server.wire();
    let mut once = server.wire();
    once.send("GET /livez HTTP/1.1\r\nhost: a\r\n\r\n");
    assert_eq!(once.answer().status, 200);

    std::thread::sleep(std::time::Duration::from_secs(40));
    assert!(!never.is_closed() && !once.is_closed());
    std::thread::sleep(std::time::Duration::from_secs(20));

    eventually("both are closed", || never.is_closed() && once.is_closed());
}

/// Returns how many files a process may have open here.
fn open_files_max() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    soft.and_then(|soft| soft.parse().ok()).unwrap_or(1_024)
}
