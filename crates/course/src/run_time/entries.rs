//! The entries of a collection, such as interactions, from values by name.

use std::collections::BTreeMap;

/// An entry of a collection: its values by name.
pub(crate) type Entry<'s> = BTreeMap<&'s str, &'s str>;

/// Returns the entries of a collection by number.
pub(crate) fn entries<'s>(
    cmi: &'s BTreeMap<String, String>,
    collection: &str,
) -> BTreeMap<usize, Entry<'s>> {
    let prefix = format!("{collection}.");
    let mut all: BTreeMap<usize, Entry<'_>> = BTreeMap::new();
    for (name, value) in cmi.range(prefix.clone()..) {
        let Some(rest) = name.strip_prefix(&prefix) else { break };
        if let Some((number, member)) = rest.split_once('.')
            && let Ok(number) = number.parse()
        {
            all.entry(number).or_default().insert(member, value);
        }
    }
    all
}

/// Returns the values `{prefix}.0.{last}`, `{prefix}.1.{last}`… in the order of their numbers.
fn inner<'s>(entry: &Entry<'s>, prefix: &str, last: &str) -> Vec<&'s str> {
    let mut found: Vec<(usize, &str)> = entry
        .iter()
        .filter_map(|(name, value)| {
            let rest = name.strip_prefix(prefix)?.strip_prefix('.')?;
            let (number, end) = rest.split_once('.')?;
            (end == last).then_some((number.parse().ok()?, *value))
        })
        .collect();
    found.sort_unstable_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, value)| value).collect()
}

/// Returns success and completion of an objective in the words of the API.
pub(crate) fn objective_status(is_12: bool, entry: &Entry<'_>) -> (&'static str, &'static str) {
    let of = |name: &str| entry.get(name).copied().unwrap_or_default();
    if is_12 {
        return match of("status") {
            "passed" => ("PASSED", "COMPLETED"),
            "failed" => ("FAILED", "COMPLETED"),
            "completed" => ("UNKNOWN", "COMPLETED"),
            "browsed" => ("UNKNOWN", "BROWSED"),
            "incomplete" => ("UNKNOWN", "INCOMPLETE"),
            "not attempted" => ("UNKNOWN", "NOT_ATTEMPTED"),
            _ => ("UNKNOWN", "UNKNOWN"),
        };
    }
    let success = match of("success_status") {
        "passed" => "PASSED",
        "failed" => "FAILED",
        _ => "UNKNOWN",
    };
    let completion = match of("completion_status") {
        "completed" => "COMPLETED",
        "incomplete" => "INCOMPLETE",
        "not attempted" => "NOT_ATTEMPTED",
        _ => "UNKNOWN",
    };
    (success, completion)
}

/// An interaction in the words of SCORM 2004, which SCORM 1.2 has others for. What content has not told is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Interaction<'s> {
    pub(crate) id: Option<&'s str>,
    pub(crate) kind: Option<&'s str>,
    pub(crate) response: Option<&'s str>,
    /// As content has told it: SCORM 1.2 says `wrong` where SCORM 2004 says `incorrect`.
    pub(crate) result: Option<&'s str>,
    pub(crate) weighting: Option<&'s str>,
    pub(crate) latency: Option<&'s str>,
    pub(crate) timestamp: Option<&'s str>,
    pub(crate) objectives: Vec<&'s str>,
    pub(crate) patterns: Vec<&'s str>,
    pub(crate) description: Option<&'s str>,
}

impl<'s> Interaction<'s> {
    pub(crate) fn of(entry: &Entry<'s>) -> Self {
        let of = |name: &str| entry.get(name).copied();
        Self {
            id: of("id"),
            kind: of("type"),
            response: of("learner_response").or_else(|| of("student_response")),
            result: of("result"),
            weighting: of("weighting"),
            latency: of("latency"),
            timestamp: of("timestamp").or_else(|| of("time")),
            objectives: inner(entry, "objectives", "id"),
            patterns: inner(entry, "correct_responses", "pattern"),
            description: of("description"),
        }
    }
}

/// Returns whether an interaction that lost its place is only told again by the one that has taken it.
pub(crate) fn is_said_again(entry: &Entry<'_>, taker: Option<&Entry<'_>>) -> bool {
    taker.is_some_and(|taker| entry.iter().all(|(name, value)| taker.get(name) == Some(value)))
}
