//! Queues jobs, alone or in the transaction of another plan.

use homeroom_store::{Answer, Ask, ChangedAt, Decision, Plan, Sql, Uuid, Write};

use crate::error::JobError;
use crate::job::{JobId, NewJob};
use crate::jobs::Jobs;
use crate::limits::{Limits, NAME_BYTES_MAX};
use crate::row::LANE;
use crate::{row, sql};

/// A job that is ready to be written, by [`Jobs::enqueue`] or in a plan of another part.
///
/// Such a plan asks [`Prepared::ask`], gives its answer to [`Prepared::write`] and adds the write to
/// its own: then the job is there if and only if the plan's other writes are. Afterwards it calls
/// [`Jobs::wake`].
#[derive(Debug, Clone)]
pub struct Prepared {
    id: JobId,
    new: NewJob,
    input: String,
    limits: Limits,
    now: ChangedAt,
}

impl Prepared {
    /// Returns the id that the job will have.
    pub fn id(&self) -> JobId {
        self.id
    }

    /// Returns the question whether there is room for the job.
    pub fn ask(&self) -> Ask {
        let sql = Sql::new(sql::WAITING, vec![self.new.owner.as_str().into()]);
        Ask::Rows(LANE.all(), sql)
    }

    /// Returns the write, given the answer to [`Prepared::ask`].
    ///
    /// # Errors
    ///
    /// [`JobError::Full`].
    pub fn write(&self, answer: Option<Answer>) -> Result<Write, JobError> {
        let rows = row::rows(answer);
        let count = |at: usize| {
            let number = rows.first().and_then(|row| row.get(at)?.as_integer());
            number.and_then(|number| u64::try_from(number).ok())
        };
        let (Some(own), Some(all)) = (count(0), count(1)) else {
            return Err(row::damaged().into());
        };
        let Limits { queued_max, queued_of_owner_max, .. } = self.limits;
        if own >= queued_of_owner_max.into() {
            return Err(JobError::Full { whose: "this owner", waiting: own });
        }
        if all >= queued_max.into() {
            return Err(JobError::Full { whose: "all owners", waiting: all });
        }
        let due = self.new.not_before.unwrap_or(self.now);
        let arguments = vec![
            self.id.to_string().into(),
            self.new.kind.as_str().into(),
            self.new.owner.as_str().into(),
            self.input.as_str().into(),
            self.now.0.into(),
            due.0.into(),
        ];
        Ok(row::write(LANE.rows(self.id), sql::ADD, arguments))
    }
}

impl Jobs {
    /// Prepares a job for a plan.
    ///
    /// # Errors
    ///
    /// [`JobError::TooLarge`].
    pub fn prepare(&self, new: NewJob, now: ChangedAt) -> Result<Prepared, JobError> {
        let input = new.input.to_string();
        let sizes = [
            ("kind", new.kind.len(), NAME_BYTES_MAX),
            ("owner", new.owner.len(), NAME_BYTES_MAX),
            ("input", input.len(), self.limits.input_bytes_max),
        ];
        let large = sizes.into_iter().find(|(_, bytes, bytes_max)| bytes > bytes_max);
        if let Some((what, bytes, bytes_max)) = large {
            return self.note(Err(JobError::TooLarge { what, bytes, bytes_max }));
        }
        Ok(Prepared { id: JobId(Uuid::new()), new, input, limits: self.limits, now })
    }

    /// Queues a job durably and wakes the runner of this process.
    ///
    /// # Errors
    ///
    /// [`JobError::Full`], [`JobError::TooLarge`], or the store's.
    pub async fn enqueue(&self, new: NewJob, now: ChangedAt) -> Result<JobId, JobError> {
        let prepared = self.prepare(new, now)?;
        let plan = Plan {
            ask: vec![prepared.ask()],
            decide: move |found: Vec<Answer>| match prepared.write(found.into_iter().next()) {
                Ok(write) => Decision::Write(vec![write], prepared.id()),
                Err(error) => Decision::Refuse(error),
            },
        };
        let id = self.note(self.run(plan).await)?;
        self.wake();
        Ok(id)
    }
}
