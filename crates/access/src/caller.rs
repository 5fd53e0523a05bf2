//! Checks rights again: after a wait, and inside the transaction that writes.
#![expect(clippy::disallowed_methods, reason = "it measures how long the caller has waited")]

use std::time::Instant;

use homeroom_http::{Credential, Problem, Timestamp};
use homeroom_store::{Answer, Ask, Decide, Decision, Plan, Ran, Refused, Store};

use crate::access::Access;
use crate::client::ANY_SCOPE;
use crate::client::{ApiClient, Call, Scope};
use crate::credentials::Credentials;
use crate::error::AccessError;
use crate::recognized::{Recognized, changing};

/// How often a caller is recognized for one request while the registry keeps changing.
const RECOGNIZED_MAX: usize = 20;

/// The caller of a request, who is recognized again after waiting for the body or for a place.
///
/// The front door's recognition is valid for the moment in which the request's head arrived.
#[derive(Debug, Clone)]
pub struct Caller {
    credentials: Credentials,
    /// What the route accepts of them.
    accepts: &'static [Credential],
    scope: &'static str,
    now: Timestamp,
    begun: Instant,
}

impl Caller {
    /// Returns the caller of a request that has just passed the front door.
    pub fn of(call: &Call, scope: Scope) -> Self {
        Self::within(call, scope.name())
    }

    /// Returns the same, on a route for every scope.
    pub(crate) fn of_any_scope(call: &Call) -> Self {
        Self::within(call, ANY_SCOPE)
    }

    fn within(call: &Call, scope: &'static str) -> Self {
        let credentials = Credentials::of(&call.headers).with_certificate(call.certificate);
        let (accepts, now) = (call.accepts, call.now);
        Self { credentials, accepts, scope, now, begun: Instant::now() }
    }

    /// Recognizes the caller as of now.
    ///
    /// # Errors
    ///
    /// The same as [`Access::recognize`].
    pub fn again(&self, access: &Access) -> Result<Recognized, Problem> {
        let passed = i64::try_from(self.begun.elapsed().as_micros()).unwrap_or(i64::MAX);
        let now = Timestamp(self.now.0.saturating_add(passed));
        Ok(access.recognized_by(self.accepts, &self.credentials, self.scope, now)?)
    }

    /// Runs a plan with the rights that the caller has when it runs. `plan` authorizes a client and
    /// makes the plan from `sent`. If the registry changes before the plan runs, `back` recovers
    /// what was sent, and the client is recognized and authorized again. `refused` turns a refusal of
    /// the plan into a problem.
    ///
    /// # Errors
    ///
    /// The errors of [`Access::recognize`], of `plan` and of the plan itself; 503 where the
    /// registry changes at every try.
    pub async fn run<D, T>(
        &self,
        access: &Access,
        store: &Store,
        mut sent: T,
        plan: impl Fn(&ApiClient, T) -> Result<Plan<D>, Problem>,
        back: impl Fn(D) -> T,
        refused: impl Fn(D::Refusal) -> Problem,
    ) -> Result<Ran<D::Done>, Refused<Problem>>
    where
        D: Decide,
    {
        for _ in 0..RECOGNIZED_MAX {
            let Recognized { client, version } = self.again(access).map_err(Refused::Decision)?;
            let plan = plan(&client, sent).map_err(Refused::Decision)?;
            match store.run(AsOf::plan(version, plan)).await {
                Ok(ran) => return Ok(ran),
                Err(Refused::Decision(Lapsed::Refused(refusal))) => {
                    return Err(Refused::Decision(refused(refusal)));
                }
                Err(Refused::Decision(Lapsed::Since(decide))) => sent = back(*decide),
                Err(Refused::Store(error)) => return Err(Refused::Store(error)),
            }
            access.refresh().await.map_err(|error| match error {
                AccessError::Store(error) => Refused::Store(error),
                error => Refused::Decision(Problem::internal(error)),
            })?;
        }
        Err(Refused::Decision(changing()))
    }
}

/// A decision that is valid only while the registry has one version, which it checks first.
#[derive(Clone)]
pub struct AsOf<D> {
    version: i64,
    /// [`None`] after it was handed back.
    decide: Option<Box<D>>,
    is_asked: bool,
}

/// Why such a decision was not carried out.
pub enum Lapsed<D: Decide> {
    /// The decision itself refused.
    Refused(D::Refusal),
    /// The registry has changed; carries the unused decision.
    Since(Box<D>),
}

impl<D: Decide> AsOf<D> {
    /// Returns the same plan, which is valid as of a version of the registry.
    pub fn plan(version: i64, plan: Plan<D>) -> Plan<Self> {
        let Plan { mut ask, decide } = plan;
        ask.push(Ask::AccessVersion);
        Plan { ask, decide: Self { version, decide: Some(Box::new(decide)), is_asked: false } }
    }
}

impl<D: Decide> Decide for AsOf<D> {
    type Done = D::Done;
    type Refusal = Lapsed<D>;

    fn decide(&mut self, mut found: Vec<Answer>) -> Decision<Self::Done, Self::Refusal> {
        if !self.is_asked {
            self.is_asked = true;
            if found.pop() != Some(Answer::AccessVersion(self.version)) {
                let decide = self.decide.take().expect("a decision is given back once");
                return Decision::Refuse(Lapsed::Since(decide));
            }
        }
        let decide = self.decide.as_mut().expect("one that was given back is not asked again");
        match decide.decide(found) {
            Decision::Write(writes, done) => Decision::Write(writes, done),
            Decision::Ask(more) => Decision::Ask(more),
            Decision::Refuse(refusal) => Decision::Refuse(Lapsed::Refused(refusal)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use homeroom_model::{format, link, shipped};
    use homeroom_store::{Sql, Write};

    use super::*;
    use crate::access::AccessConfig;
    use crate::manage::Manage;
    use crate::recognize::{Asked, Shown};
    use crate::secret::Secret;

    const NOW: Timestamp = Timestamp(1_795_000_000_000_000);

    /// Returns a caller with a token, and the registry and store that know it.
    async fn caller() -> (Caller, Arc<Access>, Store) {
        let source = format::read(shipped("5.2.0").unwrap()).unwrap();
        let model = Arc::new(link(&[source]).unwrap());
        let store = Store::temporary(&[]).unwrap();
        let config = AccessConfig::default();
        let access = Access::open(store.clone(), model, config, NOW).await.unwrap();
        let asked = Manage::CreateKey {
            claim_set: Some("FullAccess".into()),
            name: None,
            scopes: vec![],
            education_organizations: vec![],
            namespace_prefixes: vec![],
            ownership_tokens: vec![],
            creator_token: None,
        };
        let made = access.manage(asked, NOW).await.unwrap();
        let (key, secret) = (made["key"].as_str().unwrap(), made["secret"].as_str().unwrap());
        let asked = Asked { scope: None, base_url: "http://a" };
        let issued = access.issue(key, &Shown::Secret(Secret::new(secret)), &asked, NOW).unwrap();
        let authorization = format!("Bearer {}", issued.token.expose());
        let credentials = Credentials::of_authorization(&authorization);
        let accepts = &[Credential::Bearer];
        let caller =
            Caller { credentials, accepts, scope: "data", now: NOW, begun: Instant::now() };
        (caller, access, store)
    }

    fn writing(text: &'static str) -> Plan<impl Decide<Done = (), Refusal = Problem>> {
        let decide = move |_: Vec<Answer>| -> Decision<(), Problem> {
            Decision::Write(vec![Write::Sql(Sql::new(text, vec![]))], ())
        };
        Plan { ask: vec![], decide }
    }

    #[tokio::test]
    async fn a_plan_whose_callers_rights_change_at_every_try_writes_nothing_and_gets_503() {
        let (caller, access, store) = caller().await;
        let tries = std::cell::Cell::new(0);
        let plan = |client: &ApiClient, sent: u8| {
            assert_eq!((client.claim_set.as_deref(), sent), (Some("FullAccess"), 7));
            tries.set(tries.get() + 1);
            let change = writing("UPDATE access_version SET version = version + 1");
            store.run_blocking(change).map_err(|_| Problem::internal("it cannot be changed"))?;
            Ok(writing("INSERT INTO kind (id, name) VALUES (1, 'written')"))
        };

        let ran = caller.run(&access, &store, 7, plan, |_| 7, |problem| problem).await;

        let Err(Refused::Decision(problem)) = ran else { panic!("it was run") };
        assert_eq!(problem.kind.status(), 503);
        assert_eq!(tries.get(), RECOGNIZED_MAX);
        let written = store.query(Sql::new("SELECT id FROM kind", vec![])).await.unwrap();
        assert!(written.is_empty());
    }

    #[tokio::test]
    async fn a_plan_runs_once_if_no_rights_change() {
        let (caller, access, store) = caller().await;

        let plan =
            |_: &ApiClient, ()| Ok(writing("INSERT INTO kind (id, name) VALUES (1, 'written')"));
        let ran =
            caller.run(&access, &store, (), plan, |_| panic!("it lapsed"), |problem| problem).await;

        assert!(ran.is_ok());
        let written = store.query(Sql::new("SELECT id FROM kind", vec![])).await.unwrap();
        assert_eq!(written.len(), 1);
    }
}
