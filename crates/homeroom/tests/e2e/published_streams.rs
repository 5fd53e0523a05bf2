//! Published APIs whose answers arrive bit by bit, and requests whose callers wait before they send.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Sender, channel};

use crate::support::{Place, Server, Upstream, Wire};
use crate::upstreams::{api, publish};

/// An upstream that sends an event, and another each time that it is told to.
fn events() -> (String, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while reader.read_line(&mut line).unwrap() > 2 {
            line.clear();
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    cache-control: no-cache\r\nconnection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        for number in 1.. {
            stream.write_all(format!("data: {number}\n\n").as_bytes()).unwrap();
            if told.recv().is_err() {
                return;
            }
        }
    });
    (url, tell)
}

/// Reads until a text has come.
fn until(wire: &mut Wire, text: &str) -> String {
    let mut read = vec![];
    while !read.ends_with(text.as_bytes()) {
        let byte = wire.try_exactly(1);
        read.extend(byte.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&read))));
    }
    String::from_utf8(read).unwrap()
}

#[test]
fn an_event_arrives_before_the_next_one_is_sent() {
    let place = Place::new();
    let server = Server::start(&place);
    let (url, tell) = events();
    publish(&place, &api("events", &[url], ""));
    let mut wire = server.wire();
    wire.send("GET /apis/events/v1/x HTTP/1.1\r\nhost: a\r\naccept: text/event-stream\r\n\r\n");

    let first = until(&mut wire, "data: 1\n\n");
    tell.send(()).unwrap();
    until(&mut wire, "data: 2\n\n");
    tell.send(()).unwrap();
    until(&mut wire, "data: 3\n\n");
    drop(tell);

    let head = first.to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 200") && head.contains("content-type: text/event-stream"));
    assert!(!head.contains("content-length"), "{head}");
    until(&mut wire, "0\r\n\r\n");
}

#[test]
fn who_expects_100_continue_sends_its_body_if_the_call_is_admitted() {
    let place = Place::new();
    let server = Server::start(&place);
    let upstream = Upstream::echo();
    let file = api("open", &[upstream.url()], "max_body = '1KiB'")
        + &format!(
            "[[apis]]\nname = 'shut'\ncontext = 'shut'\nversion = 'v1'\nupstream = ['{}']\n",
            upstream.url()
        );
    publish(&place, &file);
    let head = |path: &str, length: usize| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\n\
             content-length: {length}\r\n\r\n"
        )
    };
    for length in [5, 1_000] {
        let mut wire = server.wire();
        wire.send(head("/apis/open/v1/x", length));
        let interim = until(&mut wire, "\r\n\r\n");
        let body = "y".repeat(length);
        wire.send(&body);
        let answer = wire.answer();

        assert_eq!(interim, "HTTP/1.1 100 Continue\r\n\r\n");
        assert_eq!(answer.status, 200, "{answer:?}");
        let [seen] = &upstream.take()[..] else { panic!("one request") };
        assert_eq!(seen.body, body.as_bytes());
        assert!(seen.values("expect").is_empty(), "{}", seen.head);
    }

    for (path, length, status) in [
        ("/apis/open/v1/x", 2_000, "413"),
        ("/apis/shut/v1/x", 5, "401"),
        ("/apis/no/v1/x", 5, "404"),
    ] {
        let mut wire = server.wire();
        wire.send(head(path, length));
        let told = until(&mut wire, "\r\n");
        assert!(told.starts_with(&format!("HTTP/1.1 {status}")), "{path}, no body sent: {told}");
    }
    assert_eq!(upstream.take(), []);
}
