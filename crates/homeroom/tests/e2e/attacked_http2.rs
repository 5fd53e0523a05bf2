//! Published APIs under attack over HTTP/2, frame by frame.

use std::time::Duration;

use crate::support::{Answered, Place, Server, Upstream, Wire, eventually};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RESET: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const GOAWAY: u8 = 7;
pub const CONTINUATION: u8 = 9;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
const CANCEL: [u8; 4] = [0, 0, 0, 8];

pub fn published(upstream: &Upstream) -> (Place, Server) {
    let place = Place::new();
    let server = Server::start(&place);
    let file = format!(
        "[[apis]]\nname = 'open'\ncontext = 'open'\nversion = 'v1'\nsecurity = 'none'\n\
         upstream = ['{}']\n",
        upstream.url()
    );
    place.write("apis.toml", file);
    place.done(&["gateway", "apply", "apis.toml"]);
    (place, server)
}

/// A frame.
///
/// Source: RFC 9113 §4.1.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// A header field that no table keeps, with a name of its own.
///
/// Source: RFC 7541 §6.2.2.
pub fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| {
        let mut bytes = vec![];
        match u8::try_from(text.len()) {
            Ok(length) if length < 127 => bytes.push(length),
            _ => {
                bytes.push(127);
                let mut rest = text.len() - 127;
                while rest >= 128 {
                    bytes.push(u8::try_from(rest % 128).unwrap() | 128);
                    rest /= 128;
                }
                bytes.push(u8::try_from(rest).unwrap());
            }
        }
        bytes.extend_from_slice(text.as_bytes());
        bytes
    };
    [vec![0], text(name), text(value)].concat()
}

pub fn fields(all: &[(&str, &str)]) -> Vec<u8> {
    all.iter().flat_map(|(name, value)| field(name, value)).collect()
}

pub const USUAL: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/apis/open/v1/x")];

pub fn opened(server: &Server) -> Wire {
    let mut wire = server.wire();
    wire.send([&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(SETTINGS, 0, 0, &[])].concat());
    wire
}

/// Reads frames until one of these kinds, or the end of the connection.
pub fn next_of(wire: &mut Wire, kinds: &[u8]) -> Option<(u8, Vec<u8>)> {
    loop {
        let head = wire.try_exactly(9)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let payload = wire.try_exactly(usize::try_from(length).unwrap())?;
        if kinds.contains(&head[3]) {
            return Some((head[3], payload));
        }
    }
}

#[test]
fn a_malformed_request_reaches_no_upstream() {
    let upstream = Upstream::echo();
    let (_place, server) = published(&upstream);
    let with = |more: &[(&str, &str)]| fields(&[&USUAL, more].concat());
    let without = |gone: &str, more: &[(&str, &str)]| {
        let kept: Vec<_> = USUAL.into_iter().filter(|(name, _)| *name != gone).collect();
        fields(&[&kept, more].concat())
    };

    for (name, block, data) in [
        ("capitals", with(&[("X-Capital", "1")]), None),
        ("a connection's header", with(&[("connection", "close")]), None),
        ("a coding", with(&[("transfer-encoding", "chunked")]), Some("0\r\n\r\n")),
        ("an upgrade", with(&[("upgrade", "websocket")]), None),
        ("keep-alive", with(&[("keep-alive", "1")]), None),
        ("te", with(&[("te", "gzip")]), None),
        ("a line break in a value", with(&[("x", "y\r\nsmuggled: z")]), None),
        ("a line feed in a value", with(&[("x", "y\nsmuggled: z")]), None),
        ("nothing in a value", with(&[("x", "y\0z")]), None),
        ("a colon in a name", with(&[("x: y\r\nsmuggled", "z")]), None),
        ("a blank in a name", with(&[("x y", "z")]), None),
        ("an empty name", with(&[("", "z")]), None),
        ("a late pseudo-header", with(&[("x", "y"), (":path", "/apis/open/v1/y")]), None),
        ("an unknown pseudo-header", without("", &[(":x", "y")]), None),
        ("no path", without(":path", &[]), None),
        ("an empty path", without(":path", &[(":path", "")]), None),
        ("a path with a blank", without(":path", &[(":path", "/apis/open/v1/x y")]), None),
        (
            "a path with a line break",
            without(":path", &[(":path", "/apis/open/v1/x HTTP/1.1\r\nhost: b\r\n\r\n")]),
            None,
        ),
        ("a path without a slash", without(":path", &[(":path", "apis/open/v1/x")]), None),
        ("dots", without(":path", &[(":path", "/apis/open/v1/%2e%2e/x")]), None),
        ("no method", without(":method", &[]), None),
        ("a method with a blank", without(":method", &[(":method", "GET /y HTTP/1.1")]), None),
        ("connect", without(":method", &[(":method", "CONNECT")]), None),
        ("another host", with(&[("host", "evil.example")]), None),
        ("two hosts", with(&[("host", "a"), ("host", "a")]), None),
        ("a user", without(":authority", &[(":authority", "a@evil.example")]), None),
        ("a length without bytes", with(&[("content-length", "5")]), None),
        ("more bytes than declared", with(&[("content-length", "2")]), Some("hello")),
        ("fewer bytes than declared", with(&[("content-length", "9")]), Some("hello")),
        ("two lengths", with(&[("content-length", "5"), ("content-length", "6")]), Some("hello")),
        ("no length", with(&[("content-length", "x")]), Some("hello")),
    ] {
        let mut wire = opened(&server);
        let ends = if data.is_none() { END_STREAM } else { 0 };
        let mut bytes = frame(HEADERS, END_HEADERS | ends, 1, &block);
        if let Some(data) = data {
            bytes.extend(frame(DATA, END_STREAM, 1, data.as_bytes()));
        }
        wire.send(bytes);

        let answer = next_of(&mut wire, &[HEADERS, RESET, GOAWAY]);

        // A field block that begins with the ninth entry of the static table is an answer 200.
        let is_good = matches!(&answer, Some((HEADERS, block)) if block.first() == Some(&0x88));
        assert!(!is_good, "{name}: {answer:?}");
        assert_eq!(upstream.take(), [], "{name}");
    }
    let mut wire = opened(&server);
    wire.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, &fields(&USUAL)));
    assert_eq!(next_of(&mut wire, &[HEADERS, RESET, GOAWAY]).unwrap().1[0], 0x88);
}

#[test]
fn requests_that_are_reset_at_once_end_their_connection() {
    let upstream = Upstream::echo();
    let (_place, server) = published(&upstream);
    let mut wire = opened(&server);
    let block = fields(&USUAL);

    let mut sent = 0;
    for batch in 0..200u32 {
        let mut bytes = vec![];
        for number in 0..100 {
            let stream = 2 * (batch * 100 + number) + 1;
            bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, stream, &block));
            bytes.extend(frame(RESET, 0, stream, &CANCEL));
        }
        if wire.try_send(&bytes).is_err() {
            break;
        }
        sent += 100;
    }

    _ = wire.rest();
    assert!(upstream.take().len() < 2_000, "of {sent}, most have cost nothing");
    assert_eq!(server.client().get("/apis/open/v1/x").status, 200);
}

#[test]
fn requests_that_are_reset_while_they_are_answered_end_their_connection() {
    let upstream = Upstream::answering(|_| {
        std::thread::sleep(Duration::from_secs(5));
        Answered::With(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec())
    });
    let (_place, server) = published(&upstream);
    let mut wire = opened(&server);
    let block = fields(&USUAL);

    let mut number = 0;
    eventually("it is closed", || {
        let stream = 2 * number + 1;
        number += 1;
        let begun = wire.try_send(frame(HEADERS, END_HEADERS | END_STREAM, stream, &block));
        std::thread::sleep(Duration::from_millis(2));
        begun.is_err() || wire.try_send(frame(RESET, 0, stream, &CANCEL)).is_err()
    });

    assert_eq!(server.client().get("/livez").status, 200);
}

#[test]
fn a_header_without_end_ends_its_connection() {
    let upstream = Upstream::echo();
    let (_place, server) = published(&upstream);
    let some: Vec<u8> = (0..60).flat_map(|_| field("x", &"y".repeat(200))).collect();

    for part in [some, vec![]] {
        let mut wire = opened(&server);
        wire.send(frame(HEADERS, END_STREAM, 1, &fields(&USUAL)));
        let parts = frame(CONTINUATION, 0, 1, &part).repeat(1 + 4_096 / (part.len() + 9));
        let mut batches = 0;
        eventually("it is closed", || {
            batches += 1;
            wire.try_send(&parts).is_err()
        });
        _ = wire.rest();
    }

    assert_eq!(upstream.take(), []);
    assert_eq!(server.client().get("/apis/open/v1/x").status, 200);
}

#[test]
fn a_header_that_grows_when_it_is_read_is_refused() {
    let upstream = Upstream::echo();
    let (_place, server) = published(&upstream);
    let mut wire = opened(&server);
    // One entry for the table, and ten thousand references to it: 40 MB in 14 KB.
    let mut block = fields(&USUAL);
    let entry = field("x", &"y".repeat(3_900));
    block.push(0x40);
    block.extend_from_slice(&entry[1..]);
    block.extend(std::iter::repeat_n(0xbe, 10_000));

    wire.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, &block));

    let answer = next_of(&mut wire, &[HEADERS, RESET, GOAWAY]);
    let is_good = matches!(&answer, Some((HEADERS, block)) if block.first() == Some(&0x88));
    assert!(!is_good, "{answer:?}");
    assert_eq!(upstream.take(), []);
    assert_eq!(server.client().get("/apis/open/v1/x").status, 200);
}

#[test]
fn more_open_requests_than_are_allowed_are_refused() {
    let upstream = Upstream::echo();
    let (_place, server) = published(&upstream);
    let mut wire = opened(&server);
    let kept: Vec<_> = USUAL.into_iter().filter(|(name, _)| *name != ":method").collect();
    let block = fields(&[&[(":method", "POST")], &kept[..]].concat());

    let mut bytes = vec![];
    for number in 0..400u32 {
        bytes.extend(frame(HEADERS, END_HEADERS, 2 * number + 1, &block));
    }
    _ = wire.try_send(&bytes);

    let refused = next_of(&mut wire, &[RESET, GOAWAY]);
    assert!(refused.is_some());
    assert_eq!(upstream.take(), []);
    assert_eq!(server.client().get("/apis/open/v1/x").status, 200);
}
