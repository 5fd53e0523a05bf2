//! The times of sessions whose numbers are no longer kept.

use super::session::Own;
use super::state::{ActivityState, Spell};

/// Adds up the times of the sessions whose numbers are no longer kept. An older Homeroom has written the time of
/// the last session without its number: that session gets its number here. Returns its launch and its time.
pub(super) fn fold(state: &mut ActivityState, own: Own<'_>) -> Option<(String, u64)> {
    let last = own.nameless(&state.launch);
    if let Some(last) = last.filter(|_| state.latest == 0) {
        state.latest = last;
        if state.origin == 0 {
            state.origin = last;
        }
    }
    let mut settled = None;
    if state.session > 0 || state.is_told {
        let (time, is_told, begun) = (state.session, state.is_told, state.begun);
        match last.filter(|last| !state.sessions.contains_key(last)) {
            Some(last) => {
                let spell = Spell { time, is_told, begun, ..Spell::default() };
                state.sessions.insert(last, spell);
            }
            None => state.earlier = state.earlier.saturating_add(time),
        }
        settled = Some((state.launch.clone(), time));
        (state.session, state.is_told, state.begun) = (0, false, 0);
    }
    let is_kept = |number: &u32| own.sessions.contains_key(number);
    let (mut earlier, mut past) = (0_u64, 0_u64);
    state.sessions.retain(|number, spell| {
        let sum = if spell.is_past { &mut past } else { &mut earlier };
        if !is_kept(number) {
            *sum = sum.saturating_add(spell.time);
        }
        is_kept(number)
    });
    state.earlier = state.earlier.saturating_add(earlier);
    state.past = state.past.saturating_add(past);
    state.set_by.retain(|_, number| is_kept(number));
    settled
}
