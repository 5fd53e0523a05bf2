//! The lease under which a node has a job: extended while it works, ended with an outcome.

use homeroom_store::{Answer, Ask, ChangedAt, Decision, Plan};

use crate::error::JobError;
use crate::job::{Job, JobId, Progress, State};
use crate::jobs::Jobs;
use crate::outcome::{Outcome, ending};
use crate::row::LANE;
use crate::{row, sql};

/// A lease: a job, the node that has it, and the attempt for which. A job that was taken again has
/// another lease, even on the same node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The job.
    pub id: JobId,
    /// The node.
    pub node: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
}

/// What a node learns when it extends a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The lease is extended.
    Extended,
    /// The lease is extended, but somebody has cancelled the job.
    Cancelled,
    /// The job is not this node's any more.
    Lost,
}

impl Lease {
    fn ask(&self) -> Ask {
        row::ask(self.id)
    }

    /// Returns the job, if it is still under this lease.
    fn job(&self, answer: Option<Answer>) -> Result<Option<Job>, JobError> {
        let job = row::found(answer)?;
        Ok(job.filter(|job| {
            job.state == State::Running
                && job.node.as_ref() == Some(&self.node)
                && job.attempts == self.attempt
        }))
    }
}

impl Jobs {
    /// Extends leases until a moment and stores what their handlers have told; [`None`] keeps what
    /// is stored. The results are in the order of the leases.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn extend(
        &self,
        leases: Vec<(Lease, Option<Progress>)>,
        until: ChangedAt,
        now: ChangedAt,
    ) -> Result<Vec<Held>, JobError> {
        let limits = self.limits;
        let ask = leases.iter().map(|(lease, _)| lease.ask()).collect();
        let decide = move |found: Vec<Answer>| -> Decision<Vec<Held>, JobError> {
            let (mut writes, mut held) = (vec![], vec![]);
            for ((lease, told), answer) in leases.iter().zip(found) {
                let job = match lease.job(Some(answer)) {
                    Ok(Some(job)) => job,
                    Ok(None) => {
                        held.push(Held::Lost);
                        continue;
                    }
                    Err(error) => return Decision::Refuse(error),
                };
                let told =
                    told.clone().map(|told| Progress { text: limits.cut(&told.text), ..told });
                let progress = told.or(job.progress);
                let progress = progress.and_then(|progress| serde_json::to_string(&progress).ok());
                let id = job.id.to_string();
                let arguments = vec![id.into(), until.0.into(), progress.into(), now.0.into()];
                writes.push(row::write(LANE.rows(job.id), sql::KEEP, arguments));
                held.push(if job.is_unwanted { Held::Cancelled } else { Held::Extended });
            }
            Decision::Write(writes, held)
        };
        self.run(Plan { ask, decide }).await
    }

    /// Ends an attempt. Returns false, and changes nothing, if the job is not under this lease any
    /// more: then another attempt counts.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn end(
        &self,
        lease: Lease,
        told: Option<Progress>,
        outcome: Outcome,
        now: ChangedAt,
    ) -> Result<bool, JobError> {
        let limits = self.limits;
        let ask = vec![lease.ask()];
        let decide = move |found: Vec<Answer>| match lease.job(found.into_iter().next()) {
            Ok(Some(mut job)) => {
                if let Some(told) = told.clone() {
                    job.progress = Some(Progress { text: limits.cut(&told.text), ..told });
                }
                Decision::Write(vec![ending(&job, &outcome, &limits, now)], true)
            }
            Ok(None) => Decision::Write(vec![], false),
            Err(error) => Decision::Refuse(error),
        };
        self.run(Plan { ask, decide }).await
    }
}
