//! Interactions of several sessions at the same place.

use std::collections::{BTreeMap, BTreeSet};

use super::session::Own;
use super::state::ActivityState;

/// Most bytes of interactions that are kept beside the others.
const BESIDE_BYTES_MAX: usize = 128 << 10;

/// The element that begins an interaction.
pub(super) const ID: &str = "id";

/// Returns the prefix of an interaction that a name belongs to.
pub(super) fn entry_of(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("cmi.interactions.")?;
    let (number, _) = rest.split_once('.')?;
    Some(&name[..=name.len() - rest.len() + number.len()])
}

/// Returns whether a later session has set a value, or has taken the place of an interaction.
pub(super) fn is_taken(state: &ActivityState, name: &str, own: Own<'_>) -> bool {
    let is_set_later = |name: &str| own.is_before(state.setter(name));
    match entry_of(name) {
        None => state.cmi.contains_key(name) && is_set_later(name),
        Some(entry) => {
            let is_later = |(name, _): (&String, _)| is_set_later(name);
            below(&state.cmi, entry).any(is_later) || is_beside(state, entry, own.number)
        }
    }
}

/// Returns the values whose names begin with a prefix.
fn below<'s>(
    values: &'s BTreeMap<String, String>,
    prefix: &'s str,
) -> impl Iterator<Item = (&'s String, &'s String)> {
    values.range(prefix.to_owned()..).take_while(move |(name, _)| name.starts_with(prefix))
}

/// Returns whether another session has taken the place of an interaction of a session, which goes on beside it.
fn is_beside(state: &ActivityState, entry: &str, number: u32) -> bool {
    let id = format!("{entry}{ID}");
    let is_others = state.cmi.contains_key(&id) && state.setter(&id) != number;
    let beside = state.beside.get(&number);
    is_others && beside.is_some_and(|values| below(values, entry).next().is_some())
}

/// Makes room for an interaction of a session: what others have set in its place is kept beside the others, so
/// that interactions of two sessions never become one. Returns for how many values there was no room.
pub(super) fn make_room(state: &mut ActivityState, entry: &str, number: u32) -> usize {
    let others = below(&state.cmi, entry).map(|(name, _)| name.clone());
    let others = others.filter(|name| state.setter(name) != number).collect::<Vec<_>>();
    let mut left_out = 0;
    for name in others {
        let setter = state.setter(&name);
        state.set_by.remove(&name);
        let value = state.cmi.remove(&name).unwrap_or_default();
        left_out += usize::from(!keep_beside(state, setter, name, value));
    }
    left_out
}

/// Removes displaced interactions that a later session has repeated word for word, so that they count once.
pub(super) fn drop_restated(state: &mut ActivityState) {
    let ActivityState { cmi, beside, .. } = state;
    for values in beside.values_mut() {
        let entries: BTreeSet<String> =
            values.keys().filter_map(|name| entry_of(name)).map(str::to_owned).collect();
        for entry in entries {
            if below(values, &entry).all(|(name, value)| cmi.get(name) == Some(value)) {
                values.retain(|name, _| !name.starts_with(&entry));
            }
        }
    }
    beside.retain(|_, values| !values.is_empty());
}

/// Keeps a value of an interaction whose place is taken. Returns whether there was room.
pub(super) fn keep_beside(
    state: &mut ActivityState,
    number: u32,
    name: String,
    value: String,
) -> bool {
    let bytes = |all: &BTreeMap<String, String>| -> usize {
        all.iter().map(|(name, value)| name.len() + value.len()).sum()
    };
    let kept: usize = state.beside.values().map(bytes).sum();
    if kept + name.len() + value.len() > BESIDE_BYTES_MAX {
        return false;
    }
    state.beside.entry(number).or_default().insert(name, value);
    true
}
