//! A request that sends a body: what it holds while the body is awaited, and afterwards.

use std::sync::{Arc, Mutex, PoisonError};

use homeroom_http::{Admission, Problem};

use crate::budget::{Capacity, Holders, Refused, Taken};
use crate::budgets::Budgets;
use crate::caller::Caller;

/// Bytes that a request on a public route holds besides those of its body.
const STRANGER_BYTES: u64 = 1 << 10;

/// A request whose body is awaited. It holds little: a place among the waiting requests, and the
/// bytes that have arrived. When its body is complete, it takes the places of a request in flight.
#[derive(Debug)]
pub(crate) struct Visit {
    budgets: Arc<Budgets>,
    caller: Arc<Caller>,
    holders: Holders,
    /// The budget that it takes from besides requests in flight.
    work: Option<Capacity>,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    awaited: Option<Taken>,
    bytes: Taken,
    places: Option<(Taken, Option<Taken>)>,
}

impl Visit {
    /// Creates the visit of a request on a public route.
    ///
    /// # Errors
    ///
    /// [`Refused`] where there is no room for another body on a public route.
    pub(crate) fn of_stranger(
        budgets: &Arc<Budgets>,
        caller: &Arc<Caller>,
        holders: Holders,
    ) -> Result<Self, Refused> {
        let bytes = budgets.take(Capacity::StrangerBodies, &holders, STRANGER_BYTES)?;
        Ok(Self::new(budgets, caller, holders, None, Held { awaited: None, bytes, places: None }))
    }

    /// Creates the visit of a request with a key.
    ///
    /// # Errors
    ///
    /// [`Refused`] where no more requests may wait for their bodies.
    pub(crate) fn of_key(
        budgets: &Arc<Budgets>,
        caller: &Arc<Caller>,
        holders: Holders,
        work: Option<Capacity>,
    ) -> Result<Self, Refused> {
        let awaited = Some(budgets.take(Capacity::Awaited, &holders, 1)?);
        let bytes = budgets.take(Capacity::Bodies, &holders, 0)?;
        Ok(Self::new(budgets, caller, holders, work, Held { awaited, bytes, places: None }))
    }

    fn new(
        budgets: &Arc<Budgets>,
        caller: &Arc<Caller>,
        holders: Holders,
        work: Option<Capacity>,
        held: Held,
    ) -> Self {
        let (budgets, caller) = (Arc::clone(budgets), Arc::clone(caller));
        Self { budgets, caller, holders, work, held: Mutex::new(held) }
    }
}

impl Admission for Visit {
    fn grow(&self, bytes: usize) -> Result<(), Problem> {
        self.caller.is_useful();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(held.bytes.grow(bytes as u64)?)
    }

    fn moved(&self) {
        self.caller.is_useful();
    }

    fn whole(&self) -> Result<(), Problem> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let in_flight = self.budgets.take(Capacity::InFlight, &self.holders, 1)?;
        let work = self.work.map(|work| self.budgets.take(work, &self.holders, 1)).transpose()?;
        held.places = Some((in_flight, work));
        held.awaited = None;
        Ok(())
    }
}
