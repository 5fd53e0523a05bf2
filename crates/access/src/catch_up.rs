//! Reads the registry for a caller that this node does not know yet, at a bounded rate: a key that was
//! just made works at its first use on every node.
#![expect(clippy::disallowed_methods, reason = "it keeps a pause between two readings")]

use std::time::{Duration, Instant};

use homeroom_store::StoreUrl;

use crate::access::Access;

/// Least time between the beginnings of two readings, however many strangers ask.
const PAUSE: Duration = Duration::from_millis(50);

impl Access {
    /// Reads what other nodes have changed in the registry, once for all that wait. Returns whether
    /// the registry has been read since the call; it has not where no other node can change it.
    pub async fn catch_up(&self) -> bool {
        if !matches!(self.store.url(), StoreUrl::Postgres(_)) {
            return false;
        }
        let arrived = Instant::now();
        let mut last = self.caught_up.lock().await;
        if last.is_some_and(|last| last >= arrived) {
            return true;
        }
        if let Some(rest) = last.and_then(|last| PAUSE.checked_sub(last.elapsed())) {
            tokio::time::sleep(rest).await;
        }
        *last = Some(Instant::now());
        match self.refresh().await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(%error, "the registry cannot be read for an unknown key");
                false
            }
        }
    }
}
