//! Turns to call something that works on so many calls at a time: no more calls than it needs to be
//! busy, and beyond them clients wait in turn, briefly.
#![expect(
    clippy::disallowed_methods,
    reason = "how long calls take decides on how many there may be"
)]

mod limit;

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use homeroom_http::{BudgetFigures, Problem};
use homeroom_store::Lanes;
use tokio::sync::oneshot;

use crate::shares::{NoShare, Share, Shares};

pub use limit::Limit;

/// The budget of calls at a time, that of calls that wait, and that of bodies on their way.
const CALLS: &str = "upstream_calls";
/// The budget of calls that wait for their turn.
pub const WAITING: &str = "upstream_waiting";
const STREAMS: &str = "upstream_streams";

/// How many calls there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateLimits {
    /// Most calls at a time, however fast they are answered.
    pub calls: usize,
    /// Most calls that wait.
    pub waiting: usize,
    /// Longest wait. A call that would have to wait longer is refused at once.
    pub wait: Duration,
    /// Most calls whose bodies are on their way to an upstream, and connections that have changed their
    /// protocol.
    pub streams: usize,
}

impl Default for GateLimits {
    fn default() -> Self {
        Self { calls: 4_096, waiting: 4_096, wait: Duration::from_millis(500), streams: 4_096 }
    }
}

/// The gates of all published APIs; clones share them.
#[derive(Debug, Clone)]
pub struct Gates(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limits: GateLimits,
    all: Mutex<Vec<Weak<Gate>>>,
    /// Refusals of all gates, those of gates that are gone included.
    refused: AtomicU64,
    streams_refused: AtomicU64,
}

/// The gate of one API.
#[derive(Debug)]
pub struct Gate {
    gates: Arc<Inner>,
    /// What the API is called in refusals.
    of: String,
    begun: Instant,
    spread: RandomState,
    refused: AtomicU64,
    /// Streams on their way.
    streams: Arc<Shares>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limit: Limit,
    open: usize,
    waiting: Lanes<oneshot::Sender<Turn>>,
}

/// The figures of a published API: of calls, of those that wait, and of streams on their way.
#[derive(Debug, Clone)]
pub struct GateFigures {
    /// What the API is called.
    pub of: String,
    /// One for each budget.
    pub budgets: [BudgetFigures; 3],
}

/// A call's turn, which ends when the value is dropped.
pub struct Turn {
    gate: Arc<Gate>,
    begun: Instant,
    is_answered: bool,
}

impl Default for Gates {
    fn default() -> Self {
        Self::new(GateLimits::default())
    }
}

impl Gates {
    /// Creates the set without any gate.
    pub fn new(limits: GateLimits) -> Self {
        let (refused, streams_refused) = (AtomicU64::new(0), AtomicU64::new(0));
        Self(Arc::new(Inner { limits, all: Mutex::default(), refused, streams_refused }))
    }

    /// Creates the gate of an API.
    pub fn gate(&self, of: &str) -> Arc<Gate> {
        let limit = Limit::new(self.0.limits.calls);
        let gate = Arc::new(Gate {
            gates: Arc::clone(&self.0),
            of: of.to_owned(),
            begun: Instant::now(),
            spread: RandomState::new(),
            refused: AtomicU64::new(0),
            streams: Shares::new(STREAMS, self.0.limits.streams as u64),
            state: Mutex::new(State { limit, open: 0, waiting: Lanes::default() }),
        });
        let mut all = self.0.all();
        all.retain(|gate| gate.strong_count() > 0);
        all.push(Arc::downgrade(&gate));
        gate
    }

    /// Returns the figures of all gates together: of calls, of those that wait, and of streams.
    pub fn figures(&self) -> [BudgetFigures; 3] {
        let none = |name, refused| BudgetFigures { name, size: 0, used: 0, refused };
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (refused, streams) = (count(&self.0.refused), count(&self.0.streams_refused));
        let mut all = [none(CALLS, 0), none(WAITING, refused), none(STREAMS, streams)];
        for of_one in self.figures_of_each() {
            for (sum, one) in all.iter_mut().zip(of_one.budgets) {
                sum.size += one.size;
                sum.used += one.used;
            }
        }
        all
    }

    /// Returns the figures of each gate.
    pub fn figures_of_each(&self) -> Vec<GateFigures> {
        let gates: Vec<Arc<Gate>> = self.0.all().iter().filter_map(Weak::upgrade).collect();
        gates.iter().map(|gate| gate.figures()).collect()
    }
}

impl Inner {
    fn all(&self) -> MutexGuard<'_, Vec<Weak<Gate>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gate {
    /// Waits for the turn of a client's call.
    ///
    /// # Errors
    ///
    /// 503: at once if the client already has its share of those that wait, or would have to wait
    /// too long; otherwise when it has waited too long.
    pub async fn enter(self: &Arc<Self>, client: &str) -> Result<Turn, Problem> {
        let GateLimits { wait, .. } = self.gates.limits;
        let waits = {
            let mut state = self.state();
            if state.waiting.count() == 0 && state.open < state.limit.current() {
                state.open += 1;
                return Ok(self.turn());
            }
            state.limit.waits();
            let owner = self.spread.hash_one(client);
            if let Some(why) = self.refusal(&state, owner) {
                drop(state);
                return Err(self.refused(why));
            }
            let (sender, receiver) = oneshot::channel();
            state.waiting.add(owner, sender);
            let woken = state.woken();
            drop(state);
            self.wake(woken);
            receiver
        };
        match tokio::time::timeout(wait.saturating_mul(2), waits).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(self.refused("this call's turn did not come in time")),
        }
    }

    /// Takes the place of a client's stream, which works on nothing yet but holds a connection to an
    /// upstream.
    ///
    /// # Errors
    ///
    /// 503 if the client already has its share of the places, or none is left.
    pub fn stream(&self, client: &str) -> Result<Share, Problem> {
        self.streams.take(&[client], 1).map_err(|refused| {
            self.gates.streams_refused.fetch_add(1, Ordering::Relaxed);
            self.streams.refuse();
            let why = match refused {
                NoShare::Full => "as many bodies and connections are on their way as may be",
                NoShare::Used => {
                    "this client already has its share of the bodies and connections on their way"
                }
            };
            let detail = format!("Of the API {}, {why} (budget {STREAMS}).", self.of);
            Problem::busy(1).budget(STREAMS).detail(detail)
        })
    }

    fn figures(&self) -> GateFigures {
        let GateLimits { waiting, .. } = self.gates.limits;
        let refused = self.refused.load(Ordering::Relaxed);
        let state = self.state();
        let figures = |name, size, used: usize, refused| {
            let (size, used) = (size as u64, used as u64);
            BudgetFigures { name, size, used, refused }
        };
        let budgets = [
            figures(CALLS, state.limit.current(), state.open, 0),
            figures(WAITING, waiting, state.waiting.count(), refused),
            self.streams.figures(),
        ];
        GateFigures { of: self.of.clone(), budgets }
    }

    /// Returns why a call of an owner may not wait.
    #[expect(clippy::cast_precision_loss, reason = "counts of calls are small")]
    fn refusal(&self, state: &State, owner: u64) -> Option<&'static str> {
        let GateLimits { waiting, wait, .. } = self.gates.limits;
        let own = state.waiting.count_of(owner);
        let free = waiting.saturating_sub(state.waiting.count());
        if free == 0 {
            return Some("as many calls wait as may");
        }
        if own > 0 && own >= free {
            return Some("this client already has its share of the calls that wait");
        }
        let owners = state.waiting.owners() + usize::from(own == 0);
        // Owners take turns, so a call waits for those of its own client, and as many of each other.
        let ahead = (own * owners) as f64;
        let is_too_long =
            state.limit.rate().is_some_and(|rate| ahead > rate.max(1.0) * wait.as_secs_f64());
        is_too_long.then_some("this client's calls would have to wait too long")
    }

    fn refused(&self, why: &str) -> Problem {
        self.gates.refused.fetch_add(1, Ordering::Relaxed);
        self.refused.fetch_add(1, Ordering::Relaxed);
        Problem::busy(1).budget(WAITING).detail(format!(
            "The API {} is asked for more than what answers behind it can do: {why} (budget \
             {WAITING}).",
            self.of
        ))
    }

    fn turn(self: &Arc<Self>) -> Turn {
        Turn { gate: Arc::clone(self), begun: Instant::now(), is_answered: false }
    }

    /// Hands turns over, outside the lock: a caller that has left ends its turn at once.
    fn wake(self: &Arc<Self>, woken: Vec<oneshot::Sender<Turn>>) {
        for sender in woken {
            _ = sender.send(self.turn());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes those who wait and may begin now.
    fn woken(&mut self) -> Vec<oneshot::Sender<Turn>> {
        let mut woken = vec![];
        while self.open < self.limit.current()
            && let Some(sender) = self.waiting.take()
        {
            if !sender.is_closed() {
                self.open += 1;
                woken.push(sender);
            }
        }
        if self.waiting.count() > 0 {
            self.limit.waits();
        }
        woken
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Turn({})", self.gate.of)
    }
}

impl Turn {
    /// Returns how long ago it came.
    pub fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Ends the turn of a call that was answered; the time that it took decides on how many calls
    /// there may be.
    pub fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let now = Instant::now();
        let mut state = self.gate.state();
        state.open -= 1;
        if self.is_answered {
            let took = now.saturating_duration_since(self.begun);
            let (open, since) = (state.open, now.saturating_duration_since(self.gate.begun));
            state.limit.answered(took, open, since);
        }
        let woken = state.woken();
        drop(state);
        self.gate.wake(woken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRIEF: Duration = Duration::from_millis(20);

    fn gate(calls: usize, waiting: usize) -> (Gates, Arc<Gate>) {
        let wait = Duration::from_secs(20);
        let gates = Gates::new(GateLimits { calls, waiting, wait, streams: 8 });
        let gate = gates.gate("pay");
        (gates, gate)
    }

    /// Begins to wait, and returns the wait.
    async fn waiting(
        gate: &Arc<Gate>,
        client: &'static str,
    ) -> tokio::task::JoinHandle<Result<Turn, Problem>> {
        let before = gate.state().waiting.count();
        let entering = Arc::clone(gate);
        let wait = tokio::spawn(async move { entering.enter(client).await });
        while gate.state().waiting.count() == before {
            tokio::task::yield_now().await;
        }
        wait
    }

    #[tokio::test]
    async fn clients_take_turns_however_many_calls_one_of_them_has() {
        let (_gates, gate) = gate(2, 100);
        let (first, second) = (gate.enter("flood").await.unwrap(), gate.enter("flood").await);
        let mut flood = vec![];
        for _ in 0..20 {
            flood.push(waiting(&gate, "flood").await);
        }
        let other = waiting(&gate, "other").await;

        drop(first);
        drop(second);

        // The first in the flood, and the other client, which came last.
        assert!(flood.remove(0).await.unwrap().is_ok());
        assert!(other.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_client_has_its_share_of_those_that_wait_and_a_refusal_names_the_budget() {
        let (gates, gate) = gate(2, 8);
        let _calls = [gate.enter("flood").await.unwrap(), gate.enter("flood").await.unwrap()];
        let mut waits = vec![];
        for _ in 0..4 {
            waits.push(waiting(&gate, "flood").await);
        }

        let refused = gate.enter("flood").await.unwrap_err();
        let other = waiting(&gate, "other").await;

        let detail = refused.detail.clone().unwrap();
        assert_eq!(
            (refused.kind.status().as_u16(), &refused.headers[0].1),
            (503, &"1".parse().unwrap())
        );
        assert!(
            detail.contains("API pay") && detail.contains("budget upstream_waiting"),
            "{detail}"
        );
        let [calls, waiting, _] = gates.figures();
        assert_eq!((calls.size, calls.used), (2, 2));
        assert_eq!((waiting.size, waiting.used, waiting.refused), (8, 5, 1));
        other.abort();
    }

    #[tokio::test]
    async fn who_has_left_gets_no_turn_and_none_is_lost() {
        let (gates, gate) = gate(2, 100);
        let calls = [gate.enter("a").await.unwrap(), gate.enter("a").await.unwrap()];
        for _ in 0..5 {
            let left = waiting(&gate, "a").await;
            left.abort();
            _ = left.await;
        }
        let stays = waiting(&gate, "b").await;

        drop(calls);

        let turn = stays.await.unwrap().unwrap();
        assert_eq!(gates.figures()[0].used, 1);
        turn.answered();
        assert_eq!((gates.figures()[0].used, gates.figures()[1].used), (0, 0));
    }

    #[tokio::test]
    async fn who_waits_too_long_is_refused() {
        let gates = Gates::new(GateLimits { calls: 2, waiting: 9, wait: BRIEF, streams: 8 });
        let gate = gates.gate("pay");
        let _calls = [gate.enter("a").await.unwrap(), gate.enter("a").await.unwrap()];

        let refused = gate.enter("b").await.unwrap_err();

        assert!(refused.detail.as_ref().unwrap().contains("did not come in time"), "{refused:?}");
    }

    #[tokio::test]
    async fn streams_have_places_of_their_own_and_nobody_has_all_of_them() {
        let (gates, gate) = gate(2, 8);
        let mut flood = vec![];
        while let Ok(stream) = gate.stream("flood") {
            flood.push(stream);
        }

        let refused = gate.stream("flood").unwrap_err();
        let other = gate.stream("other").unwrap();

        assert_eq!(flood.len(), 4);
        let detail = refused.detail.clone().unwrap();
        assert!(detail.contains("budget upstream_streams"), "{detail}");
        let streams = gates.figures()[2];
        assert_eq!((streams.size, streams.used, streams.refused), (8, 5, 2));
        drop((flood, other));
        assert_eq!(gates.figures()[2].used, 0);
    }
}
