//! All published APIs: what the store says of them, and what is served.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

use arc_swap::ArcSwap;
use homeroom_access::ApiClient;
use homeroom_gateway::{ApiFigures, FrontDoor, Gates, LiveRoutes};
use homeroom_http::BudgetFigures;
use homeroom_store::{Answer, Ask, Decision, Plan, Refused, Sql, Store, Value, Write};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::changing::Changing;
use crate::check::check;
use crate::definition::{Api, Published};
use crate::diff::{Difference, differences};
use crate::error::{ApisError, DEFINITION_BYTES_MAX};
use crate::issuer::KeySets;
use crate::limit::PlanLimit;
use crate::live_api::{LiveApi, Local, Shared};
use crate::operations::Operations;
use crate::sql;
use crate::subscription::Subscription;
use crate::together::{beside, missing_secrets, number_anew, together};
use crate::upstream::Clients;

/// Requests that wait for the keys of issuers, where nothing else is said.
const KEYS_WAITING: u32 = 1_024;
/// How often a change is tried when others change the same.
const TRIES_MAX: usize = 3;

/// A request of a command.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApisRequest {
    /// Publishes a definition.
    Apply {
        /// The definition.
        new: Box<Published>,
        /// Whether what it does not name is withdrawn.
        prune: bool,
    },
    /// Shows what would change.
    Diff {
        /// What would be published.
        new: Box<Published>,
        /// Whether what it does not name would be withdrawn.
        prune: bool,
    },
    /// Shows what is published.
    Export {},
    /// Says what a key may call.
    Subscribe {
        /// The key.
        key: String,
        /// What it may call.
        subscription: Subscription,
    },
}

/// All published APIs.
pub struct Apis {
    store: Store,
    shared: Arc<Shared>,
    door: OnceLock<Weak<FrontDoor>>,
    served: RwLock<Served>,
    /// Held while what is served is brought up to date.
    changing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Served {
    version: i64,
    /// Definition of each API and the hash of its document, by name.
    apis: BTreeMap<String, (Arc<Api>, Option<[u8; 32]>)>,
}

/// The operations of documents that are being published, by the document's hash and the scopes that are
/// usual for the API: APIs with the same share them.
type Compiled = HashMap<([u8; 32], Vec<String>, bool), Arc<Operations>>;

impl std::fmt::Debug for Apis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Apis").finish_non_exhaustive()
    }
}

/// The stored state.
struct Stored {
    version: i64,
    published: Published,
}

impl Apis {
    /// Returns the APIs of a store, none of which is served yet.
    pub fn new(store: Store) -> Self {
        Self::with_limits(store, Gates::default(), KEYS_WAITING)
    }

    /// Does the same with other limits on the calls to upstreams, and on the requests that wait for the keys
    /// of issuers.
    pub fn with_limits(store: Store, gates: Gates, keys_waiting: u32) -> Self {
        let shared = Arc::new(Shared {
            subscriptions: ArcSwap::default(),
            plans: ArcSwap::default(),
            clients: Clients::default(),
            gates,
            changing: Changing::default(),
            key_sets: KeySets::new(keys_waiting.into()),
        });
        let (served, changing) = (RwLock::default(), tokio::sync::Mutex::default());
        Self { store, shared, door: OnceLock::new(), served, changing }
    }

    /// Returns the figures of the calls to upstreams, of those that wait, of long bodies that are changed, and
    /// of requests that wait for the keys of issuers.
    pub fn queues(&self) -> Vec<BudgetFigures> {
        let Shared { gates, changing, key_sets, .. } = &*self.shared;
        let figures = gates.figures().into_iter().chain(changing.figures());
        figures.chain([key_sets.figures()]).collect()
    }

    /// Returns the figures of each API and its upstreams.
    pub fn figures(&self) -> ApiFigures {
        let Shared { gates, clients, .. } = &*self.shared;
        ApiFigures {
            gates: gates.figures_of_each(),
            upstreams: clients.figures(),
            connections: clients.connections(),
        }
    }

    /// Serves the published APIs at a front door, from now on.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn serve_at(&self, door: &Arc<FrontDoor>) -> Result<(), ApisError> {
        _ = self.door.set(Arc::downgrade(door));
        self.refresh().await
    }

    /// Does what a command asks.
    ///
    /// # Errors
    ///
    /// Why it is not done; then nothing has changed.
    pub async fn manage(&self, request: ApisRequest) -> Result<serde_json::Value, ApisError> {
        let done = match request {
            ApisRequest::Apply { new, prune: true } => {
                serde_json::to_value(self.apply(*new).await?)
            }
            ApisRequest::Apply { new, prune: false } => {
                serde_json::to_value(self.put(&new, &|_, _| Ok(())).await?)
            }
            ApisRequest::Diff { new, prune } => {
                let old = self.published().await?;
                let new = if prune { *new } else { together(&old, &new) };
                serde_json::to_value(differences(&old, &new))
            }
            ApisRequest::Export {} => serde_json::to_value(self.published().await?),
            ApisRequest::Subscribe { key, subscription } => {
                let found = self.store.query(Sql::new(sql::KEY, vec![key.as_str().into()])).await?;
                if found.is_empty() {
                    return Err(ApisError::Unknown { what: "key", name: key });
                }
                self.subscribe(&key, &subscription).await?;
                serde_json::to_value(subscription)
            }
        };
        done.map_err(|error| ApisError::Damaged(error.to_string()))
    }

    /// Publishes exactly this: APIs and plans that it does not have are withdrawn. Subscriptions stay.
    /// Returns what has changed.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub async fn apply(&self, new: Published) -> Result<Vec<Difference>, ApisError> {
        self.change(|_| Ok(new.clone())).await
    }

    /// Publishes plans and APIs beside those that are published; of one name, the new ones replace them.
    /// `may` says whether they may, by what is published. Returns what has changed.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the whole; paths are those of what is new.
    pub(crate) async fn put(
        &self,
        new: &Published,
        may: &(dyn Fn(&Published, &Published) -> Result<(), ApisError> + Sync),
    ) -> Result<Vec<Difference>, ApisError> {
        let names = Mutex::new(vec![]);
        let changed = self.change(|old| {
            may(old, new)?;
            let all = together(old, new);
            let own = all.definition.apis.iter().map(|api| api.name.clone());
            *names.lock().unwrap_or_else(PoisonError::into_inner) = own.collect();
            Ok(all)
        });
        let changed = changed.await;
        let names = names.into_inner().unwrap_or_else(PoisonError::into_inner);
        changed.map_err(|mut error| {
            if let ApisError::Invalid(findings) = &mut error {
                number_anew(findings, &names, new);
            }
            error
        })
    }

    /// Publishes plans and APIs beside those that are published; of one name, what is published stays.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the whole.
    pub async fn add(&self, more: &Published) -> Result<Vec<Difference>, ApisError> {
        self.change(|old| Ok(beside(old, more))).await
    }

    /// Publishes what `change` makes of what is published. Returns what has changed.
    ///
    /// # Errors
    ///
    /// The errors of `change`, and everything that is wrong with what it makes.
    pub(crate) async fn change(
        &self,
        change: impl Fn(&Published) -> Result<Published, ApisError>,
    ) -> Result<Vec<Difference>, ApisError> {
        for _ in 1..TRIES_MAX {
            match self.try_change(&change).await {
                Err(ApisError::Meanwhile) => {}
                ended => return ended,
            }
        }
        self.try_change(&change).await
    }

    async fn try_change(
        &self,
        change: impl Fn(&Published) -> Result<Published, ApisError>,
    ) -> Result<Vec<Difference>, ApisError> {
        let stored = self.stored().await?;
        let mut new = change(&stored.published)?;
        let named: HashSet<String> =
            new.definition.apis.iter().filter_map(|api| api.openapi.clone()).collect();
        new.documents.retain(|name, _| named.contains(name));
        let findings = check(&new);
        if !findings.is_empty() {
            return Err(ApisError::Invalid(findings));
        }
        let changed = differences(&stored.published, &new);
        if changed.is_empty() {
            return Ok(changed);
        }
        self.check_plans_in_use(&stored.published, &new).await?;
        let missing = missing_secrets(&new);
        if !missing.is_empty() {
            return Err(ApisError::Invalid(missing));
        }
        let text =
            serde_json::to_string(&new).map_err(|error| ApisError::Damaged(error.to_string()))?;
        if text.len() > DEFINITION_BYTES_MAX {
            return Err(ApisError::TooLarge);
        }
        let version = stored.version + 1;
        self.write(stored.version, vec![Sql::new(sql::WRITE, vec![version.into(), text.into()])])
            .await?;
        self.refresh().await?;
        Ok(changed)
    }

    /// Returns what is published.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn published(&self) -> Result<Published, ApisError> {
        Ok(self.stored().await?.published)
    }

    /// Refuses a change that removes the plan of a key: the key would lose its calls.
    async fn check_plans_in_use(&self, old: &Published, new: &Published) -> Result<(), ApisError> {
        let has = |published: &Published, name: &str| {
            published.definition.plans.iter().any(|plan| plan.name == name)
        };
        if old.definition.plans.iter().all(|plan| has(new, &plan.name)) {
            return Ok(());
        }
        let (mut plan, mut keys) = (String::new(), vec![]);
        for row in self.store.query(Sql::new(sql::PLANS_IN_USE, vec![])).await? {
            let [Some(name), Some(key)] = [0, 1].map(|at| row.get(at).and_then(Value::as_text))
            else {
                continue;
            };
            if has(old, name) && !has(new, name) && (keys.is_empty() || plan == name) {
                name.clone_into(&mut plan);
                keys.push(key.to_owned());
            }
        }
        if keys.is_empty() { Ok(()) } else { Err(ApisError::InUse { plan, apis: vec![], keys }) }
    }

    /// Checks what a key is to call, before there is such a key.
    ///
    /// # Errors
    ///
    /// What is wrong with the subscription: it names a plan or an API that is not published, for example.
    pub async fn check_subscription(&self, to: &Subscription) -> Result<(), ApisError> {
        to.check(&self.published().await?)
    }

    /// Says what a key may call.
    ///
    /// # Errors
    ///
    /// What is wrong with the subscription.
    pub async fn subscribe(&self, key: &str, to: &Subscription) -> Result<(), ApisError> {
        for _ in 1..TRIES_MAX {
            match self.try_subscribe(key, to).await {
                Err(ApisError::Meanwhile) => {}
                ended => return ended,
            }
        }
        self.try_subscribe(key, to).await
    }

    async fn try_subscribe(&self, key: &str, to: &Subscription) -> Result<(), ApisError> {
        let Stored { version, published } = self.stored().await?;
        to.check(&published)?;
        let writes = vec![
            Sql::new(sql::SUBSCRIBE, to.arguments(key)),
            Sql::new(sql::SET_VERSION, vec![(version + 1).into()]),
        ];
        self.write(version, writes).await?;
        self.refresh().await
    }

    /// Returns all subscriptions, by key.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn subscriptions(&self) -> Result<BTreeMap<String, Subscription>, ApisError> {
        let rows = self.store.query(Sql::new(sql::SUBSCRIPTIONS, vec![])).await?;
        let read = rows.iter().map(|row| Subscription::read(row));
        read.collect::<Option<_>>().ok_or_else(|| ApisError::Damaged("a subscription".into()))
    }

    /// Writes a change of the version that has been read.
    async fn write(&self, version: i64, writes: Vec<Sql>) -> Result<(), ApisError> {
        let mut writes = Some(writes);
        let plan = Plan {
            ask: vec![Ask::Part(Sql::new(sql::VERSION, vec![]))],
            decide: move |found: Vec<Answer>| -> Decision<(), ApisError> {
                let now = match found.first() {
                    Some(Answer::Rows(rows)) => {
                        rows.first().and_then(|row| row.first()?.as_integer())
                    }
                    _ => None,
                };
                if now != Some(version) {
                    return Decision::Refuse(ApisError::Meanwhile);
                }
                let writes = writes.take().into_iter().flatten();
                Decision::Write(writes.map(Write::Part).collect(), ())
            },
        };
        match self.store.run(plan).await {
            Ok(_) => Ok(()),
            Err(Refused::Decision(error)) => Err(error),
            Err(Refused::Store(error)) => Err(error.into()),
        }
    }

    async fn version(&self) -> Result<i64, ApisError> {
        let rows = self.store.query(Sql::new(sql::VERSION, vec![])).await?;
        let version = rows.first().and_then(|row| row.first()?.as_integer());
        version.ok_or_else(|| ApisError::Damaged("its version".into()))
    }

    async fn stored(&self) -> Result<Stored, ApisError> {
        let rows = self.store.query(Sql::new(sql::READ, vec![])).await?;
        let Some([Value::Integer(version), definition]) = rows.first().map(|row| &row[..]) else {
            return Err(ApisError::Damaged("its row".into()));
        };
        let text = definition.as_text().unwrap_or_default();
        let published = if text.is_empty() {
            Published::default()
        } else {
            serde_json::from_str(text).map_err(|error| ApisError::Damaged(error.to_string()))?
        };
        Ok(Stored { version: *version, published })
    }

    /// Serves what another process has published, if anything has changed.
    ///
    /// # Errors
    ///
    /// If the store cannot be read; what is served then stays.
    pub async fn follow(&self) -> Result<(), ApisError> {
        let served = self.served.read().unwrap_or_else(PoisonError::into_inner).version;
        if self.version().await? == served { Ok(()) } else { self.refresh().await }
    }

    /// Serves what the store says. An API that has not changed stays as it is, with its connections and
    /// counters.
    async fn refresh(&self) -> Result<(), ApisError> {
        let _changing = self.changing.lock().await;
        let stored = self.stored().await?;
        let subscriptions = self.subscriptions().await?;
        let subscriptions = subscriptions.into_iter().map(|(key, to)| (key, Arc::new(to)));
        let plans = self.plans_of(&stored.published);
        // Until all APIs have changed, some of their calls are limited by plans that are about to go.
        let mut all = HashMap::clone(&self.shared.plans.load());
        all.extend(plans.iter().map(|(name, plan)| (name.clone(), Arc::clone(plan))));
        self.shared.plans.store(Arc::new(all));
        self.shared.subscriptions.store(Arc::new(subscriptions.collect()));
        if let Some(door) = self.door.get().and_then(Weak::upgrade) {
            self.publish(&stored, &door);
        }
        self.shared.plans.store(Arc::new(plans));
        Ok(())
    }

    /// Returns the plans as they are now; those that have not changed keep their counters.
    fn plans_of(&self, published: &Published) -> HashMap<String, Arc<PlanLimit>> {
        let before = self.shared.plans.load();
        let plans = published.definition.plans.iter().map(|plan| {
            let kept = before.get(&plan.name).filter(|kept| kept.plan == *plan).cloned();
            (plan.name.clone(), kept.unwrap_or_else(|| Arc::new(PlanLimit::new(plan))))
        });
        plans.collect()
    }

    fn publish(&self, stored: &Stored, door: &Arc<FrontDoor>) {
        let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
        let live = door.live();
        let local = local(door);
        let mut apis = BTreeMap::new();
        let mut compiled = Compiled::new();
        let documents = &stored.published.documents;
        let hash = |text: &String| -> [u8; 32] { Sha256::digest(text).into() };
        let hashes: HashMap<&String, [u8; 32]> =
            documents.iter().map(|(name, text)| (name, hash(text))).collect();
        for api in &stored.published.definition.apis {
            let named = api.openapi.as_ref().and_then(|name| documents.get_key_value(name));
            let hash = named.and_then(|(name, _)| hashes.get(name).copied());
            let before = served.apis.get(&api.name);
            let is_same = before.is_some_and(|(was, of)| **was == *api && *of == hash);
            let api = match before {
                Some((was, _)) if is_same => Arc::clone(was),
                _ => Arc::new(api.clone()),
            };
            if !is_same {
                let text = named.zip(hash).map(|((_, text), hash)| (text.as_str(), hash));
                if let Err(reason) = self.publish_one(&api, text, &mut compiled, live, &local) {
                    tracing::error!(api = api.name, reason, "an API cannot be served");
                    live.withdraw(&api.base());
                    continue;
                }
            }
            apis.insert(api.name.clone(), (api, hash));
        }
        let bases: Vec<String> = apis.values().map(|(api, _)| api.base()).collect();
        for (api, _) in served.apis.values() {
            let base = api.base();
            if !bases.iter().any(|other| other.eq_ignore_ascii_case(&base)) {
                live.withdraw(&base);
            }
        }
        *served = Served { version: stored.version, apis };
    }

    fn publish_one(
        &self,
        api: &Arc<Api>,
        document: Option<(&str, [u8; 32])>,
        compiled: &mut Compiled,
        live: &LiveRoutes<ApiClient>,
        local: &Local,
    ) -> Result<(), String> {
        let operations = match document {
            None => None,
            Some((text, hash)) => {
                Some(match compiled.entry((hash, api.scopes.clone(), api.validate)) {
                    Entry::Occupied(known) => Arc::clone(known.get()),
                    Entry::Vacant(new) => {
                        let read = Operations::read(text, &api.scopes, api.validate)?;
                        Arc::clone(new.insert(Arc::new(read)))
                    }
                })
            }
        };
        let prepared = LiveApi::new(api, operations, &self.shared, local)?;
        live.publish(Arc::new(prepared).routes()).map_err(|error| error.to_string())
    }
}

/// Returns what answers requests to parts of this server.
fn local(door: &Arc<FrontDoor>) -> Local {
    let door = Arc::downgrade(door);
    Arc::new(move |head, body| {
        let door = door.clone();
        Box::pin(async move {
            match door.upgrade() {
                Some(door) => door.answer(head, body).await,
                None => homeroom_http::empty_response(http::StatusCode::SERVICE_UNAVAILABLE),
            }
        })
    })
}
