//! Forms with files, read as they arrive.
//!
//! Source: RFC 7578, RFC 2046 §5.1.

use bytes::{Bytes, BytesMut};
use homeroom_http::BodyStream;
use memchr::memmem;

use crate::error::Error;

/// Most bytes of the header of a part.
const HEADER_BYTES_MAX: usize = 16 << 10;
/// Most parts of a form.
const PARTS_MAX: usize = 100;

/// A form that arrives.
#[derive(Debug)]
pub(crate) struct Multipart {
    body: BodyStream,
    /// What stands before each part, with the line's end before it.
    delimiter: Vec<u8>,
    buffer: BytesMut,
    is_whole: bool,
    /// Whether the bytes that come are a part's, or what stands before the first one.
    is_in_part: bool,
    parts: usize,
}

/// The header of a part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PartHead {
    /// The name of the field.
    pub(crate) name: String,
    /// The name of the file, if it is one.
    pub(crate) file_name: Option<String>,
}

impl Multipart {
    /// Returns the boundary of a form with files; [`None`] for another type of body.
    pub(crate) fn boundary(content_type: &str) -> Option<String> {
        let (media, rest) = content_type.split_once(';')?;
        if !media.trim().eq_ignore_ascii_case("multipart/form-data") {
            return None;
        }
        let found = parameter(rest, "boundary")?;
        (!found.is_empty() && found.len() <= 200).then_some(found)
    }

    pub(crate) fn new(boundary: &str, body: BodyStream) -> Self {
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        // The first delimiter stands at the beginning of a line, too.
        let buffer = BytesMut::from(&b"\r\n"[..]);
        Self { body, delimiter, buffer, is_whole: false, is_in_part: true, parts: 0 }
    }

    /// Returns the header of the next part, after the rest of the one before; [`None`] at the end.
    pub(crate) async fn next_part(&mut self) -> Result<Option<PartHead>, Error> {
        while self.chunk().await?.is_some() {}
        while self.buffer.len() < 2 && self.fill().await? {}
        if self.buffer.starts_with(b"--") {
            while self.fill().await? {
                self.buffer.clear();
            }
            return Ok(None);
        }
        self.parts += 1;
        if self.parts > PARTS_MAX {
            return Err(Error::Invalid(format!("the form has more than {PARTS_MAX} parts")));
        }
        loop {
            if let Some(at) = memmem::find(&self.buffer, b"\r\n\r\n") {
                let head = self.buffer.split_to(at + 4);
                // The end of the header may be the beginning of a delimiter.
                if self.buffer.starts_with(&self.delimiter[2..]) {
                    let rest = self.buffer.split();
                    self.buffer.extend_from_slice(b"\r\n");
                    self.buffer.extend_from_slice(&rest);
                }
                self.is_in_part = true;
                return Ok(Some(read_head(&head)));
            }
            if self.buffer.len() > HEADER_BYTES_MAX {
                return Err(Error::Invalid("the header of a part is too long".into()));
            }
            if !self.fill().await? {
                return Err(ended());
            }
        }
    }

    /// Returns the next bytes of the part; [`None`] at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        if !self.is_in_part {
            return Ok(None);
        }
        loop {
            match memmem::find(&self.buffer, &self.delimiter) {
                Some(0) => {
                    self.is_in_part = false;
                    _ = self.buffer.split_to(self.delimiter.len());
                    return Ok(None);
                }
                Some(at) => return Ok(Some(self.buffer.split_to(at).freeze())),
                None => {}
            }
            let safe = self.buffer.len().saturating_sub(self.delimiter.len());
            if safe > 0 {
                return Ok(Some(self.buffer.split_to(safe).freeze()));
            }
            if !self.fill().await? {
                return Err(ended());
            }
        }
    }

    /// Reads a short part as text.
    pub(crate) async fn text(&mut self, bytes_max: usize) -> Result<String, Error> {
        let mut all = vec![];
        while let Some(bytes) = self.chunk().await? {
            all.extend_from_slice(&bytes);
            if all.len() > bytes_max {
                return Err(Error::TooLarge(format!("a field has more than {bytes_max} bytes")));
            }
        }
        String::from_utf8(all)
            .map_err(|_| Error::Invalid("a field of the form is not UTF-8".into()))
    }

    async fn fill(&mut self) -> Result<bool, Error> {
        if self.is_whole {
            return Ok(false);
        }
        match self.body.next().await? {
            Some(bytes) => self.buffer.extend_from_slice(&bytes),
            None => self.is_whole = true,
        }
        Ok(!self.is_whole)
    }
}

fn ended() -> Error {
    Error::Invalid("the form ended before its last part did".into())
}

fn read_head(head: &[u8]) -> PartHead {
    let text = String::from_utf8_lossy(head);
    let mut found = PartHead::default();
    for line in text.split("\r\n") {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.trim().eq_ignore_ascii_case("content-disposition") {
            found.name = parameter(value, "name").unwrap_or_default();
            found.file_name = parameter(value, "filename");
        }
    }
    found
}

/// Returns a parameter of a header's value, such as `name="file"`.
fn parameter(value: &str, wanted: &str) -> Option<String> {
    let mut rest = value;
    loop {
        rest = rest.trim_start_matches([';', ' ', '\t']);
        if rest.is_empty() {
            return None;
        }
        let at = rest.find(['=', ';']).unwrap_or(rest.len());
        let name = rest[..at].trim();
        if !rest[at..].starts_with('=') {
            rest = &rest[at..];
            continue;
        }
        let after = &rest[at + 1..];
        let (found, left) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => {
                let end = after.find(';').unwrap_or(after.len());
                (after[..end].trim().to_owned(), &after[end..])
            }
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(found);
        }
        rest = left;
    }
}

fn unquoted(text: &str) -> (String, &str) {
    let mut found = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (found, &text[at + 1..]),
            '\\' => {
                // Browsers write names of files of Windows without escapes.
                match letters.next() {
                    Some((_, next @ ('"' | '\\'))) => found.push(next),
                    Some((_, next)) => found.extend(['\\', next]),
                    None => {}
                }
            }
            letter => found.push(letter),
        }
    }
    (found, "")
}

#[cfg(test)]
mod tests {
    use homeroom_http::{BodyLimits, RequestBody};

    use super::*;

    fn form(text: &str) -> Multipart {
        let body = RequestBody::from(Bytes::from(text.to_owned()));
        Multipart::new("xx", body.stream(BodyLimits::of_bytes(1 << 20)).unwrap())
    }

    #[tokio::test]
    async fn a_form_is_read_part_by_part() {
        let mut form = form(
            "--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--xx\r\n\
             content-disposition: form-data; name=\"file\"; filename=\"a \\\"b\\\".zip\"\r\n\
             Content-Type: application/zip\r\n\r\nPK\r\n--x\r\n--xx--\r\n",
        );

        let first = form.next_part().await.unwrap().unwrap();
        let text = form.text(10).await.unwrap();
        let second = form.next_part().await.unwrap().unwrap();
        let mut bytes = vec![];
        while let Some(more) = form.chunk().await.unwrap() {
            bytes.extend_from_slice(&more);
        }

        assert_eq!((first.name.as_str(), text.as_str()), ("a", "1"));
        assert_eq!(second.file_name.as_deref(), Some("a \"b\".zip"));
        assert_eq!(bytes, b"PK\r\n--x");
        assert_eq!(form.next_part().await.unwrap(), None);
    }

    #[tokio::test]
    async fn an_empty_part_and_a_form_that_breaks_off() {
        let mut whole =
            form("--xx\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--xx--\r\n");
        assert_eq!(whole.next_part().await.unwrap().unwrap().name, "a");
        assert_eq!(whole.text(10).await.unwrap(), "");
        assert_eq!(whole.next_part().await.unwrap(), None);

        let mut broken = form("--xx\r\nContent-Disposition: form-data; name=a\r\n\r\nabc");
        broken.next_part().await.unwrap();
        assert!(broken.text(10).await.is_err());
        assert!(form("").next_part().await.is_err());
    }

    #[test]
    fn the_boundary_is_found() {
        let found = Multipart::boundary("multipart/form-data; charset=utf-8; boundary=\"a;b\"");
        assert_eq!(found.as_deref(), Some("a;b"));
        assert_eq!(Multipart::boundary("application/zip"), None);
    }
}
