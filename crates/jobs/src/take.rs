//! Takes jobs: each once, over all nodes.

use std::time::Duration;

use homeroom_store::{Answer, Ask, ChangedAt, Decision, Plan, Sql, StoreError, Write};

use crate::error::JobError;
use crate::job::{Job, JobId};
use crate::jobs::Jobs;
use crate::kind::Kind;
use crate::lease::Lease;
use crate::limits::Limits;
use crate::outcome::{Outcome, after, ending};
use crate::row::LANE;
use crate::{row, sql};

/// Why the last attempt of a job failed whose node is gone.
const ABANDONED: &str = "the node that did it stopped before it was done";

/// A job that was taken, and the lease under which.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// The job, as it was before it was taken.
    pub job: Job,
    /// The lease.
    pub lease: Lease,
    /// When the lease ends, unless it is extended.
    pub until: ChangedAt,
}

impl Jobs {
    /// Takes up to `most` jobs of a kind that are due, the next one of each owner. Jobs whose lease
    /// has ended are put back into the queue first, or given up after too many attempts.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn take(
        &self,
        kind: &Kind,
        node: &str,
        most: usize,
        lease: Duration,
        now: ChangedAt,
    ) -> Result<Vec<Taken>, JobError> {
        let due = |text| Sql::new(text, vec![kind.name.into(), now.0.into()]);
        let mut turns = due(sql::TURNS);
        turns.arguments.push(i64::try_from(most).unwrap_or(i64::MAX).into());
        let decide = Taking {
            kind: kind.clone(),
            limits: self.limits,
            node: node.to_owned(),
            until: after(now, lease),
            now,
            chosen: None,
        };
        let ask = [due(sql::ABANDONED), turns].map(|sql| Ask::Rows(LANE.all(), sql)).to_vec();
        self.run(Plan { ask, decide }).await
    }

    /// Ends the leases of all running jobs, so that they are taken over at once. Only for a process that
    /// has the store to itself and runs no job yet: whoever had these jobs is gone.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn end_leases(&self, now: ChangedAt) -> Result<(), JobError> {
        let writes = vec![row::write(LANE.all(), sql::END_LEASES, vec![now.0.into()])];
        let decide = move |_: Vec<Answer>| Decision::<(), JobError>::Write(writes.clone(), ());
        self.run(Plan { ask: vec![], decide }).await
    }

    /// Returns when something is to be done next with the jobs of a kind, if there are any.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn next_due(&self, kind: &Kind) -> Result<Option<ChangedAt>, StoreError> {
        let rows = self.store.look_up(Sql::new(sql::NEXT_DUE, vec![kind.name.into()])).await?;
        Ok(rows.iter().flatten().filter_map(homeroom_store::Value::as_integer).min().map(ChangedAt))
    }
}

/// The decisions of a plan that takes jobs: which ones, then how they are marked.
#[derive(Clone)]
struct Taking {
    kind: Kind,
    limits: Limits,
    node: String,
    until: ChangedAt,
    now: ChangedAt,
    /// How many of the jobs that were asked for have been abandoned; [`None`] in the first round.
    chosen: Option<usize>,
}

impl homeroom_store::Decide for Taking {
    type Done = Vec<Taken>;
    type Refusal = JobError;

    fn decide(&mut self, found: Vec<Answer>) -> Decision<Vec<Taken>, JobError> {
        match self.chosen {
            None => self.choose(found),
            Some(abandoned) => {
                let jobs: Result<Vec<_>, _> =
                    found.into_iter().map(|answer| row::found(Some(answer))).collect();
                match jobs {
                    Ok(jobs) => self.mark(jobs.into_iter().flatten().collect(), abandoned),
                    Err(error) => Decision::Refuse(error.into()),
                }
            }
        }
    }
}

impl Taking {
    fn choose(&mut self, found: Vec<Answer>) -> Decision<Vec<Taken>, JobError> {
        let mut found = found.into_iter();
        let (abandoned, turns) = (row::rows(found.next()), row::rows(found.next()));
        self.chosen = Some(abandoned.len());
        let ids: Option<Vec<JobId>> =
            abandoned.iter().chain(&turns).map(|row| row::id(row.first()?)).collect();
        let Some(ids) = ids else { return Decision::Refuse(row::damaged().into()) };
        if ids.is_empty() {
            return Decision::Write(vec![], vec![]);
        }
        Decision::Ask(ids.into_iter().map(row::ask).collect())
    }

    fn mark(&self, jobs: Vec<Job>, abandoned: usize) -> Decision<Vec<Taken>, JobError> {
        let (mut writes, mut taken) = (vec![], vec![]);
        for (at, job) in jobs.into_iter().enumerate() {
            if at < abandoned {
                writes.push(self.given_up(&job));
                continue;
            }
            let id = job.id.to_string();
            let (until, now) = (self.until, self.now);
            writes.push(row::write(
                LANE.rows(job.id),
                sql::TAKE,
                vec![id.into(), self.node.as_str().into(), until.0.into(), now.0.into()],
            ));
            writes.push(row::write(
                LANE.rows((&job.kind, &job.owner)),
                sql::TURN,
                vec![job.kind.as_str().into(), job.owner.as_str().into(), now.0.into()],
            ));
            let lease = Lease {
                id: job.id,
                node: self.node.clone(),
                attempt: job.attempts.saturating_add(1),
            };
            taken.push(Taken { job, lease, until });
        }
        Decision::Write(writes, taken)
    }

    /// Returns the write for a job whose node is gone: it can be taken at once, unless it has ended
    /// too many nodes.
    fn given_up(&self, job: &Job) -> Write {
        let pause = (job.attempts < self.kind.attempts_max).then_some(Duration::ZERO);
        let outcome = Outcome::Failed { error: ABANDONED.into(), pause };
        ending(job, &outcome, &self.limits, self.now)
    }
}
