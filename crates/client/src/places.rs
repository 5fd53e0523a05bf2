//! How many requests are in progress, to one origin and to all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::url::Origin;

/// The right of a request to be in progress. Another request gets it once this is dropped.
pub struct Place {
    _to_origin: OwnedSemaphorePermit,
    _to_all: OwnedSemaphorePermit,
}

/// The places of all origins that have requests in progress.
pub struct Places {
    per_origin: usize,
    all: Arc<Semaphore>,
    origins: Mutex<HashMap<Origin, Arc<Semaphore>>>,
}

impl Places {
    /// Makes room for this many requests to each origin, and to all together, at a time; at least one.
    pub fn new(per_origin: usize, all: usize) -> Self {
        let [per_origin, all] = [per_origin, all].map(|most| most.clamp(1, Semaphore::MAX_PERMITS));
        Self { per_origin, all: Arc::new(Semaphore::new(all)), origins: Mutex::default() }
    }

    /// Waits for a place.
    pub async fn take(&self, origin: Origin) -> Place {
        // The origin comes first: those that wait for a slow server take no place from other servers.
        let [to_origin, to_all] =
            [self.of(origin), Arc::clone(&self.all)].map(|places| async move {
                places.acquire_owned().await.expect("nothing closes the semaphores")
            });
        Place { _to_origin: to_origin.await, _to_all: to_all.await }
    }

    fn of(&self, origin: Origin) -> Arc<Semaphore> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = origins.get(&origin) {
            return Arc::clone(places);
        }
        // An origin whose semaphore is referred to by this map only has no request.
        origins.retain(|_, places| Arc::strong_count(places) > 1);
        let places = Arc::new(Semaphore::new(self.per_origin));
        origins.insert(origin, Arc::clone(&places));
        places
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    fn origin(host: &str) -> Origin {
        Origin { is_secure: false, host: host.into(), port: 80 }
    }

    #[tokio::test]
    async fn an_origin_without_requests_is_forgotten() {
        let places = Places::new(1, 9);
        let kept = places.take(origin("kept")).await;
        for number in 0..100 {
            drop(places.take(origin(&number.to_string())).await);
        }

        assert_eq!(places.origins.lock().unwrap().len(), 2);
        drop(kept);
        drop(places.take(origin("kept")).await);
    }

    #[tokio::test]
    async fn all_origins_share_the_limit_of_the_client() {
        let places = Places::new(2, 3);
        let first = places.take(origin("a")).await;
        let _others = [places.take(origin("a")).await, places.take(origin("b")).await];
        let soon = Duration::from_millis(20);

        assert!(timeout(soon, places.take(origin("c"))).await.is_err());
        drop(first);
        assert!(timeout(soon, places.take(origin("c"))).await.is_ok());
    }
}
