//! One plan: ask, decide, write, in a savepoint of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::StoreError;
use crate::plan::{Answer, Ask, Decide, Decision, Plan, ROUNDS_MAX, Ran, Refused, Write};
use crate::sqlite::probe;
use crate::sqlite::value::rows;
use crate::sqlite::writer::Writer;

impl Writer {
    /// Runs one plan. The inner result is the plan's own; the outer is the transaction's.
    #[expect(clippy::type_complexity, reason = "two ways to fail are two results")]
    pub(crate) fn run_plan<D: Decide>(
        &mut self,
        mut plan: Plan<D>,
    ) -> Result<Result<Ran<D::Done>, Refused<D::Refusal>>, StoreError> {
        let mut ask = std::mem::take(&mut plan.ask);
        for _ in 0..ROUNDS_MAX {
            let found = match ask.iter().map(|ask| self.answer(ask)).collect::<Result<_, _>>() {
                Ok(found) => found,
                // Damage has taken the whole transaction with it.
                Err(error) if self.connection.is_autocommit() => return Err(error),
                Err(error) => return Ok(Err(Refused::Store(error))),
            };
            // A fault in one decision must not reach its neighbours; nothing is written yet.
            let decided = catch_unwind(AssertUnwindSafe(|| plan.decide.decide(found)));
            let Ok(decision) = decided else {
                let error = StoreError::Failed("a decision panicked".into());
                return Ok(Err(Refused::Store(error)));
            };
            match decision {
                Decision::Refuse(refusal) => return Ok(Err(Refused::Decision(refusal))),
                Decision::Ask(more) => ask = more,
                Decision::Write(writes, value) if writes.is_empty() => {
                    return Ok(Ok(Ran { value, change_version: 0 }));
                }
                Decision::Write(writes, value) => {
                    return Ok(match self.write_all(writes)? {
                        Ok(change_version) => Ok(Ran { value, change_version }),
                        Err(error) => Err(Refused::Store(error)),
                    });
                }
            }
        }
        Ok(Err(Refused::Store(StoreError::Failed("a plan asked too many rounds".into()))))
    }

    fn write_all(&mut self, writes: Vec<Write>) -> Result<Result<i64, StoreError>, StoreError> {
        let before = (self.last_id, self.last_change_version);
        let mut tally = vec![];
        self.connection.prepare_cached("SAVEPOINT plan")?.execute([])?;
        let done: Result<(), StoreError> =
            writes.into_iter().try_for_each(|write| self.write(write, &mut tally));
        match done {
            Ok(()) => {
                self.connection.prepare_cached("RELEASE plan")?.execute([])?;
                for (place, n) in tally {
                    *self.tally.entry(place).or_default() += n;
                }
                let is_changed = self.last_change_version > before.1;
                Ok(Ok(if is_changed { self.last_change_version } else { 0 }))
            }
            // A full disk or an I/O error has taken the whole transaction with it.
            Err(error) if self.connection.is_autocommit() => Err(error),
            Err(error) => {
                self.connection.execute_batch("ROLLBACK TO plan; RELEASE plan")?;
                (self.last_id, self.last_change_version) = before;
                Ok(Err(error))
            }
        }
    }

    fn answer(&self, ask: &Ask) -> Result<Answer, StoreError> {
        let connection = &self.connection;
        Ok(match ask {
            Ask::Document(key) => Answer::Document(probe::by_key(connection, *key)?),
            Ask::DocumentByUuid(uuid) => Answer::Document(probe::by_uuid(connection, *uuid)?),
            Ask::Target(key) => Answer::Target(probe::target(connection, *key)?),
            Ask::Referrers(id) => Answer::Referrers(probe::referrers(connection, *id)?),
            Ask::Sql(sql) => Answer::Rows(rows(connection, sql)?),
        })
    }
}
