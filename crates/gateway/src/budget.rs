//! Budgets: limited amounts that requests share, and who holds how much of each.
//!
//! A holder that already has something gets more only up to a multiple of what would still be free,
//! so however much one holder takes, something is left for the next. Source: Choudhury and Hahne,
//! "Dynamic queue length thresholds for shared-memory packet switches", 1998.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use homeroom_http::{BudgetFigures, Problem};

use crate::place_turns::PlaceTurns;

/// Everything that requests share. Each row is name, unit and description.
macro_rules! capacities {
    ($($capacity:ident, $name:literal, $what:literal;)*) => {
        /// A limited capacity that requests share.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Capacity {
            $(#[doc = $what] $capacity,)*
        }

        impl Capacity {
            /// Every capacity.
            pub const ALL: &'static [Self] = &[$(Self::$capacity,)*];

            /// Returns the name used in metrics and refusals.
            pub fn name(self) -> &'static str {
                match self { $(Self::$capacity => $name,)* }
            }

            /// Returns what the capacity counts, as a refusal words it.
            pub fn what(self) -> &'static str {
                match self { $(Self::$capacity => $what,)* }
            }
        }
    };
}

capacities! {
    Connections, "connections", "connections";
    Streams, "streams", "bytes of open HTTP/2 requests";
    StrangerBodies, "stranger_bodies", "bytes of request bodies on public routes";
    Awaited, "awaited", "requests waiting for their bodies";
    InFlight, "in_flight", "requests being processed";
    Lists, "lists", "requests that read many documents";
    Writes, "writes", "requests that write";
    Bodies, "bodies", "bytes of request bodies";
    Answers, "answers", "bytes of unread answers";
    PublicAnswers, "public_answers", "bytes of unread answers on public routes";
}

const CAPACITIES: usize = Capacity::ALL.len();

/// The kind of a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Connection,
    /// Many clients can have one address, behind a proxy or in one network.
    Address,
    Key,
}

impl Kind {
    /// Returns the most that one holder may have, as a multiple of what is left free. A single
    /// holder gets `n / (n + 1)` of a budget.
    fn times_free(self) -> u64 {
        match self {
            Self::Connection | Self::Key => 1,
            Self::Address => 3,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Address => "address",
            Self::Key => "key",
        }
    }
}

/// The number of the next holder; 0 is nobody's.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A holder, and how much it holds of each budget.
#[derive(Debug)]
pub(crate) struct Holder {
    kind: Kind,
    number: u64,
    held: [AtomicU64; CAPACITIES],
}

impl Holder {
    pub(crate) fn new(kind: Kind) -> Arc<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self { kind, number, held: std::array::from_fn(|_| AtomicU64::new(0)) })
    }

    /// Returns the number by which it takes turns with others.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns how much of a budget it holds.
    pub(crate) fn held(&self, capacity: Capacity) -> u64 {
        self.held[capacity as usize].load(Ordering::Relaxed)
    }
}

/// The holders that an amount is charged to: a connection, and the address or key that it acts for.
/// A request that came over no connection has neither.
#[derive(Debug, Clone, Default)]
pub(crate) struct Holders {
    pub(crate) connection: Option<Arc<Holder>>,
    pub(crate) owner: Option<Arc<Holder>>,
}

impl Holders {
    /// Returns the number of whoever is served in turn with others: the address or key, or else the
    /// connection; 0 for a request of the server itself.
    pub(crate) fn number(&self) -> u64 {
        self.owner.as_ref().or(self.connection.as_ref()).map_or(0, |holder| holder.number)
    }
}

/// The budget of one capacity: a limited amount that requests share.
#[derive(Debug)]
pub(crate) struct Budget {
    capacity: Capacity,
    /// The amount that all holders share.
    common: u64,
    /// The amount that each connection always has for itself.
    floor: u64,
    /// How much of the shared amount is taken.
    used: AtomicU64,
    refused: AtomicU64,
    /// Those who wait for a place that is given back.
    pub(crate) turns: PlaceTurns,
}

/// Why an amount was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    capacity: Capacity,
    /// Whose share is used up; [`None`] when the whole budget is.
    share_of: Option<Kind>,
}

impl Budget {
    /// Creates a budget with a shared amount, and a floor for each connection.
    pub(crate) fn new(capacity: Capacity, common: u64, floor: u64) -> Arc<Self> {
        let (used, refused) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Self { capacity, common, floor, used, refused, turns: PlaceTurns::default() })
    }

    /// Returns the shared amount.
    pub(crate) fn size(&self) -> u64 {
        self.common
    }

    /// Returns how much of the shared amount is taken.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns its figures.
    pub(crate) fn figures(&self) -> BudgetFigures {
        let (name, size) = (self.capacity.name(), self.size());
        BudgetFigures { name, size, used: self.used(), refused: self.refused() }
    }

    /// Returns how often an amount was refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Returns the refusal of an owner that has others waiting.
    pub(crate) fn refused_share(&self, of: &Holders) -> Refused {
        let holder = of.owner.as_ref().or(of.connection.as_ref());
        Refused { capacity: self.capacity, share_of: holder.map(|holder| holder.kind) }
    }

    /// Counts an amount that was refused.
    pub(crate) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    fn beyond_floor(&self, held: u64) -> u64 {
        held.saturating_sub(self.floor)
    }

    /// Takes an amount and returns how much of it comes out of the shared amount.
    fn add(&self, holders: &Holders, amount: u64) -> Result<u64, Refused> {
        let at = self.capacity as usize;
        let before = match &holders.connection {
            Some(connection) => connection.held[at].fetch_add(amount, Ordering::Relaxed),
            None => self.floor,
        };
        let common = self.beyond_floor(before + amount) - self.beyond_floor(before);
        if common == 0 {
            return Ok(0);
        }
        let before_of_owner = holders
            .owner
            .as_ref()
            .map_or(0, |owner| owner.held[at].fetch_add(common, Ordering::Relaxed));
        let own = self.beyond_floor(before);
        let mut share_of = None;
        // A refused amount is never added, so that no other holder is refused because of it.
        let taken = self.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |used| {
            share_of = None;
            let free = self.common.checked_sub(used + common)?;
            // A holder that has nothing yet may take anything that is free.
            let is_over = |kind: Kind, before: u64| {
                before > 0 && before + common > kind.times_free().saturating_mul(free)
            };
            let connection = holders.connection.as_ref().filter(|c| is_over(c.kind, own));
            let owner = holders.owner.as_ref().filter(|o| is_over(o.kind, before_of_owner));
            share_of = owner.or(connection).map(|holder| holder.kind);
            share_of.is_none().then_some(used + common)
        });
        if taken.is_ok() {
            return Ok(common);
        }
        self.forget(holders, amount, common);
        Err(Refused { capacity: self.capacity, share_of })
    }

    fn sub(&self, holders: &Holders, amount: u64, common: u64) {
        self.forget(holders, amount, common);
        if common > 0 {
            self.used.fetch_sub(common, Ordering::SeqCst);
            self.turns.given_back();
        }
    }

    /// Subtracts an amount from what the holders hold.
    fn forget(&self, holders: &Holders, amount: u64, common: u64) {
        let at = self.capacity as usize;
        if let Some(connection) = &holders.connection {
            connection.held[at].fetch_sub(amount, Ordering::Relaxed);
        }
        if common > 0
            && let Some(owner) = &holders.owner
        {
            owner.held[at].fetch_sub(common, Ordering::Relaxed);
        }
    }
}

/// An amount that was taken, held until the value is dropped.
#[derive(Debug)]
pub(crate) struct Taken<B: Deref<Target = Budget> = Arc<Budget>> {
    budget: B,
    holders: Holders,
    amount: u64,
    common: u64,
}

impl<B: Deref<Target = Budget>> Taken<B> {
    /// Takes an amount from a budget.
    ///
    /// # Errors
    ///
    /// [`Refused`] where it is more than is left, or more than the holders' share.
    pub(crate) fn of(budget: B, holders: Holders, amount: u64) -> Result<Self, Refused> {
        let common = budget.add(&holders, amount).inspect_err(|_| budget.count_refused())?;
        Ok(Self { budget, holders, amount, common })
    }

    /// Does the same for a holder that asks again until there is room, and does not count as refused
    /// meanwhile.
    pub(crate) fn attempt(budget: B, holders: Holders, amount: u64) -> Result<Self, Refused> {
        let common = budget.add(&holders, amount)?;
        Ok(Self { budget, holders, amount, common })
    }

    /// Takes more from the same budget.
    ///
    /// # Errors
    ///
    /// The same as [`Taken::of`]; what was taken before is kept.
    pub(crate) fn grow(&mut self, more: u64) -> Result<(), Refused> {
        let added = self.budget.add(&self.holders, more);
        self.common += added.inspect_err(|_| self.budget.count_refused())?;
        self.amount += more;
        Ok(())
    }
}

impl<B: Deref<Target = Budget>> Drop for Taken<B> {
    fn drop(&mut self) {
        self.budget.sub(&self.holders, self.amount, self.common);
    }
}

impl Refused {
    /// Returns the budget that is used up.
    pub(crate) fn capacity(self) -> Capacity {
        self.capacity
    }

    /// Returns whose share is used up; [`None`] when the whole budget is.
    pub(crate) fn share_of(self) -> Option<Kind> {
        self.share_of
    }
}

impl From<Refused> for Problem {
    /// Returns 503 with the budget's name and whose share of it is used up.
    fn from(refused: Refused) -> Self {
        let Refused { capacity, share_of } = refused;
        let (what, name) = (capacity.what(), capacity.name());
        let detail = match share_of {
            None => format!("The server holds as many {what} as it can (budget {name})."),
            Some(kind) => format!(
                "This {} already has its share of {what} (budget {name}); the rest is reserved \
                 for others.",
                kind.name()
            ),
        };
        Problem::busy(1).budget(name).detail(detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 1_000;

    fn of(kind: Kind) -> Holders {
        match kind {
            Kind::Connection => Holders { connection: Some(Holder::new(kind)), owner: None },
            Kind::Address | Kind::Key => {
                Holders { connection: None, owner: Some(Holder::new(kind)) }
            }
        }
    }

    fn take_all(budget: &Arc<Budget>, holders: &Holders) -> Vec<Taken> {
        let one = || Taken::of(Arc::clone(budget), holders.clone(), 1).ok();
        std::iter::from_fn(one).collect()
    }

    #[test]
    fn nobody_takes_all_of_any_budget_and_the_next_gets_its_place() {
        for capacity in Capacity::ALL {
            for kind in [Kind::Connection, Kind::Address, Kind::Key] {
                let budget = Budget::new(*capacity, SIZE, 0);

                let greedy = take_all(&budget, &of(kind));
                let next = Taken::of(Arc::clone(&budget), of(kind), SIZE / 10);

                assert!(
                    greedy.len() as u64 >= SIZE / 2,
                    "{capacity:?}, {kind:?}: {}",
                    greedy.len()
                );
                assert!(
                    greedy.len() as u64 <= SIZE * 3 / 4,
                    "{capacity:?}, {kind:?}: {}",
                    greedy.len()
                );
                assert!(next.is_ok(), "{capacity:?}, {kind:?}");
            }
        }
    }

    #[test]
    fn what_is_taken_comes_back() {
        let budget = Budget::new(Capacity::Bodies, SIZE, 10);
        let owner = Some(Holder::new(Kind::Key));
        let connection = || Some(Holder::new(Kind::Connection));
        let (a, b) = (connection(), connection());
        let holders = |connection: &Option<Arc<Holder>>| Holders {
            connection: connection.clone(),
            owner: owner.clone(),
        };

        for round in 0..3 {
            let mut first = Taken::of(Arc::clone(&budget), holders(&a), 5).unwrap();
            let second = Taken::of(Arc::clone(&budget), holders(&a), 50).unwrap();
            let third = Taken::of(Arc::clone(&budget), holders(&b), 20).unwrap();
            first.grow(30).unwrap();
            assert!(first.grow(SIZE).is_err());
            assert_eq!(budget.used(), 5 + 50 + 20 + 30 - 20, "round {round}");
            // Released in another order than they were taken.
            drop(first);
            drop(third);
            drop(second);

            assert_eq!(budget.used(), 0, "round {round}");
            for holder in [&a, &b, &owner] {
                assert_eq!(holder.as_ref().unwrap().held(Capacity::Bodies), 0, "round {round}");
            }
        }
    }

    #[test]
    fn a_connection_has_its_floor_whatever_others_hold() {
        let budget = Budget::new(Capacity::StrangerBodies, SIZE, 4);
        let address = Holder::new(Kind::Address);
        let of_one = |connection| Holders {
            connection: Some(connection),
            owner: Some(Arc::clone(&address)),
        };
        let many: Vec<_> =
            (0..100).map(|_| take_all(&budget, &of_one(Holder::new(Kind::Connection)))).collect();
        assert!(many.iter().all(|taken| taken.len() >= 4));

        let next = take_all(&budget, &of_one(Holder::new(Kind::Connection)));
        let elsewhere = take_all(&budget, &of(Kind::Address));

        assert!(next.len() >= 4, "{}", next.len());
        assert!(elsewhere.len() as u64 >= SIZE / 8, "{}", elsewhere.len());
    }

    #[test]
    fn what_is_refused_is_in_nobody_s_way_meanwhile() {
        let budget = Budget::new(Capacity::Answers, SIZE, 0);
        let over = std::sync::atomic::AtomicBool::new(false);

        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let all = Taken::of(Arc::clone(&budget), of(Kind::Key), SIZE + 1);
                    assert!(all.is_err());
                }
            });
            let refused = (0..200_000)
                .filter(|_| Taken::of(Arc::clone(&budget), of(Kind::Key), 1).is_err())
                .count();
            over.store(true, Ordering::Relaxed);
            assert_eq!(refused, 0);
        });
    }

    #[test]
    fn the_last_place_is_for_whoever_has_none() {
        let budget = Budget::new(Capacity::InFlight, 2, 0);
        let (greedy, other) = (of(Kind::Key), of(Kind::Key));

        let first = Taken::of(Arc::clone(&budget), greedy.clone(), 1);
        let second = Taken::of(Arc::clone(&budget), greedy, 1).unwrap_err();
        let others = Taken::of(Arc::clone(&budget), other.clone(), 1);
        let none = Taken::of(Arc::clone(&budget), of(Kind::Key), 1).unwrap_err();

        assert!(first.is_ok() && others.is_ok());
        assert_eq!(second.share_of, Some(Kind::Key));
        assert_eq!(none.share_of, None);
        assert_eq!(budget.refused(), 2);
        let problem = Problem::from(second);
        assert_eq!(problem.kind.status(), 503);
        assert!(problem.detail.as_ref().unwrap().contains("budget in_flight"), "{problem:?}");
        assert_eq!(problem.headers[0].1, "1");
    }
}
