//! Reads and writes pieces of JSON text without a tree.

use std::fmt::Write as _;

/// Returns the text of a member's value in an object's canonical text, which Homeroom wrote without
/// blanks and with plain names. Reads only as far as that member.
pub fn member_text<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let bytes = object.as_bytes();
    let mut at = 1;
    while bytes.get(at) == Some(&b'"') {
        let colon = after_string(bytes, at)?;
        let end = after_value(bytes, colon + 1)?;
        if &object[at + 1..colon - 1] == name {
            return object.get(colon + 1..end);
        }
        at = end + 1;
    }
    None
}

/// Returns the texts of the items of a list's canonical text.
pub fn items(list: &str) -> impl Iterator<Item = &str> {
    let mut at = 1;
    std::iter::from_fn(move || {
        if matches!(list.as_bytes().get(at), None | Some(b']')) {
            return None;
        }
        let end = after_value(list.as_bytes(), at)?;
        let item = list.get(at..end);
        at = end + 1;
        item
    })
}

/// Returns the end of the string that begins at a quote.
pub(crate) fn after_string(bytes: &[u8], quote: usize) -> Option<usize> {
    let mut at = quote + 1;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Returns the position after a value.
pub(crate) fn after_value(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0_u32);
    loop {
        match bytes.get(at)? {
            b'"' => at = after_string(bytes, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            // The end of the enclosing value, or its next member or item.
            b'}' | b']' | b',' if depth == 0 => return Some(at),
            _ => at += 1,
        }
        if depth == 0 && matches!(bytes.get(at), Some(b',' | b'}' | b']')) {
            return Some(at);
        }
    }
}

/// Writes a string as JSON, with as few escapes as the grammar requires.
pub fn write_text(out: &mut String, text: &str) {
    out.push('"');
    let mut run = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[run..at]);
        if escape.is_empty() {
            _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
        run = at + 1;
    }
    out.push_str(&text[run..]);
    out.push('"');
}
