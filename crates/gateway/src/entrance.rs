//! The entrance: turns of connections, where clients wait because another has too many that are ready.
//!
//! The runtime has one queue of tasks that are ready to run. If one client sends on a thousand connections at once, a
//! request of another client waits behind all of them. The entrance takes turns when that queue is slow and several
//! clients are connected: a connection waits here before its next request is read, and is woken when it is let in.
//! Connections are let in by *rounds*, each of at most `size` connections; the next round begins after the runtime
//! has run other tasks. The owner of a connection is its key, or its address before its first request. Owners take
//! turns. An owner that has no connection waiting is let in at once.
//!
//! A task measures how slow the queue is, as long as several clients are connected. Without turns, a request costs a
//! look at one flag.
#![expect(clippy::disallowed_methods, reason = "it measures how long tasks wait until they run")]

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use homeroom_http::BudgetFigures;
use homeroom_store::Lanes;

/// Pause between two measurements of how long a task waits to run.
const LOOK_PAUSE: Duration = Duration::from_millis(10);
/// A task that waits this long to run shows that turns are needed.
const WAIT_MAX: Duration = Duration::from_millis(2);
/// Several clients count as connected for this long after the owner of the latest request has changed.
const SEVERAL_FOR: Duration = Duration::from_secs(10);
/// Turns end after this many rounds in a row in which no connection has waited.
const EMPTY_ROUNDS: u32 = 16;

/// Lets connections in by rounds while turns are taken.
#[derive(Debug)]
pub(crate) struct Entrance {
    /// The number of connections that each round lets in.
    size: usize,
    /// [`SEVERAL_FOR`].
    several_for: Duration,
    /// The number of connections there are.
    connections: AtomicUsize,
    /// The owner of the latest request that was noted.
    latest: AtomicU64,
    /// Whether that owner has changed since the watching task last looked.
    has_changed: AtomicBool,
    /// Whether a task measures how long tasks wait to run.
    is_watched: AtomicBool,
    /// A copy of `Line::takes_turns` that is read without the lock. Both change while the lock is held.
    takes_turns: AtomicBool,
    /// The number of connections that were let in and have not left.
    inside: AtomicUsize,
    line: Mutex<Line>,
}

/// The connections that wait, and what the present round has let in.
#[derive(Debug, Default)]
struct Line {
    takes_turns: bool,
    lanes: Lanes<Arc<Waiting>>,
    /// The number of connections that this round let in without a wait.
    at_once: usize,
    /// The owners that have had a connection let in during this round.
    served: Vec<u64>,
}

/// A connection that waits to be let in.
#[derive(Debug)]
pub(crate) struct Waiting {
    owner: u64,
    state: AtomicU8,
    waker: Mutex<Waker>,
}

/// The result of [`Entrance::enter`].
#[derive(Debug)]
pub(crate) enum Entered {
    /// No turns are taken. The connection goes on, and does not leave.
    Open,
    /// The connection was let in, and must [leave](Entrance::leave).
    Inside,
    /// The connection waits, and is woken when it is let in.
    Waits(Arc<Waiting>),
}

const WAITS: u8 = 0;
const LET_IN: u8 = 1;
const GONE: u8 = 2;

impl Waiting {
    /// Returns whether the connection was let in.
    pub(crate) fn has_turn(&self) -> bool {
        self.state.load(Ordering::Acquire) == LET_IN
    }

    /// Returns whether the connection was let in. If not, the task is woken when it is.
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

    /// Lets the connection in, unless it has given up.
    fn let_in(&self) -> Option<Waker> {
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        self.moves(LET_IN).then(|| waker.clone())
    }

    fn moves(&self, to: u8) -> bool {
        self.state.compare_exchange(WAITS, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl Entrance {
    /// Makes an entrance whose rounds let `size` connections in.
    pub(crate) fn new(size: usize) -> Self {
        let [connections, inside] = [0; 2].map(AtomicUsize::new);
        let [has_changed, is_watched, takes_turns] = [false; 3].map(AtomicBool::new);
        Self {
            size: size.max(1),
            several_for: SEVERAL_FOR,
            connections,
            latest: AtomicU64::new(0),
            has_changed,
            is_watched,
            takes_turns,
            inside,
            line: Mutex::default(),
        }
    }

    /// Counts a connection that has come.
    pub(crate) fn has_come(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that has gone.
    pub(crate) fn has_gone(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Notes the owner of a request. If it differs from the owner of the request before, several clients are connected,
    /// and a task is started that measures how long tasks wait to run. Must be called within a Tokio runtime.
    pub(crate) fn notes(self: &Arc<Self>, owner: u64) {
        if self.latest.load(Ordering::Relaxed) == owner || self.has_changed.load(Ordering::Relaxed)
        {
            return;
        }
        let before = self.latest.swap(owner, Ordering::Relaxed);
        if before == 0 || !self.is_crowded() {
            return;
        }
        self.has_changed.store(true, Ordering::SeqCst);
        if !self.is_watched.swap(true, Ordering::SeqCst) {
            tokio::spawn(Arc::clone(self).watch());
        }
    }

    /// Returns whether more connections are open than a round lets in.
    fn is_crowded(&self) -> bool {
        self.connections.load(Ordering::Relaxed) > self.size
    }

    /// Returns whether turns are taken.
    pub(crate) fn takes_turns(&self) -> bool {
        self.takes_turns.load(Ordering::Relaxed)
    }

    /// Lets a connection of an owner in, or has it wait.
    pub(crate) fn enter(&self, owner: u64, cx: &Context<'_>) -> Entered {
        let mut line = self.line();
        if !line.takes_turns {
            return Entered::Open;
        }
        let is_served = line.served.contains(&owner);
        // The second bound limits a crowd of owners that have one connection each.
        let is_seldom =
            !is_served && line.lanes.count_of(owner) == 0 && line.served.len() < 2 * self.size;
        let is_free = line.lanes.count() == 0 && line.at_once < self.size;
        if is_seldom || is_free {
            line.at_once += 1;
            if !is_served {
                line.served.push(owner);
            }
            self.inside.fetch_add(1, Ordering::Relaxed);
            return Entered::Inside;
        }
        let (state, waker) = (AtomicU8::new(WAITS), Mutex::new(cx.waker().clone()));
        let waiting = Arc::new(Waiting { owner, state, waker });
        line.lanes.add(owner, Arc::clone(&waiting));
        Entered::Waits(waiting)
    }

    /// Ends the stay of a connection that was let in.
    pub(crate) fn leave(&self) {
        self.inside.fetch_sub(1, Ordering::Relaxed);
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
        let used = self.line().lanes.count() as u64;
        BudgetFigures { name: "entrance_waiting", size: connections as u64, used, refused: 0 }
    }

    /// Measures every [`LOOK_PAUSE`] how long a task waits to run, and takes turns when that is too long. It ends when
    /// only one client has sent requests for some time.
    async fn watch(self: Arc<Self>) {
        loop {
            let mut several_at = Instant::now();
            while self.is_crowded() && several_at.elapsed() < self.several_for {
                tokio::time::sleep(LOOK_PAUSE).await;
                let begun = Instant::now();
                if self.has_changed.swap(false, Ordering::SeqCst) {
                    several_at = begun;
                }
                tokio::task::yield_now().await;
                if begun.elapsed() >= WAIT_MAX {
                    self.take_turns(&mut several_at).await;
                }
            }
            self.is_watched.store(false, Ordering::SeqCst);
            // A request that set `has_changed` just now has seen `is_watched`, and has started no task.
            let has_changed = self.has_changed.swap(false, Ordering::SeqCst);
            if !has_changed || !self.is_crowded() || self.is_watched.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }

    /// Takes turns until no connection has waited for [`EMPTY_ROUNDS`], or only one client has sent requests for some
    /// time.
    async fn take_turns(&self, several_at: &mut Instant) {
        self.begin_turns();
        let mut empty = 0;
        while empty < EMPTY_ROUNDS && several_at.elapsed() < self.several_for {
            if self.has_changed.swap(false, Ordering::SeqCst) {
                *several_at = Instant::now();
            }
            empty = if self.round() { 0 } else { empty + 1 };
            // The runtime runs other tasks first.
            tokio::task::yield_now().await;
        }
        self.end_turns();
    }

    /// Begins to take turns.
    pub(crate) fn begin_turns(&self) {
        let mut line = self.line();
        line.takes_turns = true;
        self.takes_turns.store(true, Ordering::Relaxed);
    }

    /// Begins a round: lets `size` connections in. Returns whether any connection has waited.
    pub(crate) fn round(&self) -> bool {
        let mut line = self.line();
        line.at_once = 0;
        line.served.clear();
        let has_waited = line.lanes.count() > 0;
        let woken = self.let_in(&mut line, self.size);
        drop(line);
        woken.into_iter().for_each(Waker::wake);
        has_waited
    }

    /// Ends the turns: lets all connections in that still wait.
    pub(crate) fn end_turns(&self) {
        let mut line = self.line();
        line.takes_turns = false;
        self.takes_turns.store(false, Ordering::Relaxed);
        let woken = self.let_in(&mut line, usize::MAX);
        drop(line);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Lets waiting connections in until `most` are inside. Returns the wakers of their tasks.
    fn let_in(&self, line: &mut Line, most: usize) -> Vec<Waker> {
        let mut woken = vec![];
        while self.inside.load(Ordering::Relaxed) < most
            && let Some(waiting) = line.lanes.take()
        {
            let Some(waker) = waiting.let_in() else { continue };
            self.inside.fetch_add(1, Ordering::Relaxed);
            if !line.served.contains(&waiting.owner) {
                line.served.push(waiting.owner);
            }
            woken.push(waker);
        }
        woken
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use super::*;

    /// Long enough for a loaded machine; no test waits this long.
    const PATIENCE: Duration = Duration::from_mins(1);

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
        entered: Entered,
    }

    fn guest(entrance: &Entrance, owner: u64) -> Guest {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let entered = entrance.enter(owner, &Context::from_waker(&waker));
        Guest { woken, entered }
    }

    impl Guest {
        fn is_in(&self) -> bool {
            let Entered::Waits(waiting) = &self.entered else { return true };
            let waker = Waker::from(Arc::clone(&self.woken));
            let is_in = waiting.is_let_in(&Context::from_waker(&waker));
            let was_woken = self.woken.0.load(Ordering::SeqCst);
            assert_eq!(was_woken, is_in, "it is woken when it is let in");
            is_in
        }
    }

    /// Has everybody leave who is inside.
    fn leave(entrance: &Entrance) {
        (0..entrance.figures().used).for_each(|_| entrance.leave());
    }

    /// An entrance where turns are taken, by so many in each round.
    fn with_turns(size: usize) -> Entrance {
        let entrance = Entrance::new(size);
        entrance.begin_turns();
        entrance
    }

    #[test]
    fn as_long_as_no_turns_are_taken_everybody_goes_on() {
        let entrance = Entrance::new(1);

        let all: Vec<_> = (0..100).map(|owner| guest(&entrance, owner / 50)).collect();

        assert!(all.iter().all(|guest| matches!(guest.entered, Entered::Open)));
        assert_eq!((entrance.figures().used, entrance.waiting(9).used), (0, 0));
    }

    #[test]
    fn so_many_are_let_in_in_a_round_however_soon_they_leave() {
        let entrance = with_turns(2);
        let mut flood: Vec<_> = (0..100).map(|_| guest(&entrance, 1)).collect();

        for left in [98, 96, 94] {
            flood.retain(|guest| !guest.is_in());
            leave(&entrance);
            flood.push(guest(&entrance, 1));
            assert!(!flood.pop().unwrap().is_in());
            assert_eq!(flood.len(), left);
            assert!(entrance.round());
        }
    }

    #[test]
    fn who_has_not_left_counts_in_the_next_round() {
        let entrance = with_turns(2);
        let flood: Vec<_> = (0..100).map(|_| guest(&entrance, 1)).collect();

        entrance.round();
        entrance.round();

        assert_eq!(flood.iter().filter(|guest| guest.is_in()).count(), 2);
        assert_eq!(entrance.figures().used, 2);
    }

    #[test]
    fn one_of_whom_nobody_waits_is_let_in_once_in_each_round_however_many_of_another_wait() {
        let entrance = with_turns(2);
        let _flood: Vec<_> = (0..100).map(|_| guest(&entrance, 1)).collect();

        for _ in 0..3 {
            leave(&entrance);
            entrance.round();
            let [first, second] = [2; 2].map(|owner| guest(&entrance, owner));
            assert!(first.is_in() && !second.is_in());

            leave(&entrance);
            entrance.round();

            assert!(second.is_in());
        }
    }

    #[test]
    fn however_many_owners_there_are_a_round_has_an_end() {
        let entrance = with_turns(2);

        let all: Vec<_> = (1..100).map(|owner| guest(&entrance, owner)).collect();

        assert_eq!(all.iter().filter(|guest| guest.is_in()).count(), 4);
    }

    #[test]
    fn who_is_gone_is_passed_over_and_gives_its_place_back() {
        let entrance = with_turns(1);
        let _first = guest(&entrance, 1);
        let [gone, next, last] = [1; 3].map(|owner| guest(&entrance, owner));
        let gave_up = |guest: &Guest| match &guest.entered {
            Entered::Waits(waiting) => entrance.give_up(waiting),
            Entered::Open | Entered::Inside => panic!("it waits"),
        };

        gave_up(&gone);
        entrance.leave();
        entrance.round();
        assert!(next.is_in() && !last.is_in());
        // It was let in, and has not noticed yet.
        gave_up(&next);
        entrance.round();

        assert!(last.is_in());
        assert_eq!(entrance.figures().used, 1);
    }

    #[test]
    fn everybody_is_let_in_when_the_turns_end() {
        let entrance = with_turns(1);
        let all: Vec<_> = (0..100).map(|_| guest(&entrance, 1)).collect();

        entrance.end_turns();

        assert!(all.iter().all(Guest::is_in));
        assert!(matches!(guest(&entrance, 1).entered, Entered::Open));
        assert_eq!((entrance.figures().used, entrance.waiting(9).used), (100, 0));
    }

    #[test]
    fn nobody_is_forgotten_however_threads_enter_while_turns_begin_and_end() {
        let entrance = Entrance::new(2);
        let is_over = AtomicBool::new(false);

        std::thread::scope(|scope| {
            let entering: Vec<_> = (1..5)
                .map(|owner| {
                    let entrance = &entrance;
                    scope.spawn(move || {
                        for _ in 0..5_000 {
                            let guest = guest(entrance, owner);
                            if matches!(guest.entered, Entered::Waits(_)) {
                                guest.woken.waits();
                                assert!(guest.is_in());
                            }
                            if !matches!(guest.entered, Entered::Open) {
                                entrance.leave();
                            }
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    entrance.begin_turns();
                    for _ in 0..50 {
                        entrance.round();
                    }
                    entrance.end_turns();
                }
            });
            let ended: Vec<_> =
                entering.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            is_over.store(true, Ordering::SeqCst);
            assert!(ended.iter().all(Result::is_ok));
        });

        assert_eq!((entrance.figures().used, entrance.waiting(9).used), (0, 0));
    }

    /// Keeps the one thread of a run-time busy until turns are taken, as tasks of a flood do. Returns whether it
    /// came to that.
    async fn is_busy_until_turns(entrance: &Arc<Entrance>) -> bool {
        let begun = Instant::now();
        while !entrance.takes_turns() && begun.elapsed() < PATIENCE {
            std::thread::sleep(WAIT_MAX);
            tokio::task::yield_now().await;
        }
        entrance.takes_turns()
    }

    #[tokio::test]
    async fn turns_are_taken_where_tasks_wait_and_there_are_several_clients_and_end_with_them() {
        let several_for = Duration::from_millis(100);
        let entrance = Arc::new(Entrance { several_for, ..Entrance::new(1) });
        entrance.has_come();
        entrance.has_come();
        entrance.notes(1);
        entrance.notes(1);
        assert!(!entrance.is_watched.load(Ordering::SeqCst), "there is one client");

        entrance.notes(2);

        assert!(is_busy_until_turns(&entrance).await);
        while entrance.takes_turns() || entrance.is_watched.load(Ordering::SeqCst) {
            tokio::time::sleep(LOOK_PAUSE).await;
        }
        entrance.notes(1);
        assert!(is_busy_until_turns(&entrance).await, "there are several again");
    }

    #[tokio::test]
    async fn few_connections_are_not_watched() {
        let entrance = Arc::new(Entrance::new(2));
        entrance.has_come();
        entrance.has_come();

        entrance.notes(1);
        entrance.notes(2);

        assert!(!entrance.is_watched.load(Ordering::SeqCst));
    }

    impl Woken {
        /// Waits until it is woken.
        fn waits(&self) {
            let began = Instant::now();
            while !self.0.load(Ordering::SeqCst) {
                assert!(began.elapsed() < PATIENCE, "it is not woken");
                std::thread::yield_now();
            }
        }
    }
}
