//! How many requests to one origin are in progress.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::url::Origin;

/// The place of a request among those to the same origin; it is free again once this is dropped.
pub type Place = OwnedSemaphorePermit;

/// The places of all origins that have requests in progress.
pub struct Places {
    per_origin: usize,
    origins: Mutex<HashMap<Origin, Arc<Semaphore>>>,
}

impl Places {
    /// Makes room for this many requests to each origin at a time, at least one.
    pub fn new(per_origin: usize) -> Self {
        let per_origin = per_origin.clamp(1, Semaphore::MAX_PERMITS);
        Self { per_origin, origins: Mutex::default() }
    }

    /// Waits for a place.
    pub async fn take(&self, origin: Origin) -> Place {
        let places = self.of(origin);
        places.acquire_owned().await.expect("the semaphore of an origin is never closed")
    }

    fn of(&self, origin: Origin) -> Arc<Semaphore> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = origins.get(&origin) {
            return Arc::clone(places);
        }
        // Nobody waits for or holds a place where this map has the only reference.
        origins.retain(|_, places| Arc::strong_count(places) > 1);
        let places = Arc::new(Semaphore::new(self.per_origin));
        origins.insert(origin, Arc::clone(&places));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(host: &str) -> Origin {
        Origin { is_secure: false, host: host.into(), port: 80 }
    }

    #[tokio::test]
    async fn an_origin_without_requests_is_forgotten() {
        let places = Places::new(1);
        let kept = places.take(origin("kept")).await;
        for number in 0..100 {
            drop(places.take(origin(&number.to_string())).await);
        }

        assert_eq!(places.origins.lock().unwrap().len(), 2);
        drop(kept);
        drop(places.take(origin("kept")).await);
    }
}
