//! Where requests begin and end in the bytes of an HTTP/1 connection.
//!
//! When a request has both `Content-Length` and `Transfer-Encoding`, hyper silently uses the
//! latter; a proxy in front of this server may have used the former. It also ends a line at a line feed
//! without a carriage return, where others see no end. So the bytes are tracked on their way to hyper,
//! and a head with both headers or with such a line is corrupted so that hyper refuses it with 400.
//! hyper refuses everything else that is malformed, so only well-formed streams have to be tracked
//! correctly.
//!
//! Source: RFC 9112 §2.1 (messages), §2.2 (ends of lines), §6.3 (which length holds), §7.1 (chunks),
//! §11.2 (smuggling).

/// The first bytes of HTTP/2 with prior knowledge (RFC 9113 §3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What ends a head or a trailer.
const END: &[u8] = b"\r\n\r\n";

const LENGTH: &[u8] = b"content-length";
const ENCODING: &[u8] = b"transfer-encoding";

/// A position in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before a request, where empty lines are skipped.
    Start,
    /// In a request line, or in a header line whose rest does not matter.
    Line,
    /// In a header's name, with the number of bytes seen so far.
    Name(usize),
    /// In the value of `Content-Length`.
    Length,
    /// In a body, with the number of bytes still to come.
    Body(u64),
    /// In the size of a chunk; false after its digits.
    Size(u64, bool),
    /// In a chunk, including the line end that follows it.
    Chunk(u64),
    /// In a line of the trailer, which ends with an empty one.
    Trailer { is_empty: bool },
    /// In HTTP/2, which is not tracked any further.
    Http2,
}

/// Tracks one stream.
#[derive(Debug)]
pub(super) struct Framing {
    at: At,
    /// Whether the header name read so far may still be `Content-Length` or `Transfer-Encoding`.
    may_be_length: bool,
    may_be_encoding: bool,
    length: Option<u64>,
    is_chunked: bool,
    /// How many bytes of [`PREFACE`] have been seen; [`None`] once the stream differs from it.
    preface: Option<usize>,
    heads: u64,
    /// The last byte.
    last: u8,
    /// What is to be read next instead of the stream.
    instead: &'static [u8],
}

impl Framing {
    pub(super) fn new() -> Self {
        Self {
            at: At::Start,
            may_be_length: false,
            may_be_encoding: false,
            length: None,
            is_chunked: false,
            preface: Some(0),
            heads: 0,
            last: 0,
            instead: &[],
        }
    }

    /// Returns the number of the request whose head has begun but not ended.
    pub(super) fn open_head(&self) -> Option<u64> {
        matches!(self.at, At::Line | At::Name(_) | At::Length).then_some(self.heads)
    }

    /// Returns whether the next byte begins a request.
    pub(super) fn is_between_requests(&self) -> bool {
        self.at == At::Start
    }

    /// Returns whether the stream is HTTP/2.
    pub(super) fn is_http_2(&self) -> bool {
        self.at == At::Http2
    }

    /// Processes the next bytes and corrupts a head that has both lengths, or a line that ends with a
    /// line feed alone.
    pub(super) fn follow(&mut self, bytes: &mut [u8]) {
        let mut at = 0;
        while at < bytes.len() && self.at != At::Http2 {
            let taken = match self.at {
                At::Line => pass_line(&bytes[at..]),
                At::Body(left) | At::Chunk(left) => {
                    let here = (bytes.len() - at) as u64;
                    usize::try_from(left.min(here)).unwrap_or(bytes.len() - at)
                }
                _ => 1,
            };
            self.follow_preface(&bytes[at..at + taken]);
            let piece = &mut bytes[at..at + taken];
            let is_bare = self.is_bare_end(piece);
            self.last = piece.last().copied().unwrap_or(self.last);
            self.take(piece);
            if is_bare && let Some(end) = piece.last_mut() {
                // Neither a request line nor a header may have this byte. What follows it is no line's
                // end any more, without which hyper would wait for one.
                *end = 0;
                self.instead = END;
            }
            at += taken;
        }
    }

    /// Returns what is to be read next instead of the stream: the end of a corrupted head.
    pub(super) fn instead(&mut self) -> &'static [u8] {
        std::mem::take(&mut self.instead)
    }

    /// Processes a piece that lies within one position.
    fn take(&mut self, piece: &mut [u8]) {
        let last = piece[piece.len() - 1];
        self.at = match self.at {
            At::Start if matches!(last, b'\r' | b'\n') => At::Start,
            At::Start => {
                self.heads += 1;
                (self.length, self.is_chunked) = (None, false);
                At::Line
            }
            At::Line | At::Length if last == b'\n' => self.begin_name(),
            At::Line => At::Line,
            At::Name(0) if last == b'\n' => self.end_head(),
            At::Name(0) if last == b'\r' => At::Name(0),
            At::Name(seen) => self.take_name(seen, &mut piece[0]),
            At::Length => {
                self.take_digit(last);
                At::Length
            }
            At::Body(left) => match left - piece.len() as u64 {
                0 => At::Start,
                left => At::Body(left),
            },
            At::Size(0, _) if last == b'\n' => At::Trailer { is_empty: true },
            At::Size(size, _) if last == b'\n' => At::Chunk(size.saturating_add(2)),
            At::Size(size, is_open) => match char::from(last).to_digit(16) {
                Some(digit) if is_open => {
                    At::Size(size.saturating_mul(16).saturating_add(digit.into()), true)
                }
                _ => At::Size(size, false),
            },
            At::Chunk(left) => match left - piece.len() as u64 {
                0 => At::Size(0, true),
                left => At::Chunk(left),
            },
            At::Trailer { is_empty: true } if last == b'\n' => At::Start,
            At::Trailer { .. } if last == b'\n' => At::Trailer { is_empty: true },
            At::Trailer { is_empty } => At::Trailer { is_empty: is_empty && last == b'\r' },
            At::Http2 => At::Http2,
        };
    }

    /// Returns whether a piece ends a line of a head or of a trailer with a line feed alone. hyper itself
    /// refuses that in the size of a chunk.
    fn is_bare_end(&self, piece: &[u8]) -> bool {
        let is_line = matches!(self.at, At::Line | At::Name(_) | At::Length | At::Trailer { .. });
        match piece {
            [.., before, b'\n'] => is_line && *before != b'\r',
            [b'\n'] => is_line && self.last != b'\r',
            _ => false,
        }
    }

    fn follow_preface(&mut self, piece: &[u8]) {
        let Some(seen) = self.preface else { return };
        let end = PREFACE.len().min(seen + piece.len());
        if !piece.starts_with(&PREFACE[seen..end]) {
            self.preface = None;
        } else if end == PREFACE.len() {
            self.at = At::Http2;
        } else {
            self.preface = Some(end);
        }
    }

    fn begin_name(&mut self) -> At {
        (self.may_be_length, self.may_be_encoding) = (true, true);
        At::Name(0)
    }

    fn take_name(&mut self, seen: usize, byte: &mut u8) -> At {
        if *byte == b':' {
            let is_length = self.may_be_length && seen == LENGTH.len();
            let is_encoding = self.may_be_encoding && seen == ENCODING.len();
            if (is_length && self.is_chunked) || (is_encoding && self.length.is_some()) {
                // A header name must be followed by a colon, so this line is no longer a valid
                // header.
                *byte = b' ';
            }
            if is_length {
                self.length = Some(0);
                return At::Length;
            }
            self.is_chunked |= is_encoding;
            return At::Line;
        }
        if *byte == b'\n' {
            return self.begin_name();
        }
        let is_next = |name: &[u8]| name.get(seen).is_some_and(|n| n.eq_ignore_ascii_case(byte));
        self.may_be_length &= is_next(LENGTH);
        self.may_be_encoding &= is_next(ENCODING);
        if self.may_be_length || self.may_be_encoding { At::Name(seen + 1) } else { At::Line }
    }

    fn take_digit(&mut self, byte: u8) {
        if let Some(digit) = char::from(byte).to_digit(10) {
            let length = self.length.unwrap_or(0).saturating_mul(10).saturating_add(digit.into());
            self.length = Some(length);
        }
    }

    fn end_head(&mut self) -> At {
        match self.length {
            _ if self.is_chunked => At::Size(0, true),
            None | Some(0) => At::Start,
            Some(length) => At::Body(length),
        }
    }
}

/// Returns how many bytes there are up to the end of the line, or of the input.
fn pass_line(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a stream in pieces of one size. Returns the bytes passed on and the final state.
    fn follow(stream: &str, size: usize) -> (String, Framing) {
        let mut framing = Framing::new();
        let mut bytes = stream.as_bytes().to_vec();
        for piece in bytes.chunks_mut(size) {
            framing.follow(piece);
        }
        (String::from_utf8(bytes).unwrap(), framing)
    }

    const PLAIN: &str = "\r\nGET / HTTP/1.1\r\nhost: a\r\ncontent-type: b\r\n\r\n";
    const SIZED: &str = "POST / HTTP/1.1\r\nContent-Length: 30\r\ncontent-length: 30\r\n\r\n\
                         content-length: 1\r\ntransfer-";
    const CHUNKED: &str = "POST / HTTP/1.1\r\nTRANSFER-encoding: chunked\r\n\r\n\
                           1F;a=1\r\nX\r\n\r\ncontent-length: 1\r\ntransf\r\n3\r\nabc\r\n\
                           0\r\ncontent-length: 5\r\n\r\n";
    const NEITHER: &str = "GET / HTTP/1.1\r\ncontent-lengths: 5\r\ntransfer-encodin: x\r\n\
                           x-content-length: 7\r\n\r\n";

    #[test]
    fn a_well_formed_stream_passes_unchanged_however_it_is_cut() {
        let stream = [PLAIN, SIZED, CHUNKED, NEITHER, SIZED, CHUNKED, PLAIN].concat();
        for size in 1..stream.len() {
            let (passed, framing) = follow(&stream, size);

            assert_eq!(passed, stream, "pieces of {size}");
            assert_eq!((framing.at, framing.heads), (At::Start, 7), "pieces of {size}");
        }
    }

    #[test]
    fn a_head_with_both_lengths_is_spoilt_wherever_it_stands_and_however_it_is_cut() {
        for before in ["", PLAIN, SIZED, CHUNKED, NEITHER] {
            for head in [
                "POST / HTTP/1.1\r\ncontent-length: 5\r\nx: y\r\nTransfer-Encoding: chunked\r\n\r\n",
                "POST / HTTP/1.1\r\ntransfer-encoding:chunked\r\ncontent-length:5\r\n\r\n",
                "POST / HTTP/1.1\r\ncontent-length: 0\r\ntransfer-encoding: chunked\r\n\r\n",
            ] {
                let stream = format!("{before}{head}");
                for size in 1..stream.len() {
                    let (passed, _) = follow(&stream, size);

                    let spoilt = passed.bytes().zip(stream.bytes()).filter(|(a, b)| a != b);
                    assert_eq!(spoilt.collect::<Vec<_>>(), [(b' ', b':')], "{stream}");
                    assert!(passed.starts_with(before));
                }
            }
        }
    }

    #[test]
    fn a_line_that_ends_with_a_line_feed_alone_is_spoilt_and_a_body_is_not() {
        for before in ["", PLAIN, SIZED, CHUNKED] {
            for (head, count) in [
                ("GET / HTTP/1.1\nhost: a\r\n\r\n", 1),
                ("GET / HTTP/1.1\r\nhost: a\n\r\n", 1),
                ("GET / HTTP/1.1\r\nhost: a\r\n\n", 1),
                ("GET / HTTP/1.1\nhost: a\n\n", 3),
                ("POST / HTTP/1.1\r\ncontent-length: 4\n\r\n\n\n\n\n", 1),
                ("POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\n\n\n\n\n", 0),
                (
                    "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\n\n\n\r\n0\r\na: b\n\r\n",
                    1,
                ),
            ] {
                let stream = format!("{before}{head}");
                for size in 1..stream.len() {
                    let (passed, _) = follow(&stream, size);

                    let spoilt = passed.bytes().zip(stream.bytes()).filter(|(a, b)| a != b);
                    assert_eq!(spoilt.collect::<Vec<_>>(), vec![(0, b'\n'); count], "{stream:?}");
                }
            }
        }
    }

    #[test]
    fn an_open_head_is_told_from_the_quiet_between_requests() {
        for (stream, open) in [
            ("", None),
            ("\r\n", None),
            ("G", Some(1)),
            ("GET / HTTP/1.1\r\nhost", Some(1)),
            ("GET / HTTP/1.1\r\nhost: a\r\n", Some(1)),
            (PLAIN, None),
            ("POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nab", None),
            ("POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabcP", Some(2)),
        ] {
            assert_eq!(follow(stream, 1).1.open_head(), open, "{stream:?}");
        }
    }

    #[test]
    fn http_2_is_followed_no_further_and_only_by_its_whole_preface() {
        let frames = "content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n";
        let preface = std::str::from_utf8(PREFACE).unwrap();
        for size in 1..60 {
            let (passed, framing) = follow(&format!("{preface}{frames}"), size);
            assert_eq!((framing.at, framing.open_head()), (At::Http2, None), "{size}");
            assert!(passed.ends_with(frames));

            let (passed, framing) = follow(&format!("PRI * HTTP/2.0\r\n{frames}"), size);
            assert_ne!(framing.at, At::Http2);
            assert!(!passed.ends_with(frames));
        }
    }
}
