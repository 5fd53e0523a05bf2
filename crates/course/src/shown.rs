//! Texts of others, short enough to be shown.

/// Most characters of a name that an error or a warning shows.
const NAME_CHARS_MAX: usize = 100;

/// Returns a name that a caller has sent, short enough to be shown.
pub(crate) fn shown(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).take(NAME_CHARS_MAX).collect()
}
