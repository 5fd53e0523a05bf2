//! What names, rates, segments of paths and networks look like, and which parts there are.

use homeroom_client::Network;

use super::findings::Findings;

/// Most characters of a name.
const NAME_MAX: usize = 100;

/// The parts of this server that an API may publish, and where they are.
pub(crate) const PARTS: &[(&str, &str)] = &[
    ("data", "/data/v3"),
    ("metadata", "/metadata"),
    ("change-queries", "/changeQueries/v1"),
    ("composites", "/composites/v1"),
    ("learning", "/learning/api/v2"),
];

/// Adds what is wrong with a rate of calls.
pub(super) fn check_rate(member: &str, rate: f64, findings: &mut Findings<'_>) {
    if !(rate > 0.0 && rate <= 1e6) {
        findings.add(member, "a rate is more than 0 and at most 1,000,000 calls per second");
    }
}

/// Adds what is wrong with a name.
pub(super) fn check_name(member: &str, name: &str, findings: &mut Findings<'_>) {
    let is_plain = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
    if name.trim().is_empty() || name.chars().count() > NAME_MAX || !name.chars().all(is_plain) {
        let message = "a name has 1 to 100 letters, digits, blanks, dots, hyphens and underscores";
        findings.add(member, message);
    }
}

/// Adds what is wrong with a segment of a path.
pub(super) fn check_segment(member: &str, segment: &str, findings: &mut Findings<'_>) {
    let segment = segment.trim_matches('/');
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
    let is_dots = segment == "." || segment == "..";
    if segment.is_empty() || segment.len() > NAME_MAX || is_dots || !segment.bytes().all(is_plain) {
        let message = "it is one segment of a path: letters, digits, hyphens, dots, underscores";
        findings.add(member, message);
    }
}

/// Reads a network, or an address as the network of it alone.
pub(crate) fn network(text: &str) -> Option<Network> {
    text.parse().ok()
}

/// Returns whether a value is elsewhere, and nobody says where.
pub(super) fn names_nothing(value: &str) -> bool {
    matches!(value, "env:" | "file:")
}
