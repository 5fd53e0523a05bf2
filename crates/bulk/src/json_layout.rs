//! How the documents of a JSON file are laid out.

use std::fs::File;
use std::io::Read as _;

/// The byte order mark, which a file may begin with.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// How documents are laid out in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One document per line.
    Lines,
    /// One array of documents.
    Array,
    /// Documents one after the other, over as many lines as they like.
    Values,
}

/// Finds the layout of a file from its first byte that is not blank.
pub(crate) fn layout(file: &File) -> std::io::Result<Option<Layout>> {
    let mut first = vec![];
    file.take(4_096).read_to_end(&mut first)?;
    let text = first.strip_prefix(BOM).unwrap_or(&first);
    Ok(text.iter().find(|byte| !byte.is_ascii_whitespace()).map(|byte| match byte {
        b'[' => Layout::Array,
        _ => Layout::Lines,
    }))
}

/// Whether the first document of a file goes on after its line.
pub(crate) fn spans_lines(file: &File) -> std::io::Result<bool> {
    let mut head = vec![];
    file.take(64 << 10).read_to_end(&mut head)?;
    let text = head.strip_prefix(BOM).unwrap_or(&head);
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.by_ref().filter(|line| !line.is_empty());
    let (Some(first), Some(second)) = (lines.next(), lines.next()) else { return Ok(false) };
    Ok(first.starts_with(b"{") && depth(first) > 0 && !second.starts_with(b"{"))
}

/// Returns how many objects and arrays a text leaves open.
fn depth(text: &[u8]) -> i64 {
    let (mut depth, mut is_string, mut is_escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            b'{' | b'[' if !is_string => depth += 1,
            b'}' | b']' if !is_string => depth -= 1,
            _ => {}
        }
    }
    depth
}
