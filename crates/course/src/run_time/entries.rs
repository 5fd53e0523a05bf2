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
pub(crate) fn inner<'s>(entry: &Entry<'s>, prefix: &str, last: &str) -> Vec<&'s str> {
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
