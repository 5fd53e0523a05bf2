//! Places for batches: some in all, and a few for each key.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homeroom_http::{BudgetFigures, Kind, Problem};
use http::{HeaderValue, header};

/// Most batches that are read at the same time.
pub const BATCHES_MAX: usize = 16;
/// Most batches of one key that are read at the same time.
pub const BATCHES_OF_KEY_MAX: usize = 4;

/// The places in which batches are read; clones share them.
#[derive(Debug, Clone)]
pub struct BatchPlaces(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    size: usize,
    of_key: usize,
    /// The places that are taken, by key.
    taken: Mutex<HashMap<String, usize>>,
    refused: AtomicU64,
}

impl Default for BatchPlaces {
    fn default() -> Self {
        Self::new(BATCHES_MAX, BATCHES_OF_KEY_MAX)
    }
}

/// A place, which is free again when the value is dropped.
pub(crate) struct Place {
    places: Arc<Inner>,
    key: String,
}

impl BatchPlaces {
    /// Creates `size` places, of which each key may have `of_key`.
    pub fn new(size: usize, of_key: usize) -> Self {
        let (taken, refused) = (Mutex::default(), AtomicU64::new(0));
        Self(Arc::new(Inner { size, of_key, taken, refused }))
    }

    /// Takes a place for a key's batch.
    ///
    /// # Errors
    ///
    /// 429 where the key has as many as it may have, 503 where all are taken.
    pub(crate) fn take(&self, key: &str) -> Result<Place, Problem> {
        let places = &self.0;
        let mut all = places.taken();
        let of_key = all.get(key).copied().unwrap_or(0);
        let refuse = |problem: Problem, detail: String| {
            places.refused.fetch_add(1, Ordering::Relaxed);
            Err(problem.budget("batches").detail(detail))
        };
        if of_key >= places.of_key {
            let problem = Problem::of(Kind::TooManyRequests);
            return refuse(
                problem.header(header::RETRY_AFTER, HeaderValue::from_static("1")),
                format!(
                    "A key may send {} batches at the same time (budget batches).",
                    places.of_key
                ),
            );
        }
        if all.values().sum::<usize>() >= places.size {
            return refuse(
                Problem::busy(1),
                format!(
                    "The server reads {} batches at the same time (budget batches).",
                    places.size
                ),
            );
        }
        all.insert(key.to_owned(), of_key + 1);
        Ok(Place { places: Arc::clone(places), key: key.to_owned() })
    }

    /// Returns their figures.
    pub(crate) fn figures(&self) -> BudgetFigures {
        BudgetFigures {
            name: "batches",
            size: self.0.size as u64,
            used: self.0.taken().values().sum::<usize>() as u64,
            refused: self.0.refused.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self.places.taken();
        if let Some(count) = all.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.key);
            }
        }
    }
}

impl Inner {
    fn taken(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_and_all_keys_have_their_limits_and_a_place_comes_back() {
        let places = BatchPlaces::default();
        let take = |key: &str| places.take(key);
        let own: Vec<Place> = (0..BATCHES_OF_KEY_MAX).map(|_| take("a").unwrap()).collect();
        let beyond = take("a").err();
        let others: Vec<Place> = (BATCHES_OF_KEY_MAX..BATCHES_MAX)
            .map(|at| take(&format!("b{}", at % 8)).unwrap())
            .collect();
        let full = take("c").err();
        let figures = places.figures();
        drop(own);

        for (refused, status) in [(beyond, 429), (full, 503)] {
            let problem = refused.unwrap();
            assert_eq!(problem.kind.status().as_u16(), status);
            assert!(problem.detail.as_ref().unwrap().contains("budget batches"), "{problem:?}");
            assert_eq!(problem.budget, Some("batches"));
        }
        assert_eq!((figures.used, figures.refused), (BATCHES_MAX as u64, 2));
        assert!(take("a").is_ok());
        drop(others);
        assert_eq!(places.figures().used, 0);
    }
}
