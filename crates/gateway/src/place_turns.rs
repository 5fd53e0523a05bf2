//! Turns for places that are given back: who found none waits, and owners take turns. Who would have to wait
//! too long, by the rate at which places are given back, does not begin to, and is refused at once. Whoever waits
//! is not refused later because that rate has fallen, unless it has come to a standstill.
#![expect(
    clippy::disallowed_methods,
    reason = "how fast places are given back decides on who waits"
)]

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// A request whose expected wait for a place is longer than this does not begin to wait.
pub(crate) const PLACE_WAIT_MAX: Duration = Duration::from_millis(500);
/// A request that waits longer than this is refused.
pub(crate) const PLACE_PATIENCE: Duration = Duration::from_secs(2);
/// The rate of places is computed anew after this many places were given back, and after requests have waited for
/// `COUNTED_TIME`. A transaction gives back hundreds of places of writes at once, and then none for a while.
const COUNTED: u32 = 64;
const COUNTED_TIME: Duration = Duration::from_millis(250);
/// A budget that gives back hardly any place for this long stands still: the rate of this time counts, although fewer
/// than `COUNTED` places were given back. A budget whose last rate took longer to compute gets twice that time.
const STANDSTILL: Duration = Duration::from_millis(200);
/// Most other owners who are asked in turn when the one called may not have the place.
const PASSED_ON_MAX: usize = 8;

/// Those who wait for places of one budget.
#[derive(Debug, Default)]
pub(crate) struct PlaceTurns {
    /// The number of those who wait.
    waiting: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Those who wait, by owner, in the order in which they came.
    lanes: HashMap<u64, VecDeque<Waiter>>,
    /// The owners in the order of their turns.
    owners: VecDeque<u64>,
    count: usize,
    next: u64,
    /// The number of places given back since the last rate was computed, while requests waited.
    given_back: u32,
    /// How long requests have waited since the last rate was computed, without the wait under way.
    waited: Duration,
    /// When the wait under way began, or when the last rate was computed if that is later.
    since: Option<Instant>,
    /// How long requests had waited when the last rate was computed.
    took: Duration,
    /// How long it took lately to give one back, in seconds.
    seconds_each: Option<f64>,
}

#[derive(Debug)]
struct Waiter {
    /// Numbers grow, so a lane is sorted by them.
    number: u64,
    comes: oneshot::Sender<Called>,
}

/// How many other owners may still be asked for the same place.
#[derive(Debug, Clone, Copy)]
struct Called(usize);

/// A turn that comes when a place is given back. One that comes and is not used goes to the next.
#[derive(Debug)]
pub(crate) struct PlaceTurn<'a> {
    turns: &'a PlaceTurns,
    owner: u64,
    number: u64,
    /// Whether nobody of the same owner waits before it.
    is_first: bool,
    came: oneshot::Receiver<Called>,
}

impl PlaceTurns {
    /// Returns whether somebody of this owner waits.
    pub(crate) fn has(&self, owner: u64) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0 && self.state().lanes.contains_key(&owner)
    }

    /// Begins to wait; [`None`] for who would have to wait longer than [`PLACE_WAIT_MAX`].
    pub(crate) fn wait(&self, owner: u64) -> Option<PlaceTurn<'_>> {
        let mut state = self.state();
        let own = state.lanes.get(&owner).map_or(0, VecDeque::len);
        let now = Instant::now();
        if state.would_take(own, now) > PLACE_WAIT_MAX {
            return None;
        }
        let number = state.next;
        state.next += 1;
        let came = self.add(&mut state, owner, number);
        Some(PlaceTurn { turns: self, owner, number, is_first: own == 0, came })
    }

    /// Gives the turn to the next one, after a place was given back.
    pub(crate) fn given_back(&self) {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut state = self.state();
        state.count(Instant::now());
        let others = state.owners.len().saturating_sub(1);
        self.call(&mut state, Called(others.min(PASSED_ON_MAX)), None);
    }

    /// Adds one at the place in its owner's lane that its number has.
    fn add(&self, state: &mut State, owner: u64, number: u64) -> oneshot::Receiver<Called> {
        let (comes, came) = oneshot::channel();
        let lane = state.lanes.entry(owner).or_default();
        if lane.is_empty() {
            state.owners.push_back(owner);
        }
        let at = lane.partition_point(|waiter| waiter.number < number);
        lane.insert(at, Waiter { number, comes });
        if state.count == 0 {
            state.since = Some(Instant::now());
        }
        state.count += 1;
        self.waiting.store(state.count, Ordering::SeqCst);
        came
    }

    /// Calls the first one of the owner whose turn it is, but not of `except`.
    fn call(&self, state: &mut State, called: Called, except: Option<u64>) {
        for _ in 0..state.owners.len() {
            let Some(owner) = state.owners.pop_front() else { return };
            if Some(owner) == except {
                state.owners.push_back(owner);
                continue;
            }
            let Some(lane) = state.lanes.get_mut(&owner) else { continue };
            let first = lane.pop_front();
            if lane.is_empty() {
                state.lanes.remove(&owner);
            } else {
                state.owners.push_back(owner);
            }
            if let Some(waiter) = first {
                state.one_less();
                self.waiting.store(state.count, Ordering::SeqCst);
                _ = waiter.comes.send(called);
                return;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes one out who waits no longer. Returns false for one who was called.
    fn remove(&mut self, owner: u64, number: u64) -> bool {
        let Some(lane) = self.lanes.get_mut(&owner) else { return false };
        let Ok(at) = lane.binary_search_by_key(&number, |waiter| waiter.number) else {
            return false;
        };
        lane.remove(at);
        if lane.is_empty() {
            self.lanes.remove(&owner);
            self.owners.retain(|of| *of != owner);
        }
        self.one_less();
        true
    }

    /// Counts a request that no longer waits.
    fn one_less(&mut self) {
        self.count -= 1;
        if self.count == 0 {
            self.waited = self.waited(Instant::now());
            self.since = None;
        }
    }

    /// Counts a place that was given back.
    fn count(&mut self, now: Instant) {
        self.given_back += 1;
        if self.given_back < COUNTED {
            return;
        }
        let took = self.waited(now);
        if took >= COUNTED_TIME {
            self.seconds_each = Some(took.as_secs_f64() / f64::from(self.given_back));
            self.took = took;
            (self.given_back, self.waited, self.since) = (0, Duration::ZERO, Some(now));
        }
    }

    /// Returns how long requests have waited since the last rate was computed.
    fn waited(&self, now: Instant) -> Duration {
        self.waited
            + self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// Returns how long the next one of an owner would wait that has so many already, by the present rate: owners
    /// take turns, so for each of its own one of each other owner comes first.
    fn would_take(&self, own: usize, now: Instant) -> Duration {
        let owners = self.owners.len().max(1);
        let ahead = u32::try_from(own.saturating_mul(owners)).unwrap_or(u32::MAX);
        let waited = self.waited(now);
        // A pause between two transactions is no standstill.
        let pause = STANDSTILL.max(self.took * 2).min(PLACE_PATIENCE);
        let lately = if waited >= pause {
            waited.as_secs_f64() / f64::from(self.given_back.saturating_add(1))
        } else {
            0.0
        };
        let each = self.seconds_each.unwrap_or(0.0).max(lately);
        Duration::from_secs_f64(each.min(1.0)).saturating_mul(ahead)
    }
}

impl PlaceTurn<'_> {
    /// Returns whether nobody of the same owner waits before it.
    pub(crate) fn is_first(&self) -> bool {
        self.is_first
    }

    /// Completes when the turn has come, and returns for how many other owners the place is if this one may not
    /// have it. It can be waited for once.
    pub(crate) async fn comes(&mut self) -> usize {
        (&mut self.came).await.map_or(0, |Called(others)| others)
    }

    /// Waits once more, before those of the same owner who came later.
    pub(crate) fn again(&mut self) {
        let mut state = self.turns.state();
        self.came = self.turns.add(&mut state, self.owner, self.number);
        let lane = state.lanes.get(&self.owner);
        self.is_first =
            lane.and_then(VecDeque::front).is_none_or(|waiter| waiter.number == self.number);
    }

    /// Gives a turn that has come to another owner, if there are to be some.
    pub(crate) fn passes_on(&self, others: usize) {
        if let Some(others) = others.checked_sub(1) {
            self.turns.call(&mut self.turns.state(), Called(others), Some(self.owner));
        }
    }
}

impl Drop for PlaceTurn<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        if state.remove(self.owner, self.number) {
            self.turns.waiting.store(state.count, Ordering::SeqCst);
        } else if let Ok(called) = self.came.try_recv() {
            self.turns.call(&mut state, called, None);
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
        let _other = turns.wait(2);
        let flood: Vec<_> = std::iter::from_fn(|| turns.wait(1)).take(99).collect();
        assert_eq!(flood.len(), 26);
    }

    #[test]
    fn places_that_are_given_back_by_hundreds_count_by_what_that_is_on_average() {
        let (begun, pause) = (Instant::now(), Duration::from_millis(100));
        let mut state = State { since: Some(begun), ..State::default() };

        let mut waits = vec![];
        for burst in 1..=20 {
            for _ in 0..256 {
                state.count(begun + pause * burst);
                waits.push(state.would_take(512, begun + pause * burst));
            }
        }

        // After the first bursts the expected wait is about two bursts.
        let known: Vec<_> = waits.into_iter().skip(4 * 256).collect();
        let is_close = |wait: &Duration| (pause..=PLACE_WAIT_MAX).contains(wait);
        assert!(known.iter().all(is_close), "{:?} {:?}", known.iter().min(), known.iter().max());
    }

    #[test]
    fn time_in_which_nobody_waits_for_a_place_does_not_count() {
        let turns = PlaceTurns::default();

        for _ in 0..2 {
            let waits = turns.wait(1);
            turns.state().since = Instant::now().checked_sub(COUNTED_TIME / 4);
            drop(waits);
            assert_eq!(turns.state().since, None);
        }

        let waited = turns.state().waited(Instant::now() + Duration::from_hours(1));
        assert!((COUNTED_TIME / 2..Duration::from_mins(30)).contains(&waited), "{waited:?}");
    }

    #[test]
    fn where_no_place_is_given_back_nobody_else_begins_to_wait() {
        let turns = PlaceTurns::default();
        turns.state().seconds_each = Some(0.0001);
        let first = turns.wait(1);
        let second = turns.wait(1);
        let before = Instant::now().checked_sub(PLACE_WAIT_MAX * 2);

        turns.state().since = before;

        assert!(before.is_none() || turns.wait(1).is_none());
        assert!(turns.wait(2).is_some(), "another one has its turn next");
        drop((first, second));
        assert!(turns.wait(1).is_some(), "nobody waits, so nobody stands still");
    }

    #[test]
    fn what_is_given_back_all_at_once_is_no_rate() {
        let turns = PlaceTurns::default();
        let _waiting: Vec<_> = (0..COUNTED * 3).map(|_| turns.wait(1)).collect();
        let given_back = |since| {
            turns.state().since = since;
            (0..COUNTED).for_each(|_| turns.given_back());
            turns.state().seconds_each
        };

        let at_once = given_back(Some(Instant::now() + PLACE_PATIENCE));
        let in_time = given_back(Instant::now().checked_sub(COUNTED_TIME * 2));

        assert!(at_once.is_none() && in_time.is_some());
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

    #[test]
    fn who_waits_no_longer_leaves_nothing_behind() {
        let turns = PlaceTurns::default();
        let _stays = turns.wait(1);

        for _ in 0..1_000 {
            let [first, second] = [turns.wait(1), turns.wait(2)];
            drop((first, second));
        }

        let state = turns.state();
        let all: usize = state.lanes.values().map(VecDeque::len).sum();
        assert_eq!((all, state.count, state.owners.len()), (1, 1, 1));
        assert_eq!(turns.waiting.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_turn_of_an_owner_who_may_not_use_it_goes_to_each_other_owner_once_and_it_stays_the_first()
    {
        let turns = PlaceTurns::default();
        let mut of_one: Vec<_> = [1, 1].map(|owner| turns.wait(owner).unwrap()).into();
        let mut others = [2, 3].map(|owner| turns.wait(owner).unwrap());
        let called = |turn: &mut PlaceTurn<'_>| turn.came.try_recv().ok().map(|Called(left)| left);

        turns.given_back();
        let left = called(&mut of_one[0]).unwrap();
        of_one[0].again();
        of_one[0].passes_on(left);
        let left = called(&mut others[0]).unwrap();
        others[0].again();
        others[0].passes_on(left);
        let left = called(&mut others[1]).unwrap();
        others[1].again();
        others[1].passes_on(left);

        assert!(of_one.iter_mut().chain(&mut others).all(|turn| called(turn).is_none()));
        turns.given_back();
        assert!(called(&mut of_one[0]).is_some() && called(&mut of_one[1]).is_none());
    }
}
