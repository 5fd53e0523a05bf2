//! A launch, as it is stored.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::row::{Columns, Row};
use crate::run_time::LaunchState;

/// Microseconds after its end for which a launch still takes commits and serves content: a day.
pub(crate) const GRACE: i64 = 86_400 * 1_000_000;

/// Words that stand for where the learner goes afterwards: a page that closes itself, an empty page, and
/// one that says that the course has ended.
const EXITS: [&str; 3] = ["closer", "blank", "message"];

/// Reads where the learner goes afterwards: a word, an http or https address, or a path.
///
/// # Errors
///
/// [`Error::Invalid`] for an address of another kind, which a browser might run.
pub(crate) fn exit_of(text: &str) -> Result<String, Error> {
    // Browsers leave out blanks at the beginning of an address.
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    if EXITS.contains(&lower.as_str()) {
        return Ok(lower);
    }
    let first = lower.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    if first.contains(':') && !matches!(first, "http:" | "https:") {
        let message = "redirectOnExitUrl is an http or https address, a path, or one of closer, \
                       blank and message";
        return Err(Error::Invalid(message.into()));
    }
    Ok(text.to_owned())
}

/// How a launch was asked for.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct LaunchOptions {
    /// Where the learner goes afterwards.
    pub(crate) exit_url: String,
    /// Whether nothing is recorded.
    pub(crate) is_untracked: bool,
    /// Whether the learner only looks back.
    pub(crate) is_review: bool,
    /// The activity to begin with.
    pub(crate) start: String,
    /// The language of the player.
    pub(crate) culture: String,
    /// A style sheet for the player.
    pub(crate) css_url: String,
}

/// A launch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Launch {
    pub(crate) id: String,
    /// The registration; none for a preview.
    pub(crate) registration: Option<String>,
    pub(crate) instance: i64,
    pub(crate) course: String,
    pub(crate) version: i64,
    pub(crate) options: LaunchOptions,
    pub(crate) created: i64,
    pub(crate) expires: i64,
    /// The incarnation of the registration's instance to which it belongs.
    pub(crate) incarnation: String,
    /// What it has come to, once its instance keeps it no longer.
    pub(crate) result: Option<LaunchState>,
}

impl LaunchOptions {
    /// Returns the word that stands for where the learner goes afterwards, if it is one.
    pub(crate) fn exit(&self) -> Option<&str> {
        Some(self.exit_url.as_str()).filter(|exit| EXITS.contains(exit))
    }

    /// Returns the address to which the learner goes afterwards, if there is one.
    pub(crate) fn exit_address(&self) -> Option<&str> {
        let is_word = self.exit().is_some();
        Some(self.exit_url.as_str()).filter(|url| !url.is_empty() && !is_word)
    }
}

impl Launch {
    pub(crate) fn of(row: &Row) -> Result<Self, Error> {
        let mut row = Columns::of(row, "a launch");
        Ok(Self {
            id: row.text()?,
            registration: row.some_text()?,
            instance: row.number()?,
            course: row.text()?,
            version: row.number()?,
            options: row.json()?,
            created: row.number()?,
            expires: row.number()?,
            incarnation: row.text()?,
            result: row.some_json()?,
        })
    }

    /// Returns whether its page can be opened.
    pub(crate) fn is_open(&self, now: i64) -> bool {
        now < self.expires
    }

    /// Returns whether it takes commits and serves content.
    pub(crate) fn is_good(&self, now: i64) -> bool {
        now < self.expires.saturating_add(GRACE)
    }

    /// Returns whether commits are kept: who only looks back, or around, changes nothing.
    pub(crate) fn is_tracked(&self) -> bool {
        self.registration.is_some() && !self.options.is_untracked && !self.options.is_review
    }

    /// Creates the error for a launch whose registration was reset or removed.
    pub(crate) fn ended() -> Error {
        Error::Ended(
            "this launch has ended: its registration was reset or removed; ask for a new link"
                .into(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_is_a_word_or_an_address_that_a_browser_shows() {
        for (text, kept) in [
            ("", Some("")),
            ("Closer", Some("closer")),
            (" message ", Some("message")),
            ("https://lms.example.org/done?a=b:c", Some("https://lms.example.org/done?a=b:c")),
            ("HTTP://lms.example.org", Some("HTTP://lms.example.org")),
            ("/done/a:b", Some("/done/a:b")),
            ("done?x=a:b", Some("done?x=a:b")),
            (" javascript:alert(1)", None),
            ("JavaScript:alert(1)", None),
            ("\u{a0}data:text/html,x", None),
            ("vbscript:x", None),
            ("mailto:a@b", None),
        ] {
            assert_eq!(exit_of(text).ok().as_deref(), kept, "{text:?}");
        }
    }
}
