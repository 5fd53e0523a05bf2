//! Reads of many rows, on separate threads: short reads on one set, long ones (a filter without an
//! index) one at a time on another. Each has a deadline, so that neither the workers nor the other
//! core wait for a scan.
#![expect(clippy::disallowed_methods, reason = "a read has a deadline")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::errand::Errand;
use crate::error::StoreError;
use crate::fair::{FairQueue, NotTaken, Waits};
use crate::queue::join;
use crate::sqlite::recent::Recent;
use crate::sqlite::shared::Shared;
use crate::waiting::{Busy, QueueLoad, QueueName};

/// Virtual-machine steps between two checks of the clock.
const STEPS: i32 = 20_000;

/// Threads that read, and the most reads that wait for one of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Readers {
    pub(crate) threads: usize,
    pub(crate) queue: usize,
}

/// The reading threads.
pub(crate) struct Lister {
    short: Arc<FairQueue<Read>>,
    long: Arc<FairQueue<Read>>,
    recent: Arc<Recent>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// A read that waits for a thread.
struct Read {
    errand: Errand,
    deadline: Instant,
    run: Run,
}

/// What a thread does for a read, which is skipped if its caller has left.
type Run = Box<dyn FnOnce(&mut Connection, Errand) + Send>;

impl Waits for Read {
    fn owner(&self) -> u64 {
        self.errand.owner()
    }

    fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }
}

impl Lister {
    /// Starts threads for bounded reads and for scans.
    pub(crate) fn start(
        shared: &Arc<Shared>,
        short: Readers,
        long: Readers,
    ) -> Result<Self, StoreError> {
        let mut threads = vec![];
        let mut start = |name: &str, readers: Readers| -> Result<_, StoreError> {
            let queue = Arc::new(FairQueue::new(readers.queue));
            for _ in 0..readers.threads {
                let reads = Arc::clone(&queue);
                // Opened now, so that no read later fails because no file descriptors are left.
                let connection = shared.file.open_reader()?;
                let thread = std::thread::Builder::new()
                    .name(name.into())
                    .spawn(move || work(&reads, connection))
                    .map_err(|error| StoreError::Failed(error.to_string()))?;
                threads.push(thread);
            }
            Ok(queue)
        };
        let short = start("store-list", short);
        let long = start("store-scan", long);
        let recent = Arc::clone(&shared.file.recent);
        let lister = |short, long| Self { short, long, recent, threads: Mutex::new(threads) };
        match (short, long) {
            (Ok(short), Ok(long)) => Ok(lister(short, long)),
            (Err(error), other) | (other, Err(error)) => {
                // The threads that were started end.
                if let Ok(started) = other {
                    started.close();
                }
                Err(error)
            }
        }
    }

    fn name(is_long: bool) -> QueueName {
        if is_long { QueueName::Scans } else { QueueName::Lists }
    }

    /// Returns how full the queues are.
    pub(crate) fn loads(&self) -> [QueueLoad; 2] {
        let load = |queue, of: &FairQueue<Read>| QueueLoad {
            queue,
            size: of.size() as u64,
            used: of.count() as u64,
            refused: of.refused(),
        };
        [load(QueueName::Lists, &self.short), load(QueueName::Scans, &self.long)]
    }

    /// Accepts no more reads, and waits for the accepted ones, each of which has its deadline.
    pub(crate) fn close(&self) {
        self.short.close();
        self.long.close();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.drain(..).for_each(join);
    }

    /// Reads within `time`, waiting included. The deadline is answered in time even while all
    /// threads are busy. A read that is late or abandoned when its turn comes is skipped; one that
    /// is abandoned while it runs ends soon.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        is_long: bool,
        time: Duration,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let (errand, _waiting) = Errand::awaited();
        let left = errand.time_left(time);
        self.offer(is_long, left, errand, read, move |found| _ = reply.send(found))?;
        match tokio::time::timeout(left, answer).await {
            Ok(Err(_)) => Err(StoreError::Closed),
            Ok(Ok(Err(StoreError::Deadline(_)))) | Err(_) if left < time => {
                Err(StoreError::Busy(Busy::Late(Self::name(is_long))))
            }
            Ok(Ok(found)) => found,
            Err(_) => Err(StoreError::Deadline(time)),
        }
    }

    /// Does the same as [`Lister::read`], for threads that may block.
    pub(crate) fn read_blocking<T: Send + 'static>(
        &self,
        is_long: bool,
        time: Duration,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = sync_channel(1);
        self.offer(is_long, time, Errand::default(), read, move |found| _ = reply.send(found))?;
        answer.recv_timeout(time).unwrap_or_else(|error| {
            Err(match error {
                RecvTimeoutError::Timeout => StoreError::Deadline(time),
                RecvTimeoutError::Disconnected => StoreError::Closed,
            })
        })
    }

    fn offer<T: Send + 'static>(
        &self,
        is_long: bool,
        time: Duration,
        errand: Errand,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
        answer: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        let deadline = Instant::now() + time;
        let recent = Arc::clone(&self.recent);
        let run = Box::new(move |connection: &mut Connection, errand: Errand| {
            if errand.is_wanted() {
                let reading = recent.enter();
                let found = within(connection, deadline, time, errand.is_left(), read);
                drop(reading);
                // The places are released before the answer arrives.
                drop(errand);
                answer(found);
            }
        });
        let (queue, name) = (if is_long { &self.long } else { &self.short }, Self::name(is_long));
        queue.offer(Read { errand, deadline, run }).map_err(|not_taken| match not_taken {
            NotTaken::Full => StoreError::Busy(Busy::Full(name)),
            NotTaken::Closed => StoreError::Closed,
        })
    }
}

fn work(reads: &FairQueue<Read>, mut connection: Connection) {
    while let Some(Read { errand, run, .. }) = reads.next() {
        run(&mut connection, errand);
    }
}

fn within<T>(
    connection: &mut Connection,
    deadline: Instant,
    time: Duration,
    is_left: Arc<AtomicBool>,
    read: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    if Instant::now() >= deadline {
        return Err(StoreError::Deadline(time));
    }
    let is_over = move || is_left.load(Ordering::Relaxed) || Instant::now() >= deadline;
    connection.progress_handler(STEPS, Some(is_over))?;
    // A panic in one read must not end the thread.
    let found = catch_unwind(AssertUnwindSafe(|| read(connection)))
        .unwrap_or_else(|_| Err(StoreError::Failed("a read panicked".into())));
    connection.progress_handler(0, None::<fn() -> bool>)?;
    if !connection.is_autocommit() {
        // The next read must see the store's state at that time.
        connection.execute_batch("ROLLBACK")?;
    }
    match found {
        Err(StoreError::Failed(_)) if Instant::now() >= deadline => Err(StoreError::Deadline(time)),
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;
    use crate::errand::{Kept, keeping};
    use crate::store::Store;

    const LONG: Duration = Duration::from_mins(1);
    const BRIEF: Duration = Duration::from_millis(50);

    /// Starts one thread of each kind. Returns them with the store that keeps the file in place.
    fn lister() -> (Lister, Store) {
        let store = Store::temporary(&[]).unwrap();
        {
            let one = Readers { threads: 1, queue: 512 };
            (Lister::start(store.shared(), one, one).unwrap(), store)
        }
    }

    fn one(connection: &Connection) -> Result<i64, StoreError> {
        Ok(connection.query_row("SELECT 1", [], |row| row.get(0))?)
    }

    /// A read that keeps the thread for short reads busy until it is released.
    struct Busy {
        end: Sender<()>,
        reading: JoinHandle<Result<(), StoreError>>,
    }

    fn busy(lister: &Arc<Lister>) -> Busy {
        let (begun, has_begun) = channel();
        let (end, may_end) = channel();
        let lister = Arc::clone(lister);
        let reading = std::thread::spawn(move || {
            lister.read_blocking(false, LONG, move |_| {
                begun.send(()).unwrap();
                _ = may_end.recv();
                Ok(())
            })
        });
        has_begun.recv().unwrap();
        Busy { end, reading }
    }

    impl Busy {
        /// Releases the read, and waits until it has ended.
        fn end(self) {
            drop(self.end);
            self.reading.join().unwrap().unwrap();
        }
    }

    #[test]
    fn a_read_that_panics_ends_no_thread() {
        let (lister, _store) = lister();
        for _ in 0..3 {
            let failed =
                lister.read_blocking(false, LONG, |_| -> Result<(), _> { panic!("in a read") });
            assert!(matches!(failed, Err(StoreError::Failed(_))), "{failed:?}");
        }

        let found = lister.read_blocking(false, LONG, one);

        assert_eq!(found.unwrap(), 1);
    }

    #[test]
    fn a_transaction_left_open_by_a_read_does_not_affect_the_next() {
        let (lister, _store) = lister();
        let begin = |c: &Connection| Ok(c.execute_batch("BEGIN; SELECT count(*) FROM doc")?);
        lister.read_blocking(false, LONG, begin).unwrap();

        let again = lister.read_blocking(false, LONG, begin);

        assert!(again.is_ok(), "{again:?}");
    }

    #[tokio::test]
    async fn a_waiting_read_times_out_and_is_never_begun_if_all_threads_are_busy() {
        let (lister, _store) = lister();
        let lister = Arc::new(lister);
        let busy = busy(&lister);
        let (late, was_read) = channel();
        let blocking = late.clone();
        let closed = |_| StoreError::Closed;

        let waited = lister.read(false, BRIEF, move |_| late.send(()).map_err(closed)).await;
        let also = lister.read_blocking(false, BRIEF, move |_| blocking.send(()).map_err(closed));

        assert!(matches!(waited, Err(StoreError::Deadline(_))), "{waited:?}");
        assert!(matches!(also, Err(StoreError::Deadline(_))), "{also:?}");
        busy.end();
        assert_eq!(lister.read(false, LONG, one).await.unwrap(), 1);
        assert!(was_read.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_cancelled_waiting_read_is_never_begun_and_keeps_its_slot_until_its_turn() {
        let (lister, _store) = lister();
        let lister = Arc::new(lister);
        let busy = busy(&lister);
        let place = Arc::new(());
        let (given_up, was_read) = channel();

        for _ in 0..10 {
            let given_up = given_up.clone();
            let read = lister
                .read(false, LONG, move |_| given_up.send(()).map_err(|_| StoreError::Closed));
            let request = keeping(Arc::clone(&place) as Kept, read);
            assert!(tokio::time::timeout(BRIEF / 10, request).await.is_err(), "it waits");
        }

        assert_eq!(Arc::strong_count(&place), 11, "the places are with the work");
        busy.end();
        assert_eq!(lister.read(false, LONG, one).await.unwrap(), 1);
        assert!(was_read.try_recv().is_err());
        assert_eq!(Arc::strong_count(&place), 1);
    }

    #[tokio::test]
    async fn a_read_cancelled_midway_ends_soon() {
        const ENDLESS: &str =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
        let (lister, _store) = lister();
        let endless = |c: &Connection| Ok(c.query_row(ENDLESS, [], |row| row.get::<_, i64>(0))?);

        let given_up = tokio::time::timeout(BRIEF, lister.read(false, LONG, endless)).await;

        assert!(given_up.is_err());
        let next = tokio::time::timeout(LONG / 2, lister.read(false, LONG, one)).await;
        assert_eq!(next.unwrap().unwrap(), 1);
    }
}
