//! Launches that are kept in memory, so that files of courses and commits need not look for theirs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::launch_record::Launch;

/// How long a launch is kept without being read again, in microseconds.
const LAUNCH_TIME: i64 = 600_000_000;
/// Most launches that are kept.
const LAUNCHES_MAX: usize = 100_000;

/// The launches that were read lately, by the hash of their secret.
#[derive(Debug, Default)]
pub(crate) struct LaunchCache(Mutex<All>);

#[derive(Debug, Default)]
struct All {
    /// Each with the moment at which it was read.
    launches: HashMap<String, (Arc<Launch>, i64)>,
    /// The hashes of the launches of a registration.
    of: HashMap<String, Vec<String>>,
    /// How often launches were forgotten because they have ended.
    ends: u64,
}

impl All {
    fn clear(&mut self) {
        self.launches.clear();
        self.of.clear();
    }
}

/// A launch that is to be read: none that ends meanwhile is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToBeRead(u64);

impl LaunchCache {
    /// Returns a launch that was read lately.
    pub(crate) fn get(&self, hash: &str, now: i64) -> Result<Arc<Launch>, ToBeRead> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all
            .launches
            .get(hash)
            .filter(|(_, read)| (*read..read.saturating_add(LAUNCH_TIME)).contains(&now));
        found.map(|(found, _)| Arc::clone(found)).ok_or(ToBeRead(all.ends))
    }

    /// Keeps a launch that was read.
    pub(crate) fn put(
        &self,
        ToBeRead(ends): ToBeRead,
        hash: String,
        launch: &Arc<Launch>,
        now: i64,
    ) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ends != all.ends {
            return;
        }
        if all.launches.len() >= LAUNCHES_MAX {
            all.clear();
        }
        let is_new = all.launches.insert(hash.clone(), (Arc::clone(launch), now)).is_none();
        if is_new && let Some(registration) = &launch.registration {
            all.of.entry(registration.clone()).or_default().push(hash);
        }
    }

    /// Forgets the launches of a registration: some of them have ended.
    pub(crate) fn forget(&self, registration: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.ends += 1;
        for hash in all.of.remove(registration).into_iter().flatten() {
            all.launches.remove(&hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch_record::LaunchOptions;

    fn of(registration: &str) -> Arc<Launch> {
        Arc::new(Launch {
            id: String::new(),
            registration: Some(registration.to_owned()),
            instance: 0,
            course: String::new(),
            version: 0,
            options: LaunchOptions::default(),
            created: 0,
            expires: i64::MAX,
            incarnation: String::new(),
            result: None,
        })
    }

    #[test]
    fn what_has_ended_is_known_no_more_even_if_it_was_being_read() {
        let cache = LaunchCache::default();
        for (hash, registration) in [("1", "a"), ("2", "a"), ("3", "b")] {
            let to_be_read = cache.get(hash, 5).unwrap_err();
            cache.put(to_be_read, hash.to_owned(), &of(registration), 5);
        }
        let (one, two) = (cache.get("4", 5).unwrap_err(), cache.get("5", 5).unwrap_err());
        cache.put(one, "4".to_owned(), &of("a"), 5);

        cache.forget("a");

        cache.put(two, "5".to_owned(), &of("a"), 5);
        let found = ["1", "2", "3", "4", "5"].map(|hash| cache.get(hash, 6).is_ok());
        assert_eq!(found, [false, false, true, false, false]);
        assert!(cache.get("3", 5 + LAUNCH_TIME).is_err());
    }
}
