//! How much values may take up.

use super::state::ActivityState;

/// Most bytes of the values of an activity, with their names.
pub(crate) const ACTIVITY_BYTES_MAX: usize = 2 << 20;
/// The most bytes of values in collections, such as interactions; the rest is for other values.
const COLLECTED_BYTES_MAX: usize = 1 << 20;
/// Most values of an activity.
const VALUES_MAX: usize = 20_000;

/// Most values that are kept together, and most bytes of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) values: usize,
    pub(crate) bytes: usize,
}

/// What values that are kept together take up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Room {
    values: usize,
    bytes: usize,
}

impl Room {
    /// Adds up what values of these sizes take up.
    pub(crate) fn of(sizes: impl Iterator<Item = usize>) -> Self {
        sizes.fold(Self::default(), |all, size| Self {
            values: all.values + 1,
            bytes: all.bytes + size,
        })
    }

    /// Returns what is taken up with a value of a size in place of another one; [`None`] if there is no room. A
    /// value that is no longer than the one before always has room.
    pub(crate) fn with(self, old: Option<usize>, new: usize, limit: Limit) -> Option<Self> {
        let before = old.unwrap_or(0);
        let bytes = self.bytes.saturating_sub(before) + new;
        let is_full = bytes > limit.bytes || (old.is_none() && self.values >= limit.values);
        let values = self.values + usize::from(old.is_none());
        (!is_full || new <= before).then_some(Self { values, bytes })
    }
}

/// What the values of an activity take up.
pub(super) struct Used {
    all: Room,
    collected: Room,
}

impl Used {
    /// Adds up what the values take up.
    pub(super) fn of(state: &ActivityState) -> Self {
        let size = |(name, value): (&String, &String)| name.len() + value.len();
        let collected = state.cmi.iter().filter(|(name, _)| is_collected(name));
        Self { all: Room::of(state.cmi.iter().map(size)), collected: Room::of(collected.map(size)) }
    }

    /// Returns whether there is room for a value in place of another one, and takes it.
    pub(super) fn take(&mut self, name: &str, old: Option<usize>, new: usize, room: usize) -> bool {
        let (old, new) = (old.map(|old| name.len() + old), name.len() + new);
        let limit = Limit { values: VALUES_MAX, bytes: room.min(ACTIVITY_BYTES_MAX) };
        let Some(all) = self.all.with(old, new, limit) else { return false };
        if is_collected(name) {
            let limit = Limit { values: VALUES_MAX, bytes: COLLECTED_BYTES_MAX };
            let Some(collected) = self.collected.with(old, new, limit) else { return false };
            self.collected = collected;
        }
        self.all = all;
        true
    }
}

/// Returns whether an element is of an entry of a collection.
fn is_collected(name: &str) -> bool {
    name.split('.').any(|part| part.starts_with(|letter: char| letter.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_up_to_the_limits_and_always_for_what_is_no_longer() {
        let limit = Limit { values: 2, bytes: 10 };
        let full = Room::of([6, 4].into_iter());
        for (old, new, wanted) in
            [(None, 1, false), (Some(4), 5, false), (Some(4), 4, true), (Some(6), 1, true)]
        {
            assert_eq!(full.with(old, new, limit).is_some(), wanted, "{old:?} {new}");
        }
        let over = Room::of([60, 40].into_iter());
        assert_eq!(over.with(Some(60), 59, limit), Some(Room { values: 2, bytes: 99 }));
        assert_eq!(Room::of([4].into_iter()).with(None, 6, limit), Some(full));
    }
}
