//! Ends what has waited too long, and removes what has been kept long enough.

use homeroom_http::Problem;
use homeroom_jobs::State;
use homeroom_store::{ChangedAt, Sql};

use crate::end::{expire, give_up, remove};
use crate::limits::SWEPT_MAX;
use crate::operation::operation;
use crate::refused::of_store;
use crate::service::BulkService;
use crate::sql;

impl BulkService {
    /// Ends operations whose upload was not completed in time or whose job has ended without them,
    /// and removes those that have ended long ago. Returns how many there were.
    ///
    /// # Errors
    ///
    /// The store's or the jobs', as a problem.
    pub async fn sweep(&self, now: ChangedAt) -> Result<usize, Problem> {
        let arguments = vec![now.0.into(), SWEPT_MAX.into()];
        let rows = self.store().look_up(Sql::new(sql::DUE, arguments)).await.map_err(of_store)?;
        for row in &rows {
            let due = operation(row).map_err(of_store)?;
            if due.status.is_open() {
                expire(self, &due, now).await?;
            } else if !due.status.is_with_job() {
                remove(self, &due, now).await?;
            } else {
                let job = match due.job {
                    Some(id) => self.jobs.find(id).await.map_err(of_store)?,
                    None => None,
                };
                let has_ended =
                    job.is_none_or(|job| matches!(job.state, State::Dead | State::Cancelled));
                if has_ended {
                    give_up(self, &due, now).await?;
                }
            }
        }
        Ok(rows.len())
    }
}
