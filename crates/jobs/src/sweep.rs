//! Removes jobs that have ended and expired.

use homeroom_store::{Answer, ChangedAt, Decision, Plan, Sql};

use crate::error::JobError;
use crate::jobs::Jobs;
use crate::row::{self, LANE};
use crate::sql;

/// Most jobs that one transaction removes, so that others do not wait for long.
const REMOVED_MAX: u64 = 500;
/// How long an owner's last turn is remembered, in microseconds: a day.
const TURN_KEPT_US: i64 = 24 * 3_600 * 1_000_000;

impl Jobs {
    /// Removes jobs that have expired, and the ones that would expire first where too many are
    /// kept. Returns how many.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn sweep(&self, now: ChangedAt) -> Result<u64, JobError> {
        let mut removed = 0;
        loop {
            // Looked up without a transaction: usually there is nothing to remove.
            let rows = self.store.look_up(Sql::new(sql::ENDED, vec![now.0.into()])).await?;
            let count = |at: usize| {
                let number = rows.first().and_then(|row| row.get(at)?.as_integer());
                number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
            };
            let surplus = count(1).saturating_sub(self.limits.ended_max.into());
            let some = count(0).max(surplus).min(REMOVED_MAX);
            if some == 0 {
                return Ok(removed);
            }
            let limit = i64::try_from(some).unwrap_or(i64::MAX);
            let writes = vec![
                row::write(LANE.all(), sql::EXPIRE, vec![limit.into()]),
                row::write(LANE.all(), sql::FORGET_TURNS, vec![(now.0 - TURN_KEPT_US).into()]),
            ];
            let decide = move |_: Vec<Answer>| Decision::<(), JobError>::Write(writes.clone(), ());
            self.run(Plan { ask: vec![], decide }).await?;
            removed += some;
        }
    }
}
