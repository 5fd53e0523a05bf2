//! Plans of one lane: rows of a part, which need no order with documents.

use tokio::sync::oneshot;

use crate::errand::Errand;
use crate::error::StoreError;
use crate::lane::Lane;
use crate::plan::{Decide, Plan, Ran, Refused};
use crate::store::handle::{Engine, Store};
use crate::store::job::{Job, Outcome, PlanJob, all_of, outside};
use crate::store::submitted::Submitted;

impl Store {
    /// Runs a plan that asks for and writes nothing but rows of a lane, or of lanes that come later
    /// in the alphabet: all of it, durably, or none. Where the database permits, it waits neither
    /// for documents nor for lanes that it does not need. A plan that is abandoned before its turn
    /// is not run.
    ///
    /// # Errors
    ///
    /// [`Refused`]: the plan's own refusal, or the store's error; [`StoreError::Failed`] where the
    /// plan leaves its lane.
    pub async fn run_in<D: Decide>(
        &self,
        lane: Lane,
        plan: Plan<D>,
    ) -> Result<Ran<D::Done>, Refused<D::Refusal>> {
        if !all_of(lane, &plan.ask) {
            return Err(outside());
        }
        let (reply, answer) = oneshot::channel();
        let (errand, _waiting) = Errand::awaited();
        let job = PlanJob::new(vec![plan], errand, move |outcomes: Vec<Outcome<D>>| {
            _ = reply.send(outcomes);
        });
        let job = Box::new(job.in_lane(lane));
        match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.writer.offer(job)?,
            Engine::Postgres(postgres) => postgres.offer_in(lane, job)?,
        }
        let mut outcomes = answer.await.map_err(|_| StoreError::Closed)?;
        outcomes.pop().unwrap_or(Err(Refused::Store(StoreError::Closed)))
    }

    /// Does the same for many plans, one after the other and independently, on a thread that may
    /// block. Waits for room in the queue, and not for the outcomes.
    pub fn submit_in<D: Decide>(&self, lane: Lane, plans: Vec<Plan<D>>) -> Submitted<D> {
        let count = plans.len();
        if !plans.iter().all(|plan| all_of(lane, &plan.ask)) {
            let error = StoreError::Failed("a plan of a lane asks for something else".into());
            return Submitted { count, answer: Err(error) };
        }
        let (reply, answer) = std::sync::mpsc::sync_channel(1);
        let reply = move |outcomes: Vec<Outcome<D>>| _ = reply.send(outcomes);
        let job: Box<dyn Job> =
            Box::new(PlanJob::new(plans, Errand::default(), reply).in_lane(lane));
        let pushed = match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.writer.push(job),
            Engine::Postgres(postgres) => postgres.push_in(lane, job),
        };
        Submitted { count, answer: pushed.map(|()| answer) }
    }
}
