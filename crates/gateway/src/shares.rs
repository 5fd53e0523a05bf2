//! An amount that owners share: one of them alone has at most half of it, and the next one half of the rest.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homeroom_http::BudgetFigures;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// An amount of something that owners share.
#[derive(Debug)]
pub struct Shares {
    name: &'static str,
    size: u64,
    spread: RandomState,
    state: Mutex<State>,
    refused: AtomicU64,
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    used: u64,
    of: HashMap<u64, u64>,
}

/// What owners have taken, until the value is dropped.
#[derive(Debug)]
pub struct Share {
    shares: Arc<Shares>,
    owners: Box<[u64]>,
    amount: u64,
}

/// Why an amount is not to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoShare {
    /// Not so much is left.
    Full,
    /// An owner would hold more than would be left free.
    Used,
}

impl Shares {
    /// Creates an amount, all of it free.
    pub fn new(name: &'static str, size: u64) -> Arc<Self> {
        Arc::new(Self {
            name,
            size,
            spread: RandomState::new(),
            state: Mutex::default(),
            refused: AtomicU64::new(0),
            freed: Notify::new(),
        })
    }

    /// Returns an empty share. When it grows, the amount counts for each of these owners. The owners are of
    /// different kinds and stand in a fixed order, for example first the API and then its caller.
    pub fn of(self: &Arc<Self>, owners: &[&str]) -> Share {
        let owners = owners.iter().enumerate().map(|owner| self.spread.hash_one(owner)).collect();
        Share { shares: Arc::clone(self), owners, amount: 0 }
    }

    /// Takes an amount for owners.
    ///
    /// # Errors
    ///
    /// [`NoShare`]; it does not yet count as refused.
    pub fn take(self: &Arc<Self>, owners: &[&str], amount: u64) -> Result<Share, NoShare> {
        let mut share = self.of(owners);
        share.grow(amount)?;
        Ok(share)
    }

    /// Counts a refusal.
    pub fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until something is given back; what is given back after this call counts.
    pub fn freed(&self) -> Notified<'_> {
        self.freed.notified()
    }

    /// Returns the figures.
    pub fn figures(&self) -> BudgetFigures {
        let (used, refused) = (self.state().used, self.refused.load(Ordering::Relaxed));
        BudgetFigures { name: self.name, size: self.size, used, refused }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Returns how much it is.
    pub fn amount(&self) -> u64 {
        self.amount
    }

    /// Takes more for the same owners.
    ///
    /// # Errors
    ///
    /// The same as [`Shares::take`]; what was taken before is kept.
    pub fn grow(&mut self, more: u64) -> Result<(), NoShare> {
        if more == 0 {
            return Ok(());
        }
        let mut state = self.shares.state();
        let free = self.shares.size.saturating_sub(state.used);
        if more > free {
            return Err(NoShare::Full);
        }
        // Before its last unit, an owner may hold no more than is free. The very last unit goes to an owner
        // that has none.
        let most = free - (more - 1);
        let own = |owner| state.of.get(owner).copied().unwrap_or(0);
        if self.owners.iter().any(|owner| own(owner) + more > most) {
            return Err(NoShare::Used);
        }
        state.used += more;
        for owner in &self.owners {
            *state.of.entry(*owner).or_default() += more;
        }
        self.amount += more;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.amount == 0 {
            return;
        }
        let mut state = self.shares.state();
        state.used -= self.amount;
        for owner in &self.owners {
            if let Entry::Occupied(mut own) = state.of.entry(*owner) {
                *own.get_mut() -= self.amount;
                if *own.get() == 0 {
                    own.remove();
                }
            }
        }
        drop(state);
        self.shares.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_of(shares: &Arc<Shares>, owners: &[&str], amount: u64) -> Vec<Share> {
        std::iter::from_fn(|| shares.take(owners, amount).ok()).collect()
    }

    #[test]
    fn each_owner_has_half_of_what_the_others_leave_and_the_last_unit_is_for_one_that_has_none() {
        let shares = Shares::new("tried", 16);

        let taken: Vec<_> =
            ["a", "b", "c", "d", "e"].map(|owner| all_of(&shares, &[owner], 1)).into();

        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [8, 4, 2, 1, 1]);
        assert_eq!(shares.take(&["a"], 1).unwrap_err(), NoShare::Full);
        drop(taken);
        assert_eq!(shares.figures().used, 0);
        assert!(shares.state().of.is_empty());
    }

    #[test]
    fn a_large_amount_is_shared_as_many_small_ones_are() {
        let shares = Shares::new("tried", 1_000);
        let mut share = shares.take(&["a"], 100).unwrap();

        assert_eq!(share.grow(500), Err(NoShare::Used));
        assert_eq!(share.grow(5_000), Err(NoShare::Full));
        assert_eq!(share.grow(400), Ok(()));
        assert_eq!(shares.take(&["b"], 300).unwrap_err(), NoShare::Used);
        assert_eq!(shares.figures().used, 500);
    }

    #[test]
    fn an_amount_counts_for_every_owner_and_kinds_of_owners_are_told_apart() {
        let shares = Shares::new("tried", 16);
        let own = all_of(&shares, &["api", "caller"], 1);

        assert_eq!(own.len(), 8);
        assert_eq!(shares.take(&["api", "other"], 1).unwrap_err(), NoShare::Used);
        assert_eq!(shares.take(&["other", "caller"], 1).unwrap_err(), NoShare::Used);
        assert!(shares.take(&["caller", "api"], 1).is_ok());
    }
}
