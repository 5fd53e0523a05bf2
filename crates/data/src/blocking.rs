//! Runs long work away from the threads that answer requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use homeroom_http::{BudgetFigures, Problem};
use tokio::sync::Semaphore;

/// How much long work of each sort is done at a time.
#[derive(Debug, Clone, Copy)]
pub struct WorkLimits {
    /// Most chunks of batches that are checked.
    pub batch_checks: usize,
    /// Most bodies of more than 64 KiB that are parsed.
    pub large_bodies: usize,
    /// Most lists that are compressed away from the threads that answer.
    pub compressed_lists: usize,
}

impl Default for WorkLimits {
    fn default() -> Self {
        Self { batch_checks: 2, large_bodies: 2, compressed_lists: 2 }
    }
}

/// The places for long work; clones share them.
#[derive(Debug, Clone)]
pub struct Work {
    /// For chunks of batches that are being checked.
    pub(crate) batch_checks: Arc<Places>,
    /// For parsing bodies that are not small.
    pub(crate) large_bodies: Arc<Places>,
    /// For lists that are compressed away from the threads that answer.
    pub(crate) compressed_lists: Arc<Places>,
}

impl Default for Work {
    fn default() -> Self {
        Self::new(WorkLimits::default())
    }
}

impl Work {
    /// Creates the places, all free.
    pub fn new(limits: WorkLimits) -> Self {
        let places = |name, size| Arc::new(Places::new(name, size));
        Self {
            batch_checks: places("batch_checks", limits.batch_checks),
            large_bodies: places("large_bodies", limits.large_bodies),
            compressed_lists: places("compressed_lists", limits.compressed_lists),
        }
    }

    /// Returns the figures of all places.
    pub(crate) fn figures(&self) -> [BudgetFigures; 3] {
        [&self.batch_checks, &self.large_bodies, &self.compressed_lists]
            .map(|places| places.figures())
    }
}

/// Places for work of one sort. What waits for one is limited by the places of its requests.
#[derive(Debug)]
pub(crate) struct Places {
    name: &'static str,
    size: usize,
    free: Arc<Semaphore>,
    waiting: AtomicU64,
}

impl Places {
    fn new(name: &'static str, size: usize) -> Self {
        Self { name, size, free: Arc::new(Semaphore::new(size)), waiting: AtomicU64::new(0) }
    }

    /// Returns their figures; work that waits counts as well, beyond the size.
    pub(crate) fn figures(&self) -> BudgetFigures {
        let taken = self.size.saturating_sub(self.free.available_permits()) as u64;
        BudgetFigures {
            name: self.name,
            size: self.size as u64,
            used: taken + self.waiting.load(Ordering::Relaxed),
            refused: 0,
        }
    }
}

/// Counts work as waiting until the value is dropped.
struct Waits<'a>(&'a AtomicU64);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs `work` on a blocking thread once a place is free, as part of the same request.
///
/// The work holds the place, and the resources that the request keeps, until it ends, even if the
/// client disconnects. If the client disconnects before the work has begun, the work never runs.
///
/// # Errors
///
/// 500 if `work` panics.
pub(crate) async fn run<T: Send + 'static>(
    places: &Places,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    places.waiting.fetch_add(1, Ordering::Relaxed);
    let waits = Waits(&places.waiting);
    let place = Arc::clone(&places.free).acquire_owned().await.map_err(Problem::internal)?;
    drop(waits);
    let working = homeroom_store::spawn_blocking(move || {
        let done = work();
        drop(place);
        done
    });
    working.await.map_err(Problem::internal)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use homeroom_store::{Kept, keeping};
    use tokio::time::timeout;

    use super::*;

    const BRIEF: Duration = Duration::from_millis(10);

    #[tokio::test]
    async fn work_of_callers_who_hang_up_still_counts_against_the_limit() {
        const PLACES: usize = 3;
        let places = &Places::new("tried", PLACES);
        let kept = Arc::new(());
        let (begun, all_begun) = channel();
        let (end, may_end) = channel::<()>();
        let may_end = Arc::new(std::sync::Mutex::new(may_end));

        for _ in 0..20 {
            let (begun, may_end) = (begun.clone(), Arc::clone(&may_end));
            let work = move || {
                begun.send(()).unwrap();
                _ = may_end.lock().map(|may_end| may_end.recv());
            };
            let request = keeping(Arc::clone(&kept) as Kept, run(places, work));
            assert!(timeout(BRIEF, request).await.is_err(), "it is given up");
        }

        assert_eq!(Arc::strong_count(&kept), 1 + PLACES, "what it keeps is with the work");
        assert_eq!(places.figures().used, PLACES as u64, "nobody waits any more");
        drop((begun, end));
        assert!(run(places, || ()).await.is_ok());
        // All work that began has ended by now, or ends here.
        assert_eq!(all_begun.iter().count(), PLACES);
        _ = places.free.acquire_many(u32::try_from(PLACES).unwrap()).await.unwrap();
        // The place is free a moment before the thread lets go of what the request keeps.
        let let_go = async {
            while Arc::strong_count(&kept) > 1 {
                tokio::time::sleep(BRIEF).await;
            }
        };
        timeout(100 * BRIEF, let_go).await.expect("nothing is kept any more");
    }
}
