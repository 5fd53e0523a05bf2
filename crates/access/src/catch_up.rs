//! Reads the registry for a caller that this node does not know yet, at a bounded rate: a key that was
//! just made works at its first use on every node.
#![expect(clippy::disallowed_methods, reason = "it keeps a pause between two readings")]

use std::time::{Duration, Instant};

use homeroom_http::BudgetFigures;
use homeroom_store::StoreUrl;

use crate::access::Access;
use crate::lookups::LookupsFull;

/// Least time between the beginnings of two readings, however many strangers ask.
const PAUSE: Duration = Duration::from_millis(50);
impl Access {
    /// Reads what other nodes have changed in the registry, once for all that wait. Returns whether
    /// the registry has been read since the call; it has not where no other node can change it.
    ///
    /// # Errors
    ///
    /// [`LookupsFull`] if too many wait already.
    pub async fn catch_up(&self) -> Result<bool, LookupsFull> {
        if !matches!(self.store.url(), StoreUrl::Postgres(_)) {
            return Ok(false);
        }
        let _waits = self.caught_up.enter()?;
        let arrived = Instant::now();
        let mut last = self.caught_up.last.lock().await;
        if last.is_some_and(|last| last >= arrived) {
            return Ok(true);
        }
        if let Some(rest) = last.and_then(|last| PAUSE.checked_sub(last.elapsed())) {
            tokio::time::sleep(rest).await;
        }
        *last = Some(Instant::now());
        match self.refresh().await {
            Ok(()) => Ok(true),
            Err(error) => {
                tracing::warn!(%error, "the registry cannot be read for an unknown key");
                Ok(false)
            }
        }
    }

    /// Returns the figures of the callers that wait because this node does not know their keys.
    pub fn key_lookups(&self) -> BudgetFigures {
        self.caught_up.figures()
    }
}
