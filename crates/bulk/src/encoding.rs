//! Interchange XML and JSON in another encoding than UTF-8, copied as UTF-8.

use std::fs::File;
use std::io::{self, BufReader, Read, Write as _};
use std::path::Path;

use encoding_rs::{DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::spool::{Spool, SpoolWriter};

/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;
/// Bytes at the beginning of a file in which its declaration stands.
const HEAD: u64 = 512;
/// Stands where bytes mean nothing in their encoding: it is not UTF-8, so that the record with it is
/// rejected in its place.
const NOTHING: u8 = 0xff;

/// Copies a file as UTF-8 if it is in another encoding, by its first bytes or its XML declaration.
/// Returns [`None`] for a file that is UTF-8, or in an encoding that is not known.
///
/// # Errors
///
/// Why it cannot be copied, as a sentence without its end.
pub(crate) fn as_utf8(path: &Path) -> Result<Option<Spool>, String> {
    as_utf8_into(path, SpoolWriter::new)
}

fn as_utf8_into(
    path: &Path,
    out: impl FnOnce() -> io::Result<SpoolWriter>,
) -> Result<Option<Spool>, String> {
    let copied = || {
        let mut head = vec![];
        File::open(path)?.take(HEAD).read_to_end(&mut head)?;
        encoding_of(&head).map(|encoding| copy(path, encoding, out()?)).transpose()
    };
    copied().map_err(|error: io::Error| format!("it cannot be copied as UTF-8: {error}"))
}

/// Returns the encoding of a file that begins with `head`, unless it is UTF-8.
fn encoding_of(head: &[u8]) -> Option<&'static Encoding> {
    match head {
        [0xff, 0xfe, ..] | [b'<' | b'{' | b'[', 0, ..] => return Some(UTF_16LE),
        [0xfe, 0xff, ..] | [0, b'<' | b'{' | b'[', ..] => return Some(UTF_16BE),
        [0xef, 0xbb, 0xbf, ..] => return None,
        _ => {}
    }
    let (from, to) = label(head)?;
    let found = Encoding::for_label(&head[from..to])?;
    // What is declared as UTF-16 in single bytes is not.
    (found != UTF_8 && found != UTF_16LE && found != UTF_16BE).then_some(found)
}

/// Returns where the name of the encoding stands in a declaration with which a text begins.
fn label(head: &[u8]) -> Option<(usize, usize)> {
    if !head.starts_with(b"<?xml") {
        return None;
    }
    let end = memchr::memmem::find(head, b"?>")?;
    let name = memchr::memmem::find(&head[..end], b"encoding")? + "encoding".len();
    let from = name + memchr::memchr2(b'"', b'\'', &head[name..end])? + 1;
    let to = from + memchr::memchr(head[from - 1], &head[from..end])?;
    Some((from, to))
}

fn copy(path: &Path, encoding: &'static Encoding, out: SpoolWriter) -> io::Result<Spool> {
    let mut source = BufReader::new(File::open(path)?);
    let mut out = io::BufWriter::new(out);
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let mut chunk = vec![0; CHUNK];
    let mut utf8 = vec![0; 4 * CHUNK];
    let mut is_first = true;
    loop {
        let read = source.read(&mut chunk)?;
        let mut rest = &chunk[..read];
        loop {
            let (result, taken, written) =
                decoder.decode_to_utf8_without_replacement(rest, &mut utf8, read == 0);
            rest = &rest[taken..];
            let text = &utf8[..written];
            match label(text).filter(|_| is_first) {
                Some((from, to)) => {
                    out.write_all(&text[..from])?;
                    out.write_all(b"UTF-8")?;
                    out.write_all(&text[to..])?;
                }
                None => out.write_all(text)?,
            }
            is_first &= written == 0;
            match result {
                DecoderResult::InputEmpty => break,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(..) => out.write_all(&[NOTHING])?,
            }
        }
        if read == 0 {
            let out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            return Ok(out.finish());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_copied_as_utf_8_by_its_first_bytes_or_its_declaration() {
        let folder = crate::tests::Folder::new();
        let text =
            |encoding: &str| format!("<?xml version='1.0' encoding='{encoding}'?>\n<a>Zoë</a>");
        let wide = |text: &str, bom: bool| {
            let units = bom.then_some(0xfeff).into_iter().chain(text.encode_utf16());
            units.flat_map(u16::to_be_bytes).collect::<Vec<u8>>()
        };
        let latin =
            |text: &str| text.chars().map(|c| u8::try_from(c).unwrap()).collect::<Vec<u8>>();
        for bytes in [
            wide(&text("UTF-16"), true),
            wide(&text("UTF-16"), false),
            latin(&text("ISO-8859-1")),
            latin(&text("windows-1252")),
        ] {
            let copied = as_utf8(&folder.write("a.xml", bytes)).unwrap().unwrap();

            assert_eq!(std::fs::read_to_string(copied.path()).unwrap(), text("UTF-8"));
        }
        for plain in [text("UTF-8"), text("x-unheard-of"), "<a/>".to_owned(), String::new()] {
            assert!(as_utf8(&folder.write("a.xml", &plain)).unwrap().is_none(), "{plain}");
        }
    }

    #[test]
    fn a_copy_that_cannot_be_made_is_an_error_and_not_a_file_in_utf_8() {
        let folder = crate::tests::Folder::new();
        let full = || Err(io::ErrorKind::StorageFull.into());

        let wide = as_utf8_into(&folder.write("a.xml", b"\xff\xfe<\0a\0"), full).unwrap_err();
        let plain = as_utf8_into(&folder.write("a.xml", "<a/>"), full).unwrap();
        let gone = as_utf8(&folder.path().join("gone.xml")).unwrap_err();

        assert!(wide.contains("as UTF-8"), "{wide}");
        assert!(plain.is_none() && gone.contains("No such file"), "{gone}");
    }

    #[test]
    fn bytes_without_a_meaning_are_not_made_up_for() {
        let folder = crate::tests::Folder::new();
        let copied =
            as_utf8(&folder.write("a.xml", b"\xff\xfe<\0a\0\x00\xd8>\0")).unwrap().unwrap();

        assert_eq!(std::fs::read(copied.path()).unwrap(), b"<a\xff>");
    }
}
