//! Finds where JSON values end, without reading what is in them.

/// Deepest nesting that is read.
pub(super) const DEPTH_MAX: usize = 128;
/// How many bytes of a long string are looked at together: the compiler compares so many at once.
const TOGETHER: usize = 32;
/// How many bytes are looked at as one number.
const WORD: usize = 8;
/// How many such numbers a short string has at most.
const SHORT_WORDS: usize = 3;

/// A text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not JSON at byte {at}")]
pub struct NotJson {
    /// The first byte that JSON does not allow there.
    pub at: usize,
}

/// A member of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    /// Where its name begins, at the quote.
    pub(crate) name: usize,
    /// Where its name ends, behind the quote.
    pub(crate) name_end: usize,
    /// Where its value begins.
    pub(crate) value: usize,
    /// Where its value ends.
    pub(crate) value_end: usize,
}

/// Checks that a text is one JSON value with white space around it. Returns where it begins and ends.
///
/// # Errors
///
/// [`NotJson`].
///
/// Source: RFC 8259.
pub(super) fn check(text: &[u8]) -> Result<(usize, usize), NotJson> {
    if let Err(error) = std::str::from_utf8(text) {
        return Err(NotJson { at: error.valid_up_to() });
    }
    let begin = blank(text, 0);
    let end = value(text, begin, 0)?;
    let rest = blank(text, end);
    if rest == text.len() { Ok((begin, end)) } else { Err(NotJson { at: rest }) }
}

/// Returns the first place from `at` on that is not white space.
pub(crate) fn blank(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// Returns where the value that begins at `at` ends.
pub(crate) fn value(text: &[u8], at: usize, depth: usize) -> Result<usize, NotJson> {
    match text.get(at) {
        Some(b'"') => string(text, at),
        Some(b'{') => members(text, at, depth, |_| {}),
        Some(b'[') => items(text, at, depth, |_, _| {}),
        Some(b't') => word(text, at, b"true"),
        Some(b'f') => word(text, at, b"false"),
        Some(b'n') => word(text, at, b"null"),
        Some(b'-' | b'0'..=b'9') => number(text, at),
        _ => Err(NotJson { at }),
    }
}

/// Calls `found` for each member of the object at `at`, and returns where it ends.
pub(crate) fn members(
    text: &[u8],
    at: usize,
    depth: usize,
    mut found: impl FnMut(Member),
) -> Result<usize, NotJson> {
    members_by(text, at, depth, |name, name_end, _, begin| {
        let value_end = value(text, begin, depth + 1)?;
        found(Member { name, name_end, value: begin, value_end });
        Ok(value_end)
    })
}

/// Calls `ends` for each member of the object at `at`, with the ends of its name, whether that has no escapes, and the
/// place of its value, to be told where the value ends; and returns where the object ends.
pub(super) fn members_by<E: From<NotJson>>(
    text: &[u8],
    at: usize,
    depth: usize,
    mut ends: impl FnMut(usize, usize, bool, usize) -> Result<usize, E>,
) -> Result<usize, E> {
    if depth >= DEPTH_MAX {
        return Err(NotJson { at }.into());
    }
    let mut next = blank(text, at + 1);
    if text.get(next) == Some(&b'}') {
        return Ok(next + 1);
    }
    loop {
        let (name_end, is_plain) = name(text, next)?;
        let colon = blank(text, name_end);
        expect(text, colon, b':')?;
        let comma = blank(text, ends(next, name_end, is_plain, blank(text, colon + 1))?);
        match text.get(comma) {
            Some(b',') => next = blank(text, comma + 1),
            Some(b'}') => return Ok(comma + 1),
            _ => return Err(NotJson { at: comma }.into()),
        }
    }
}

/// Calls `found` with begin and end of each item of the array at `at`, and returns where it ends.
pub(crate) fn items(
    text: &[u8],
    at: usize,
    depth: usize,
    mut found: impl FnMut(usize, usize),
) -> Result<usize, NotJson> {
    items_by(text, at, depth, |begin| {
        let end = value(text, begin, depth + 1)?;
        found(begin, end);
        Ok(end)
    })
}

/// Calls `ends` with the place of each item of the array at `at`, to be told where it ends; and returns where the array
/// ends.
pub(super) fn items_by<E: From<NotJson>>(
    text: &[u8],
    at: usize,
    depth: usize,
    mut ends: impl FnMut(usize) -> Result<usize, E>,
) -> Result<usize, E> {
    if depth >= DEPTH_MAX {
        return Err(NotJson { at }.into());
    }
    let mut next = blank(text, at + 1);
    if text.get(next) == Some(&b']') {
        return Ok(next + 1);
    }
    loop {
        let comma = blank(text, ends(next)?);
        match text.get(comma) {
            Some(b',') => next = blank(text, comma + 1),
            Some(b']') => return Ok(comma + 1),
            _ => return Err(NotJson { at: comma }.into()),
        }
    }
}

/// Returns where the string whose quote is at `at` ends.
fn string(text: &[u8], at: usize) -> Result<usize, NotJson> {
    name(text, at).map(|(end, _)| end)
}

/// Returns where the string whose quote is at `at` ends, and whether it has no escapes.
fn name(text: &[u8], at: usize) -> Result<(usize, bool), NotJson> {
    expect(text, at, b'"')?;
    let (mut from, mut is_plain) = (at + 1, true);
    loop {
        let stop = from + plain(&text[from..]);
        match text.get(stop) {
            Some(b'"') => return Ok((stop + 1, is_plain)),
            Some(b'\\') => from = escape(text, stop)?,
            // A control character, or the end of the text.
            _ => return Err(NotJson { at: stop }),
        }
        is_plain = false;
    }
}

/// Returns how many bytes of a string stand for themselves before the first that does not: a quote, a backslash
/// or a control character.
fn plain(text: &[u8]) -> usize {
    let mut at = 0;
    // Most strings are short.
    for word in text.as_chunks().0.iter().take(SHORT_WORDS) {
        match others(*word) {
            0 => at += WORD,
            found => return at + place(found),
        }
    }
    for together in text[at..].as_chunks::<TOGETHER>().0 {
        // No byte is decided on by itself, so that all are compared at once.
        let others = together.iter().fold(0_u8, |others, byte| {
            others | u8::from(*byte < 0x20) | u8::from(*byte == b'"') | u8::from(*byte == b'\\')
        });
        if others != 0 {
            break;
        }
        at += TOGETHER;
    }
    for word in text[at..].as_chunks().0 {
        match others(*word) {
            0 => at += WORD,
            found => return at + place(found),
        }
    }
    let is_other = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    at + text[at..].iter().position(is_other).unwrap_or(text.len() - at)
}

/// Returns the highest bit of each byte that is a quote, a backslash or a control character; behind the first of them,
/// other bytes may have it, too.
fn others(word: [u8; WORD]) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; WORD]);
    const HIGHEST: u64 = u64::from_ne_bytes([0x80; WORD]);
    let word = u64::from_le_bytes(word);
    let quote = word ^ (ONES * u64::from(b'"'));
    let backslash = word ^ (ONES * u64::from(b'\\'));
    // A byte borrows from the next one if it is less than what is taken from it.
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    (control | quote | backslash) & HIGHEST
}

/// Returns the place of the first byte that is found.
fn place(found: u64) -> usize {
    found.trailing_zeros() as usize / 8
}

/// Returns where the escape whose backslash is at `at` ends.
fn escape(text: &[u8], at: usize) -> Result<usize, NotJson> {
    match text.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => match text.get(at + 2..at + 6) {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => Ok(at + 6),
            _ => Err(NotJson { at: at + 2 }),
        },
        _ => Err(NotJson { at: at + 1 }),
    }
}

fn word(text: &[u8], at: usize, word: &[u8]) -> Result<usize, NotJson> {
    if text[at..].starts_with(word) { Ok(at + word.len()) } else { Err(NotJson { at }) }
}

fn number(text: &[u8], at: usize) -> Result<usize, NotJson> {
    let digits = |mut at: usize| {
        let begin = at;
        while text.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at == begin { Err(NotJson { at }) } else { Ok(at) }
    };
    let whole = if text[at] == b'-' { at + 1 } else { at };
    let mut end = digits(whole)?;
    if text[whole] == b'0' && end > whole + 1 {
        return Err(NotJson { at: whole + 1 });
    }
    if text.get(end) == Some(&b'.') {
        end = digits(end + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(end) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        end = digits(end + 1 + sign)?;
    }
    Ok(end)
}

fn expect(text: &[u8], at: usize, byte: u8) -> Result<(), NotJson> {
    if text.get(at) == Some(&byte) { Ok(()) } else { Err(NotJson { at }) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_json_is_what_a_parser_takes() {
        for text in [
            "{}",
            " [ ] ",
            "\"a\\u00e9\\n\"",
            "-0.5e+7",
            "0",
            "{\"a\":[1,2,{\"b\":null}],\"c\":true}",
            "",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "1.",
            "-",
            "nul",
            "\"\u{1}\"",
            "\"\\x\"",
            "1 2",
            "{a:1}",
            "\"\\u12\"",
            "[1 2]",
            "\"open",
        ] {
            let parsed = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(check(text.as_bytes()).is_ok(), parsed, "{text:?}");
        }
        assert_eq!(check(b"{\"a\":\xff}"), Err(NotJson { at: 5 }));
        assert_eq!(check(b" 12 "), Ok((1, 3)));
    }

    #[test]
    fn a_string_of_any_length_ends_at_its_quote_and_nowhere_else() {
        for length in 0..200 {
            let letters = "é".repeat(length / 2) + &"x".repeat(length % 2);
            let text = format!("\"{letters}\" ");
            assert_eq!(string(text.as_bytes(), 0), Ok(letters.len() + 2), "{length}");
            assert_eq!(string(&text.as_bytes()[..=length], 0), Err(NotJson { at: length + 1 }));
            for (at, byte) in [(length / 3, 0), (length / 2, 0x1f), (length, b'\n')] {
                let mut text = format!("\"{}\"", "x".repeat(at + 1 + length)).into_bytes();
                text[at + 1] = byte;
                assert_eq!(string(&text, 0), Err(NotJson { at: at + 1 }), "{length}");
            }
            let escaped = format!("\"{letters}\\\"{letters}\\\\\"{letters}");
            let end = 2 * letters.len() + 6;
            assert_eq!(string(escaped.as_bytes(), 0), Ok(end), "{length}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);

        assert!(check(deep(DEPTH_MAX).as_bytes()).is_ok());
        assert!(check(deep(DEPTH_MAX + 1).as_bytes()).is_err());
        assert!(check(&vec![b'['; 1_000_000]).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused_as_a_parser_does(text in "[\\[\\]{}:,\"\\\\a0-9.eE+ -]{0,24}") {
            let parsed = serde_json::from_str::<serde_json::Value>(&text);
            // A parser of numbers as floats refuses what no float can hold.
            let is_number = parsed.as_ref().is_err_and(|e| e.to_string().contains("out of range"));
            prop_assert_eq!(check(text.as_bytes()).is_ok(), parsed.is_ok() || is_number);
        }
    }
}
