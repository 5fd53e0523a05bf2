//! The use of quotas, kept by the store: added to its rows every few seconds, and read when an API is served.

use std::sync::Arc;

use homeroom_http::Timestamp;
use homeroom_store::StoreError;

use super::Apis;
use crate::error::ApisError;
use crate::quota_rows::{CALLERS_AT_ONCE, ROWS_MAX};
use crate::quota_use::Counts;
use crate::serving::Serving;

impl Apis {
    /// Adds what callers have used of quotas of an hour and longer to what the store has, and goes on with the sum, in
    /// which other nodes have their part. Called every few seconds, and when no more calls come. What was used since
    /// the last time is forgotten by whoever is killed.
    ///
    /// # Errors
    ///
    /// If the store cannot be read or written; what is not written is tried again the next time.
    pub async fn keep_quotas(&self, now: Timestamp) -> Result<(), ApisError> {
        let mut sweeps = self.quota_sweeps.lock().await;
        for counts in self.kept_counts().await {
            self.read_quota(&counts, now).await?;
            sweeps.written += self.write_quota(&counts, now).await?;
        }
        if sweeps.is_due(now) {
            self.rows.sweep_use(now.0, ROWS_MAX).await?;
            sweeps.done(now);
        }
        Ok(())
    }

    /// Reads what the store has kept of quotas that are not read yet.
    pub(super) async fn read_quotas(&self, now: Timestamp) -> Result<(), ApisError> {
        let _sweeps = self.quota_sweeps.lock().await;
        for counts in self.kept_counts().await {
            self.read_quota(&counts, now).await?;
        }
        Ok(())
    }

    /// Returns the counts of all that is served, of which the store keeps the use.
    async fn kept_counts(&self) -> Vec<Arc<Counts>> {
        let known = self.known.lock().await;
        let Some(serving) = &known.serving else { return vec![] };
        let plans = self.shared.plans.load();
        let of_plans = plans.values().filter_map(|plan| plan.counts());
        let all = of_plans.chain(Serving::counts(serving));
        all.filter(|counts| counts.is_kept()).collect()
    }

    async fn read_quota(&self, counts: &Counts, now: Timestamp) -> Result<(), ApisError> {
        if !counts.is_read() {
            let begun = counts.begun(now);
            counts.go_on(begun, self.rows.used(counts.id(), begun).await?);
        }
        Ok(())
    }

    /// Writes what callers have used since the last time. Returns how many rows these are.
    async fn write_quota(&self, counts: &Counts, now: Timestamp) -> Result<i64, ApisError> {
        let mut written = 0;
        for differences in counts.differences(now) {
            for some in differences.chunks(CALLERS_AT_ONCE) {
                let sums = match self.rows.add_use(counts.id(), some).await {
                    Ok(sums) => sums,
                    // It may have been written: rather a few calls too few than too many.
                    Err(StoreError::Unsure) => vec![],
                    Err(error) => return Err(error.into()),
                };
                for (number, difference) in some.iter().enumerate() {
                    counts.saved(difference, sums.get(number).copied());
                }
                written += i64::try_from(some.len()).unwrap_or(0);
            }
        }
        Ok(written)
    }
}
