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
/// Rows that are read at a time, as [`sql::USED_AFTER`] has it.
const PAGE: usize = 1_000;
/// How long after the end of their unit of time rows are removed, so that a clock that is ahead by hours removes none
/// that others need.
const KEPT_SECONDS: i64 = 86_400;
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

/// The key of a row.
#[derive(Debug, Clone)]
pub(crate) struct UseKey {
    /// Kind and name of what it is of.
    pub(crate) owner: (String, String),
    since: i64,
    pub(crate) counter: String,
    pub(crate) caller: String,
    pub(crate) begun: i64,
}

impl UseKey {
    /// Returns a key that precedes all of an owner.
    pub(crate) fn before(owner: &(String, String)) -> Self {
        let (counter, caller) = (String::new(), String::new());
        Self { owner: owner.clone(), since: i64::MIN, counter, caller, begun: i64::MIN }
    }

    fn arguments(&self) -> Vec<Value> {
        let Self { owner: (kind, name), since, counter, caller, begun } = self;
        let text = |text: &String| Value::from(text.as_str());
        vec![text(kind), text(name), (*since).into(), text(counter), text(caller), (*begun).into()]
    }

    /// Reads a row: its key, and the calls.
    fn read(row: Vec<Value>) -> Option<(Self, i64)> {
        let [
            Value::Text(kind),
            Value::Text(name),
            Value::Integer(since),
            Value::Text(counter),
            Value::Text(caller),
            Value::Integer(begun),
            Value::Integer(calls),
        ] = <[Value; 7]>::try_from(row).ok()?
        else {
            return None;
        };
        Some((Self { owner: (kind, name), since, counter, caller, begun }, calls))
    }
}

/// Some rows, in the order of their keys.
#[derive(Debug)]
pub(crate) struct UsePage {
    pub(crate) rows: Vec<(UseKey, i64)>,
    /// Whether no rows come after these.
    pub(crate) is_last: bool,
}

impl Rows {
    /// Adds to the use of callers of counters, at most [`CALLERS_AT_ONCE`] of them. Returns what each has used then.
    /// Nothing is written for what is no longer published.
    pub(crate) async fn add_use(
        &self,
        differences: &[(&CounterId, Difference)],
    ) -> Result<Vec<i64>, StoreError> {
        type One<'a> = (&'a CounterId, Difference);
        let rows = |(id, one): &One<'_>| LANE.rows((id.kind, &id.owner, &id.counter, &one.caller));
        let arguments = |(id, one): &One<'_>| -> Vec<Value> {
            let of = [id.kind.into(), id.owner.as_str().into(), id.counter.as_str().into()];
            of.into_iter().chain([one.caller.as_str().into(), one.unit.0.into()]).collect()
        };
        let ask =
            differences.iter().map(|one| Ask::Rows(rows(one), Sql::new(sql::USED, arguments(one))));
        let added = differences.iter().map(|one| {
            let Difference { unit: (_, ends), calls, .. } = one.1;
            let more = [Value::from(ends), calls.into()];
            let arguments = arguments(one).into_iter().chain(more).collect();
            (calls, Write::Rows(rows(one), Sql::new(sql::ADD_USE, arguments)))
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

    /// Returns what callers of everything that is published have used in units of time that are not over, in the rows
    /// after this key.
    pub(crate) async fn used_after(
        &self,
        key: &UseKey,
        now: Timestamp,
    ) -> Result<UsePage, StoreError> {
        let arguments = key.arguments().into_iter().chain([now.0.into()]).collect();
        let rows = self.0.query(Sql::new(sql::USED_AFTER, arguments)).await?;
        let is_last = rows.len() < PAGE;
        Ok(UsePage { rows: rows.into_iter().filter_map(UseKey::read).collect(), is_last })
    }

    /// Removes the use of what is withdrawn and of units of time that have long ended, and beyond so many rows those
    /// with the fewest calls. Returns how many rows there are.
    pub(crate) async fn sweep_use(&self, now: Timestamp, most: i64) -> Result<i64, StoreError> {
        let mut count = self.number(Sql::new(sql::COUNT_USE, vec![])).await?;
        for mut row in self.0.scan(Sql::new(sql::WITHDRAWN_USE, vec![])).await? {
            let rows = row.pop().and_then(|rows| rows.as_integer()).unwrap_or(0);
            count -= self.remove_use(rows, sql::REMOVE_WITHDRAWN, row).await?;
        }
        let ended = vec![now.plus_seconds(-KEPT_SECONDS).0.into()];
        let rows = self.number(Sql::new(sql::COUNT_ENDED, ended.clone())).await?;
        count -= self.remove_use(rows, sql::REMOVE_ENDED, ended).await?;
        if count > most {
            let surplus = count - most;
            let least = self.number(Sql::new(sql::LEAST_USE, vec![surplus.into()])).await?;
            let least = vec![Value::from(least)];
            let rows = self.number(Sql::new(sql::COUNT_LEAST, least.clone())).await?;
            count -= self.remove_use(rows.min(surplus), sql::REMOVE_LEAST, least).await?;
        }
        Ok(count)
    }

    /// Removes so many rows, a few at a time: those that the arguments say.
    async fn remove_use(
        &self,
        rows: i64,
        remove: &'static str,
        arguments: Vec<Value>,
    ) -> Result<i64, StoreError> {
        let mut left = rows;
        while left > 0 {
            let some = left.min(i64::try_from(CALLERS_AT_ONCE).unwrap_or(i64::MAX));
            let arguments = arguments.iter().cloned().chain([some.into()]).collect();
            let write = Write::Rows(LANE.all(), Sql::new(remove, arguments));
            let decide = move |_: Vec<Answer>| -> Decision<(), ApisError> {
                Decision::Write(vec![write.clone()], ())
            };
            match self.0.run_in(LANE, Plan { ask: vec![], decide }).await {
                Ok(_) | Err(Refused::Decision(_)) => left -= some,
                Err(Refused::Store(error)) => return Err(error),
            }
        }
        Ok(rows)
    }

    async fn number(&self, sql: Sql) -> Result<i64, StoreError> {
        let rows = self.0.scan(sql).await?;
        Ok(rows.first().and_then(|row| row.first()?.as_integer()).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use homeroom_testkit::trial;
    use serde_json::json;

    use super::*;
    use crate::apis::Apis;
    use crate::definition::{Plan as LimitPlan, Published};
    use crate::quota::Per;

    const DAY: i64 = 86_400_000_000;

    /// Publishes plans of these names, and nothing else. Returns their counters.
    async fn publish(rows: &Rows, names: &[&str]) -> Vec<CounterId> {
        let mut published = Published::default();
        for name in names {
            let plan = json!({"name": name, "quota": "10/month"});
            published.definition.plans.push(serde_json::from_value(plan).unwrap());
        }
        Apis::new(rows.0.clone()).apply(published.clone()).await.unwrap();
        let plans = published.definition.plans.iter();
        plans.map(|plan: &LimitPlan| CounterId::of_plan(plan, Per::Month)).collect()
    }

    fn difference(caller: &str, unit: (i64, i64), calls: i64) -> Difference {
        Difference { caller: caller.into(), unit, calls }
    }

    async fn add(rows: &Rows, id: &CounterId, all: &[Difference]) {
        for some in all.chunks(CALLERS_AT_ONCE) {
            let some: Vec<_> = some.iter().map(|one| (id, one.clone())).collect();
            rows.add_use(&some).await.unwrap();
        }
    }

    /// Returns the rows of an owner and those after it: owner, caller and calls.
    async fn used(rows: &Rows, owner: &str, now: i64) -> Vec<(String, String, i64)> {
        let (mut all, mut after) = (vec![], UseKey::before(&("plan".into(), owner.into())));
        loop {
            let page = rows.used_after(&after, Timestamp(now)).await.unwrap();
            if let Some((last, _)) = page.rows.last() {
                after = last.clone();
            }
            all.extend(page.rows.into_iter().map(|(key, calls)| (key.owner.1, key.caller, calls)));
            if page.is_last {
                return all;
            }
        }
    }

    #[tokio::test]
    async fn beyond_the_most_rows_those_with_the_fewest_calls_go() {
        for (name, store) in trial::on_each(&[]).unwrap() {
            let rows = Rows(store);
            let id = &publish(&rows, &["p"]).await[0];
            let callers: Vec<Difference> = (0..600)
                .map(|number| difference(&format!("{number:03}"), (7, 3 * DAY), number % 60 + 1))
                .collect();
            add(&rows, id, &callers).await;
            add(&rows, id, &[difference("", (1, DAY), 99)]).await;

            let too_early = rows.sweep_use(Timestamp(2 * DAY - 1), 601).await.unwrap();
            let swept = rows.sweep_use(Timestamp(2 * DAY), 550).await.unwrap();

            assert_eq!(too_early, 601, "{name}: a clock that is ahead removes nothing");
            assert_eq!(swept, 550, "{name}");
            let left = used(&rows, "p", 0).await;
            assert_eq!(left.len(), 550, "{name}");
            assert!(
                left.iter().all(|(_, caller, calls)| *calls > 5 && !caller.is_empty()),
                "{name}"
            );
        }
    }

    #[tokio::test]
    async fn all_callers_are_read_page_by_page_and_their_sums_are_told() {
        for (name, store) in trial::on_each(&[]).unwrap() {
            let rows = Rows(store);
            let ids = publish(&rows, &["p", "q"]).await;
            let mut callers: Vec<Difference> =
                (0..2_100).map(|number| difference(&number.to_string(), (7, 100), 1)).collect();
            callers.push(difference("", (7, 100), 5));
            add(&rows, &ids[0], &callers).await;
            add(&rows, &ids[0], &[difference("over", (1, 7), 5)]).await;

            let of_both = [
                (&ids[0], callers[2_099].clone()),
                (&ids[1], callers[2_099].clone()),
                (&ids[0], callers[2_100].clone()),
            ];
            let sums = rows.add_use(&of_both).await.unwrap();

            let read = used(&rows, "p", 7).await;
            assert_eq!(sums, [2, 1, 10], "{name}");
            assert_eq!(read.len(), 2_102, "{name}");
            assert_eq!(read[0], ("p".into(), String::new(), 10), "{name}");
            assert_eq!(used(&rows, "q", 7).await, [("q".into(), "2099".into(), 1)], "{name}");
        }
    }

    #[tokio::test]
    async fn rows_of_what_is_withdrawn_are_not_found_again_and_are_swept() {
        for (name, store) in trial::on_each(&[]).unwrap() {
            let rows = Rows(store);
            let ids = publish(&rows, &["p", "q"]).await;
            let callers: Vec<Difference> =
                (0..300).map(|number| difference(&number.to_string(), (7, DAY), 4)).collect();
            add(&rows, &ids[0], &callers).await;
            add(&rows, &ids[1], &callers[..1]).await;

            publish(&rows, &["q"]).await;
            add(&rows, &ids[0], &callers).await;
            let withdrawn = used(&rows, "p", 7).await;
            publish(&rows, &["p", "q"]).await;
            let again = used(&rows, "p", 7).await;
            let sums = rows.add_use(&[(&ids[0], callers[0].clone())]).await.unwrap();
            let left = rows.sweep_use(Timestamp(8), ROWS_MAX).await.unwrap();

            let of_q = [("q".to_owned(), "0".to_owned(), 4)];
            assert_eq!(withdrawn, of_q, "{name}");
            assert_eq!(again, of_q, "{name}");
            assert_eq!((sums, left), (vec![4], 2), "{name}");
            assert_eq!(used(&rows, "p", 7).await.len(), 2, "{name}");
        }
    }
}
