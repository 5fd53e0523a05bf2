//! All published APIs: what the store says of them, and what is served.

pub(crate) mod changes;
mod quotas;
mod refresh;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use homeroom_gateway::{ApiFigures, FrontDoor};
use homeroom_http::{BudgetFigures, Timestamp};
use homeroom_store::{Sql, Store};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::definition::{Api, Plan, Published};
use crate::edit::Wish;
use crate::error::ApisError;
use crate::known::Known;
use crate::quota_rows::QuotaSweeps;
use crate::rows::Rows;
use crate::secret_files::SecretFiles;
use crate::serving::Serving;
use crate::shared::{ApisLimits, Shared};
use crate::sql;
use crate::subscription::Subscription;

/// How often a change is tried when other processes are quicker.
const TRIES_MAX: usize = 50;
/// The most attempts to read everything at one version.
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

/// All published APIs.
pub struct Apis {
    rows: Rows,
    shared: Arc<Shared>,
    /// Held while something is changed, and while changes of others are read.
    known: Mutex<Known>,
    secret_files: SecretFiles,
    /// Held while the use of quotas is read or written.
    quota_sweeps: Mutex<QuotaSweeps>,
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
        let shared = Arc::new(Shared::new(limits));
        Self {
            rows: Rows(store),
            shared,
            known: Mutex::default(),
            secret_files: SecretFiles::default(),
            quota_sweeps: Mutex::default(),
        }
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

    /// Serves the published APIs at a front door, from now on. Their quotas go on where the store says.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn serve_at(&self, door: &Arc<FrontDoor>, now: Timestamp) -> Result<(), ApisError> {
        self.begin_at(door).await?;
        self.read_quotas(now).await
    }

    /// Does the same without waiting for the use of quotas, for which [`read_quotas`](Self::read_quotas) is.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn begin_at(&self, door: &Arc<FrontDoor>) -> Result<(), ApisError> {
        let serving = Serving::new(Arc::downgrade(door), Arc::clone(&self.shared));
        *self.known.lock().await = Known { serving: Some(serving), ..Known::default() };
        self.follow().await
    }

    /// Does what a command asks.
    ///
    /// # Errors
    ///
    /// Why it is not done; then nothing has changed.
    pub async fn manage(&self, request: ApisRequest) -> Result<serde_json::Value, ApisError> {
        let done = match request {
            ApisRequest::Apply { new, prune } => {
                serde_json::to_value(self.change(Wish::of(&new, prune)).await?)
            }
            ApisRequest::Diff { new, prune } => {
                serde_json::to_value(self.diff(Wish::of(&new, prune)).await?)
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
            // No change came between, so APIs and documents fit together.
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

    /// Checks what a key is to call, before there is such a key.
    ///
    /// # Errors
    ///
    /// What is wrong with the subscription: it names a plan or an API that is not published, for example.
    pub async fn check_subscription(&self, to: &Subscription) -> Result<(), ApisError> {
        to.check(&self.current().await?.index)
    }

    /// Returns all subscriptions, by key.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn subscriptions(&self) -> Result<BTreeMap<String, Subscription>, ApisError> {
        self.rows.subscriptions(-1).await
    }

    /// Waits until connections that have changed their protocol have ended, but no longer than this.
    pub async fn drain(&self, time: Duration) {
        if tokio::time::timeout(time, self.shared.upgraded.closed()).await.is_err() {
            tracing::warn!("connections of WebSocket were still open after the drain time");
        }
    }
}
