//! Reads an answer: its head, and a body that ends by length, by chunks or with the connection.

use std::io::{self, BufRead, Read};

/// The largest answer in bytes: the description of a large model has 10 MB.
const BODY_MAX: u64 = 64 << 20;
/// The longest line of an answer's head, in bytes.
const LINE_MAX: u64 = 32 << 10;
/// The most lines of an answer's head.
const LINES_MAX: usize = 200;

/// An answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// The answer's status.
    pub status: u16,
    /// The `Location` header, if there is one.
    pub location: Option<String>,
    /// The `Retry-After` header in seconds, if there is one.
    pub retry_after_s: Option<u64>,
    /// The answer's body.
    pub body: Vec<u8>,
}

/// Reads an answer. Also returns whether the connection can take another request.
pub fn read(from: &mut impl BufRead) -> io::Result<(Reply, bool)> {
    loop {
        let (reply, length, stays_open) = read_head(from)?;
        if reply.status < 200 {
            continue;
        }
        return read_body(from, reply, length, stays_open);
    }
}

/// How the length of a body is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Bytes(u64),
    Chunks,
    Closed,
}

fn read_head(from: &mut impl BufRead) -> io::Result<(Reply, Length, bool)> {
    let status_line = read_line(from)?;
    let mut words = status_line.split(' ');
    let version = words.next().unwrap_or_default();
    let status = words.next().and_then(|status| status.parse().ok());
    let status: u16 = status.ok_or_else(|| io::Error::other("its answer is no HTTP"))?;
    let mut reply = Reply { status, ..Reply::default() };
    let has_no_body = status < 200 || status == 204 || status == 304;
    let mut length = if has_no_body { Length::Bytes(0) } else { Length::Closed };
    let mut stays_open = version == "HTTP/1.1";
    for _ in 0..LINES_MAX {
        let line = read_line(from)?;
        if line.is_empty() {
            return Ok((reply, length, stays_open && length != Length::Closed));
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "location" => reply.location = Some(value.to_owned()),
            "retry-after" => reply.retry_after_s = value.parse().ok(),
            "connection" if value.eq_ignore_ascii_case("close") => stays_open = false,
            "content-length" if length == Length::Closed => {
                let bytes = value.parse().map_err(io::Error::other)?;
                length = Length::Bytes(bytes);
            }
            "transfer-encoding"
                if !has_no_body && value.to_ascii_lowercase().ends_with("chunked") =>
            {
                length = Length::Chunks;
            }
            _ => {}
        }
    }
    Err(io::Error::other("the head of its answer has too many lines"))
}

fn read_body(
    from: &mut impl BufRead,
    mut reply: Reply,
    length: Length,
    stays_open: bool,
) -> io::Result<(Reply, bool)> {
    match length {
        Length::Bytes(bytes) => append(from, bytes, &mut reply.body)?,
        Length::Closed => {
            match from.take(BODY_MAX + 1).read_to_end(&mut reply.body) {
                // Some servers close a TLS connection without an alert.
                Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
                _ => {}
            }
            append(from, 0, &mut reply.body)?;
        }
        Length::Chunks => loop {
            let line = read_line(from)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
            if size == 0 {
                while !read_line(from)?.is_empty() {}
                break;
            }
            append(from, size, &mut reply.body)?;
            read_line(from)?;
        },
    }
    Ok((reply, stays_open))
}

/// Reads exactly `bytes` more bytes.
fn append(from: &mut impl BufRead, bytes: u64, body: &mut Vec<u8>) -> io::Result<()> {
    if body.len() as u64 + bytes > BODY_MAX {
        return Err(io::Error::other(format!("its answer has more than {BODY_MAX} bytes")));
    }
    let read = from.take(bytes).read_to_end(body)?;
    let is_whole = read as u64 == bytes;
    is_whole.then_some(()).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn read_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = vec![];
    from.take(LINE_MAX).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(bytes: &str) -> io::Result<(Reply, bool)> {
        read(&mut bytes.as_bytes())
    }

    #[test]
    fn a_body_ends_by_length_by_chunks_or_by_the_end() {
        let by_length = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP";
        let by_chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
        let by_end = "HTTP/1.1 200 OK\r\n\r\nabc";

        let found = [by_length, by_chunks, by_end].map(|bytes| reply(bytes).unwrap());

        let bodies = found.each_ref().map(|(reply, _)| reply.body.as_slice());
        assert_eq!(bodies, [b"abc", b"abc", b"abc"]);
        assert_eq!(found.map(|(_, stays_open)| stays_open), [true, true, false]);
    }

    #[test]
    fn an_answer_that_is_cut_off_is_an_error() {
        let cut =
            ["HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"];

        for bytes in cut {
            assert!(reply(bytes).is_err(), "{bytes}");
        }
    }

    #[test]
    fn an_answer_without_a_body_keeps_the_connection_open() {
        let head = "HTTP/1.1 201 Created\r\nlocation: https://x/data/v3/ed-fi/schools/12ab\r\n";

        let (reply, stays_open) = reply(&format!("{head}content-length: 0\r\n\r\n")).unwrap();

        assert_eq!(reply.location.as_deref(), Some("https://x/data/v3/ed-fi/schools/12ab"));
        assert!(stays_open);
    }
}
