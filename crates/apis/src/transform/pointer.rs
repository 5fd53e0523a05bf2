//! JSON pointers, in which `*` stands for every element of an array.
//!
//! Source: RFC 6901.

use std::borrow::Cow;

/// A step of a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A member of an object, or an element of an array by its index; `-` is behind the last.
    Named(String),
    /// Every element of an array.
    Each,
}

/// Reads a pointer such as `/items/*/name`.
///
/// # Errors
///
/// What is wrong with it.
pub(super) fn read(text: &str) -> Result<Vec<Step>, &'static str> {
    let Some(rest) = text.strip_prefix('/') else {
        return Err("a pointer begins with a slash, such as /name or /items/*/name");
    };
    rest.split('/').map(step).collect()
}

fn step(text: &str) -> Result<Step, &'static str> {
    if text == "*" {
        return Ok(Step::Each);
    }
    let mut name = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match (letter, letter == '~') {
            (_, true) => match rest.next() {
                Some('0') => name.push('~'),
                Some('1') => name.push('/'),
                _ => return Err("in a pointer ~ is written ~0, and / within a name ~1"),
            },
            (letter, false) => name.push(letter),
        }
    }
    Ok(Step::Named(name))
}

/// Returns whether a name that JSON writes without escapes, quotes included, is this name.
pub(super) fn is_same(written: &[u8], name: &str) -> bool {
    written.len() == name.len() + 2 && written[1..=name.len()] == *name.as_bytes()
}

/// Returns whether a name as JSON writes it, quotes included, is this name.
pub(super) fn is_name(written: &[u8], name: &str) -> bool {
    let inner = &written[1..written.len() - 1];
    if inner == name.as_bytes() {
        return !inner.contains(&b'\\');
    }
    inner.contains(&b'\\') && decoded(written).is_some_and(|decoded| decoded == name)
}

/// Reads an index; [`None`] for what RFC 6901 §4 does not call one.
pub(super) fn index_of(name: &str) -> Option<usize> {
    let is_index = name == "0" || !name.starts_with('0');
    if is_index && name.bytes().all(|byte| byte.is_ascii_digit()) {
        name.parse().ok()
    } else {
        None
    }
}

fn decoded(written: &[u8]) -> Option<Cow<'_, str>> {
    serde_json::from_slice(written).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_has_steps() {
        let named = |name: &str| Step::Named(name.to_owned());

        assert_eq!(read("/a/*/b~1c~0"), Ok(vec![named("a"), Step::Each, named("b/c~")]));
        assert_eq!(read("/"), Ok(vec![named("")]));
        assert!(read("a").is_err());
        assert!(read("/a~2").is_err());
    }

    #[test]
    fn a_name_is_found_however_it_is_written() {
        assert!(is_name(b"\"a\"", "a"));
        assert!(is_name(b"\"\\u0061\"", "a"));
        assert!(!is_name(b"\"\\u0061\"", "\\u0061"));
        assert!(!is_name(b"\"a\"", "b"));
    }
}
