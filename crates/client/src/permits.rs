//! Limits the requests in progress, for each origin and in all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::url::Origin;

/// The permission for a request to be in progress. Clones are the same one; when the last is dropped, another
/// request can begin.
#[derive(Clone)]
pub struct Permit(#[expect(dead_code, reason = "it ends when it is dropped")] Option<Arc<Held>>);

struct Held {
    _to_origin: OwnedSemaphorePermit,
    _to_all: OwnedSemaphorePermit,
}

/// The permits of a client, in all and for each origin that has requests in progress.
pub struct Permits {
    per_origin: usize,
    /// [`None`] where neither has a limit.
    all: Option<Arc<Semaphore>>,
    origins: Mutex<HashMap<Arc<Origin>, Arc<Semaphore>>>,
}

impl Permits {
    /// Permits this many requests at a time to each origin, and to all together; at least one. Where both are
    /// [`usize::MAX`], there is no limit.
    pub fn new(per_origin: usize, all: usize) -> Self {
        let has_limit = per_origin.min(all) < usize::MAX;
        let [per_origin, all] = [per_origin, all].map(|most| most.clamp(1, Semaphore::MAX_PERMITS));
        let all = has_limit.then(|| Arc::new(Semaphore::new(all)));
        Self { per_origin, all, origins: Mutex::default() }
    }

    /// Returns a permit where there is no limit, for which nobody waits.
    pub fn without_limit(&self) -> Option<Permit> {
        self.all.is_none().then_some(Permit(None))
    }

    /// Waits for a permit.
    pub async fn take(&self, origin: &Arc<Origin>) -> Permit {
        let Some(all) = &self.all else { return Permit(None) };
        // The origin comes first: requests that wait for a slow server take no permit from others.
        let [to_origin, to_all] = [self.of(origin), Arc::clone(all)].map(|permits| async move {
            permits.acquire_owned().await.expect("nothing closes the semaphores")
        });
        Permit(Some(Arc::new(Held { _to_origin: to_origin.await, _to_all: to_all.await })))
    }

    fn of(&self, origin: &Arc<Origin>) -> Arc<Semaphore> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(permits) = origins.get(origin) {
            return Arc::clone(permits);
        }
        // An origin whose semaphore is referred to by this map only has no request.
        origins.retain(|_, permits| Arc::strong_count(permits) > 1);
        let permits = Arc::new(Semaphore::new(self.per_origin));
        origins.insert(Arc::clone(origin), Arc::clone(&permits));
        permits
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    fn origin(host: &str) -> Arc<Origin> {
        Arc::new(Origin { is_secure: false, host: host.into(), port: 80 })
    }

    #[tokio::test]
    async fn an_origin_without_requests_is_forgotten() {
        let permits = Permits::new(1, 9);
        let kept = permits.take(&origin("kept")).await;
        for number in 0..100 {
            drop(permits.take(&origin(&number.to_string())).await);
        }

        assert_eq!(permits.origins.lock().unwrap().len(), 2);
        drop(kept);
        drop(permits.take(&origin("kept")).await);
    }

    #[tokio::test]
    async fn a_permit_is_given_back_with_its_last_clone() {
        let permits = Permits::new(1, usize::MAX);
        let soon = Duration::from_millis(20);
        let first = permits.take(&origin("a")).await;
        let same = first.clone();

        drop(first);
        assert!(timeout(soon, permits.take(&origin("a"))).await.is_err());
        drop(same);
        assert!(timeout(soon, permits.take(&origin("a"))).await.is_ok());
    }

    #[tokio::test]
    async fn without_a_limit_nobody_waits_and_nothing_is_kept() {
        let permits = Permits::new(usize::MAX, usize::MAX);
        let mut all = vec![];
        for _ in 0..100 {
            all.push(permits.take(&origin("a")).await);
        }

        assert!(permits.without_limit().is_some());
        assert!(permits.origins.lock().unwrap().is_empty());
        assert!(Permits::new(usize::MAX, 1).without_limit().is_none());
    }

    #[tokio::test]
    async fn all_origins_share_the_limit_of_the_client() {
        let permits = Permits::new(2, 3);
        let first = permits.take(&origin("a")).await;
        let _others = [permits.take(&origin("a")).await, permits.take(&origin("b")).await];
        let soon = Duration::from_millis(20);

        assert!(timeout(soon, permits.take(&origin("c"))).await.is_err());
        drop(first);
        assert!(timeout(soon, permits.take(&origin("c"))).await.is_ok());
    }
}
