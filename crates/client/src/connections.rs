//! Counts connections by where they go.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::url::Origin;

/// Most origins that are kept although no connection to them is open.
const KEPT_MAX: usize = 4_096;

/// The connections of all clients that have it in their settings, by origin; clones count together.
#[derive(Debug, Clone, Default)]
pub struct Connections(Arc<Mutex<HashMap<Origin, Arc<Count>>>>);

#[derive(Debug, Default)]
struct Count {
    open: AtomicU64,
    opened: AtomicU64,
}

/// An open connection, until the value is dropped.
#[derive(Debug)]
pub(crate) struct Open(Arc<Count>);

impl Connections {
    /// Returns how many connections to each origin are open, and how many were opened so far.
    pub fn figures(&self) -> Vec<(Origin, u64, u64)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        all.iter()
            .map(|(origin, count)| (origin.clone(), load(&count.open), load(&count.opened)))
            .collect()
    }

    /// Counts a connection.
    pub(crate) fn open(&self, origin: &Origin) -> Open {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KEPT_MAX && !all.contains_key(origin) {
            all.retain(|_, count| count.open.load(Ordering::Relaxed) > 0);
        }
        let count = Arc::clone(all.entry(origin.clone()).or_default());
        drop(all);
        count.open.fetch_add(1, Ordering::Relaxed);
        count.opened.fetch_add(1, Ordering::Relaxed);
        Open(count)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
