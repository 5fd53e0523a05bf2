//! Wakes of a task that would find nothing to do.
//!
//! hyper wakes a connection whenever a part of a body is taken, so that it reads the next one. For the last part the
//! task of the connection would only be polled once more.

use std::cell::Cell;
use std::sync::Arc;
use std::task::{Wake, Waker};

thread_local! {
    /// Whether what this thread does at this moment wakes nobody.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does something that wakes no task by a [`QuietWaker`]. What other threads do meanwhile does.
pub(crate) fn quietly<T>(act: impl FnOnce() -> T) -> T {
    /// Also there when `act` panics.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            IS_QUIET.set(self.0);
        }
    }
    let _before = Before(IS_QUIET.replace(true));
    act()
}

/// A waker for the connection of a task. It wakes the task, unless a part takes the last bytes of a request's body
/// at that moment (`RequestBody::at_hand`).
#[derive(Debug, Default)]
pub struct QuietWaker(Option<(Waker, Waker)>);

impl QuietWaker {
    /// Returns the waker for a task.
    pub fn of(&mut self, task: &Waker) -> &Waker {
        if !self.0.as_ref().is_some_and(|(known, _)| known.will_wake(task)) {
            self.0 = None;
        }
        let quiet = || Waker::from(Arc::new(Quiet(task.clone())));
        let (_, quiet) = self.0.get_or_insert_with(|| (task.clone(), quiet()));
        quiet
    }
}

struct Quiet(Waker);

impl Wake for Quiet {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !IS_QUIET.get() {
            self.0.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_task_is_woken_by_all_that_is_not_done_quietly_on_the_same_thread() {
        let tasks = [Arc::new(Task::default()), Arc::new(Task::default())];
        let woken = || tasks.each_ref().map(|task| task.0.load(Ordering::SeqCst));
        let [first, second] = tasks.each_ref().map(|task| Waker::from(Arc::clone(task)));
        let mut quiet = QuietWaker::default();
        let waker = quiet.of(&first).clone();

        quietly(|| waker.wake_by_ref());
        assert_eq!(woken(), [0, 0]);
        waker.wake_by_ref();
        assert_eq!(woken(), [1, 0]);
        quietly(|| {
            std::thread::scope(|scope| {
                scope.spawn(|| waker.wake_by_ref());
            });
        });
        assert_eq!(woken(), [2, 0]);

        let broken = std::panic::catch_unwind(|| quietly(|| assert_eq!(woken(), [0, 0])));
        assert!(broken.is_err());
        quiet.of(&second).wake_by_ref();
        assert_eq!(woken(), [2, 1]);
        assert!(quiet.of(&second).clone().will_wake(quiet.of(&second)));
    }
}
