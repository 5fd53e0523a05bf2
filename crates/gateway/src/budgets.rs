//! All budgets of a front door.

use std::sync::Arc;

use crate::budget::{Budget, Capacity, Holders, Refused, Taken};
use crate::limits::Limits;
use crate::place_turns::PLACE_PATIENCE;
use crate::shares::Shares;

/// Bytes of public request bodies that each connection always has: enough to ask for a token.
const STRANGER_FLOOR: u64 = 8 << 10;
/// Bytes of open HTTP/2 requests that each connection always has: enough for one request.
const STREAM_FLOOR: u64 = 8 << 10;
/// How many requests may wait for their bodies, as a multiple of those that may be worked on.
const AWAITED_TIMES: u64 = 4;

/// The budgets, one for each [`Capacity`].
#[derive(Debug)]
pub(crate) struct Budgets {
    all: [Arc<Budget>; Capacity::ALL.len()],
    /// The requests that wait for a place.
    waiting: Arc<Shares>,
}

/// What a request takes that is worked on: a place among those in flight, and one for its work.
pub(crate) type Places = (Taken, Option<Taken>);

impl Budgets {
    /// Creates the budgets, with nothing taken.
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        let in_flight = u64::from(limits.in_flight);
        let size = |capacity| match capacity {
            Capacity::Connections => (limits.connections as u64, 0),
            Capacity::Streams => (limits.stream_bytes as u64, STREAM_FLOOR),
            Capacity::StrangerBodies => (limits.stranger_bytes as u64, STRANGER_FLOOR),
            Capacity::Awaited => (in_flight * AWAITED_TIMES, 0),
            Capacity::InFlight => (in_flight, 0),
            Capacity::Lists => (limits.lists as u64, 0),
            Capacity::Writes => (limits.writes as u64, 0),
            Capacity::Bodies => (limits.body_bytes as u64, 0),
            Capacity::Answers => (limits.answer_bytes as u64, 0),
            Capacity::PublicAnswers => (limits.public_answer_bytes as u64, 0),
        };
        let all = std::array::from_fn(|at| {
            let capacity = Capacity::ALL[at];
            let (common, floor) = size(capacity);
            Budget::new(capacity, common, floor)
        });
        Arc::new(Self { all, waiting: Shares::new("waiting_requests", limits.waiting_requests) })
    }

    /// Returns the budget of a capacity.
    pub(crate) fn of(&self, capacity: Capacity) -> &Arc<Budget> {
        &self.all[capacity as usize]
    }

    /// Takes an amount from a budget and holds it until the returned value is dropped.
    pub(crate) fn take(
        &self,
        capacity: Capacity,
        of: &Holders,
        amount: u64,
    ) -> Result<Taken, Refused> {
        Taken::of(Arc::clone(self.of(capacity)), of.clone(), amount)
    }

    /// Does the same for a holder that asks again until there is room, and does not count as refused
    /// meanwhile.
    pub(crate) fn attempt(
        &self,
        capacity: Capacity,
        of: &Holders,
        amount: u64,
    ) -> Result<Taken, Refused> {
        Taken::attempt(Arc::clone(self.of(capacity)), of.clone(), amount)
    }

    /// Returns the requests that wait for a place, of which an owner has at most half of what is free.
    pub(crate) fn waiting(&self) -> &Arc<Shares> {
        &self.waiting
    }

    /// Takes the places of a request if they are free and nobody of the same owner waits for one.
    pub(crate) fn places(&self, work: Option<Capacity>, of: &Holders) -> Result<Places, Refused> {
        for capacity in std::iter::once(Capacity::InFlight).chain(work) {
            self.has_nobody_waiting(capacity, of)?;
        }
        self.places_now(work, of)
    }

    /// Does the same for a request that needs a place among those in flight only, for use within it.
    pub(crate) fn place(&self, of: &Holders) -> Result<Taken<&Budget>, Refused> {
        self.has_nobody_waiting(Capacity::InFlight, of)?;
        Taken::attempt(&**self.of(Capacity::InFlight), of.clone(), 1)
    }

    fn has_nobody_waiting(&self, capacity: Capacity, of: &Holders) -> Result<(), Refused> {
        let budget = self.of(capacity);
        if budget.turns.has(of.number()) { Err(budget.refused_share(of)) } else { Ok(()) }
    }

    fn places_now(&self, work: Option<Capacity>, of: &Holders) -> Result<Places, Refused> {
        let in_flight = self.attempt(Capacity::InFlight, of, 1)?;
        let work = work.map(|work| self.attempt(work, of, 1)).transpose()?;
        Ok((in_flight, work))
    }

    /// Waits until places are given back, in turn with other owners, and takes them. A refusal counts when the
    /// wait is over.
    pub(crate) async fn places_in_turn(
        &self,
        refused: Refused,
        work: Option<Capacity>,
        of: &Holders,
    ) -> Result<Places, Refused> {
        if let Ok(_waits) = self.waiting.take(&[&of.number().to_string()], 1) {
            let turn = self.turn_comes(refused.capacity(), work, of);
            if let Ok(Some(places)) = tokio::time::timeout(PLACE_PATIENCE, turn).await {
                return Ok(places);
            }
        } else {
            self.waiting.refuse();
        }
        self.places_now(work, of).inspect_err(|refused| self.of(refused.capacity()).count_refused())
    }

    /// Waits for a turn; [`None`] for who would have to wait too long.
    async fn turn_comes(
        &self,
        mut capacity: Capacity,
        work: Option<Capacity>,
        of: &Holders,
    ) -> Option<Places> {
        let mut turn = self.of(capacity).turns.wait(of.number())?;
        // How many other owners a place is for that was given back, if this one may not have it.
        let mut others = 0;
        loop {
            // Whoever has given a place back just now may not have seen that somebody waits.
            if turn.is_first()
                && let Ok(places) = self.places_now(work, of)
            {
                return Some(places);
            }
            turn.passes_on(others);
            others = turn.comes().await;
            match self.places_now(work, of) {
                Ok(places) => return Some(places),
                Err(refused) if refused.capacity() == capacity => {
                    turn.again();
                    if refused.share_of().is_none() {
                        others = 0;
                    }
                }
                Err(refused) => {
                    turn.passes_on(others);
                    (capacity, others) = (refused.capacity(), 0);
                    turn = self.of(capacity).turns.wait(of.number())?;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::budget::{Holder, Kind};

    fn budgets(writes: usize) -> Arc<Budgets> {
        Budgets::new(&Limits { writes, ..Limits::default() })
    }

    fn key() -> Holders {
        Holders { connection: None, owner: Some(Holder::new(Kind::Key)) }
    }

    const WRITES: Option<Capacity> = Some(Capacity::Writes);

    /// Takes as many places as the owner may have.
    fn all(budgets: &Budgets, of: &Holders) -> Vec<Places> {
        std::iter::from_fn(|| budgets.places(WRITES, of).ok()).collect()
    }

    #[tokio::test]
    async fn who_finds_no_place_waits_for_the_next_that_is_given_back_and_is_not_counted_as_refused()
     {
        let (budgets, flood) = (budgets(8), key());
        let mut held = all(&budgets, &flood);
        let refused = budgets.places(WRITES, &flood).unwrap_err();
        let mut cx = Context::from_waker(Waker::noop());
        let mut waiting =
            [(), ()].map(|()| Box::pin(budgets.places_in_turn(refused, WRITES, &flood)));
        assert!(waiting.iter_mut().all(|waits| waits.as_mut().poll(&mut cx).is_pending()));

        // Whoever comes later does not go before those, unless it is somebody else.
        held.pop();
        let later = budgets.places(WRITES, &flood).unwrap_err();
        assert_eq!((later.capacity(), later.share_of()), (Capacity::Writes, Some(Kind::Key)));
        assert!(budgets.places(WRITES, &key()).is_ok());
        held.pop();
        let [first, second] = waiting;
        let placed = (first.await, second.await);

        assert!(placed.0.is_ok() && placed.1.is_ok());
        assert_eq!(budgets.of(Capacity::Writes).refused(), 0);
    }

    #[tokio::test]
    async fn a_place_that_the_one_called_may_not_have_goes_to_another_owner() {
        let (budgets, flood, other) = (budgets(8), key(), key());
        let mut held = all(&budgets, &flood);
        let of_other = all(&budgets, &other);
        let third = all(&budgets, &key());
        let refused = budgets.places(WRITES, &flood).unwrap_err();
        let mut waits = pin!(budgets.places_in_turn(refused, WRITES, &flood));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(waits.as_mut().poll(&mut cx).is_pending());
        let newcomer = key();
        let last = budgets.places(WRITES, &key());
        let refused = budgets.places(WRITES, &newcomer).unwrap_err();
        let mut comes = pin!(budgets.places_in_turn(refused, WRITES, &newcomer));
        assert!(comes.as_mut().poll(&mut cx).is_pending());

        // The flood is called, and has more than is free.
        drop(last);
        assert!(waits.as_mut().poll(&mut cx).is_pending());

        assert!(matches!(comes.as_mut().poll(&mut cx), Poll::Ready(Ok(_))));
        // It has stayed the first of its owner, and is served when that has few enough.
        held.clear();
        drop((of_other, third));
        assert!(waits.await.is_ok());
    }

    #[tokio::test]
    async fn an_owner_of_whom_many_wait_leaves_others_room_to_wait() {
        let budgets = Budgets::new(&Limits { writes: 8, waiting_requests: 4, ..Limits::default() });
        let (flood, other) = (key(), key());
        let _held = (all(&budgets, &flood), all(&budgets, &other));
        let mut cx = Context::from_waker(Waker::noop());
        let mut waits = |of| {
            let refused = budgets.places(WRITES, of).unwrap_err();
            let mut waits = Box::pin(budgets.places_in_turn(refused, WRITES, of));
            waits.as_mut().poll(&mut cx).is_pending().then_some(waits)
        };

        let of_flood: Vec<_> = (0..4).filter_map(|_| waits(&flood)).collect();

        assert_eq!(of_flood.len(), 2);
        assert!(waits(&other).is_some());
        assert_eq!(budgets.waiting().figures().refused, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn who_gets_no_place_in_time_is_refused_once() {
        let (budgets, flood) = (budgets(8), key());
        let _held = all(&budgets, &flood);
        let refused = budgets.places(WRITES, &flood).unwrap_err();

        let placed = budgets.places_in_turn(refused, WRITES, &flood).await;

        assert_eq!(placed.unwrap_err(), refused);
        assert_eq!(budgets.of(Capacity::Writes).refused(), 1);
        assert_eq!(budgets.of(Capacity::InFlight).used(), budgets.of(Capacity::Writes).used());
    }

    #[tokio::test(start_paused = true)]
    async fn all_who_wait_get_their_places_however_many_they_are() {
        let (budgets, flood) = (budgets(4), key());
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..200 {
            let (budgets, flood) = (Arc::clone(&budgets), flood.clone());
            all.spawn(async move {
                let places = match budgets.places(WRITES, &flood) {
                    Ok(places) => places,
                    Err(refused) => budgets.places_in_turn(refused, WRITES, &flood).await?,
                };
                tokio::task::yield_now().await;
                drop(places);
                Ok::<_, Refused>(())
            });
        }

        let all = all.join_all().await;

        assert!(all.iter().all(Result::is_ok));
        assert_eq!(budgets.of(Capacity::Writes).used(), 0);
    }
}
