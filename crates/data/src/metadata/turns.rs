//! Turns in which large documents are written, one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use homeroom_http::{BudgetFigures, Problem};
use tokio::sync::Semaphore;

/// Most requests that wait for a turn.
const WAITING_MAX: usize = 32;

/// Turns for work that no client may cause as often as it likes: a client that names a new host each
/// time causes many copies, and one that hangs up leaves the work behind.
#[derive(Debug, Clone)]
pub struct Turns {
    working: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    size: usize,
    refused: Arc<AtomicU64>,
}

impl Default for Turns {
    fn default() -> Self {
        Self::new(WAITING_MAX)
    }
}

impl Turns {
    /// Creates the turns, for which at most `size` requests wait.
    pub fn new(size: usize) -> Self {
        let [working, waiting] = [1, size].map(|places| Arc::new(Semaphore::new(places)));
        Self { working, waiting, size, refused: Arc::default() }
    }

    /// Returns the figures of those that wait or work.
    pub fn figures(&self) -> BudgetFigures {
        BudgetFigures {
            name: "metadata_documents",
            size: self.size as u64,
            used: self.size.saturating_sub(self.waiting.available_permits()) as u64,
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// Returns what `find` finds, or else what `make` makes on a blocking thread. A turn ends when the
    /// work is done, even if nobody waits for it any more.
    ///
    /// # Errors
    ///
    /// 503 where too many requests wait for a turn already.
    pub async fn found_or_made<T: Send + 'static>(
        &self,
        find: impl Fn() -> Option<T>,
        make: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        if let Some(found) = find() {
            return Ok(found);
        }
        let Ok(_waits) = self.waiting.try_acquire() else {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Problem::busy(1).budget("metadata_documents").detail(
                "The server is already writing such documents for many other requests (budget \
                 metadata_documents).",
            ));
        };
        let turn = Arc::clone(&self.working).acquire_owned().await.map_err(Problem::internal)?;
        if let Some(found) = find() {
            return Ok(found);
        }
        let making = tokio::task::spawn_blocking(move || (make(), turn));
        // The next turn begins once what was made has reserved its room in a budget.
        let (outcome, _turn) = making.await.map_err(Problem::internal)?;
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn requests_that_are_given_up_while_they_wait_make_nothing() {
        let turns = Turns::default();
        let turn = Arc::clone(&turns.working).acquire_owned().await.unwrap();

        for _ in 0..3 {
            let given_up = turns.found_or_made(|| None, || panic!("nobody waits for this"));
            let waited: Result<Result<(), _>, _> =
                tokio::time::timeout(Duration::from_millis(50), given_up).await;
            assert!(waited.is_err());
        }

        drop(turn);
        assert_eq!(turns.found_or_made(|| None, || 1).await.unwrap(), 1);
        assert_eq!(turns.working.available_permits(), 1);
        assert_eq!(turns.waiting.available_permits(), WAITING_MAX);
    }

    #[tokio::test]
    async fn more_requests_than_may_wait_are_refused() {
        let turns = Turns::default();
        let _turn = Arc::clone(&turns.working).acquire_owned().await.unwrap();
        let wait = || turns.found_or_made(|| None, || ());
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| Box::pin(wait())).collect();
        for one in &mut waiting {
            assert!(tokio::time::timeout(Duration::ZERO, one).await.is_err());
        }

        let refused = wait().await.unwrap_err();

        assert_eq!(refused.kind.status(), 503);
        assert!(refused.detail.as_ref().unwrap().contains("budget metadata_documents"));
        assert_eq!(refused.budget, Some("metadata_documents"));
        let BudgetFigures { used, refused, .. } = turns.figures();
        assert_eq!((used, refused), (WAITING_MAX as u64, 1));
    }
}
