//! Plans as a job of an engine's writer, which does not know their types.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::errand::Errand;
use crate::error::StoreError;
use crate::lane::Lane;
use crate::plan::{Answer, Ask, Decide, Decision, Plan, ROUNDS_MAX, Ran, Refused, Write};
use crate::waiting::{Busy, QueueName};

/// The outcome of one plan.
pub(super) type Outcome<D> = Result<Ran<<D as Decide>::Done>, Refused<<D as Decide>::Refusal>>;

/// Plans that run in one transaction.
pub(crate) trait Job: Send {
    /// Returns the number of plans.
    fn count(&self) -> usize;

    /// Returns the number of whoever asked for it.
    fn owner(&self) -> u64;

    /// Returns whether its deadline has passed.
    fn is_late(&self) -> bool;

    /// Returns whether a caller still waits for it; otherwise it is not started. One that is late
    /// gets that as its outcome.
    fn is_wanted(&mut self) -> bool;

    /// Starts a plan from its beginning and returns its first questions; a plan that is kept can be
    /// started again.
    fn begin(&mut self, plan: usize, keep: bool) -> Vec<Ask>;

    /// Lets a plan decide on the answers. A panic in a decision ends its plan and no other.
    fn decide(&mut self, plan: usize, found: Vec<Answer>) -> Step;

    /// Records the outcome of a plan's writes: the change version, or the error.
    fn end(&mut self, plan: usize, done: Result<i64, StoreError>);

    /// Answers, after the commit or its failure.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

/// The next step of a plan.
pub(crate) enum Step {
    /// Ask more questions.
    Ask(Vec<Ask>),
    /// Write this, all of it or none.
    Write(Vec<Write>),
    /// Nothing more: the plan was refused.
    Ended,
}

pub(super) struct PlanJob<D: Decide, R> {
    plans: Vec<PlanProgress<D>>,
    /// The lane that the plans keep to.
    lane: Option<Lane>,
    errand: Errand,
    reply: Option<R>,
}

/// One plan and its progress.
struct PlanProgress<D: Decide> {
    plan: Option<Plan<D>>,
    decide: Option<D>,
    rounds: usize,
    value: Option<D::Done>,
    outcome: Outcome<D>,
}

impl<D: Decide, R: FnOnce(Vec<Outcome<D>>) + Send> PlanJob<D, R> {
    pub(super) fn new(plans: Vec<Plan<D>>, errand: Errand, reply: R) -> Self {
        let progress = |plan| PlanProgress {
            plan: Some(plan),
            decide: None,
            rounds: 0,
            value: None,
            outcome: Err(Refused::Store(StoreError::Closed)),
        };
        let plans = plans.into_iter().map(progress).collect();
        Self { plans, lane: None, errand, reply: Some(reply) }
    }

    /// Returns the job of plans that keep to a lane; one that leaves it ends with an error.
    pub(super) fn in_lane(self, lane: Lane) -> Self {
        Self { lane: Some(lane), ..self }
    }
}

impl<D: Decide, R: FnOnce(Vec<Outcome<D>>) + Send> Job for PlanJob<D, R> {
    fn count(&self) -> usize {
        self.plans.len()
    }

    fn owner(&self) -> u64 {
        self.errand.owner()
    }

    fn is_late(&self) -> bool {
        self.errand.is_late()
    }

    fn is_wanted(&mut self) -> bool {
        if !self.errand.is_late() {
            return self.errand.is_wanted();
        }
        for progress in &mut self.plans {
            let late = StoreError::Busy(Busy::Late(QueueName::Writes));
            progress.outcome = Err(Refused::Store(late));
        }
        false
    }

    fn begin(&mut self, plan: usize, keep: bool) -> Vec<Ask> {
        let progress = &mut self.plans[plan];
        let plan = if keep { progress.plan.clone() } else { progress.plan.take() };
        let Plan { ask, decide } = plan.expect("a plan that is begun again was kept");
        (progress.decide, progress.rounds, progress.value) = (Some(decide), 0, None);
        ask
    }

    fn decide(&mut self, plan: usize, found: Vec<Answer>) -> Step {
        let progress = &mut self.plans[plan];
        let decide = progress.decide.as_mut().expect("a plan is begun before it decides");
        progress.rounds += 1;
        let decided = catch_unwind(AssertUnwindSafe(|| decide.decide(found)));
        let lane = self.lane;
        let refusal = match decided {
            Ok(Decision::Ask(more)) if lane.is_some_and(|lane| !all_of(lane, &more)) => outside(),
            Ok(Decision::Write(writes, _))
                if lane.is_some_and(|lane| !writes.iter().all(|write| write.keeps_to(lane))) =>
            {
                outside()
            }
            Ok(Decision::Ask(more)) if progress.rounds < ROUNDS_MAX => return Step::Ask(more),
            Ok(Decision::Write(writes, value)) => {
                progress.value = Some(value);
                return Step::Write(writes);
            }
            Ok(Decision::Ask(_)) => {
                Refused::Store(StoreError::Failed("a plan asked too many rounds".into()))
            }
            Ok(Decision::Refuse(refusal)) => Refused::Decision(refusal),
            Err(_) => Refused::Store(StoreError::Failed("a decision panicked".into())),
        };
        progress.outcome = Err(refusal);
        Step::Ended
    }

    fn end(&mut self, plan: usize, done: Result<i64, StoreError>) {
        let progress = &mut self.plans[plan];
        progress.outcome = match (done, progress.value.take()) {
            (Ok(change_version), Some(value)) => Ok(Ran { value, change_version }),
            (Ok(_), None) => Err(Refused::Store(StoreError::Failed("a plan was not run".into()))),
            (Err(error), _) => Err(Refused::Store(error)),
        };
    }

    fn answer(mut self: Box<Self>, committed: Result<(), StoreError>) {
        let outcomes = self.plans.into_iter().map(|progress| match &committed {
            Ok(()) => progress.outcome,
            Err(error) => Err(Refused::Store(error.clone())),
        });
        let outcomes = outcomes.collect();
        // The places are released before the answer arrives.
        drop(self.errand);
        if let Some(reply) = self.reply.take() {
            reply(outcomes);
        }
    }
}

/// Returns whether a lane may ask all of this.
pub(super) fn all_of(lane: Lane, asks: &[Ask]) -> bool {
    asks.iter().all(|ask| ask.keeps_to(lane))
}

/// Returns the refusal of a plan that leaves its lane.
pub(super) fn outside<E>() -> Refused<E> {
    Refused::Store(StoreError::Failed(
        "a plan of a lane asks for or writes what is not its rows".into(),
    ))
}
