//! All budgets of a front door.

use std::sync::Arc;

use crate::budget::{Budget, Capacity, Holders, Refused, Taken};
use crate::limits::Limits;

/// Bytes of public request bodies that each connection always has: enough to ask for a token.
const STRANGER_FLOOR: u64 = 8 << 10;
/// Bytes of open HTTP/2 requests that each connection always has: enough for one request.
const STREAM_FLOOR: u64 = 8 << 10;
/// How many requests may wait for their bodies, as a multiple of those that may be worked on.
const AWAITED_TIMES: u64 = 4;

/// The budgets, one for each [`Capacity`].
#[derive(Debug)]
pub(crate) struct Budgets([Arc<Budget>; Capacity::ALL.len()]);

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
        Arc::new(Self(std::array::from_fn(|at| {
            let capacity = Capacity::ALL[at];
            let (common, floor) = size(capacity);
            Budget::new(capacity, common, floor)
        })))
    }

    /// Returns the budget of a capacity.
    pub(crate) fn of(&self, capacity: Capacity) -> &Arc<Budget> {
        &self.0[capacity as usize]
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

    /// Does the same as [`Budgets::take`], for use within a request.
    pub(crate) fn borrow(
        &self,
        capacity: Capacity,
        of: &Holders,
        amount: u64,
    ) -> Result<Taken<&Budget>, Refused> {
        Taken::of(&**self.of(capacity), of.clone(), amount)
    }
}
