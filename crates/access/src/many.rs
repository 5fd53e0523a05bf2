//! Many plans of one caller at a time, each with the rights that the caller has when it runs.

use homeroom_http::Problem;
use homeroom_store::{Awaited, Decide, Plan, Ran, Refused, Store};

use crate::access::Access;
use crate::caller::{AsOf, Caller, Lapsed};
use crate::client::ApiClient;
use crate::recognized::Recognized;

/// How the plans of a caller are made from what was sent, and what becomes of them.
pub trait Planner: Sync {
    /// What was sent.
    type Sent: Send;
    /// What decides.
    type Decide: Decide;

    /// Authorizes a client and makes the plan.
    ///
    /// # Errors
    ///
    /// Why the client may not do this.
    fn plan(&self, client: &ApiClient, sent: Self::Sent) -> Result<Plan<Self::Decide>, Problem>;

    /// Recovers what was sent from a decision that was not used.
    fn back(&self, decide: Self::Decide) -> Self::Sent;

    /// Turns a refusal of a plan into a problem.
    fn refused(&self, refusal: <Self::Decide as Decide>::Refusal) -> Problem;
}

/// The outcome of one plan.
type Outcome<D> = Result<Ran<<D as Decide>::Done>, Refused<Problem>>;

/// Plans that are on their way to the store.
pub struct Begun<D: Decide> {
    /// The outcomes that are known already.
    outcomes: Vec<Option<Outcome<D>>>,
    /// The places of the others, in the order of `awaited`.
    places: Vec<usize>,
    awaited: Option<Awaited<AsOf<D>>>,
}

impl Caller {
    /// Authorizes and plans what a caller has sent, and puts the plans into the store's queue, on a
    /// thread that may block. What is not authorized has its outcome at once.
    pub fn begin_all<P: Planner>(
        &self,
        access: &Access,
        store: &Store,
        sent: Vec<P::Sent>,
        planner: &P,
    ) -> Begun<P::Decide> {
        let mut begun = Begun { outcomes: vec![], places: vec![], awaited: None };
        let Recognized { client, version } = match self.again(access) {
            Ok(recognized) => recognized,
            Err(problem) => {
                let refused = sent.iter().map(|_| Some(Err(Refused::Decision(problem.clone()))));
                begun.outcomes = refused.collect();
                return begun;
            }
        };
        let mut plans = vec![];
        for (place, sent) in sent.into_iter().enumerate() {
            begun.outcomes.push(match planner.plan(&client, sent) {
                Ok(plan) => {
                    begun.places.push(place);
                    plans.push(AsOf::plan(version, plan));
                    None
                }
                Err(problem) => Some(Err(Refused::Decision(problem))),
            });
        }
        begun.awaited = (!plans.is_empty()).then(|| store.begin_all_blocking(plans));
        begun
    }
}

impl<D: Decide> Begun<D> {
    /// Waits for the outcomes, in the order of what was sent. Plans before which the registry had
    /// changed are authorized again and run one by one.
    ///
    /// # Panics
    ///
    /// Never: each plan either has an outcome or is awaited.
    pub async fn outcomes<P: Planner<Decide = D>>(
        mut self,
        caller: &Caller,
        access: &Access,
        store: &Store,
        planner: &P,
    ) -> Vec<Outcome<D>> {
        let mut lapsed = vec![];
        if let Some(awaited) = self.awaited {
            for (place, outcome) in self.places.into_iter().zip(awaited.outcomes().await) {
                self.outcomes[place] = match outcome {
                    Ok(ran) => Some(Ok(ran)),
                    Err(Refused::Store(error)) => Some(Err(Refused::Store(error))),
                    Err(Refused::Decision(Lapsed::Refused(refusal))) => {
                        Some(Err(Refused::Decision(planner.refused(refusal))))
                    }
                    Err(Refused::Decision(Lapsed::Since(decide))) => {
                        lapsed.push((place, planner.back(*decide)));
                        None
                    }
                };
            }
        }
        for (place, sent) in lapsed {
            let plan = |client: &ApiClient, sent| planner.plan(client, sent);
            let back = |decide| planner.back(decide);
            let refused = |refusal| planner.refused(refusal);
            self.outcomes[place] = Some(caller.run(access, store, sent, plan, back, refused).await);
        }
        let ended = self.outcomes.into_iter();
        ended.map(|outcome| outcome.expect("each plan has an outcome or is awaited")).collect()
    }
}
