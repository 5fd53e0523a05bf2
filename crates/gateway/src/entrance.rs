//! The entrance: how many connections have their next request read at a time.
//!
//! A thousand connections of one client that all have sent something would each be read and answered before
//! whoever comes next. So only some are let in at a time. Of the others nothing is read meanwhile; owners,
//! which are keys or addresses, take turns. A connection holds its place only while its task is being polled,
//! or has been woken to be let in and was not polled yet.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use homeroom_http::BudgetFigures;
use homeroom_store::Lanes;

/// Where connections are let in, some at a time.
#[derive(Debug)]
pub(crate) struct Entrance {
    size: usize,
    /// The number of connections there are.
    connections: AtomicUsize,
    inside: AtomicUsize,
    /// The number of those in `lanes`, for those who leave.
    outside: AtomicUsize,
    lanes: Mutex<Lanes<Arc<Waiting>>>,
}

/// A connection that waits to be let in.
#[derive(Debug)]
pub(crate) struct Waiting {
    state: AtomicU8,
    waker: Mutex<Waker>,
}

const WAITS: u8 = 0;
const LET_IN: u8 = 1;
const GONE: u8 = 2;

impl Waiting {
    /// Returns whether it was let in.
    pub(crate) fn has_turn(&self) -> bool {
        self.state.load(Ordering::Acquire) == LET_IN
    }

    /// Returns whether it was let in; otherwise the task is woken when it is.
    pub(crate) fn is_let_in(&self, cx: &Context<'_>) -> bool {
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if self.has_turn() {
            return true;
        }
        if !waker.will_wake(cx.waker()) {
            waker.clone_from(cx.waker());
        }
        false
    }

    /// Lets it in, unless it is gone.
    fn let_in(&self) -> Option<Waker> {
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        self.moves(LET_IN).then(|| waker.clone())
    }

    fn moves(&self, to: u8) -> bool {
        self.state.compare_exchange(WAITS, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl Entrance {
    /// Makes an entrance for so many connections at a time.
    pub(crate) fn new(size: usize) -> Self {
        let [connections, inside, outside] = [0; 3].map(AtomicUsize::new);
        Self { size: size.max(1), connections, inside, outside, lanes: Mutex::default() }
    }

    /// Counts a connection that has come.
    pub(crate) fn has_come(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that has gone.
    pub(crate) fn has_gone(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns whether there are more connections than are let in at a time. As long as there are not, nobody
    /// has to enter, and no count that all threads share is changed for each request.
    pub(crate) fn is_needed(&self) -> bool {
        self.connections.load(Ordering::Relaxed) > self.size
    }

    /// Lets a connection of an owner in. Whoever has to wait is woken when it is let in.
    pub(crate) fn enter(&self, owner: u64, cx: &Context<'_>) -> Result<(), Arc<Waiting>> {
        if self.outside.load(Ordering::SeqCst) == 0 && self.takes_place() {
            return Ok(());
        }
        let waker = Mutex::new(cx.waker().clone());
        let waiting = Arc::new(Waiting { state: AtomicU8::new(WAITS), waker });
        let mut lanes = self.lanes();
        lanes.add(owner, Arc::clone(&waiting));
        self.outside.store(lanes.count(), Ordering::SeqCst);
        // Whoever has left just now may not have seen that somebody waits.
        let woken = self.let_in(&mut lanes);
        drop(lanes);
        let is_in = waiting.has_turn();
        for waker in woken {
            if !is_in || !waker.will_wake(cx.waker()) {
                waker.wake();
            }
        }
        if is_in {
            return Ok(());
        }
        Err(waiting)
    }

    /// Ends the stay of a connection that was let in.
    pub(crate) fn leave(&self) {
        self.inside.fetch_sub(1, Ordering::SeqCst);
        if self.outside.load(Ordering::SeqCst) > 0 {
            let woken = self.let_in(&mut self.lanes());
            woken.into_iter().for_each(Waker::wake);
        }
    }

    /// Ends the wait of a connection.
    pub(crate) fn give_up(&self, waiting: &Waiting) {
        if !waiting.moves(GONE) {
            self.leave();
        }
    }

    /// Returns how many are inside. Nobody is refused.
    pub(crate) fn figures(&self) -> BudgetFigures {
        let (size, used) = (self.size as u64, self.inside.load(Ordering::Relaxed) as u64);
        BudgetFigures { name: "entrance", size, used, refused: 0 }
    }

    /// Returns how many wait outside, of at most so many connections; some may be gone.
    pub(crate) fn waiting(&self, connections: usize) -> BudgetFigures {
        let used = self.outside.load(Ordering::Relaxed) as u64;
        BudgetFigures { name: "entrance_waiting", size: connections as u64, used, refused: 0 }
    }

    fn takes_place(&self) -> bool {
        let one_more = |inside: usize| (inside < self.size).then_some(inside + 1);
        self.inside.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more).is_ok()
    }

    /// Lets those in who wait, as far as there are places, and returns whom to wake.
    fn let_in(&self, lanes: &mut Lanes<Arc<Waiting>>) -> Vec<Waker> {
        let mut woken = vec![];
        while lanes.count() > 0 && self.takes_place() {
            match std::iter::from_fn(|| lanes.take()).find_map(|waiting| waiting.let_in()) {
                Some(waker) => woken.push(waker),
                None => _ = self.inside.fetch_sub(1, Ordering::SeqCst),
            }
        }
        self.outside.store(lanes.count(), Ordering::SeqCst);
        woken
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes<Arc<Waiting>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::task::Wake;

    use super::*;

    /// Long enough for a loaded machine; no test waits this long.
    const PATIENCE: std::time::Duration = std::time::Duration::from_mins(1);

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    /// One who wants to enter, with a task of its own.
    struct Guest {
        woken: Arc<Woken>,
        waiting: Option<Arc<Waiting>>,
    }

    fn guest(entrance: &Entrance, owner: u64) -> Guest {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let waiting = entrance.enter(owner, &Context::from_waker(&waker)).err();
        Guest { woken, waiting }
    }

    impl Guest {
        fn is_in(&self) -> bool {
            let waker = Waker::from(Arc::clone(&self.woken));
            let is_in = self
                .waiting
                .as_ref()
                .is_none_or(|waiting| waiting.is_let_in(&Context::from_waker(&waker)));
            let was_woken = self.waiting.is_some() && self.woken.0.load(Ordering::SeqCst);
            assert_eq!(was_woken, self.waiting.is_some() && is_in, "it is woken when it is let in");
            is_in
        }
    }

    #[test]
    fn who_comes_next_waits_for_the_next_turn_and_not_behind_all_others_of_one_owner() {
        let entrance = Entrance::new(2);
        let mut flood: Vec<_> = (0..100).map(|_| guest(&entrance, 1)).collect();
        assert_eq!(flood.iter().filter(|guest| guest.is_in()).count(), 2);
        let other = guest(&entrance, 2);
        assert!(!other.is_in());

        entrance.leave();
        entrance.leave();

        assert!(other.is_in());
        assert_eq!(flood.iter().filter(|guest| guest.is_in()).count(), 3);
        assert_eq!(entrance.figures().used, 2);
        for left in 0..99 {
            assert!(entrance.figures().used > 0, "{left}");
            entrance.leave();
            flood.retain(|guest| !guest.is_in());
        }
        assert_eq!((entrance.figures().used, flood.len()), (0, 0));
    }

    #[test]
    fn who_is_gone_is_passed_over_and_gives_its_place_back() {
        let entrance = Entrance::new(1);
        let _first = guest(&entrance, 1);
        let [gone, next, last] = [1, 1, 1].map(|owner| guest(&entrance, owner));
        let gave_up = |guest: &Guest| entrance.give_up(guest.waiting.as_ref().unwrap());

        gave_up(&gone);
        entrance.leave();
        assert!(next.is_in() && !last.is_in());
        // It was let in, and has not noticed yet.
        gave_up(&next);

        assert!(last.is_in());
        assert_eq!(entrance.figures().used, 1);
    }

    #[test]
    fn everybody_is_woken_however_threads_enter_and_leave() {
        let entrance = Entrance::new(2);
        let rounds = 20_000;

        std::thread::scope(|scope| {
            for owner in 0..4 {
                let entrance = &entrance;
                scope.spawn(move || {
                    for _ in 0..rounds {
                        let guest = guest(entrance, owner);
                        if guest.waiting.is_some() {
                            guest.woken.waits();
                            assert!(guest.is_in());
                        }
                        entrance.leave();
                    }
                });
            }
        });

        assert_eq!((entrance.figures().used, entrance.waiting(9).used), (0, 0));
    }

    impl Woken {
        /// Waits until it is woken.
        #[expect(clippy::disallowed_methods, reason = "a wake that is lost ends the test")]
        fn waits(&self) {
            let began = std::time::Instant::now();
            while !self.0.load(Ordering::SeqCst) {
                assert!(began.elapsed() < PATIENCE, "it is not woken");
                std::thread::yield_now();
            }
        }
    }
}
