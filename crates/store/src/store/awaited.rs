//! Plans of a request in a writer's queue.

use tokio::sync::oneshot;

use crate::errand::{Errand, Waiting};
use crate::error::StoreError;
use crate::plan::{Decide, Plan, Refused};
use crate::store::handle::{Engine, Store};
use crate::store::job::{Outcome, PlanJob};

/// Plans in a writer's queue that are run only while somebody waits for them: those that have not
/// begun when the value is dropped are not run.
pub struct Awaited<D: Decide> {
    /// Number of plans.
    count: usize,
    /// Where the outcomes arrive, unless the writer took no more plans.
    answer: Result<oneshot::Receiver<Vec<Outcome<D>>>, StoreError>,
    _waiting: Waiting,
}

impl<D: Decide> Awaited<D> {
    /// Waits for the outcomes, which are in the order of the plans. Those of plans that were run are
    /// on disk.
    pub async fn outcomes(self) -> Vec<Outcome<D>> {
        let answered = match self.answer {
            Ok(answer) => answer.await.map_err(|_| StoreError::Closed),
            Err(error) => Err(error),
        };
        answered.unwrap_or_else(|error| {
            (0..self.count).map(|_| Err(Refused::Store(error.clone()))).collect()
        })
    }
}

impl Store {
    /// Puts plans into the writer's queue, to be run one after the other, independently: a refused
    /// plan does not affect the others. Waits for room in the queue on a thread that may block; the
    /// outcomes are awaited later.
    pub fn begin_all_blocking<D: Decide>(&self, plans: Vec<Plan<D>>) -> Awaited<D> {
        let count = plans.len();
        let (reply, answer) = oneshot::channel();
        let (errand, waiting) = Errand::awaited();
        let job =
            PlanJob::new(plans, errand, move |outcomes: Vec<Outcome<D>>| _ = reply.send(outcomes));
        let pushed = match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.writer.push(Box::new(job)),
            Engine::Postgres(postgres) => postgres.push(Box::new(job)),
        };
        Awaited { count, answer: pushed.map(|()| answer), _waiting: waiting }
    }
}
