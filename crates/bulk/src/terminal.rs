//! Texts that others have written, for a terminal that must not obey them.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns a text with `\u001b` in place of what would steer a terminal or turn the order of letters around: control
/// characters and marks of direction. JSON stays the same JSON. Line breaks and tabs stay.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    escaped_where(text, |letter| !matches!(letter, '\n' | '\t') && steers(letter))
}

/// Does the same as [`escaped`] with a text that is to stay on one line.
#[must_use]
pub fn escaped_line(text: &str) -> Cow<'_, str> {
    escaped_where(text, steers)
}

fn escaped_where(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            _ if !is_escaped(letter) => out.push(letter),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ => _ = write!(out, "\\u{:04x}", u32::from(letter)),
        }
    }
    Cow::Owned(out)
}

/// Returns whether a terminal would obey a character, or break or turn around the line that has it.
fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_spelled_and_all_else_stays() {
        let text = "é\u{1b}[31m\u{9b}2J\u{7}\r\u{7f}\u{202e}\u{2066}\u{200f}\n\ta";

        let wanted = "é\\u001b[31m\\u009b2J\\u0007\\r\\u007f\\u202e\\u2066\\u200f\n\ta";
        assert_eq!(escaped(text), wanted);
        assert_eq!(escaped_line(text), wanted.replace('\n', "\\n").replace('\t', "\\t"));
        assert!(matches!(escaped("a\n\té \u{5d0}"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_means_the_same() {
        let value = serde_json::json!({ "\u{9b}": "\u{202e}\n\u{1b}\u{7f}" });

        let shown = escaped(&format!("{value:#}")).into_owned();

        assert!(!shown.contains(|letter| letter != '\n' && steers(letter)), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
