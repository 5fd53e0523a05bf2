//! The body of a batch, line by line.

use homeroom_access::Call;
use homeroom_http::{BodyStream, Kind, Problem};

use super::limits::{BATCH_LINES_MAX, CHUNK_BYTES, CHUNK_LINES, LINE_BYTES_MAX};

/// Media types of lines of JSON.
const LINES: [&str; 6] = [
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
    "application/json-seq",
    "application/json",
];

/// Refuses a body that is not said to be lines of JSON.
///
/// # Errors
///
/// 415.
pub(super) fn expect_lines(call: &Call) -> Result<(), Problem> {
    let encoding = call.header("content-encoding").unwrap_or("identity").trim();
    if !encoding.eq_ignore_ascii_case("identity") {
        return Err(Problem::of(Kind::UnsupportedMediaType)
            .detail("This address takes lines as they are, not compressed.")
            .error("The Content-Encoding header is not identity.")
            .hint("Send the lines uncompressed, without the header Content-Encoding."));
    }
    let media = call.header("content-type").and_then(|value| value.split(';').next());
    let media = media.unwrap_or("").trim();
    if LINES.iter().any(|known| known.eq_ignore_ascii_case(media)) {
        return Ok(());
    }
    Err(Problem::of(Kind::UnsupportedMediaType)
        .detail("This address accepts lines of JSON, application/x-ndjson.")
        .error("The Content-Type header is not application/x-ndjson.")
        .hint("Send the header Content-Type: application/x-ndjson."))
}

/// A line that is not blank.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sent {
    /// Its number, from 1; blank lines count.
    pub(super) number: usize,
    /// Its text; [`None`] where it is too long.
    pub(super) text: Option<Vec<u8>>,
}

/// The lines of a body, which are read as they are asked for.
pub(super) struct Lines {
    body: BodyStream,
    split: Split,
    is_ended: bool,
    /// Why the rest cannot be read.
    trouble: Option<Problem>,
}

impl Lines {
    /// Returns the lines of a body.
    pub(super) fn of(body: BodyStream) -> Self {
        Self { body, split: Split::default(), is_ended: false, trouble: None }
    }

    /// Returns the next lines; [`None`] after the last, or after the last that could be read.
    pub(super) async fn next_chunk(&mut self) -> Option<Vec<Sent>> {
        while !self.is_ended && !self.split.is_chunk() {
            match self.body.next().await {
                Ok(Some(bytes)) => {
                    self.split.add(&bytes);
                    if self.split.beyond.is_some() {
                        self.is_ended = true;
                        self.trouble = Some(too_many_lines());
                        self.pass_over().await;
                    }
                }
                Ok(None) => {
                    self.is_ended = true;
                    self.split.end();
                    if self.split.beyond.is_some() {
                        self.trouble = Some(too_many_lines());
                    }
                }
                Err(problem) => {
                    self.is_ended = true;
                    self.trouble = Some(problem);
                }
            }
        }
        let chunk = self.split.take();
        (!chunk.is_empty() || !self.is_ended).then_some(chunk)
    }

    /// Returns the number of the line from which on nothing could be read, and why.
    pub(super) fn trouble(self) -> Option<(usize, Problem)> {
        let number = self.split.beyond.unwrap_or(self.split.number + 1);
        self.trouble.map(|problem| (number, problem))
    }

    /// Reads the rest within the body's limits, so that the caller, who may read the answer only
    /// when it has sent everything, gets it.
    async fn pass_over(&mut self) {
        while let Ok(Some(_)) = self.body.next().await {}
    }
}

/// Splits bytes into lines.
#[derive(Debug, Default)]
struct Split {
    lines: Vec<Sent>,
    bytes: usize,
    /// The line that has begun.
    line: Vec<u8>,
    is_too_long: bool,
    /// The number of lines that have ended.
    number: usize,
    /// The number of those that are not blank.
    filled: usize,
    /// The number of the first line that is one too many; neither it nor what follows is kept.
    beyond: Option<usize>,
}

impl Split {
    fn is_chunk(&self) -> bool {
        self.lines.len() >= CHUNK_LINES || self.bytes >= CHUNK_BYTES
    }

    fn take(&mut self) -> Vec<Sent> {
        self.bytes = 0;
        std::mem::take(&mut self.lines)
    }

    fn add(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend(&bytes[..end]);
            self.close();
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes);
    }

    /// Ends the last line, which may have no line feed.
    fn end(&mut self) {
        if !self.line.is_empty() || self.is_too_long {
            self.close();
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.is_too_long || self.line.len() + bytes.len() > LINE_BYTES_MAX {
            self.is_too_long = true;
            self.line = vec![];
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn close(&mut self) {
        self.number += 1;
        let text = std::mem::take(&mut self.line);
        let is_too_long = std::mem::take(&mut self.is_too_long);
        let is_blank = !is_too_long && text.iter().all(u8::is_ascii_whitespace);
        if is_blank || self.beyond.is_some() {
            return;
        }
        if self.filled == BATCH_LINES_MAX {
            self.beyond = Some(self.number);
            return;
        }
        self.filled += 1;
        self.bytes += text.len();
        self.lines.push(Sent { number: self.number, text: (!is_too_long).then_some(text) });
    }
}

/// Refuses a request that has more lines than are allowed.
fn too_many_lines() -> Problem {
    Problem::of(Kind::PayloadTooLarge)
        .detail(format!(
            "A batch has at most {BATCH_LINES_MAX} lines; the rest was not read. The lines before it \
             were taken, and have answers of their own."
        ))
        .hint("Send the lines from this one on in another request.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&[u8]]) -> Vec<(usize, Option<Vec<u8>>)> {
        let mut split = Split::default();
        for piece in pieces {
            split.add(piece);
        }
        split.end();
        split.take().into_iter().map(|line| (line.number, line.text)).collect()
    }

    #[test]
    fn lines_are_the_same_wherever_the_bytes_are_cut() {
        let text = b"one\r\n\n  \ntwo\nthree";
        let whole = split(&[text]);

        assert_eq!(whole.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 4, 5]);
        for cut in 0..text.len() {
            assert_eq!(split(&[&text[..cut], &text[cut..]]), whole, "{cut}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_is_read() {
        let long = vec![b'x'; LINE_BYTES_MAX];

        let exact = split(&[&long, b"\nnext"]);
        let over = split(&[&long, b"x", b"y\nnext"]);

        assert_eq!(exact[0].1.as_deref(), Some(&long[..]));
        assert_eq!(over, [(1, None), (2, Some(b"next".to_vec()))]);
    }
}
