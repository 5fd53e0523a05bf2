//! Turns for places that are given back: who found none waits, and owners take turns. Who would have to wait
//! too long, by the rate at which places are given back, does not begin to.
#![expect(
    clippy::disallowed_methods,
    reason = "how fast places are given back decides on who waits"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use homeroom_store::Lanes;
use tokio::sync::oneshot;

/// Longest wait for a place.
pub(crate) const PLACE_TIME_MAX: Duration = Duration::from_millis(500);
/// Places given back after which their rate is known anew.
const COUNTED: u32 = 64;

/// Those who wait for places of one budget.
#[derive(Debug, Default)]
pub(crate) struct PlaceTurns {
    /// The number of those in `lanes`, some of whom may have left.
    waiting: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    lanes: Lanes<oneshot::Sender<()>>,
    /// Places given back since then, while somebody waited.
    given_back: u32,
    since: Option<Instant>,
    /// How long it took lately to give one back, in seconds.
    seconds_each: Option<f64>,
}

/// A turn that comes when a place is given back. One that comes and is not used goes to the next.
#[derive(Debug)]
pub(crate) struct PlaceTurn<'a> {
    turns: &'a PlaceTurns,
    /// Whether nobody of the same owner waited before.
    is_first: bool,
    came: oneshot::Receiver<()>,
}

impl PlaceTurns {
    /// Returns whether somebody of this owner may wait.
    pub(crate) fn has(&self, owner: u64) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0 && self.state().lanes.count_of(owner) > 0
    }

    /// Begins to wait; [`None`] for who would have to wait longer than [`PLACE_TIME_MAX`].
    pub(crate) fn wait(&self, owner: u64) -> Option<PlaceTurn<'_>> {
        let mut state = self.state();
        let own = state.lanes.count_of(owner);
        if state.would_take(own) > PLACE_TIME_MAX {
            return None;
        }
        if state.lanes.count() == 0 {
            (state.given_back, state.since) = (0, Some(Instant::now()));
        }
        let (comes, came) = oneshot::channel();
        state.lanes.add(owner, comes);
        self.waiting.store(state.lanes.count(), Ordering::SeqCst);
        Some(PlaceTurn { turns: self, is_first: own == 0, came })
    }

    /// Gives the turn to the next one, after a place was given back.
    pub(crate) fn given_back(&self) {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut state = self.state();
        state.count();
        while let Some(comes) = state.lanes.take() {
            if comes.send(()).is_ok() {
                break;
            }
        }
        self.waiting.store(state.lanes.count(), Ordering::SeqCst);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Counts a place that was given back.
    fn count(&mut self) {
        self.given_back += 1;
        if self.given_back >= COUNTED {
            let now = Instant::now();
            let took = self.since.map(|since| now.saturating_duration_since(since));
            self.seconds_each = took.map(|took| took.as_secs_f64() / f64::from(self.given_back));
            (self.given_back, self.since) = (0, Some(now));
        }
    }

    /// Returns how long the next one of an owner would wait that has so many already, by the present rate: owners
    /// take turns, so for each of its own one of each other owner comes first.
    fn would_take(&self, own: usize) -> Duration {
        let owners = self.lanes.owners().max(1);
        let ahead = u32::try_from(own.saturating_mul(owners)).unwrap_or(u32::MAX);
        Duration::from_secs_f64(self.seconds_each.unwrap_or(0.0).min(1.0)).saturating_mul(ahead)
    }
}

impl PlaceTurn<'_> {
    /// Returns whether nobody of the same owner waited before.
    pub(crate) fn is_first(&self) -> bool {
        self.is_first
    }

    /// Completes when the turn has come. It can be waited for once.
    pub(crate) async fn comes(&mut self) {
        _ = (&mut self.came).await;
    }
}

impl Drop for PlaceTurn<'_> {
    fn drop(&mut self) {
        self.came.close();
        if self.came.try_recv().is_ok() {
            self.turns.given_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_come(turn: &mut PlaceTurn<'_>) -> bool {
        turn.came.try_recv().is_ok()
    }

    #[test]
    fn owners_take_turns_and_each_of_them_in_order() {
        let turns = PlaceTurns::default();
        let mut waiting: Vec<_> = [1, 1, 1, 2].map(|owner| turns.wait(owner).unwrap()).into();
        assert_eq!([true, false, false, true], [0, 1, 2, 3].map(|at| waiting[at].is_first()));

        let mut order = vec![];
        for _ in 0..4 {
            turns.given_back();
            order.extend((0..4).filter(|at| has_come(&mut waiting[*at])));
        }

        assert_eq!(order, [0, 3, 1, 2]);
        assert!(!turns.has(1) && !turns.has(2));
    }

    #[test]
    fn who_would_wait_too_long_by_the_present_rate_does_not_begin_to() {
        let turns = PlaceTurns::default();
        // A hundred places a second.
        turns.state().seconds_each = Some(0.01);

        let flood: Vec<_> = std::iter::from_fn(|| turns.wait(1)).collect();
        let other = turns.wait(2);

        assert_eq!(flood.len(), 51);
        assert!(other.is_some_and(|turn| turn.is_first()));
        // With another owner who waits, half of the turns are its own.
        drop(flood);
        for _ in 0..52 {
            turns.given_back();
        }
        turns.state().seconds_each = Some(0.01);
        let _other = turns.wait(2);
        assert_eq!(std::iter::from_fn(|| turns.wait(1)).take(99).count(), 26);
    }

    #[test]
    fn a_turn_that_is_not_used_goes_to_the_next_who_is_still_there() {
        let turns = PlaceTurns::default();
        let [unused, left, mut next] = [1, 1, 1].map(|owner| turns.wait(owner).unwrap());
        drop(left);
        turns.given_back();

        drop(unused);

        assert!(has_come(&mut next));
    }
}
