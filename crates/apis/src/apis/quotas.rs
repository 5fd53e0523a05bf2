//! The use of quotas, kept by the store: added to its rows every few seconds, and read when an API is served.

use std::collections::BTreeMap;
use std::sync::Arc;

use homeroom_http::Timestamp;
use homeroom_store::StoreError;

use super::Apis;
use crate::error::ApisError;
use crate::quota_rows::{CALLERS_AT_ONCE, ROWS_MAX, UseKey};
use crate::quota_use::{Counts, Difference};
use crate::serving::Serving;

impl Apis {
    /// Adds what callers have used of quotas of an hour and longer to what the store has, and goes on with the sum, in
    /// which other nodes have their part. Called every few seconds, and when no more calls come. What was used since
    /// the last time is forgotten by whoever is killed. If this is cancelled, what was being written counts as
    /// written.
    ///
    /// # Errors
    ///
    /// If the store cannot be read or written; what is not written is tried again the next time.
    pub async fn keep_quotas(&self, now: Timestamp) -> Result<(), ApisError> {
        let mut sweeps = self.quota_sweeps.lock().await;
        let all = self.kept_counts().await;
        self.read(&all, now).await?;
        let mut waiting: Vec<(Arc<Counts>, String)> = vec![];
        for counts in &all {
            for callers in counts.unsaved(now) {
                waiting.extend(callers.into_iter().map(|caller| (Arc::clone(counts), caller)));
                let rest = waiting.split_off(waiting.len() - waiting.len() % CALLERS_AT_ONCE);
                for some in waiting.chunks(CALLERS_AT_ONCE) {
                    sweeps.written += self.write(some).await?;
                }
                waiting = rest;
            }
        }
        sweeps.written += self.write(&waiting).await?;
        if sweeps.is_due(now) {
            self.rows.sweep_use(now, ROWS_MAX).await?;
            sweeps.done(now);
        }
        Ok(())
    }

    /// Reads what the store has kept of quotas that are not read yet. Until then their callers begin anew; what they
    /// use meanwhile is added. If this is cancelled, the next time goes on with those that are left.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn read_quotas(&self, now: Timestamp) -> Result<(), ApisError> {
        let _sweeps = self.quota_sweeps.lock().await;
        let all = self.kept_counts().await;
        self.read(&all, now).await
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

    /// Reads the rows of all counts that are not read yet in the order of their keys, page by page, and passes over
    /// those of others.
    async fn read(&self, all: &[Arc<Counts>], now: Timestamp) -> Result<(), ApisError> {
        let mut unread: BTreeMap<(String, String), Vec<&Counts>> = BTreeMap::new();
        for counts in all.iter().filter(|counts| !counts.is_read()) {
            let id = counts.id();
            unread.entry((id.kind.to_owned(), id.owner.clone())).or_default().push(counts);
        }
        let mut last: Option<UseKey> = None;
        while let Some((first, _)) = unread.first_key_value() {
            let within = last.take().filter(|key| key.owner == *first);
            let after = within.unwrap_or_else(|| UseKey::before(first));
            let page = self.rows.used_after(&after, now).await?;
            for (key, calls) in &page.rows {
                let of_owner = unread.get(&key.owner).into_iter().flatten();
                let counts = of_owner.filter(|counts| counts.id().counter == key.counter);
                for counts in counts.filter(|counts| counts.begun(now) == key.begun) {
                    counts.go_on(key.begun, &key.caller, *calls);
                }
            }
            last = page.rows.into_iter().next_back().map(|(key, _)| key);
            let rest = match &last {
                Some(last) if !page.is_last => unread.split_off(&last.owner),
                _ => BTreeMap::new(),
            };
            unread.into_values().flatten().for_each(Counts::set_read);
            unread = rest;
        }
        Ok(())
    }

    /// Writes what some callers have used since the last time. Returns how many rows these are.
    async fn write(&self, some: &[(Arc<Counts>, String)]) -> Result<i64, ApisError> {
        let taken = some.iter().filter_map(|(counts, caller)| Some((counts, counts.take(caller)?)));
        let taken: Vec<(&Arc<Counts>, Difference)> = taken.collect();
        if taken.is_empty() {
            return Ok(0);
        }
        let rows: Vec<_> = taken.iter().map(|(counts, one)| (counts.id(), one.clone())).collect();
        match self.rows.add_use(&rows).await {
            Ok(sums) => {
                for ((counts, one), sum) in taken.iter().zip(sums) {
                    counts.saved(one, sum);
                }
            }
            // It may have been written: rather a few calls too few than too many.
            Err(StoreError::Unsure) => {}
            Err(error) => {
                for (counts, one) in &taken {
                    counts.put_back(one);
                }
                return Err(error.into());
            }
        }
        Ok(i64::try_from(taken.len()).unwrap_or(0))
    }
}
