//! How much the values of an activity may take up.

use super::state::ActivityState;

/// Most bytes of the values of an activity, with their names.
pub(crate) const ACTIVITY_BYTES_MAX: usize = 2 << 20;
/// The most bytes of values in collections, such as interactions; the rest is for other values.
const COLLECTED_BYTES_MAX: usize = 1 << 20;
/// Most values of an activity.
const VALUES_MAX: usize = 20_000;

/// What the values of an activity take up.
pub(super) struct Used {
    values: usize,
    bytes: usize,
    collected: usize,
}

impl Used {
    /// Adds up what the values take up.
    pub(super) fn of(state: &ActivityState) -> Self {
        let mut used = Self { values: state.cmi.len(), bytes: 0, collected: 0 };
        for (name, value) in &state.cmi {
            let bytes = name.len() + value.len();
            used.bytes += bytes;
            if is_collected(name) {
                used.collected += bytes;
            }
        }
        used
    }

    /// Returns whether there is room for a value in place of another one, and takes it. A value that is no
    /// longer than the one before always has room.
    pub(super) fn take(&mut self, name: &str, old: Option<usize>, new: usize, room: usize) -> bool {
        let before = old.map_or(0, |old| name.len() + old);
        let after = name.len() + new;
        let is_collected = is_collected(name);
        let bytes = self.bytes.saturating_sub(before) + after;
        let collected = self.collected.saturating_sub(before) + after;
        let grows = after > before;
        let is_full = bytes > room.min(ACTIVITY_BYTES_MAX)
            || (is_collected && collected > COLLECTED_BYTES_MAX)
            || (old.is_none() && self.values >= VALUES_MAX);
        if grows && is_full {
            return false;
        }
        self.bytes = bytes;
        if is_collected {
            self.collected = collected;
        }
        self.values += usize::from(old.is_none());
        true
    }
}

/// Returns whether an element is of an entry of a collection.
fn is_collected(name: &str) -> bool {
    name.split('.').any(|part| part.starts_with(|letter: char| letter.is_ascii_digit()))
}
