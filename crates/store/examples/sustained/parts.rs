//! Commits of courses at a fixed rate, with the rows that real ones have.

use std::sync::Arc;
use std::time::{Duration, Instant};

use homeroom_store::{Answer, Ask, Decide, Decision, Lane, Plan, Sql, Store, Value, Write};
use tokio::task::JoinSet;

use crate::figures::Figures;

/// The lane of courses.
const LANE: Lane = Lane::new("course");
/// How long a learner waits from one commit to the next, in seconds.
const INTERVAL: u64 = 20;
/// Pause between two moments at which commits are sent.
const TICK: Duration = Duration::from_millis(2);
/// Seconds of commits that may be under way before it is said that the rate is not held.
const LATE_MAX: u64 = 5;
/// Bytes of the state of an activity.
const STATE_BYTES: usize = 1_500;

const ADD: &str = "INSERT INTO course_registration (id, instance, course, version, learner, created, \
     updated, progress, settings, tags, postback) VALUES (?1, 0, 'c', 0, 'l', 0, 0, '{}', '{}', '[]', '')";
const REGISTRATION: &str = "SELECT progress, first_access, completed FROM course_registration \
     WHERE id = ?1 AND instance = ?2";
const ACTIVITY: &str = "SELECT state FROM course_activity \
     WHERE registration = ?1 AND instance = ?2 AND activity = ?3";
const SAVE: &str = "UPDATE course_registration SET progress = ?3, updated = ?4, last_access = ?4 \
     WHERE id = ?1 AND instance = ?2";
const STATE: &str = "INSERT INTO course_activity (registration, instance, activity, state) \
     VALUES (?1, ?2, ?3, ?4) \
     ON CONFLICT (registration, instance, activity) DO UPDATE SET state = excluded.state";

/// The learners who commit.
pub struct Parts {
    learners: u64,
    /// The commits so far, in all periods.
    sent: u64,
}

impl Parts {
    /// Registers as many learners as make the rate at their interval, each with a first commit.
    pub fn prepare(store: &Store, rate: u64) -> Result<Self, String> {
        let learners = rate * INTERVAL;
        let all: Vec<u64> = (0..learners).collect();
        for some in all.chunks(1_000) {
            let plans = some.iter().map(|learner| {
                let id = id(*learner);
                let add = Write::Rows(LANE.rows(&id), Sql::new(ADD, vec![id.into()]));
                let decide = move |_: Vec<Answer>| -> Decision<(), String> {
                    Decision::Write(vec![add.clone()], ())
                };
                Plan { ask: vec![], decide }
            });
            for outcome in store.submit_in(LANE, plans.collect()).wait() {
                outcome.map_err(|refused| format!("{refused:?}"))?;
            }
            let plans = some.iter().map(|learner| plan(id(*learner), 0));
            for outcome in store.submit_in(LANE, plans.collect()).wait() {
                outcome.map_err(|refused| format!("{refused:?}"))?;
            }
        }
        Ok(Self { learners, sent: 0 })
    }

    /// Sends commits at a rate, however long they take, and notes their times from the moment at
    /// which each was due.
    pub async fn commit(
        &mut self,
        store: &Store,
        rate: u64,
        end: Instant,
        figures: &Arc<Figures>,
    ) -> Result<(), String> {
        let (begun, mut sent) = (Instant::now(), 0);
        let earlier = self.sent;
        let mut under_way = JoinSet::new();
        while Instant::now() < end {
            let due = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX) * rate;
            while sent < due / 1_000_000 {
                let due = begun + Duration::from_micros(sent * 1_000_000 / rate);
                let (store, figures) = (store.clone(), Arc::clone(figures));
                self.sent = earlier + sent + 1;
                let plan = plan(id(self.sent % self.learners), self.sent);
                under_way.spawn(async move {
                    let ran = store.run_in(LANE, plan).await;
                    figures.parts.note(due);
                    ran.map(drop).map_err(|refused| format!("a commit: {refused:?}"))
                });
                sent += 1;
            }
            while let Some(ended) = under_way.try_join_next() {
                ended.map_err(|error| error.to_string())??;
            }
            if under_way.len() as u64 > rate * LATE_MAX {
                return Err(format!("{} commits are under way: too many", under_way.len()));
            }
            tokio::time::sleep(TICK).await;
        }
        while let Some(ended) = under_way.join_next().await {
            ended.map_err(|error| error.to_string())??;
        }
        Ok(())
    }
}

fn id(learner: u64) -> String {
    format!("registration {learner:08}")
}

/// Reads the registration and its activity, and writes both.
fn plan(id: String, number: u64) -> Plan<impl Decide<Done = (), Refusal = String>> {
    let rows = LANE.rows(&id);
    let key = |last: Option<Value>| {
        let first = [Value::from(id.as_str()), Value::from(0)];
        first.into_iter().chain(last).collect::<Vec<_>>()
    };
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    let ask = vec![
        Ask::Rows(rows, Sql::new(REGISTRATION, key(None))),
        Ask::Rows(rows, Sql::new(ACTIVITY, key(Some("lesson".into())))),
    ];
    let (mut save, mut state) = (key(None), key(Some("lesson".into())));
    save.extend([Value::from(format!("{{\"sequence\":{number}}}")), Value::from(number)]);
    state.push(format!("{{\"n\":{number},\"data\":\"{}\"}}", "x".repeat(STATE_BYTES)).into());
    let writes =
        vec![Write::Rows(rows, Sql::new(SAVE, save)), Write::Rows(rows, Sql::new(STATE, state))];
    let decide = move |found: Vec<Answer>| -> Decision<(), String> {
        match found.first() {
            Some(Answer::Rows(rows)) if rows.len() == 1 => Decision::Write(writes.clone(), ()),
            other => Decision::Refuse(format!("no registration: {other:?}")),
        }
    };
    Plan { ask, decide }
}
