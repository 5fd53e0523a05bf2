//! Runs one plan: ask, decide, write.

use crate::error::StoreError;
use crate::id::NaturalKey;
use crate::plan::{ACCESS_VERSION, Answer, Ask, Target};
use crate::row::Row;
use crate::sqlite::probe;
use crate::sqlite::select::passed;
use crate::sqlite::value::rows;
use crate::sqlite::writer::Writer;
use crate::store::{Job, Step};
use crate::tie::{Reached, Start, Way};

impl Writer {
    /// Runs the plans of a job. An error means that the whole transaction is lost.
    pub(super) fn run(&mut self, job: &mut dyn Job) -> Result<(), StoreError> {
        (0..job.count()).try_for_each(|plan| self.run_plan(job, plan))
    }

    fn run_plan(&mut self, job: &mut dyn Job, plan: usize) -> Result<(), StoreError> {
        let mut ask = job.begin(plan, false);
        loop {
            let found = match ask.iter().map(|ask| self.answer(ask)).collect::<Result<_, _>>() {
                Ok(found) => found,
                // Damage has rolled the whole transaction back.
                Err(error) if self.connection.is_autocommit() => return Err(error),
                Err(error) => {
                    job.end(plan, Err(error));
                    return Ok(());
                }
            };
            match job.decide(plan, found) {
                Step::Ended => return Ok(()),
                Step::Ask(more) => ask = more,
                Step::Write(writes) => {
                    let done = if writes.is_empty() { Ok(0) } else { self.write_all(writes)? };
                    job.end(plan, done);
                    return Ok(());
                }
            }
        }
    }

    fn target(&mut self, key: NaturalKey) -> Result<Option<Target>, StoreError> {
        if let Some(target) = self.targets.get(key) {
            return Ok(Some(target));
        }
        let found = probe::target(&self.connection, key)?;
        if let Some(target) = found {
            self.targets.found(key, target);
        }
        Ok(found)
    }

    /// Returns the version of clients and their rights. It is read once after each statement that
    /// may have changed it.
    fn access_version(&mut self) -> Result<i64, StoreError> {
        if let Some(version) = self.access_version {
            return Ok(version);
        }
        let version = self.connection.query_row(ACCESS_VERSION, [], |row| row.get(0))?;
        self.access_version = Some(version);
        Ok(version)
    }

    /// Follows a way; its start is often a target that was looked up before.
    fn reach(&mut self, start: Start, way: &Way) -> Result<Reached, StoreError> {
        let start = match start {
            Start::Document(key) => match self.target(key)? {
                Some((id, ..)) => id.0,
                None => return Ok(Reached::default()),
            },
            Start::Number(number) => number,
        };
        self.ties.reach(&self.connection, start, way)
    }

    fn document(&mut self, key: NaturalKey) -> Result<Option<Row>, StoreError> {
        let found = probe::by_key(&self.connection, key)?;
        if found.is_none() {
            self.recent.note_absent(key);
        }
        Ok(found)
    }

    fn answer(&mut self, ask: &Ask) -> Result<Answer, StoreError> {
        let connection = &self.connection;
        Ok(match ask {
            Ask::Document(key) => Answer::Document(self.document(*key)?),
            Ask::DocumentByUuid(uuid) => Answer::Document(probe::by_uuid(connection, *uuid)?),
            Ask::Target(key) => Answer::Target(self.target(*key)?),
            Ask::Referrers(id) => Answer::Referrers(probe::referrers(connection, *id)?),
            Ask::Reach(start, way) => Answer::Reached(self.reach(*start, way)?),
            Ask::Test(start, test) => Answer::Passed(passed(connection, *start, test)?),
            Ask::AccessVersion => Answer::AccessVersion(self.access_version()?),
            Ask::Part(sql) | Ask::Rows(_, sql) | Ask::Sql(sql) => {
                Answer::Rows(rows(connection, sql)?)
            }
        })
    }
}
