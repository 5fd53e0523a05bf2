//! What the sending threads record together while a test runs: windows of ten seconds, sessions.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use homeroom_load::record::{Times, growing};

/// The length of a window, in nanoseconds.
pub const WINDOW_NS: u64 = 10_000_000_000;
/// The response time from which a learner counts as having given up, in nanoseconds.
const PATIENCE_NS: u64 = 60_000_000_000;

/// The requests that were due in a window of ten seconds.
#[derive(Debug, Clone)]
pub struct Window {
    /// How many were sent.
    pub sent: u64,
    /// How many ended otherwise than expected.
    pub failed: u64,
    /// The launches in it.
    pub launches: u64,
    /// The response times of those that ended, in microseconds.
    pub times: Times,
}

impl Default for Window {
    fn default() -> Self {
        Self { sent: 0, failed: 0, launches: 0, times: growing(2) }
    }
}

impl Window {
    /// Returns the 99th percentile of the response times in milliseconds, where requests without an
    /// answer take forever; `None` if nothing was sent.
    pub fn p99_ms(&self) -> Option<f64> {
        if self.sent == 0 {
            return None;
        }
        let rank = (self.sent * 99).div_ceil(100);
        if rank > self.times.len() {
            return Some(f64::INFINITY);
        }
        let share = rank as f64 / self.times.len() as f64;
        Some(self.times.value_at_quantile(share.min(1.0)) as f64 / 1e3)
    }
}

/// Counts of sessions and of what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions {
    /// Sessions that began.
    pub begun: u64,
    /// Sessions that were launched.
    pub launched: u64,
    /// Sessions whose final results were accepted and whose registration says that it is completed, and has every
    /// answer that was posted.
    pub completed: u64,
    /// Sessions whose final results were accepted, but whose registration is not completed or lacks an answer that was
    /// acknowledged: results were lost.
    #[serde(alias = "not_completed")]
    pub lost: u64,
    /// Sessions that ended because a request before the results failed, or the final results did.
    pub broken: u64,
    /// Requests that took longer than 60 s, after which a person would have given up.
    pub given_up: u64,
}

impl Sessions {
    /// Returns how many sessions the learner has checked at the end: whether the registration is
    /// completed and has every answer.
    pub fn checked(&self) -> u64 {
        self.completed + self.lost
    }

    /// Returns how many sessions had neither ended nor broken off.
    pub fn under_way(&self) -> u64 {
        self.begun.saturating_sub(self.checked() + self.broken)
    }
}

/// The posts of results, final ones included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posts {
    /// How many were sent.
    pub count: u64,
    /// The bytes of their bodies together.
    pub body_bytes: u64,
}

impl Posts {
    /// Returns the mean size of a body in bytes.
    pub fn mean_bytes(&self) -> f64 {
        self.body_bytes as f64 / self.count.max(1) as f64
    }
}

/// What all threads of a test share.
#[derive(Debug, Default)]
pub struct Progress {
    windows: Mutex<Vec<Window>>,
    active: AtomicI64,
    allowed: AtomicU32,
    begun: AtomicU64,
    launched: AtomicU64,
    completed: AtomicU64,
    lost: AtomicU64,
    broken: AtomicU64,
    given_up: AtomicU64,
    posts: AtomicU64,
    post_bytes: AtomicU64,
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The registration is completed and has every answer.
    Completed,
    /// It is not, or lacks one, though all results were accepted.
    Lost,
    /// A request that the session needs failed.
    Broken,
}

impl Progress {
    /// Returns an empty record that allows any number of learners.
    pub fn new() -> Self {
        Self { allowed: AtomicU32::new(u32::MAX), ..Self::default() }
    }

    /// Returns how many simulated learners have a session.
    pub fn active(&self) -> u32 {
        u32::try_from(self.active.load(Relaxed).max(0)).unwrap_or(u32::MAX)
    }

    /// Allows only this many simulated learners from now on: the others end their sessions.
    pub fn allow(&self, seats: u32) {
        self.allowed.store(seats, Relaxed);
    }

    /// Returns whether the simulated learner of this number may go on.
    pub fn is_allowed(&self, seat: u32) -> bool {
        seat < self.allowed.load(Relaxed)
    }

    /// Counts a session that begins.
    pub fn begin(&self) {
        self.active.fetch_add(1, Relaxed);
        self.begun.fetch_add(1, Relaxed);
    }

    /// Counts the end of a session.
    pub fn end(&self, ending: Ending) {
        self.active.fetch_sub(1, Relaxed);
        let of = match ending {
            Ending::Completed => &self.completed,
            Ending::Lost => &self.lost,
            Ending::Broken => &self.broken,
        };
        of.fetch_add(1, Relaxed);
    }

    /// Counts a request that is sent.
    pub fn sent(&self, due: u64) {
        place(&mut self.lock(), due).sent += 1;
    }

    /// Counts a request that has ended; `launch` says that it is a launch that succeeded.
    pub fn ended(&self, due: u64, now: u64, ok: bool, launch: bool) {
        let took = now.saturating_sub(due);
        if took > PATIENCE_NS {
            self.given_up.fetch_add(1, Relaxed);
        }
        let mut windows = self.lock();
        let window = place(&mut windows, due);
        window.failed += u64::from(!ok);
        _ = window.times.record(took.div_ceil(1000));
        if launch {
            self.launched.fetch_add(1, Relaxed);
            place(&mut windows, now).launches += 1;
        }
    }

    /// Counts a post of results with the size of its body.
    pub fn post(&self, bytes: usize) {
        self.posts.fetch_add(1, Relaxed);
        self.post_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Returns the posts of results so far.
    pub fn posts(&self) -> Posts {
        Posts { count: self.posts.load(Relaxed), body_bytes: self.post_bytes.load(Relaxed) }
    }

    /// Returns the windows as they are now.
    pub fn windows(&self) -> Vec<Window> {
        self.lock().clone()
    }

    /// Returns one window as it is now.
    pub fn window(&self, number: usize) -> Window {
        self.lock().get(number).cloned().unwrap_or_default()
    }

    /// Returns the counts of sessions.
    pub fn sessions(&self) -> Sessions {
        Sessions {
            begun: self.begun.load(Relaxed),
            launched: self.launched.load(Relaxed),
            completed: self.completed.load(Relaxed),
            lost: self.lost.load(Relaxed),
            broken: self.broken.load(Relaxed),
            given_up: self.given_up.load(Relaxed),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Window>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn place(windows: &mut Vec<Window>, at: u64) -> &mut Window {
    let at = usize::try_from(at / WINDOW_NS).unwrap_or(usize::MAX);
    while windows.len() <= at {
        windows.push(Window::default());
    }
    &mut windows[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_request_counts_in_the_window_in_which_it_was_due() {
        let progress = Progress::new();
        progress.sent(9 * SECOND);
        progress.sent(10 * SECOND);

        progress.ended(9 * SECOND, 80 * SECOND, false, false);
        progress.ended(10 * SECOND, 11 * SECOND, true, true);

        let windows = progress.windows();
        let sent: Vec<u64> = windows.iter().map(|window| window.sent).collect();
        assert_eq!((sent, windows[0].failed), (vec![1, 1], 1));
        assert_eq!((progress.sessions().given_up, progress.sessions().launched), (1, 1));
        assert_eq!(windows[1].launches, 1);
    }

    #[test]
    fn requests_without_an_answer_take_forever() {
        let mut window = Window::default();
        assert_eq!(window.p99_ms(), None);
        window.sent = 200;
        for _ in 0..197 {
            window.times.record(1_000).unwrap();
        }

        assert_eq!(window.p99_ms(), Some(f64::INFINITY), "3 of 200 are missing");
        window.times.record(1_000).unwrap();
        assert!((window.p99_ms().unwrap() - 1.0).abs() < 0.02, "2 of 200 are missing");
    }

    #[test]
    fn sessions_are_counted_by_their_end() {
        let progress = Progress::new();
        for _ in 0..4 {
            progress.begin();
        }

        progress.end(Ending::Completed);
        progress.end(Ending::Lost);
        progress.end(Ending::Broken);

        let Sessions { begun, completed, lost, broken, .. } = progress.sessions();
        assert_eq!((begun, completed, lost, broken), (4, 1, 1, 1));
        assert_eq!(progress.active(), 1);
        let sessions = progress.sessions();
        assert_eq!((sessions.checked(), sessions.under_way()), (2, 1));
    }
}
