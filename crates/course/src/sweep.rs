//! Removes what was kept long enough: links that have ended, calls of old launches, forgotten notices.

use homeroom_store::ChangedAt;

use crate::courses::Courses;
use crate::error::Error;
use crate::launch_record::GRACE;
use crate::options::micros;
use crate::row::{Columns, write};
use crate::sql;

/// Rows that one transaction removes.
const AT_A_TIME: i64 = 500;
/// States of an older Homeroom that one sweep gives rows of their own.
const STATES_MAX: usize = 10_000;
/// How long a notice is kept that could not be sent: as long as its job.
const NOTICES_KEPT: i64 = 31 * 86_400 * 1_000_000;

/// What a sweep has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Sessions that have ended by silence.
    pub sessions: usize,
    /// Launches that were removed.
    pub launches: usize,
    /// Transactions that have removed calls of launches.
    pub traces: usize,
    /// States of an older Homeroom whose interactions have got rows: perhaps not all of them yet.
    pub carried: usize,
}

impl Courses {
    /// Ends silent sessions, removes what was kept long enough, and finishes what an upgrade has left to do.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn sweep(&self, now: ChangedAt) -> Result<Swept, Error> {
        let sessions = self.end_silent_sessions(now).await?;
        let kept = micros(self.options.launches_kept).max(GRACE);
        let mut launches = self.remove_launches(sql::PREVIEWS_OLD, now.0 - GRACE).await?;
        launches += self.remove_launches(sql::LAUNCHES_OLD, now.0.saturating_sub(kept)).await?;
        let traces = self.remove_traces(now.0).await?;
        let old = vec![(now.0 - NOTICES_KEPT).into()];
        if self.row(sql::NOTICE_OLD, old.clone()).await?.is_some() {
            self.write(vec![write(sql::NOTICES_EXPIRE, old)]).await?;
        }
        // Last, as there may be many.
        let carried = self.carry_items(STATES_MAX).await?;
        Ok(Swept { sessions, launches, traces, carried })
    }

    async fn remove_launches(&self, which: &'static str, before: i64) -> Result<usize, Error> {
        let mut count = 0;
        loop {
            let rows = self.list(which, vec![before.into(), AT_A_TIME.into()]).await?;
            let mut writes = vec![];
            for row in &rows {
                let mut row = Columns::of(row, "a launch");
                writes.push(write(sql::LAUNCH_DELETE, vec![row.text()?.into()]));
                let id = row.text()?;
                writes.push(write(sql::TRACE_OF_LAUNCH_DELETE, vec![id.as_str().into()]));
                writes.push(write(sql::SESSION_ENDED, vec![id.into()]));
            }
            if rows.is_empty() {
                return Ok(count);
            }
            count += rows.len();
            self.write(writes).await?;
        }
    }

    async fn remove_traces(&self, now: i64) -> Result<usize, Error> {
        let before = now.saturating_sub(micros(self.options.traces_kept));
        // Ids begin with their time in milliseconds.
        let first = format!("{:012x}", before.max(0) / 1_000);
        let mut count = 0;
        while self.row(sql::TRACES_OLD, vec![first.as_str().into()]).await?.is_some() {
            let arguments = vec![first.as_str().into(), AT_A_TIME.into()];
            self.write(vec![write(sql::TRACES_EXPIRE, arguments)]).await?;
            count += 1;
        }
        Ok(count)
    }
}
