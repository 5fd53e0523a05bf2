//! Turns for places that are given back: who found none waits briefly, and owners take turns.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use homeroom_store::Lanes;
use tokio::sync::oneshot;

/// Those who wait for places of one budget.
#[derive(Debug, Default)]
pub(crate) struct PlaceTurns {
    /// The number of those in `lanes`, some of whom may have left.
    waiting: AtomicUsize,
    lanes: Mutex<Lanes<oneshot::Sender<()>>>,
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
        self.waiting.load(Ordering::SeqCst) > 0 && self.lanes().count_of(owner) > 0
    }

    /// Begins to wait.
    pub(crate) fn wait(&self, owner: u64) -> PlaceTurn<'_> {
        let (comes, came) = oneshot::channel();
        let mut lanes = self.lanes();
        let is_first = lanes.count_of(owner) == 0;
        lanes.add(owner, comes);
        self.waiting.store(lanes.count(), Ordering::SeqCst);
        PlaceTurn { turns: self, is_first, came }
    }

    /// Gives the turn to the next one, after a place was given back.
    pub(crate) fn given_back(&self) {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut lanes = self.lanes();
        while let Some(comes) = lanes.take() {
            if comes.send(()).is_ok() {
                break;
            }
        }
        self.waiting.store(lanes.count(), Ordering::SeqCst);
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes<oneshot::Sender<()>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut waiting: Vec<_> = [1, 1, 1, 2].map(|owner| turns.wait(owner)).into();
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
    fn a_turn_that_is_not_used_goes_to_the_next_who_is_still_there() {
        let turns = PlaceTurns::default();
        let [unused, left, mut next] = [1, 1, 1].map(|owner| turns.wait(owner));
        drop(left);
        turns.given_back();

        drop(unused);

        assert!(has_come(&mut next));
    }
}
