//! Plans as a job of the writer.

use crate::error::StoreError;
use crate::plan::{Decide, Plan, Ran, Refused};
use crate::sqlite;

/// What came of one plan.
pub(super) type Outcome<D> = Result<Ran<<D as Decide>::Done>, Refused<<D as Decide>::Refusal>>;

pub(super) struct PlanJob<D: Decide, R> {
    pub(super) plans: Vec<Plan<D>>,
    pub(super) count: usize,
    pub(super) outcomes: Vec<Outcome<D>>,
    pub(super) reply: Option<R>,
}

impl<D: Decide, R: FnOnce(Vec<Outcome<D>>) + Send> sqlite::Job for PlanJob<D, R> {
    fn run(&mut self, writer: &mut sqlite::Writer) -> Result<(), StoreError> {
        self.outcomes.reserve(self.plans.len());
        for plan in std::mem::take(&mut self.plans) {
            match writer.run_plan(plan) {
                Ok(outcome) => self.outcomes.push(outcome),
                Err(error) => {
                    self.outcomes.push(Err(Refused::Store(error.clone())));
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, committed: Result<(), StoreError>) {
        if let Err(error) = committed {
            self.outcomes = (0..self.count).map(|_| Err(Refused::Store(error.clone()))).collect();
        }
        if let Some(reply) = self.reply.take() {
            reply(self.outcomes);
        }
    }
}
