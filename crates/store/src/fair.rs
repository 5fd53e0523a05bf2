//! A bounded queue whose owners take turns: who waits with much waits behind what is its own, and not
//! in front of others.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::lanes::Lanes;

/// Something that waits.
pub(crate) trait Waits {
    /// Returns the number of its owner.
    fn owner(&self) -> u64;

    /// Returns whether its deadline has passed.
    fn is_late(&self) -> bool;
}

/// Why an offer was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotTaken {
    Full,
    Closed,
}

/// What a wait has brought.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<T> {
    One(T),
    Nothing,
    /// The queue is closed, and nothing is left in it.
    Closed,
}

/// The queue. Of each owner, what came first is served first.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    size: usize,
    held: Mutex<Held<T>>,
    has_arrived: Condvar,
    has_room: Condvar,
    refused: AtomicU64,
}

#[derive(Debug)]
struct Held<T> {
    lanes: Lanes<T>,
    is_closed: bool,
}

impl<T: Waits> FairQueue<T> {
    /// Creates an empty queue of at most `size` at a time.
    pub(crate) fn new(size: usize) -> Self {
        Self {
            size,
            held: Mutex::new(Held { lanes: Lanes::default(), is_closed: false }),
            has_arrived: Condvar::new(),
            has_room: Condvar::new(),
            refused: AtomicU64::new(0),
        }
    }

    /// Adds one, unless the queue is full or closed.
    pub(crate) fn offer(&self, one: T) -> Result<(), NotTaken> {
        let mut held = self.held();
        if held.is_closed {
            return Err(NotTaken::Closed);
        }
        if held.lanes.count() >= self.size {
            drop(held);
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(NotTaken::Full);
        }
        held.lanes.add(one.owner(), one);
        drop(held);
        self.has_arrived.notify_one();
        Ok(())
    }

    /// Adds one, and waits for room if the queue is full. Returns whether it is not closed.
    pub(crate) fn push(&self, one: T) -> bool {
        let is_full = |held: &mut Held<T>| held.lanes.count() >= self.size && !held.is_closed;
        let held = self.has_room.wait_while(self.held(), is_full);
        let mut held = held.unwrap_or_else(PoisonError::into_inner);
        if held.is_closed {
            return false;
        }
        held.lanes.add(one.owner(), one);
        drop(held);
        self.has_arrived.notify_one();
        true
    }

    /// Waits for the next one; [`None`] once the queue is closed and empty.
    pub(crate) fn next(&self) -> Option<T> {
        let is_idle = |held: &mut Held<T>| held.lanes.count() == 0 && !held.is_closed;
        let held = self.has_arrived.wait_while(self.held(), is_idle);
        self.taken(held.unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for the next one for at most `time`.
    pub(crate) fn next_within(&self, time: Duration) -> Next<T> {
        let is_idle = |held: &mut Held<T>| held.lanes.count() == 0 && !held.is_closed;
        let waited = self.has_arrived.wait_timeout_while(self.held(), time, is_idle);
        let (held, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_closed = held.is_closed;
        match self.taken(held) {
            Some(one) => Next::One(one),
            None if is_closed => Next::Closed,
            None => Next::Nothing,
        }
    }

    /// Returns the next one, if there is one.
    pub(crate) fn try_next(&self) -> Option<T> {
        self.taken(self.held())
    }

    fn taken(&self, mut held: MutexGuard<'_, Held<T>>) -> Option<T> {
        let one = held.lanes.take();
        drop(held);
        if let Some(one) = &one {
            self.has_room.notify_one();
            if one.is_late() {
                self.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
        one
    }

    /// Takes no more; what is in the queue is still served.
    pub(crate) fn close(&self) {
        self.held().is_closed = true;
        self.has_arrived.notify_all();
        self.has_room.notify_all();
    }

    /// Takes no more, and drops what is in the queue: nobody serves it any more.
    pub(crate) fn abandon(&self) {
        let mut held = self.held();
        held.is_closed = true;
        let left = std::mem::take(&mut held.lanes);
        drop(held);
        drop(left);
        self.has_arrived.notify_all();
        self.has_room.notify_all();
    }

    /// Returns the most that it takes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Returns how many are in it.
    pub(crate) fn count(&self) -> usize {
        self.held().lanes.count()
    }

    /// Returns how many were refused because it was full, or came to their turn too late.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn held(&self) -> MutexGuard<'_, Held<T>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const BRIEF: Duration = Duration::from_millis(10);

    #[derive(Debug, PartialEq, Eq)]
    struct One(u64, u32);

    impl Waits for One {
        fn owner(&self) -> u64 {
            self.0
        }

        fn is_late(&self) -> bool {
            self.1 == u32::MAX
        }
    }

    #[test]
    fn owners_take_turns_and_each_owner_keeps_its_order() {
        let queue = FairQueue::new(100);
        for number in 0..3 {
            queue.offer(One(1, number)).unwrap();
        }
        queue.offer(One(2, 0)).unwrap();
        queue.offer(One(3, 0)).unwrap();
        queue.offer(One(2, 1)).unwrap();

        let order: Vec<One> = std::iter::from_fn(|| queue.try_next()).collect();

        let expected = [(1, 0), (2, 0), (3, 0), (1, 1), (2, 1), (1, 2)];
        assert_eq!(order, expected.map(|(owner, number)| One(owner, number)));
        assert_eq!(queue.count(), 0);
    }

    #[test]
    fn who_comes_last_waits_behind_one_of_a_thousand() {
        let queue = FairQueue::new(2_000);
        for number in 0..1_000 {
            queue.offer(One(1, number)).unwrap();
        }
        _ = queue.try_next();

        queue.offer(One(2, 0)).unwrap();

        assert_eq!(queue.try_next(), Some(One(1, 1)));
        assert_eq!(queue.try_next(), Some(One(2, 0)));
    }

    #[test]
    fn a_full_queue_refuses_and_counts() {
        let queue = FairQueue::new(2);
        queue.offer(One(1, 0)).unwrap();
        queue.offer(One(1, u32::MAX)).unwrap();

        assert_eq!(queue.offer(One(2, 0)), Err(NotTaken::Full));
        assert_eq!((queue.count(), queue.refused()), (2, 1));
        _ = queue.try_next();
        _ = queue.try_next();
        assert_eq!(queue.refused(), 2, "the second came too late");
        assert!(queue.offer(One(2, 0)).is_ok());
    }

    #[test]
    fn a_closed_queue_serves_what_is_in_it_and_takes_no_more() {
        let queue = FairQueue::new(2);
        queue.offer(One(1, 0)).unwrap();

        queue.close();

        assert_eq!(queue.offer(One(1, 1)), Err(NotTaken::Closed));
        assert!(!queue.push(One(1, 1)));
        assert_eq!(queue.next_within(BRIEF), Next::One(One(1, 0)));
        assert_eq!(queue.next_within(BRIEF), Next::Closed);
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn who_waits_for_room_goes_on_when_there_is_some_or_when_nobody_serves() {
        let queue = Arc::new(FairQueue::new(1));
        assert!(queue.push(One(1, 0)));
        let pushing = |number| {
            let queue = Arc::clone(&queue);
            std::thread::spawn(move || queue.push(One(1, number)))
        };

        let first = pushing(1);
        assert_eq!(queue.next(), Some(One(1, 0)));
        assert!(first.join().unwrap());
        let second = pushing(2);
        queue.abandon();

        assert!(!second.join().unwrap());
        assert_eq!(queue.next_within(BRIEF), Next::Closed);
    }
}
