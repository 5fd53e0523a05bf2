//! Writes of a plan that fail must not affect other plans of the transaction.
//!
//! A savepoint for each plan would cost every plan a copy of each page that it changes. Writes of
//! documents hardly ever fail, because the plan has asked before. So they have no savepoint: the
//! writes of a transaction are kept until its commit, and if one fails, all before it are repeated
//! in a new transaction. A statement of a part may well violate a constraint; a plan with one has a
//! savepoint. What is remembered of documents survives its failure if it is about a part's rows only.

use crate::error::StoreError;
use crate::plan::Write;
use crate::sqlite::reach::ChangedTies;
use crate::sqlite::writer::Writer;

impl Writer {
    /// Executes the writes of a plan, all or none. Returns its change version, or why it failed.
    ///
    /// # Errors
    ///
    /// The whole transaction is lost.
    pub(super) fn write_all(
        &mut self,
        mut writes: Vec<Write>,
    ) -> Result<Result<i64, StoreError>, StoreError> {
        let before = (self.last_id, self.last_change_version);
        let mark = self.recent.mark();
        let is_parts = |write: &Write| matches!(write, Write::Part(_) | Write::Rows(..));
        let may_fail = writes.iter().any(|write| is_parts(write) || matches!(write, Write::Sql(_)));
        let is_parts_only = writes.iter().all(is_parts);
        if may_fail {
            self.connection.prepare_cached("SAVEPOINT plan")?.execute([])?;
        }
        match self.write_each(&mut writes) {
            Ok(()) => {
                if may_fail {
                    self.connection.prepare_cached("RELEASE plan")?.execute([])?;
                }
                self.written.push(writes);
                let is_changed = self.last_change_version > before.1;
                Ok(Ok(if is_changed { self.last_change_version } else { 0 }))
            }
            // A full disk or an I/O error has rolled the whole transaction back.
            Err(error) if self.connection.is_autocommit() => Err(error),
            Err(error) if may_fail => {
                self.connection.execute_batch("ROLLBACK TO plan; RELEASE plan")?;
                (self.last_id, self.last_change_version) = before;
                self.recent.undo_to(&mark);
                if !is_parts_only {
                    self.targets.forget_all();
                    self.ties.forget();
                    self.access_version = None;
                    self.shared.commits.note_forgetting();
                }
                Ok(Err(error))
            }
            Err(error) => {
                self.repeat()?;
                Ok(Err(error))
            }
        }
    }

    /// Forgets everything that the open transaction may have changed.
    pub(super) fn forget(&mut self) {
        (self.last_id, self.last_change_version) = self.begun;
        self.recent.undo();
        self.tally.clear();
        self.targets.forget_all();
        self.ties.forget();
        self.changed_ties = ChangedTies::default();
        self.access_version = None;
        self.shared.commits.note_forgetting();
    }

    /// Rolls the transaction back, and repeats the writes of all plans before the one that failed.
    fn repeat(&mut self) -> Result<(), StoreError> {
        tracing::debug!(plans = self.written.len(), "a transaction is repeated without one plan");
        self.connection.execute_batch("ROLLBACK; BEGIN IMMEDIATE")?;
        self.forget();
        let mut written = std::mem::take(&mut self.written);
        written.iter_mut().try_for_each(|writes| self.write_each(writes))?;
        self.written = written;
        Ok(())
    }

    fn write_each(&mut self, writes: &mut [Write]) -> Result<(), StoreError> {
        let mut tally = vec![];
        writes.iter_mut().try_for_each(|write| self.write(write, &mut tally))?;
        for (place, n) in tally {
            *self.tally.entry(place).or_default() += n;
        }
        Ok(())
    }
}
