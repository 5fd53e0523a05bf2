//! The rows in which the store keeps the use of quotas.

use homeroom_http::Timestamp;
use homeroom_store::{Answer, Ask, Decision, Plan, Refused, Sql, StoreError, Value, Write};

use crate::error::ApisError;
use crate::quota_use::{CounterId, Difference};
use crate::rows::{LANE, Rows};
use crate::sql;

/// Most callers whose use is written, or rows that are removed, in one transaction, so that nobody waits for long.
pub(crate) const CALLERS_AT_ONCE: usize = 250;
/// Most rows of all quotas; beyond it, those with the fewest calls are removed.
pub(crate) const ROWS_MAX: i64 = 1 << 20;
/// Rows that are read at a time.
const PAGE: usize = 1_000;
/// How often rows are swept.
const SWEEP_SECONDS: i64 = 600;
/// How many rows may be written between two sweeps.
const WRITTEN_MAX: i64 = ROWS_MAX / 16;

/// When rows are swept.
#[derive(Debug)]
pub(crate) struct QuotaSweeps {
    next: Timestamp,
    /// How many rows were written since the last time.
    pub(crate) written: i64,
}

impl Default for QuotaSweeps {
    fn default() -> Self {
        Self { next: Timestamp(i64::MIN), written: 0 }
    }
}

impl QuotaSweeps {
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        now >= self.next || self.written >= WRITTEN_MAX
    }

    pub(crate) fn done(&mut self, now: Timestamp) {
        *self = Self { next: now.plus_seconds(SWEEP_SECONDS), written: 0 };
    }
}

impl Rows {
    /// Adds to the use of callers of a counter, at most [`CALLERS_AT_ONCE`] of them. Returns what each has used then.
    /// Nothing is written for what is no longer published.
    pub(crate) async fn add_use(
        &self,
        id: &CounterId,
        differences: &[Difference],
    ) -> Result<Vec<i64>, StoreError> {
        let rows = |one: &Difference| LANE.rows((id.kind, &id.owner, &id.counter, &one.caller));
        let arguments = |one: &Difference| -> Vec<Value> {
            let of = [id.kind.into(), id.owner.as_str().into(), id.counter.as_str().into()];
            of.into_iter().chain([one.caller.as_str().into(), one.unit.0.into()]).collect()
        };
        let ask =
            differences.iter().map(|one| Ask::Rows(rows(one), Sql::new(sql::USED, arguments(one))));
        let added = differences.iter().map(|one| {
            let more = [Value::from(one.unit.1), one.calls.into()];
            let arguments = arguments(one).into_iter().chain(more).collect();
            (one.calls, Write::Rows(rows(one), Sql::new(sql::ADD_USE, arguments)))
        });
        let added: Vec<(i64, Write)> = added.collect();
        let decide = move |found: Vec<Answer>| -> Decision<Vec<i64>, ApisError> {
            let before = found.iter().map(|answer| match answer {
                Answer::Rows(rows) => rows.first().and_then(|row| row.first()?.as_integer()),
                _ => None,
            });
            let sums = before.zip(&added).map(|(before, (more, _))| before.unwrap_or(0) + more);
            let writes = added.iter().map(|(_, write)| write.clone());
            Decision::Write(writes.collect(), sums.collect())
        };
        match self.0.run_in(LANE, Plan { ask: ask.collect(), decide }).await {
            Ok(ran) => Ok(ran.value),
            Err(Refused::Decision(_)) => Ok(vec![]),
            Err(Refused::Store(error)) => Err(error),
        }
    }

    /// Returns what callers of a counter have used in the unit of time that began then.
    pub(crate) async fn used(
        &self,
        id: &CounterId,
        begun: i64,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        let mut all: Vec<(String, i64)> = vec![];
        loop {
            let after = all.last().map(|(caller, _)| caller.as_str());
            // The empty name precedes all others and is a caller's, too.
            let (text, after) = match after {
                None => (sql::USED_FROM, ""),
                Some(after) => (sql::USED_AFTER, after),
            };
            let of = [id.kind.into(), id.owner.as_str().into(), id.counter.as_str().into()];
            let arguments = of.into_iter().chain([begun.into(), Value::from(after)]).collect();
            let rows = self.0.query(Sql::new(text, arguments)).await?;
            let count = rows.len();
            all.extend(rows.into_iter().filter_map(|row| match <[Value; 2]>::try_from(row) {
                Ok([Value::Text(caller), Value::Integer(calls)]) => Some((caller, calls)),
                _ => None,
            }));
            if count < PAGE {
                return Ok(all);
            }
        }
    }

    /// Removes the use of units of time that have ended, and beyond so many rows those with the fewest calls. Returns
    /// how many rows there are.
    pub(crate) async fn sweep_use(&self, now: i64, most: i64) -> Result<i64, StoreError> {
        let mut count = self.number(Sql::new(sql::COUNT_USE, vec![])).await?;
        count -= self.remove_use(i64::MAX, sql::COUNT_ENDED, sql::END_USE, now).await?;
        if count > most {
            let least = self.number(Sql::new(sql::LEAST_USE, vec![(count - most).into()])).await?;
            let surplus = count - most;
            count -= self.remove_use(surplus, sql::COUNT_LEAST, sql::REMOVE_LEAST, least).await?;
        }
        Ok(count)
    }

    /// Removes at most so many rows, a few at a time. `count` tells how many there are.
    async fn remove_use(
        &self,
        most: i64,
        count: &'static str,
        remove: &'static str,
        by: i64,
    ) -> Result<i64, StoreError> {
        let all = self.number(Sql::new(count, vec![by.into()])).await?.min(most);
        let mut left = all;
        while left > 0 {
            let some = left.min(i64::try_from(CALLERS_AT_ONCE).unwrap_or(i64::MAX));
            let write = Write::Rows(LANE.all(), Sql::new(remove, vec![by.into(), some.into()]));
            let decide = move |_: Vec<Answer>| -> Decision<(), ApisError> {
                Decision::Write(vec![write.clone()], ())
            };
            match self.0.run_in(LANE, Plan { ask: vec![], decide }).await {
                Ok(_) | Err(Refused::Decision(_)) => left -= some,
                Err(Refused::Store(error)) => return Err(error),
            }
        }
        Ok(all)
    }

    async fn number(&self, sql: Sql) -> Result<i64, StoreError> {
        let rows = self.0.scan(sql).await?;
        Ok(rows.first().and_then(|row| row.first()?.as_integer()).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use homeroom_testkit::trial;

    use super::*;
    use crate::apis::Apis;
    use crate::definition::{Plan as LimitPlan, Published};
    use crate::quota::Per;

    /// Returns the counter of a plan that is published.
    async fn counter(rows: &Rows) -> CounterId {
        let plan: LimitPlan =
            serde_json::from_str(r#"{"name": "p", "quota": "10/month"}"#).unwrap();
        let mut published = Published::default();
        published.definition.plans.push(plan.clone());
        Apis::new(rows.0.clone()).apply(published).await.unwrap();
        CounterId::of_plan(&plan, Per::Month)
    }

    fn difference(caller: &str, unit: (i64, i64), calls: i64) -> Difference {
        Difference { caller: caller.into(), unit, calls }
    }

    #[tokio::test]
    async fn beyond_the_most_rows_those_with_the_fewest_calls_go() {
        for (name, store) in trial::on_each(&[]).unwrap() {
            let rows = Rows(store);
            let id = counter(&rows).await;
            let callers: Vec<Difference> = (0..600)
                .map(|number| difference(&format!("{number:03}"), (7, 100), number % 60 + 1))
                .collect();
            for some in callers.chunks(CALLERS_AT_ONCE) {
                rows.add_use(&id, some).await.unwrap();
            }
            rows.add_use(&id, &[difference("", (1, 50), 99)]).await.unwrap();

            let swept = rows.sweep_use(50, 550).await.unwrap();

            assert_eq!(swept, 550, "{name}");
            let left = rows.used(&id, 7).await.unwrap();
            assert_eq!(left.len(), 550, "{name}");
            assert!(left.iter().all(|(_, calls)| *calls > 5), "{name}");
            assert_eq!(rows.used(&id, 1).await.unwrap(), [], "{name}: its time is over");
        }
    }

    #[tokio::test]
    async fn all_callers_are_read_page_by_page_and_their_sums_are_told() {
        for (name, store) in trial::on_each(&[]).unwrap() {
            let rows = Rows(store);
            let id = counter(&rows).await;
            let mut callers: Vec<Difference> =
                (0..2_100).map(|number| difference(&number.to_string(), (7, 100), 1)).collect();
            callers.push(difference("", (7, 100), 5));
            for some in callers.chunks(CALLERS_AT_ONCE) {
                rows.add_use(&id, some).await.unwrap();
            }

            let sums = rows.add_use(&id, &callers[2_099..]).await.unwrap();

            let mut read = rows.used(&id, 7).await.unwrap();
            read.sort();
            assert_eq!(sums, [2, 10], "{name}");
            assert_eq!(read.len(), 2_101, "{name}");
            assert_eq!(read[0], (String::new(), 10), "{name}");
        }
    }
}
