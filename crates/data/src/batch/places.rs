//! Places for batches: some in all, and a few for each key.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use homeroom_http::{Kind, Problem};
use http::{HeaderValue, header};

use super::limits::{BATCHES_MAX, BATCHES_OF_KEY_MAX};

/// The places that are taken, by key.
static TAKEN: Mutex<Option<HashMap<String, usize>>> = Mutex::new(None);

/// A place, which is free again when the value is dropped.
pub(super) struct Place {
    key: String,
}

/// Takes a place for a key's batch.
///
/// # Errors
///
/// 429 where the key has as many as it may have, 503 where all are taken.
pub(super) fn take(key: &str) -> Result<Place, Problem> {
    let mut all = taken();
    let all = all.get_or_insert_default();
    let of_key = all.get(key).copied().unwrap_or(0);
    if of_key >= BATCHES_OF_KEY_MAX {
        return Err(Problem::of(Kind::TooManyRequests)
            .detail(format!("A key may send {BATCHES_OF_KEY_MAX} batches at the same time."))
            .header(header::RETRY_AFTER, HeaderValue::from_static("1")));
    }
    if all.values().sum::<usize>() >= BATCHES_MAX {
        return Err(Problem::busy(1)
            .detail(format!("The server reads {BATCHES_MAX} batches at the same time.")));
    }
    all.insert(key.to_owned(), of_key + 1);
    Ok(Place { key: key.to_owned() })
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = taken();
        let Some(all) = all.as_mut() else { return };
        if let Some(count) = all.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.key);
            }
        }
    }
}

fn taken() -> MutexGuard<'static, Option<HashMap<String, usize>>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_and_all_keys_have_their_limits_and_a_place_comes_back() {
        let own: Vec<Place> = (0..BATCHES_OF_KEY_MAX).map(|_| take("a").unwrap()).collect();
        let beyond = take("a").err().map(|problem| problem.kind.status().as_u16());
        let others: Vec<Place> = (BATCHES_OF_KEY_MAX..BATCHES_MAX)
            .map(|at| take(&format!("b{}", at % 8)).unwrap())
            .collect();
        let full = take("c").err().map(|problem| problem.kind.status().as_u16());
        drop(own);

        assert_eq!((beyond, full), (Some(429), Some(503)));
        assert!(take("a").is_ok());
        drop(others);
        assert!(taken().as_ref().unwrap().is_empty());
    }
}
