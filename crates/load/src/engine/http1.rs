//! HTTP/1.1: encodes a request into bytes and reads an answer from bytes, however they are split.

use std::io::Write as _;

use httparse::{EMPTY_HEADER, Status};

pub use httparse::Header;

use super::exchange::Fixed;
use super::source::Request;

/// The most bytes of an answer's head; a longer one is refused.
const HEAD_BYTES: usize = 64 * 1024;
/// The most header lines of an answer; more are refused.
pub const HEADERS: usize = 96;
/// The most bytes of a body that are kept; the rest is only counted.
const BODY_BYTES: usize = 16 * 1024 * 1024;
/// The capacity of the body buffer that stays with a connection, in bytes.
pub const KEPT_ROOM: usize = 64 * 1024;

/// Appends a request to `out`.
pub fn encode(method: &str, request: &Request, fixed: Fixed<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(fixed.prefix.as_bytes());
    out.extend_from_slice(&request.path);
    out.extend_from_slice(b" HTTP/1.1\r\n");
    out.extend_from_slice(fixed.lines);
    if request.auth {
        out.extend_from_slice(fixed.token);
    }
    out.extend_from_slice(&request.headers);
    if !request.body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
        _ = write!(out, "Content-Length: {}\r\n", request.body.len());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(&request.body);
}

/// The bytes received are not a valid answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Garbled;

/// Reads answers from bytes, one at a time.
#[derive(Debug, Default)]
pub struct Reader {
    state: State,
    head: Vec<u8>,
    body: Vec<u8>,
    keep: bool,
    no_body: bool,
    status: u16,
    closes: bool,
    /// The bytes of the body so far.
    length: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    Length(u64),
    Chunks(Chunks),
    UntilClose,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunks {
    /// The size line: the size read so far, and whether only an extension is left.
    Size(u64, bool),
    Data(u64),
    DataEnd,
    /// A trailer: the length of the line so far.
    Trailer(u32),
}

impl Reader {
    /// Begins reading the answer to a request with this method.
    pub fn begin(&mut self, method: &str, keep: bool) {
        self.state = State::Head;
        self.head.clear();
        self.body.clear();
        // The room for one large answer must not stay with each of many clients.
        self.body.shrink_to(KEPT_ROOM);
        self.keep = keep;
        self.no_body = method == "HEAD";
        self.status = 0;
        self.closes = false;
        self.length = 0;
    }

    /// Returns whether nothing of the answer has arrived yet.
    pub fn is_untouched(&self) -> bool {
        self.state == State::Head && self.head.is_empty()
    }

    /// Reads bytes; returns true when the answer is complete. If bytes follow its end, the
    /// connection closes.
    ///
    /// # Errors
    ///
    /// If the bytes are not HTTP, or the head is too large.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<bool, Garbled> {
        let mut rest = bytes;
        while self.state == State::Head {
            if rest.is_empty() {
                return Ok(false);
            }
            rest = self.feed_head(rest)?;
        }
        rest = self.feed_body(rest)?;
        if self.state == State::Done && !rest.is_empty() {
            self.closes = true;
        }
        Ok(self.state == State::Done)
    }

    /// Handles the end of the connection; returns true if that completes the answer.
    pub fn end(&mut self) -> bool {
        self.closes = true;
        if self.state == State::UntilClose {
            self.state = State::Done;
        }
        self.state == State::Done
    }

    /// Returns the status of a complete answer.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns whether the connection ends with this answer.
    pub fn closes(&self) -> bool {
        self.closes
    }

    /// Returns the part of the body that was kept.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns how many bytes the body had.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the header lines, parsed into `room`.
    pub fn headers<'a, 'b>(&'a self, room: &'b mut [Header<'a>; HEADERS]) -> &'b [Header<'a>] {
        let mut answer = httparse::Response::new(room);
        let count = match answer.parse(&self.head) {
            Ok(Status::Complete(_)) => answer.headers.len(),
            _ => 0,
        };
        &room[..count]
    }

    fn feed_head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Garbled> {
        let before = self.head.len();
        self.head.extend_from_slice(bytes);
        let mut headers = [EMPTY_HEADER; HEADERS];
        let mut answer = httparse::Response::new(&mut headers);
        let length = match answer.parse(&self.head).map_err(|_| Garbled)? {
            Status::Complete(length) => length,
            Status::Partial if self.head.len() > HEAD_BYTES => return Err(Garbled),
            Status::Partial => return Ok(&[]),
        };
        let status = answer.code.ok_or(Garbled)?;
        let framing = framing(answer.headers)?;
        let old = answer.version == Some(0);
        let rest = &bytes[length - before..];
        self.head.truncate(length);
        if (100..200).contains(&status) && status != 101 {
            self.head.clear();
            return Ok(rest);
        }
        self.status = status;
        self.closes = framing.close || old && !framing.keep_alive;
        self.state = if self.no_body || matches!(status, 101 | 204 | 304) {
            State::Done
        } else if framing.chunked {
            State::Chunks(Chunks::Size(0, false))
        } else {
            match framing.length {
                Some(0) => State::Done,
                Some(length) => State::Length(length),
                None => State::UntilClose,
            }
        };
        if let State::Length(length) = self.state
            && self.keep
        {
            self.body.reserve(usize::try_from(length).unwrap_or(usize::MAX).min(BODY_BYTES));
        }
        Ok(rest)
    }

    fn feed_body<'a>(&mut self, mut bytes: &'a [u8]) -> Result<&'a [u8], Garbled> {
        while !bytes.is_empty() {
            match self.state {
                State::Head | State::Done => break,
                State::UntilClose => {
                    self.keep(bytes);
                    bytes = &[];
                }
                State::Length(left) => {
                    let (data, rest) = bytes.split_at(share(bytes, left));
                    self.keep(data);
                    let left = left - data.len() as u64;
                    self.state = if left == 0 { State::Done } else { State::Length(left) };
                    bytes = rest;
                }
                State::Chunks(Chunks::Data(left)) => {
                    let (data, rest) = bytes.split_at(share(bytes, left));
                    self.keep(data);
                    let left = left - data.len() as u64;
                    self.state = State::Chunks(match left {
                        0 => Chunks::DataEnd,
                        left => Chunks::Data(left),
                    });
                    bytes = rest;
                }
                State::Chunks(at) => {
                    self.state = between_chunks(at, bytes[0])?;
                    bytes = &bytes[1..];
                }
            }
        }
        Ok(bytes)
    }

    fn keep(&mut self, data: &[u8]) {
        self.length += data.len() as u64;
        if self.keep {
            let room = BODY_BYTES - self.body.len();
            self.body.extend_from_slice(&data[..data.len().min(room)]);
        }
    }
}

struct Framing {
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

fn framing(headers: &[Header<'_>]) -> Result<Framing, Garbled> {
    let mut found = Framing { length: None, chunked: false, close: false, keep_alive: false };
    for header in headers {
        let value = header.value;
        if header.name.eq_ignore_ascii_case("content-length") {
            let text = std::str::from_utf8(value).map_err(|_| Garbled)?;
            let length = text.trim().parse().map_err(|_| Garbled)?;
            if found.length.is_some_and(|other| other != length) {
                return Err(Garbled);
            }
            found.length = Some(length);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            found.chunked |= names(value, "chunked");
        } else if header.name.eq_ignore_ascii_case("connection") {
            found.close |= names(value, "close");
            found.keep_alive |= names(value, "keep-alive");
        }
    }
    Ok(found)
}

/// Returns whether a comma-separated list contains a word.
fn names(list: &[u8], word: &str) -> bool {
    list.split(|byte| *byte == b',')
        .any(|item| item.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}

fn share(bytes: &[u8], left: u64) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len())
}

/// Handles a byte of the lines between the chunks' data.
fn between_chunks(at: Chunks, byte: u8) -> Result<State, Garbled> {
    let next = match (at, byte) {
        (Chunks::Size(0, _), b'\n') => Chunks::Trailer(0),
        (Chunks::Size(size, _), b'\n') => Chunks::Data(size),
        (Chunks::Size(size, true), _)
        | (Chunks::Size(size, false), b';' | b' ' | b'\t' | b'\r') => Chunks::Size(size, true),
        (Chunks::Size(size, false), digit) => {
            let digit = char::from(digit).to_digit(16).ok_or(Garbled)?;
            let size = size.checked_mul(16).and_then(|size| size.checked_add(digit.into()));
            Chunks::Size(size.ok_or(Garbled)?, false)
        }
        (Chunks::DataEnd, b'\r') => Chunks::DataEnd,
        (Chunks::DataEnd, b'\n') => Chunks::Size(0, false),
        (Chunks::DataEnd, _) => return Err(Garbled),
        (Chunks::Trailer(0), b'\n') => return Ok(State::Done),
        (Chunks::Trailer(length), b'\r') => Chunks::Trailer(length),
        (Chunks::Trailer(_), b'\n') => Chunks::Trailer(0),
        (Chunks::Trailer(length), _) if length as usize > HEAD_BYTES => return Err(Garbled),
        (Chunks::Trailer(length), _) => Chunks::Trailer(length + 1),
        (Chunks::Data(_), _) => unreachable!("data is taken as a whole"),
    };
    Ok(State::Chunks(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads an answer that is split into pieces of every size.
    fn read(method: &str, text: &str) -> Vec<Result<(u16, bool, String), Garbled>> {
        let bytes = text.as_bytes();
        (1..=bytes.len())
            .map(|size| {
                let mut reader = Reader::default();
                reader.begin(method, true);
                let mut done = false;
                for piece in bytes.chunks(size) {
                    done = reader.feed(piece)?;
                }
                let done = done || reader.end();
                assert!(done, "not whole in pieces of {size}");
                let body = String::from_utf8_lossy(reader.body()).into_owned();
                Ok((reader.status(), reader.closes(), body))
            })
            .collect()
    }

    fn whole(method: &str, text: &str) -> (u16, bool, String) {
        let all = read(method, text);
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "the cuts matter: {all:?}");
        all[0].clone().unwrap()
    }

    #[test]
    fn a_body_ends_at_its_length() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

        assert_eq!(whole("GET", text), (200, false, "hello".into()));
    }

    #[test]
    fn a_body_in_chunks_is_put_together() {
        let text = "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n\
            5;x=y\r\nhello\r\n00A\r\n and so on\r\n0\r\nSome: trailer\r\n\r\n";

        assert_eq!(whole("POST", text), (201, false, "hello and so on".into()));
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection() {
        let text = "HTTP/1.1 200 OK\r\n\r\nall there is";

        assert_eq!(whole("GET", text), (200, true, "all there is".into()));
    }

    #[test]
    fn answers_without_a_body_end_with_their_head() {
        let length = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        let not_modified = "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n";
        let no_content = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";

        assert_eq!(whole("HEAD", length), (200, false, String::new()));
        assert_eq!(whole("GET", not_modified), (304, false, String::new()));
        assert_eq!(whole("DELETE", no_content), (204, true, String::new()));
    }

    #[test]
    fn informational_answers_are_skipped() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

        assert_eq!(whole("POST", text), (200, false, "ok".into()));
    }

    #[test]
    fn an_invalid_answer_is_garbled() {
        for text in [
            "SSH-2.0-OpenSSH\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        ] {
            let mut reader = Reader::default();
            reader.begin("GET", false);

            assert_eq!(reader.feed(text.as_bytes()), Err(Garbled), "{text}");
        }
    }

    #[test]
    fn an_endless_head_is_refused() {
        let mut reader = Reader::default();
        reader.begin("GET", false);
        _ = reader.feed(b"HTTP/1.1 200 OK\r\n");

        let refused = (0..100_000).any(|_| reader.feed(b"X: yyyyyyyyyyyyyy\r\n").is_err());

        assert!(refused);
    }

    #[test]
    fn a_request_has_its_lines_in_order() {
        let request = Request {
            path: b"/a?b".to_vec(),
            headers: b"X: y\r\n".to_vec(),
            body: b"{}".to_vec(),
            auth: true,
        };
        let mut out = vec![];

        let fixed = Fixed {
            origin: "http://h",
            prefix: "/under",
            lines: b"Host: h\r\n",
            token: b"Authorization: Bearer t\r\n",
        };
        encode("POST", &request, fixed, &mut out);

        let text = String::from_utf8(out).unwrap();
        let asked = "POST /under/a?b HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\nX: y\r\n\
            Content-Length: 2\r\n\r\n{}";
        assert_eq!(text, asked);
    }
}
