//! The rules of HTTP/2 for a server, frame by frame: what it has to answer, ignore, or end a stream or the connection for.

use crate::attacked_http2::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, RESET, SETTINGS, USUAL, field,
    fields, frame, next_of, opened, published,
};
use crate::support::{Server, Upstream, Wire};

const PRIORITY: u8 = 2;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
const PADDED: u8 = 8;
const HAS_PRIORITY: u8 = 0x20;

const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const FRAME_SIZE_ERROR: u32 = 6;
const COMPRESSION_ERROR: u32 = 9;

/// Bytes of the greatest frame that a server takes which says nothing of it.
const FRAME_BYTES: usize = 16_384;

/// What follows.
#[derive(Debug, Clone, Copy)]
enum Then {
    /// An answer 200 to a request.
    Answer,
    /// The stream ends with one of these codes, or the connection does.
    Stream(&'static [u32]),
    /// The connection ends, with one of these codes if it says why.
    Connection(&'static [u32]),
}
use Then::{Answer, Connection, Stream};

/// A request without a body.
fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &fields(&USUAL))
}

/// The head of a request whose body follows.
fn post(stream: u32) -> Vec<u8> {
    let changed = USUAL.map(|(name, value)| (name, if name == ":method" { "POST" } else { value }));
    frame(HEADERS, END_HEADERS, stream, &fields(&changed))
}

fn data(stream: u32, ends: bool, bytes: &[u8]) -> Vec<u8> {
    frame(DATA, u8::from(ends), stream, bytes)
}

fn setting(number: u16, value: u32) -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[&number.to_be_bytes()[..], &value.to_be_bytes()].concat())
}

fn window(stream: u32, more: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &more.to_be_bytes())
}

fn code(payload: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(payload[at..at + 4].try_into().unwrap())
}

/// A server may always say `PROTOCOL_ERROR` instead of what fits better.
///
/// Source: RFC 9113 §5.4.
fn fits(codes: &[u32], told: u32) -> bool {
    told == PROTOCOL_ERROR || codes.contains(&told)
}

fn check(wire: &mut Wire, name: &str, then: Then) {
    match then {
        Answer => match next_of(wire, &[HEADERS, GOAWAY]) {
            Some((HEADERS, block)) => assert_eq!(block.first(), Some(&0x88), "{name}"),
            other => panic!("{name}: {other:?}"),
        },
        Stream(codes) => match next_of(wire, &[RESET, GOAWAY]) {
            Some((RESET, payload)) => {
                assert!(fits(codes, code(&payload, 0)), "{name}: {payload:?}");
            }
            Some((_, payload)) => assert!(fits(codes, code(&payload, 4)), "{name}: {payload:?}"),
            None => {}
        },
        Connection(codes) => {
            if let Some((_, payload)) = next_of(wire, &[GOAWAY]) {
                assert!(fits(codes, code(&payload, 4)), "{name}: {payload:?}");
                assert_eq!(next_of(wire, &[]), None, "{name}: it is closed");
            }
        }
    }
}

fn run(server: &Server, cases: Vec<(&str, Vec<Vec<u8>>, Then)>) {
    for (name, frames, then) in cases {
        let mut wire = opened(server);
        wire.send(frames.concat());
        check(&mut wire, name, then);
        // Whatever became of it, the server goes on.
        let mut other = opened(server);
        other.send(get(1));
        check(&mut other, name, Answer);
    }
}

/// Source: RFC 9113 §3.4, §4.
#[test]
fn frames_have_a_form() {
    let upstream = Upstream::echo();
    let (_place, server) = published(&upstream);
    let usual = fields(&USUAL);
    let table_size = |size: &[u8]| [size, &usual[..]].concat();
    let cases: Vec<(&str, Vec<Vec<u8>>, Then)> = vec![
        ("an unknown kind is ignored", vec![frame(0xbf, 0xff, 0, b"x"), get(1)], Answer),
        ("unknown flags are ignored", vec![frame(HEADERS, 0xd7, 1, &usual)], Answer),
        ("a reserved bit is ignored", vec![get(0x8000_0001)], Answer),
        ("the greatest frame", vec![post(1), data(1, true, &[b'x'; FRAME_BYTES])], Answer),
        (
            "a greater frame of data",
            vec![post(1), data(1, true, &[b'x'; FRAME_BYTES + 1])],
            Stream(&[FRAME_SIZE_ERROR]),
        ),
        (
            "a greater header",
            vec![frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0; FRAME_BYTES + 1])],
            Connection(&[FRAME_SIZE_ERROR]),
        ),
        (
            "an entry that no table has",
            vec![frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0xff, 0xff, 0xff, 0x01])],
            Connection(&[COMPRESSION_ERROR]),
        ),
        (
            "a table that is greater than agreed",
            vec![frame(
                HEADERS,
                END_HEADERS | END_STREAM,
                1,
                &table_size(&[0x3f, 0xe1, 0xff, 0xff, 0x07]),
            )],
            Connection(&[COMPRESSION_ERROR]),
        ),
        (
            "a size of the table behind a field",
            vec![frame(HEADERS, END_HEADERS | END_STREAM, 1, &[&usual[..], &[0x20]].concat())],
            Connection(&[COMPRESSION_ERROR]),
        ),
        (
            "a text that is longer than its block",
            vec![frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0x00, 0x7e, b'x'])],
            Connection(&[COMPRESSION_ERROR]),
        ),
    ];
    run(&server, cases);
    for wrong in ["PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", "PRI * HTTP/2.0\r\n\r\n\r\n\r\n\r\n\r\n"] {
        let mut wire = server.wire();
        wire.send([wrong.as_bytes(), &frame(SETTINGS, 0, 0, &[])].concat());
        let rest = String::from_utf8_lossy(&wire.rest()).into_owned();
        assert!(!rest.contains("HTTP/1.1 200"), "{wrong:?}: {rest}");
    }
}

/// Source: RFC 9113 §5.
#[test]
fn streams_have_states() {
    let upstream = Upstream::echo();
    let (_place, server) = published(&upstream);
    let reset = |stream: u32| frame(RESET, 0, stream, &[0, 0, 0, 8]);
    let on_itself = [&1_u32.to_be_bytes()[..], &[7]].concat();
    let cases: Vec<(&str, Vec<Vec<u8>>, Then)> = vec![
        ("data of no request", vec![data(1, true, b"x")], Connection(&[PROTOCOL_ERROR])),
        ("a reset of no request", vec![reset(1)], Connection(&[PROTOCOL_ERROR])),
        ("a window of no request", vec![window(1, 1)], Connection(&[PROTOCOL_ERROR])),
        (
            "a continuation of nothing",
            vec![frame(CONTINUATION, END_HEADERS, 1, &fields(&USUAL))],
            Connection(&[PROTOCOL_ERROR]),
        ),
        ("data behind the end", vec![get(1), data(1, true, b"x")], Stream(&[STREAM_CLOSED])),
        ("a header behind the end", vec![get(1), get(1)], Stream(&[STREAM_CLOSED])),
        (
            "a continuation behind the end",
            vec![get(1), frame(CONTINUATION, END_HEADERS, 1, &fields(&USUAL))],
            Connection(&[PROTOCOL_ERROR, STREAM_CLOSED]),
        ),
        ("data behind a reset", vec![post(1), reset(1), data(1, true, b"x"), get(3)], Answer),
        (
            "a priority behind a reset",
            vec![post(1), reset(1), frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 1]), get(3)],
            Answer,
        ),
        ("a window behind a reset", vec![post(1), reset(1), window(1, 1), get(3)], Answer),
        ("an even number", vec![get(2)], Connection(&[PROTOCOL_ERROR])),
        (
            "a number that was passed over",
            vec![post(5), get(3)],
            Connection(&[PROTOCOL_ERROR, STREAM_CLOSED]),
        ),
        (
            "a request that depends on itself",
            vec![frame(
                HEADERS,
                END_HEADERS | END_STREAM | HAS_PRIORITY,
                1,
                &[&on_itself[..], &fields(&USUAL)].concat(),
            )],
            Stream(&[PROTOCOL_ERROR]),
        ),
        (
            "a stream that depends on itself",
            vec![frame(PRIORITY, 0, 1, &on_itself)],
            Stream(&[PROTOCOL_ERROR]),
        ),
    ];
    run(&server, cases);
}

/// Source: RFC 9113 §6.1 to §6.4, §6.6, §6.10.
#[test]
fn headers_data_and_resets_have_rules() {
    let upstream = Upstream::echo();
    let (_place, server) = published(&upstream);
    let usual = fields(&USUAL);
    let (first, last) = usual.split_at(9);
    let all = END_HEADERS | END_STREAM;
    let padded = [&[3][..], &usual, &[0; 3]].concat();
    let with_priority = [&[2, 0, 0, 0, 0, 7][..], &usual, &[0; 2]].concat();
    let cases: Vec<(&str, Vec<Vec<u8>>, Then)> = vec![
        ("data of the connection", vec![data(0, true, b"x")], Connection(&[PROTOCOL_ERROR])),
        ("padded data", vec![post(1), frame(DATA, END_STREAM | PADDED, 1, b"\x02xyz\0\0")], Answer),
        (
            "data with too much padding",
            vec![post(1), frame(DATA, END_STREAM | PADDED, 1, b"\x06xyz\0\0")],
            Connection(&[PROTOCOL_ERROR]),
        ),
        ("a padded header", vec![frame(HEADERS, all | PADDED, 1, &padded)], Answer),
        (
            "a padded header with a priority",
            vec![frame(HEADERS, all | PADDED | HAS_PRIORITY, 1, &with_priority)],
            Answer,
        ),
        (
            "a header with too much padding",
            vec![frame(HEADERS, all | PADDED, 1, &[&[0xff][..], &usual].concat())],
            Connection(&[PROTOCOL_ERROR]),
        ),
        (
            "a header of the connection",
            vec![frame(HEADERS, all, 0, &usual)],
            Connection(&[PROTOCOL_ERROR]),
        ),
        (
            "another frame within a header",
            vec![frame(HEADERS, END_STREAM, 1, first), frame(PING, 0, 0, &[0; 8])],
            Connection(&[PROTOCOL_ERROR]),
        ),
        (
            "an unknown frame within a header",
            vec![frame(HEADERS, END_STREAM, 1, first), frame(0xbf, 0, 1, b"x")],
            Connection(&[PROTOCOL_ERROR]),
        ),
        (
            "another header within a header",
            vec![frame(HEADERS, END_STREAM, 1, first), get(3)],
            Connection(&[PROTOCOL_ERROR]),
        ),
        (
            "a header in parts",
            vec![
                frame(HEADERS, END_STREAM, 1, first),
                frame(CONTINUATION, 0, 1, &[]),
                frame(CONTINUATION, END_HEADERS, 1, last),
            ],
            Answer,
        ),
        (
            "a continuation of another stream",
            vec![frame(HEADERS, END_STREAM, 1, first), frame(CONTINUATION, END_HEADERS, 3, last)],
            Connection(&[PROTOCOL_ERROR]),
        ),
        (
            "a continuation of the connection",
            vec![frame(HEADERS, END_STREAM, 1, first), frame(CONTINUATION, END_HEADERS, 0, last)],
            Connection(&[PROTOCOL_ERROR]),
        ),
        (
            "a priority of the connection",
            vec![frame(PRIORITY, 0, 0, &[0; 5])],
            Connection(&[PROTOCOL_ERROR]),
        ),
        (
            "a short priority",
            vec![post(1), frame(PRIORITY, 0, 1, &[0; 4])],
            Stream(&[FRAME_SIZE_ERROR]),
        ),
        (
            "a reset of the connection",
            vec![frame(RESET, 0, 0, &[0; 4])],
            Connection(&[PROTOCOL_ERROR]),
        ),
        (
            "a short reset",
            vec![post(1), frame(RESET, 0, 1, &[0; 3])],
            Connection(&[FRAME_SIZE_ERROR]),
        ),
        (
            "a reset for an unknown reason",
            vec![post(1), frame(RESET, 0, 1, &[0xff; 4]), get(3)],
            Answer,
        ),
        (
            "a push",
            vec![frame(PUSH_PROMISE, END_HEADERS, 1, &[&[0, 0, 0, 2][..], &usual].concat())],
            Connection(&[PROTOCOL_ERROR]),
        ),
    ];
    run(&server, cases);
}

/// Source: RFC 9113 §6.5, §6.7 to §6.9.
#[test]
fn settings_pings_and_windows_have_rules() {
    let upstream = Upstream::echo();
    let (_place, server) = published(&upstream);
    let greatest = 0x7fff_ffff;
    let cases: Vec<(&str, Vec<Vec<u8>>, Then)> = vec![
        (
            "an acknowledgement with settings",
            vec![frame(SETTINGS, ACK, 0, &[0; 6])],
            Connection(&[FRAME_SIZE_ERROR]),
        ),
        ("settings of a stream", vec![frame(SETTINGS, 0, 1, &[])], Connection(&[PROTOCOL_ERROR])),
        ("short settings", vec![frame(SETTINGS, 0, 0, &[0; 5])], Connection(&[FRAME_SIZE_ERROR])),
        ("push that is neither on nor off", vec![setting(2, 2)], Connection(&[PROTOCOL_ERROR])),
        (
            "a window beyond the greatest",
            vec![setting(4, greatest + 1)],
            Connection(&[FLOW_CONTROL_ERROR]),
        ),
        ("frames that are too small", vec![setting(5, 16_383)], Connection(&[PROTOCOL_ERROR])),
        ("frames that are too great", vec![setting(5, 1 << 24)], Connection(&[PROTOCOL_ERROR])),
        ("an unknown setting", vec![setting(0xff, 1), get(1)], Answer),
        ("the same setting twice", vec![setting(4, 100), setting(4, 200), get(1)], Answer),
        ("an acknowledgement of no ping", vec![frame(PING, ACK, 0, b"12345678"), get(1)], Answer),
        ("a ping of a stream", vec![frame(PING, 0, 1, &[0; 8])], Connection(&[PROTOCOL_ERROR])),
        ("a short ping", vec![frame(PING, 0, 0, &[0; 6])], Connection(&[FRAME_SIZE_ERROR])),
        (
            "a farewell of a stream",
            vec![frame(GOAWAY, 0, 1, &[0; 8])],
            Connection(&[PROTOCOL_ERROR]),
        ),
        ("no window of the connection", vec![window(0, 0)], Connection(&[PROTOCOL_ERROR])),
        ("no window of a stream", vec![post(1), window(1, 0)], Stream(&[PROTOCOL_ERROR])),
        (
            "a short window",
            vec![frame(WINDOW_UPDATE, 0, 0, &[0; 3])],
            Connection(&[FRAME_SIZE_ERROR]),
        ),
        (
            "a window of the connection that grows too great",
            vec![window(0, greatest)],
            Connection(&[FLOW_CONTROL_ERROR]),
        ),
        (
            "a window of a stream that grows too great",
            vec![post(1), window(1, greatest)],
            Stream(&[FLOW_CONTROL_ERROR]),
        ),
    ];
    run(&server, cases);

    let mut wire = opened(&server);
    assert!(next_of(&mut wire, &[SETTINGS]).is_some(), "its own settings");
    assert_eq!(next_of(&mut wire, &[SETTINGS]).unwrap().1, b"", "and the acknowledgement of ours");
    wire.send(frame(PING, 0, 0, b"12345678"));
    assert_eq!(next_of(&mut wire, &[PING]).unwrap().1, b"12345678");
    for (bytes, first) in
        [(vec![setting(4, 1), get(1)], 1), (vec![setting(4, 0), get(1), window(1, 3)], 3)]
    {
        let mut wire = opened(&server);
        wire.send(bytes.concat());
        let sent = next_of(&mut wire, &[DATA]).unwrap().1;
        assert_eq!(sent.len(), first, "no more than the window");
        wire.send(window(1, 5));
        assert_eq!(next_of(&mut wire, &[DATA]).unwrap().1.len(), 5);
    }
}

/// Source: RFC 9113 §8.1, §8.3.
#[test]
fn requests_have_one_head_and_perhaps_trailers() {
    let upstream = Upstream::echo();
    let (_place, server) = published(&upstream);
    let twice = |name: &'static str| {
        let value = USUAL.iter().find(|(own, _)| *own == name).unwrap().1;
        let block = [field(name, value), fields(&USUAL)].concat();
        vec![frame(HEADERS, END_HEADERS | END_STREAM, 1, &block)]
    };
    let trailers = |flags: u8, block: &[u8]| {
        vec![post(1), data(1, false, b"x"), frame(HEADERS, END_HEADERS | flags, 1, block)]
    };
    let cases: Vec<(&str, Vec<Vec<u8>>, Then)> = vec![
        ("trailers", trailers(END_STREAM, &field("x-sum", "1")), Answer),
        (
            "trailers that are not the end",
            trailers(0, &field("x-sum", "1")),
            Stream(&[PROTOCOL_ERROR]),
        ),
        ("two methods", twice(":method"), Stream(&[PROTOCOL_ERROR])),
        ("two schemes", twice(":scheme"), Stream(&[PROTOCOL_ERROR])),
        ("two paths", twice(":path"), Stream(&[PROTOCOL_ERROR])),
        (
            "a status",
            vec![frame(
                HEADERS,
                END_HEADERS | END_STREAM,
                1,
                &[field(":status", "200"), fields(&USUAL)].concat(),
            )],
            Stream(&[PROTOCOL_ERROR]),
        ),
    ];
    run(&server, cases);
    assert!(upstream.take().iter().all(|seen| seen.line().ends_with(" /x")));

    // The library passes over it, which may be: it is not passed on.
    run(
        &server,
        vec![("a pseudo-header in trailers", trailers(END_STREAM, &field(":path", "/y")), Answer)],
    );
    assert!(
        upstream
            .take()
            .iter()
            .all(|seen| seen.line().ends_with(" /x") && !seen.head.contains("/y"))
    );
}
