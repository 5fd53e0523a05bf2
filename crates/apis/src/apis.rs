//! All published APIs: what the store says of them, and what is served.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use homeroom_gateway::{ApiFigures, FrontDoor, Gates};
use homeroom_http::BudgetFigures;
use homeroom_store::{Sql, Store, Value};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, MutexGuard, watch};

use crate::changing::Changing;
use crate::check::{Finding, Others, check_beside};
use crate::definition::{Api, Plan, Published};
use crate::diff::{Difference, differences};
use crate::edit::{Edit, Wish};
use crate::error::{ApisError, DEFINITION_BYTES_MAX};
use crate::index::{Index, Kept};
use crate::issuer::KeySets;
use crate::known::Known;
use crate::limit::{Counting, PlanLimit};
use crate::missing::missing_secrets;
use crate::rows::{Kind, Reading, Row, Rows};
use crate::serving::Serving;
use crate::shared::Shared;
use crate::sql;
use crate::subscription::Subscription;
use crate::upstream::Clients;

/// How often a change is tried when other processes are quicker.
const TRIES_MAX: usize = 50;
/// How often everything is read when it changes meanwhile.
const READS_MAX: usize = 5;

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

/// The limits of what all published APIs share.
#[derive(Debug, Clone)]
pub struct ApisLimits {
    /// Those of the calls to upstreams.
    pub gates: Gates,
    /// Most requests that wait for the keys of issuers.
    pub issuer_keys: u32,
    /// Most tokens of an issuer that are remembered as checked.
    pub issuer_tokens: usize,
    /// Most long bodies that are changed at a time; [`None`] for half of the cores.
    pub transforms: Option<usize>,
    /// Most bytes of these.
    pub transform_bytes: u64,
}

impl Default for ApisLimits {
    fn default() -> Self {
        Self {
            gates: Gates::default(),
            issuer_keys: 1_024,
            issuer_tokens: 10_000,
            transforms: None,
            transform_bytes: 192 << 20,
        }
    }
}

/// All published APIs.
pub struct Apis {
    rows: Rows,
    shared: Arc<Shared>,
    /// Held while something is changed, and while changes of others are read.
    known: Mutex<Known>,
}

impl std::fmt::Debug for Apis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Apis").finish_non_exhaustive()
    }
}

impl Apis {
    /// Returns the APIs of a store, none of which is served yet.
    pub fn new(store: Store) -> Self {
        Self::with_limits(store, ApisLimits::default())
    }

    /// Does the same with other limits.
    pub fn with_limits(store: Store, limits: ApisLimits) -> Self {
        let shared = Arc::new(Shared {
            subscriptions: ArcSwap::default(),
            plans: ArcSwap::default(),
            clients: Clients::default(),
            gates: limits.gates,
            counting: Counting::default(),
            changing: Changing::new(limits.transforms, limits.transform_bytes),
            key_sets: KeySets::new(limits.issuer_keys.into(), limits.issuer_tokens),
            unserved: AtomicU64::new(0),
            upgraded: watch::Sender::new(()),
        });
        Self { rows: Rows(store), shared, known: Mutex::default() }
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
            unserved: self.shared.unserved.load(Ordering::Relaxed),
        }
    }

    /// Returns what a key may call, as this process serves it.
    pub fn subscription(&self, key: &str) -> Option<Arc<Subscription>> {
        self.shared.subscriptions.load().get(key).cloned()
    }

    /// Serves the published APIs at a front door, from now on.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn serve_at(&self, door: &Arc<FrontDoor>) -> Result<(), ApisError> {
        let mut known = self.known.lock().await;
        let serving = Serving::new(Arc::downgrade(door), Arc::clone(&self.shared));
        *known = Known { serving: Some(serving), ..Known::default() };
        self.refresh(&mut known).await
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
                serde_json::to_value(self.change(Wish::Beside(&new), &|_| Ok(())).await?)
            }
            ApisRequest::Diff { new, prune } => {
                let wish = if prune { Wish::Exactly(&new) } else { Wish::Beside(&new) };
                serde_json::to_value(self.diff(wish).await?)
            }
            ApisRequest::Export {} => serde_json::to_value(self.published().await?),
            ApisRequest::Subscribe { key, subscription } => {
                let asked = Sql::new(sql::KEY, vec![key.as_str().into()]);
                if self.rows.0.query(asked).await?.is_empty() {
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
        self.change(Wish::Exactly(&new), &|_| Ok(())).await
    }

    /// Publishes plans and APIs beside those that are published; of one name, what is published stays.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them.
    pub async fn add(&self, more: &Published) -> Result<Vec<Difference>, ApisError> {
        let mut more = more.clone();
        {
            let known = self.current().await?;
            more.definition.plans.retain(|plan| known.index.plan(&plan.name).is_none());
            more.definition.apis.retain(|api| known.index.api(&api.name).is_none());
        }
        self.change(Wish::Beside(&more), &|_| Ok(())).await
    }

    /// Does what somebody wishes, if `may` allows it by what is published. It reads, checks, compiles and
    /// stores what changes, and nothing else. Returns what has changed.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it; paths are those of what is new.
    pub(crate) async fn change(
        &self,
        wish: Wish<'_>,
        may: &(dyn Fn(&Index) -> Result<(), ApisError> + Sync),
    ) -> Result<Vec<Difference>, ApisError> {
        let mut known = self.known.lock().await;
        let mut tries = 1;
        loop {
            self.refresh(&mut known).await?;
            match self.try_change(wish, may, &mut known).await {
                Err(ApisError::Meanwhile) if tries < TRIES_MAX => tries += 1,
                ended => return ended,
            }
        }
    }

    async fn try_change(
        &self,
        wish: Wish<'_>,
        may: &(dyn Fn(&Index) -> Result<(), ApisError> + Sync),
        known: &mut Known,
    ) -> Result<Vec<Difference>, ApisError> {
        may(&known.index)?;
        let (edit, changed) = self.planned(wish, known).await?;
        if changed.is_empty() {
            return Ok(changed);
        }
        self.check_plans_in_use(&edit).await?;
        let is_new = |api: &Api| edit.apis.contains_key(&api.name);
        let missing =
            sent(wish).map(|new| missing_secrets(&new.definition, &is_new)).unwrap_or_default();
        if !missing.is_empty() {
            return Err(ApisError::Invalid(missing));
        }
        if edit.bytes(&known.index)? > DEFINITION_BYTES_MAX {
            return Err(ApisError::TooLarge);
        }
        let version = self.rows.write(known.version, &edit, false).await?;
        known.forget(&edit, version);
        self.refresh(known).await?;
        Ok(changed)
    }

    /// Returns what a wish would change.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub(crate) async fn diff(&self, wish: Wish<'_>) -> Result<Vec<Difference>, ApisError> {
        let known = self.current().await?;
        Ok(self.planned(wish, &known).await?.1)
    }

    /// Returns the edit that a wish needs, with what it changes.
    async fn planned(
        &self,
        wish: Wish<'_>,
        known: &Known,
    ) -> Result<(Edit, Vec<Difference>), ApisError> {
        let edit = Edit::of(wish, &known.index)?;
        let stored = self.rows.documents(&edit.wanted(&known.index, sent(wish))).await?;
        let is_new = |api: &Api| edit.apis.contains_key(&api.name);
        let found = faults(wish, &known.index, &is_new, &stored);
        if !found.is_empty() {
            return Err(ApisError::Invalid(found));
        }
        let (before, after) = edit.before_and_after(&known.index, &stored);
        let changed = differences(&before, &after);
        Ok((edit, changed))
    }

    /// Returns everything that is wrong with a definition that is to be published beside what is published.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) async fn lint(&self, new: &Published) -> Result<Vec<Finding>, ApisError> {
        let known = self.current().await?;
        let named = new.definition.apis.iter().filter_map(|api| api.openapi.clone());
        let stored = named.filter(|name| known.index.hash(name).is_some()).collect();
        let stored = self.rows.documents(&stored).await?;
        Ok(faults(Wish::Beside(new), &known.index, &|_| true, &stored))
    }

    /// Returns what is published.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn published(&self) -> Result<Published, ApisError> {
        let mut known = self.current().await?;
        let mut tries = 1;
        loop {
            let all: BTreeSet<String> = known.index.documents().cloned().collect();
            let documents = self.rows.documents(&all).await?;
            let before = known.version;
            self.refresh(&mut known).await?;
            // The documents are those of the APIs.
            if known.version == before {
                return Ok(Published { definition: known.index.definition(), documents });
            }
            tries += 1;
            if tries > READS_MAX {
                return Err(ApisError::Meanwhile);
            }
        }
    }

    /// Returns an API.
    ///
    /// # Errors
    ///
    /// [`ApisError::Unknown`] if there is none of this name.
    pub(crate) async fn api(&self, name: &str) -> Result<Arc<Api>, ApisError> {
        let known = self.current().await?;
        let found = known.index.api(name).map(|kept| Arc::clone(&kept.item));
        found.ok_or_else(|| ApisError::Unknown { what: "API", name: name.to_owned() })
    }

    /// Returns a plan.
    ///
    /// # Errors
    ///
    /// [`ApisError::Unknown`] if there is none of this name.
    pub(crate) async fn plan(&self, name: &str) -> Result<Plan, ApisError> {
        let known = self.current().await?;
        let found = known.index.plan(name).map(|kept| kept.item.clone());
        found.ok_or_else(|| ApisError::Unknown { what: "plan", name: name.to_owned() })
    }

    /// Returns how many APIs there are, and those of a page in the order of their names.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) async fn apis(
        &self,
        offset: usize,
        limit: usize,
    ) -> Result<(usize, Vec<Arc<Api>>), ApisError> {
        let known = self.current().await?;
        let all = known.index.apis();
        let count = all.len();
        Ok((count, all.skip(offset).take(limit).map(|kept| Arc::clone(&kept.item)).collect()))
    }

    /// Returns how many plans there are, and those of a page in the order of their names.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) async fn plans(
        &self,
        offset: usize,
        limit: usize,
    ) -> Result<(usize, Vec<Plan>), ApisError> {
        let known = self.current().await?;
        let all = known.index.plans();
        let count = all.len();
        Ok((count, all.skip(offset).take(limit).map(|kept| kept.item.clone()).collect()))
    }

    /// Refuses a change that removes the plan of a key: the key would lose its calls.
    async fn check_plans_in_use(&self, edit: &Edit) -> Result<(), ApisError> {
        let is_removed = |name: &str| matches!(edit.plans.get(name), Some(None));
        if edit.plans.values().all(Option::is_some) {
            return Ok(());
        }
        let (mut plan, mut keys) = (String::new(), vec![]);
        for row in self.rows.0.query(Sql::new(sql::PLANS_IN_USE, vec![])).await? {
            let [Some(name), Some(key)] = [0, 1].map(|at| row.get(at).and_then(Value::as_text))
            else {
                continue;
            };
            if is_removed(name) && (keys.is_empty() || plan == name) {
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
        to.check(&self.current().await?.index)
    }

    /// Says what a key may call.
    ///
    /// # Errors
    ///
    /// What is wrong with the subscription.
    pub async fn subscribe(&self, key: &str, to: &Subscription) -> Result<(), ApisError> {
        let mut known = self.known.lock().await;
        let mut tries = 1;
        loop {
            self.refresh(&mut known).await?;
            to.check(&known.index)?;
            match self.rows.subscribe(known.version, key, to).await {
                Err(ApisError::Meanwhile) if tries < TRIES_MAX => tries += 1,
                Err(error) => return Err(error),
                Ok(()) => return self.refresh(&mut known).await,
            }
        }
    }

    /// Returns all subscriptions, by key.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn subscriptions(&self) -> Result<BTreeMap<String, Subscription>, ApisError> {
        self.rows.subscriptions(-1).await
    }

    /// Serves what another process has published, if anything has changed.
    ///
    /// # Errors
    ///
    /// If the store cannot be read; what is served then stays.
    pub async fn follow(&self) -> Result<(), ApisError> {
        let mut known = self.current().await?;
        self.serve_due(&mut known).await
    }

    /// Tries to serve what could not be served, and serves APIs whose secrets have changed with the new ones.
    ///
    /// # Errors
    ///
    /// If the store cannot be read; what is served then stays.
    pub async fn look_again(&self) -> Result<(), ApisError> {
        self.serve_due(&mut *self.known.lock().await).await
    }

    async fn serve_due(&self, known: &mut Known) -> Result<(), ApisError> {
        let Known { index, serving, .. } = known;
        let Some(serving) = serving.as_mut() else { return Ok(()) };
        if serving.begin() {
            let texts = self.rows.documents(&serving.wanted(index)).await?;
            serving.serve_rest(index, &texts);
        }
        Ok(())
    }

    /// Waits until connections that have changed their protocol have ended, but no longer than this.
    pub async fn drain(&self, time: Duration) {
        if tokio::time::timeout(time, self.shared.upgraded.closed()).await.is_err() {
            tracing::warn!("connections of WebSocket were still open after the drain time");
        }
    }

    /// Returns what is known, after what others have changed has been read.
    async fn current(&self) -> Result<MutexGuard<'_, Known>, ApisError> {
        let mut known = self.known.lock().await;
        self.refresh(&mut known).await?;
        Ok(known)
    }

    /// Reads what has changed since the last time, and serves it.
    async fn refresh(&self, known: &mut Known) -> Result<(), ApisError> {
        let mut state = self.rows.state().await?;
        if state.is_whole {
            self.divide(state.version).await?;
            state = self.rows.state().await?;
        }
        if state.version == known.version {
            return Ok(());
        }
        let since = known.version;
        // Whoever knows nothing yet has nothing to forget.
        if since >= 0 && state.removed > known.removed {
            known.keep_only(&self.rows.names().await?);
        }
        let subscriptions = self.rows.subscriptions(since).await?;
        if !subscriptions.is_empty() {
            let mut all = HashMap::clone(&self.shared.subscriptions.load());
            all.extend(subscriptions.into_iter().map(|(key, to)| (key, Arc::new(to))));
            self.shared.subscriptions.store(Arc::new(all));
        }
        let mut plans = Reading::after(since, Kind::Plan);
        while let Some(rows) = some(self.rows.next(&mut plans).await?) {
            for row in rows {
                known.index.put_plan(row.place, row.item()?, row.text.len());
            }
        }
        // Until all APIs have changed, some of their calls are limited by plans that are about to go.
        let plans = self.plans_of(&known.index);
        let mut all = HashMap::clone(&self.shared.plans.load());
        all.extend(plans.iter().map(|(name, plan)| (name.clone(), Arc::clone(plan))));
        self.shared.plans.store(Arc::new(all));
        self.read_apis(known, since).await?;
        self.shared.plans.store(Arc::new(plans));
        (known.version, known.removed) = (state.version, state.removed);
        Ok(())
    }

    /// Reads APIs and documents that have changed, and serves them as they come, so that the texts of few documents
    /// are in memory at a time.
    async fn read_apis(&self, known: &mut Known, since: i64) -> Result<(), ApisError> {
        let Known { index, serving, .. } = known;
        if let Some(serving) = serving {
            serving.begin();
        }
        let mut apis = Reading::after(since, Kind::Api);
        while let Some(rows) = some(self.rows.next(&mut apis).await?) {
            for row in rows {
                index.put_api(row.place, row.item()?, row.text.len());
                if let Some(serving) = serving {
                    serving.note(&row.name);
                }
            }
        }
        let mut documents = Reading::after(since, Kind::Document);
        while let Some(rows) = some(self.rows.next(&mut documents).await?) {
            let mut users = vec![];
            let mut texts = BTreeMap::new();
            for Row { name, text, .. } in rows {
                index.put_document(name.clone(), &text);
                users.extend_from_slice(index.users(&name));
                texts.insert(name, text);
            }
            if let Some(serving) = serving {
                for user in &users {
                    serving.note(user);
                }
                serving.serve(&users, index, &texts);
            }
        }
        if let Some(serving) = serving {
            let texts = self.rows.documents(&serving.wanted(index)).await?;
            serving.serve_rest(index, &texts);
        }
        Ok(())
    }

    /// Divides what an earlier version of the program has published as one text into rows.
    async fn divide(&self, version: i64) -> Result<(), ApisError> {
        let whole = self.rows.whole().await?;
        let edit = Edit::of(Wish::Exactly(&whole), &Index::default())?;
        match self.rows.write(version, &edit, true).await {
            // Another node has.
            Ok(_) | Err(ApisError::Meanwhile) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the plans as they are now; those that have not changed keep their counters.
    fn plans_of(&self, index: &Index) -> HashMap<String, Arc<PlanLimit>> {
        let before = self.shared.plans.load();
        let plans = index.plans().map(|Kept { item: plan, .. }| {
            let before = before.get(&plan.name);
            let kept = before.filter(|kept| kept.plan == *plan).cloned();
            let after = || Arc::new(PlanLimit::new(plan, before.map(|before| &**before)));
            (plan.name.clone(), kept.unwrap_or_else(after))
        });
        plans.collect()
    }
}

/// Returns what is sent with a wish.
fn sent(wish: Wish<'_>) -> Option<&Published> {
    match wish {
        Wish::Exactly(new) | Wish::Beside(new) => Some(new),
        Wish::WithoutApi(_) | Wish::WithoutPlan(_) => None,
    }
}

/// Returns all that is wrong with what is sent. `is_new` tells the APIs that have not been checked before, and
/// `stored` has the documents that are named and not sent.
fn faults(
    wish: Wish<'_>,
    index: &Index,
    is_new: &dyn Fn(&Api) -> bool,
    stored: &BTreeMap<String, String>,
) -> Vec<Finding> {
    let (new, others) = match wish {
        Wish::Exactly(new) => (new, Others::None),
        Wish::Beside(new) => (new, Others::Are(index)),
        Wish::WithoutApi(_) | Wish::WithoutPlan(_) => return vec![],
    };
    let text = |document: &str| {
        let sent = new.documents.get(document);
        sent.or_else(|| stored.get(document)).map(String::as_str)
    };
    check_beside(&new.definition, others, is_new, &text)
}

fn some<T>(rows: Vec<T>) -> Option<Vec<T>> {
    (!rows.is_empty()).then_some(rows)
}
