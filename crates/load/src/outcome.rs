//! How requests end, and how many ended in each way.

use std::collections::BTreeMap;

/// How a request ended: with an answer, or without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// An answer with this status.
    Status(u16),
    /// No complete answer within the time-out.
    TimedOut,
    /// No connection: refused, unreachable, or its TLS handshake failed.
    Refused,
    /// The connection was closed or reset before the answer was complete.
    Closed,
    /// The bytes received were not HTTP.
    Garbled,
    /// The run ended before the request could be sent, because all connections were waiting.
    Unsent,
    /// This machine had no socket, port or address for a connection, so the request was never sent.
    NoRoom,
    /// The run was interrupted before the answer came; this does not count as a failure.
    Unfinished,
}

impl Outcome {
    /// Returns its name in run files: the status, or a word.
    pub fn name(self) -> String {
        match self {
            Self::Status(status) => status.to_string(),
            Self::TimedOut => "timeout".into(),
            Self::Refused => "refused".into(),
            Self::Closed => "closed".into(),
            Self::Garbled => "garbled".into(),
            Self::Unsent => "unsent".into(),
            Self::NoRoom => "no-room".into(),
            Self::Unfinished => UNFINISHED.into(),
        }
    }
}

/// The name of [`Outcome::Unfinished`], which belongs to no class.
const UNFINISHED: &str = "unfinished";

/// How many requests ended in each way, by [`Outcome::name`].
pub type Outcomes = BTreeMap<String, u64>;

/// The classes of the published tables, in their order: a heading, and which outcomes it counts.
///
/// A pattern is an outcome's name; `2xx` matches every status from 200 to 299, and so on. An
/// outcome belongs to the first class that matches.
pub const CLASSES: &[(&str, &[&str])] = &[
    ("2xx", &["2xx"]),
    ("3xx", &["3xx"]),
    ("403", &["403"]),
    ("404", &["404"]),
    ("409", &["409"]),
    ("412", &["412"]),
    ("429", &["429"]),
    ("Other 4xx", &["4xx"]),
    ("500", &["500"]),
    ("503", &["503"]),
    ("504", &["504"]),
    ("Other 5xx", &["5xx"]),
    ("Time-out", &["timeout"]),
    ("Refused", &["refused", "closed", "garbled", "unsent", "no-room"]),
];

/// Counts outcomes by [`CLASSES`], in that order; 1xx and answers that are not HTTP count as
/// refused. Requests that were unfinished when a run was interrupted are in no class.
pub fn by_class(outcomes: &Outcomes) -> Vec<(&'static str, u64)> {
    let mut counted: Vec<(&'static str, u64)> =
        CLASSES.iter().map(|(name, _)| (*name, 0)).collect();
    for (name, count) in outcomes.iter().filter(|(name, _)| *name != UNFINISHED) {
        let at = CLASSES
            .iter()
            .position(|(_, patterns)| patterns.iter().any(|pattern| fits(name, pattern)))
            .unwrap_or(CLASSES.len() - 1);
        counted[at].1 = counted[at].1.saturating_add(*count);
    }
    counted
}

/// Returns how many requests got no service at all: 503, 504, a time-out, or no answer.
pub fn outages(outcomes: &Outcomes) -> u64 {
    by_class(outcomes)
        .into_iter()
        .filter(|(class, _)| matches!(*class, "503" | "504" | "Time-out" | "Refused"))
        .fold(0, |sum, (_, count)| sum.saturating_add(count))
}

/// Returns how many requests were in flight or waiting to be sent when the run was interrupted.
pub fn unfinished(outcomes: &Outcomes) -> u64 {
    outcomes.get(UNFINISHED).copied().unwrap_or(0)
}

fn fits(name: &str, pattern: &str) -> bool {
    name == pattern
        || pattern.strip_suffix("xx").is_some_and(|first| {
            name.len() == 3 && name.starts_with(first) && name.bytes().all(|b| b.is_ascii_digit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(counts: &[(&str, u64)]) -> Outcomes {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn every_outcome_falls_into_one_class() {
        let found =
            outcomes(&[("200", 5), ("201", 1), ("403", 2), ("418", 3), ("502", 4), ("unsent", 7)]);

        let classes = by_class(&found);

        let of = |name: &str| classes.iter().find(|(class, _)| *class == name).unwrap().1;
        assert_eq!(classes.iter().map(|(_, count)| count).sum::<u64>(), 22);
        assert_eq!((of("2xx"), of("403"), of("Other 4xx")), (6, 2, 3));
        assert_eq!((of("Other 5xx"), of("Refused")), (4, 7));
    }

    #[test]
    fn only_503_and_missing_answers_count_as_outages() {
        let found = outcomes(&[("200", 5), ("400", 1), ("500", 2), ("503", 3), ("timeout", 4)]);

        assert_eq!(outages(&found), 7);
    }

    #[test]
    fn an_interrupted_request_is_no_outage_and_has_no_class() {
        let found = outcomes(&[("200", 5), ("no-room", 2), ("unfinished", 9)]);

        assert_eq!(by_class(&found).iter().map(|(_, count)| count).sum::<u64>(), 7);
        assert_eq!((outages(&found), unfinished(&found)), (2, 9));
    }
}
