//! The first part of a multipart body, as a stream.
//!
//! Source: RFC 2046 §5.1.1, RFC 7578.

use memchr::memmem;

/// Most bytes before the first part, and of its header.
const HEADER_BYTES_MAX: usize = 32 << 10;
/// Most bytes of a boundary.
const BOUNDARY_BYTES_MAX: usize = 200;

/// Reads the first part of a multipart body.
#[derive(Debug)]
pub(crate) struct FirstPart {
    /// What ends a part: a line feed, two dashes and the boundary.
    delimiter: Vec<u8>,
    buffer: Vec<u8>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Preamble,
    Header,
    Content,
    Ended,
}

/// Returns the boundary of a multipart media type; [`None`] for any other media type, and an empty
/// text where it is missing.
pub(crate) fn boundary(content_type: &str) -> Option<&str> {
    let media = content_type.split(';').next().unwrap_or("").trim();
    if !media.get(..10).is_some_and(|kind| kind.eq_ignore_ascii_case("multipart/")) {
        return None;
    }
    let parameters = content_type.split(';').skip(1).filter_map(|text| text.split_once('='));
    let named = parameters
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("boundary"))
        .map(|(_, value)| value.trim().trim_matches('"'));
    Some(named.into_iter().next().unwrap_or(""))
}

impl FirstPart {
    /// Begins to read a body with this boundary.
    ///
    /// # Errors
    ///
    /// What is wrong with the boundary.
    pub(crate) fn new(boundary: &str) -> Result<Self, &'static str> {
        if boundary.is_empty() || boundary.len() > BOUNDARY_BYTES_MAX {
            return Err("The Content-Type header has no usable boundary.");
        }
        // The first delimiter may stand at the very beginning, without a line feed before it.
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        Ok(Self { delimiter, buffer: b"\r\n".to_vec(), state: State::Preamble })
    }

    /// Takes bytes of the body and adds the content that is in them to `out`.
    ///
    /// # Errors
    ///
    /// What is wrong with the body.
    pub(crate) fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
        if self.state == State::Ended {
            return Ok(());
        }
        self.buffer.extend_from_slice(bytes);
        loop {
            match self.state {
                State::Preamble => {
                    let found = memmem::find(&self.buffer, &self.delimiter);
                    let end = found.and_then(|at| {
                        let line = at + self.delimiter.len();
                        memmem::find(&self.buffer[line..], b"\n").map(|end| line..line + end + 1)
                    });
                    let Some(line) = end else { return self.wait() };
                    if self.buffer[line.clone()].starts_with(b"--") {
                        return Err("The multipart body has no part.");
                    }
                    // The line feed stays, so that a part without a header ends its header with it.
                    self.buffer.drain(..line.end - 1);
                    self.state = State::Header;
                }
                State::Header => {
                    let ends = [&b"\n\r\n"[..], b"\n\n"];
                    let found = ends
                        .iter()
                        .filter_map(|end| memmem::find(&self.buffer, end).map(|at| at + end.len()));
                    let Some(end) = found.min() else { return self.wait() };
                    self.buffer.drain(..end);
                    self.state = State::Content;
                }
                State::Content => {
                    if let Some(at) = memmem::find(&self.buffer, &self.delimiter) {
                        out.extend_from_slice(&self.buffer[..at]);
                        self.buffer = vec![];
                        self.state = State::Ended;
                    } else {
                        let certain = self.buffer.len().saturating_sub(self.delimiter.len() - 1);
                        out.extend(self.buffer.drain(..certain));
                    }
                    return Ok(());
                }
                State::Ended => return Ok(()),
            }
        }
    }

    /// Returns whether the part has ended.
    pub(crate) fn is_ended(&self) -> bool {
        self.state == State::Ended
    }

    fn wait(&self) -> Result<(), &'static str> {
        if self.buffer.len() > HEADER_BYTES_MAX {
            return Err("The header of the multipart body is too long, or has no part.");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &[u8], cuts: &[usize]) -> (Vec<u8>, bool) {
        let mut part = FirstPart::new("xyz").unwrap();
        let (mut out, mut from) = (vec![], 0);
        for cut in cuts.iter().copied().chain([body.len()]) {
            part.take(&body[from..cut], &mut out).unwrap();
            from = cut;
        }
        (out, part.is_ended())
    }

    #[test]
    fn the_content_is_the_same_wherever_the_body_is_cut() {
        let body =
            b"--xyz\r\nContent-Disposition: form-data; name=\"f\"\r\nA: b\r\n\r\none\r\n--xy \
                     two\r\n\r\n--xyz--\r\n";
        let whole = read(body, &[]);

        assert_eq!(whole, (b"one\r\n--xy two\r\n".to_vec(), true));
        for cut in 0..body.len() {
            assert_eq!(read(body, &[cut]), whole, "{cut}");
        }
        let each: Vec<usize> = (0..body.len()).collect();
        assert_eq!(read(body, &each), whole);
    }

    #[test]
    fn a_preamble_is_passed_over_and_other_parts_are_left_out() {
        let body = b"preamble\r\n--xyz\r\n\r\none\r\n--xyz\r\n\r\ntwo\r\n--xyz--";

        assert_eq!(read(body, &[]), (b"one".to_vec(), true));
    }

    #[test]
    fn a_part_that_does_not_end_is_not_whole_and_a_body_without_one_is_refused() {
        assert!(!read(b"--xyz\r\n\r\none", &[]).1);
        let mut part = FirstPart::new("xyz").unwrap();
        assert!(part.take(b"--xyz--\r\n", &mut vec![]).is_err());
        let mut part = FirstPart::new("xyz").unwrap();
        assert!(part.take(&vec![b'x'; HEADER_BYTES_MAX + 1], &mut vec![]).is_err());
        assert!(FirstPart::new("").is_err());
    }

    #[test]
    fn the_boundary_is_read_from_the_media_type() {
        for (media, expected) in [
            ("multipart/form-data; boundary=abc", Some("abc")),
            ("Multipart/Mixed;charset=x; Boundary=\"a b\"", Some("a b")),
            ("multipart/form-data", Some("")),
            ("application/octet-stream", None),
            ("text/xml; boundary=abc", None),
            ("", None),
        ] {
            assert_eq!(boundary(media), expected, "{media}");
        }
    }
}
