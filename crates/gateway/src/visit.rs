//! A request that sends a body: what it holds while the body is awaited, and afterwards.

use std::sync::{Arc, Mutex, PoisonError};

use homeroom_http::{Admission, InTurn, Problem};

use crate::budget::{Capacity, Holders, Refused, Taken};
use crate::budgets::{Budgets, Places};
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
    held: Mutex<Holds>,
}

#[derive(Debug)]
struct Holds {
    awaited: Option<Taken>,
    bytes: Taken,
    places: Option<Places>,
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
        Ok(Self::new(budgets, caller, holders, None, Holds { awaited: None, bytes, places: None }))
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
        Ok(Self::new(budgets, caller, holders, work, Holds { awaited, bytes, places: None }))
    }

    fn new(
        budgets: &Arc<Budgets>,
        caller: &Arc<Caller>,
        holders: Holders,
        work: Option<Capacity>,
        held: Holds,
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

    fn whole(self: Arc<Self>) -> Result<(), InTurn> {
        match self.budgets.places(self.work, &self.holders) {
            Ok(places) => {
                self.keeps(places);
                Ok(())
            }
            Err(refused) => Err(Box::pin(async move {
                self.keeps(self.budgets.places_in_turn(refused, self.work, &self.holders).await?);
                Ok(())
            })),
        }
    }
}

impl Visit {
    /// Keeps the places of a request that is worked on.
    fn keeps(&self, places: Places) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.places = Some(places);
        held.awaited = None;
    }
}
