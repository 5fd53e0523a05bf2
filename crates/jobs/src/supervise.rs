//! One attempt at a job: its handler runs in a task of its own, and its end is recorded.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use homeroom_store::ChangedAt;
use serde_json::Value;

use crate::handler::Failed;
use crate::job::Progress;
use crate::jobs::Jobs;
use crate::kind::Kind;
use crate::lease::Lease;
use crate::outcome::Outcome;
use crate::running::{Order, Running, Stop, Told, take};

/// Longest wait until a handler that is ended has ended.
const END: Duration = Duration::from_secs(1);
/// Pause before the outcome is recorded again, where the store could not.
const PAUSE: Duration = Duration::from_secs(1);

/// An attempt at a job.
pub(crate) struct Attempt {
    pub(crate) jobs: Jobs,
    pub(crate) kind: Kind,
    pub(crate) lease: Lease,
    pub(crate) told: Told,
    pub(crate) orders: watch::Receiver<Option<Order>>,
    /// Returns the present moment.
    pub(crate) now: fn() -> ChangedAt,
}

/// How a handler ended; [`None`] if it was ended from outside.
type Ended = Option<Result<Result<Value, Failed>, JoinError>>;

impl Attempt {
    /// Runs the handler and records how it ended. Returns the lease.
    pub(crate) async fn run(mut self, running: Running) -> Lease {
        let id = self.lease.id;
        let ended = self.handle(running).await;
        let stop = self.orders.borrow().map(|order| order.stop);
        if stop == Some(Stop::LeaseLost) {
            tracing::warn!(job = %id, kind = self.kind.name, "a job's lease was lost");
            return self.lease;
        }
        let outcome = outcome(&self.kind, self.lease.attempt, ended, stop);
        match &outcome {
            Outcome::Failed { error, pause } => {
                let (attempt, is_dead) = (self.lease.attempt, pause.is_none());
                tracing::warn!(job = %id, kind = self.kind.name, attempt, is_dead, error, "a job failed");
            }
            Outcome::Done(_) | Outcome::GivenBack | Outcome::Cancelled => {
                tracing::debug!(job = %id, kind = self.kind.name, "a job ended");
            }
        }
        self.record(outcome).await;
        self.lease
    }

    /// Runs the handler to its end, or a little longer than it is allowed to.
    async fn handle(&mut self, running: Running) -> Ended {
        // A set ends its tasks when it is dropped.
        let mut task = JoinSet::new();
        let handler = Arc::clone(&self.kind.handler);
        task.spawn(async move { handler.run(running).await });
        let order = async {
            match self.orders.wait_for(Option::is_some).await.map(|order| *order) {
                Ok(Some(order)) => order.within,
                Ok(None) | Err(_) => Duration::ZERO,
            }
        };
        let within = tokio::select! {
            ended = task.join_next() => return ended,
            within = order => within,
        };
        match timeout(within, task.join_next()).await {
            Ok(ended) => ended,
            Err(_) => {
                _ = timeout(END, task.shutdown()).await;
                None
            }
        }
    }

    /// Records the outcome; while the store cannot, it tries again as long as the lease holds.
    async fn record(&mut self, outcome: Outcome) {
        let told: Option<Progress> = take(&self.told);
        loop {
            let (lease, now) = (self.lease.clone(), (self.now)());
            let error = match self.jobs.end(lease, told.clone(), outcome.clone(), now).await {
                Ok(true) => return,
                Ok(false) => {
                    tracing::warn!(job = %self.lease.id, "a job's lease was lost at its end");
                    return;
                }
                Err(error) => error,
            };
            tracing::warn!(job = %self.lease.id, %error, "a job's end is not stored yet");
            tokio::time::sleep(PAUSE).await;
            if self.orders.borrow().is_some_and(|order| order.stop == Stop::LeaseLost) {
                return;
            }
        }
    }
}

fn outcome(kind: &Kind, attempt: u32, ended: Ended, stop: Option<Stop>) -> Outcome {
    let again = |error: String| {
        let pause = (attempt < kind.attempts_max).then(|| kind.pause_after(attempt));
        Outcome::Failed { error, pause }
    };
    match (ended, stop) {
        (Some(Ok(Ok(result))), _) => Outcome::Done(result),
        (_, Some(Stop::Cancelled)) => Outcome::Cancelled,
        (Some(Ok(Err(Failed::GivenBack))), None) => {
            again("it was given back without a reason".into())
        }
        (Some(Ok(Err(Failed::Again(error)))), _) => again(error),
        (Some(Ok(Err(Failed::ForGood(error)))), _) => Outcome::Failed { error, pause: None },
        // Its words may be anybody's values.
        (Some(Err(error)), _) if error.is_panic() => again("its handler panicked".into()),
        (Some(Ok(Err(Failed::GivenBack))), Some(_)) | (Some(Err(_)) | None, _) => {
            Outcome::GivenBack
        }
    }
}
