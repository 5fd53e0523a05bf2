//! The access part: opened on a store, and asked by every request.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use homeroom_http::Timestamp;
use homeroom_model::Model;
use homeroom_store::{Answer, Ask, Decision, Plan, Refused, Sql, Store, Value};
use serde::{Deserialize, Serialize};

use crate::cache::TokenCache;
use crate::claim_name::ClaimName;
use crate::claim_set::{ClaimSet, Vocabulary as _};
use crate::claims::Claims;

use crate::error::AccessError;
use crate::issuer::{Subscribed, Subscriptions, issuer_of};
use crate::items::stable_id;
use crate::lookups::Lookups;
use crate::records::{ClientRecord, SecretRecord};
use crate::refused_logins::RefusedLogins;
use crate::registry::Registry;
use crate::revocations::Revocations;
use crate::secret::SecretHasher;
use crate::server_keys::server_keys;
use crate::sql;
use crate::token::TokenKeys;

/// How clients are recognized.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct AccessConfig {
    /// Number of verified tokens to cache; beyond it, some are verified again. Default: `100000`.
    pub token_cache_entries: usize,
    /// Callers that may wait because this process does not know their keys yet. Default: `1024`.
    pub key_lookups: u64,
    /// Live tokens that one client may have in this process; beyond it the answer is 429. Default:
    /// no limit, since a token costs the server nothing until it is used, and then one entry of the
    /// bounded cache. (The Ed-Fi ODS/API stores tokens and allows 15.)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live_tokens_max: Option<usize>,
    /// Address of this server, which its tokens name as their issuer. Default: that of the request for a
    /// token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
}

impl Default for AccessConfig {
    fn default() -> Self {
        Self {
            token_cache_entries: 100_000,
            key_lookups: 1_024,
            live_tokens_max: None,
            public_url: None,
        }
    }
}

/// Who may do what: the client registry, tokens, claim sets.
pub struct Access {
    pub(crate) store: Store,
    pub(crate) model: Arc<Model>,
    pub(crate) claims: Claims,
    pub(crate) hasher: SecretHasher,
    pub(crate) tokens: TokenKeys,
    registry: RwLock<Registry>,
    /// Incremented after every change of the registry.
    generation: AtomicU64,
    /// How often a signature was verified, or a secret compared, to recognize a caller.
    verifications: AtomicU64,
    /// Whether the registry may differ from what is stored.
    in_doubt: AtomicBool,
    pub(crate) cache: TokenCache,
    pub(crate) config: AccessConfig,
    /// Expiry times of live tokens by key; used only with a limit.
    pub(crate) live: Mutex<HashMap<String, VecDeque<i64>>>,
    /// Allows one change at a time.
    pub(crate) managing: tokio::sync::Mutex<()>,
    /// When the registry was last read for a caller that was unknown.
    pub(crate) caught_up: Lookups,
    pub(crate) refused_logins: RefusedLogins,
    pub(crate) revocations: Revocations,
    pub(crate) subscriptions: OnceLock<Subscriptions>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Access({:?})", self.store)
    }
}

impl Access {
    /// Opens the part on a store: creates the server's keys where there are none, and reads all
    /// clients and claim sets.
    ///
    /// # Errors
    ///
    /// [`AccessError`]; nothing but the server's keys was changed.
    pub async fn open(
        store: Store,
        model: Arc<Model>,
        config: AccessConfig,
        now: Timestamp,
    ) -> Result<Arc<Self>, AccessError> {
        let claims = Claims::of(&model)?;
        Self::open_with(store, model, claims, config, now).await
    }

    /// Does the same as [`Access::open`], with the caller's own claims.
    ///
    /// # Errors
    ///
    /// The same as [`Access::open`].
    pub async fn open_with(
        store: Store,
        model: Arc<Model>,
        claims: Claims,
        config: AccessConfig,
        now: Timestamp,
    ) -> Result<Arc<Self>, AccessError> {
        let (hashing, signing) = server_keys(&store, now).await?;
        let access = Self {
            registry: RwLock::new(Registry::new(&claims)),
            store,
            model,
            claims,
            hasher: SecretHasher::new(hashing),
            tokens: TokenKeys::new(signing),
            generation: AtomicU64::new(0),
            verifications: AtomicU64::new(0),
            in_doubt: AtomicBool::new(false),
            cache: TokenCache::new(config.token_cache_entries),
            caught_up: Lookups::new(config.key_lookups),
            config,
            live: Mutex::default(),
            managing: tokio::sync::Mutex::new(()),
            refused_logins: RefusedLogins::default(),
            revocations: Revocations::default(),
            subscriptions: OnceLock::new(),
        };
        access.refresh().await?;
        access.adopt_clients(now).await?;
        Ok(Arc::new(access))
    }

    /// Sets who says what keys may call of the published APIs, which tokens name. The first one stays.
    pub fn know_subscriptions(&self, subscriptions: Subscriptions) {
        _ = self.subscriptions.set(subscriptions);
    }

    /// Returns what a key may call of the published APIs.
    pub(crate) fn subscribed(&self, key: &str) -> Subscribed {
        self.subscriptions.get().and_then(|of| of(key)).unwrap_or_default()
    }

    /// Returns the address of this server for a request that was sent to `base_url`.
    pub(crate) fn issuer(&self, base_url: &str) -> String {
        issuer_of(self.config.public_url.as_deref(), base_url)
    }

    /// Reads the registry again where another process has changed it, or where the outcome of a
    /// change is unknown, and which tokens were revoked. It is cheap where nothing has changed: two rows.
    ///
    /// # Errors
    ///
    /// [`AccessError`]; the registry stays as it was. Where it is known to be outdated, nobody is
    /// recognized until it has been read.
    pub async fn refresh(&self) -> Result<(), AccessError> {
        let managing = self.managing.lock().await;
        self.refresh_managing().await?;
        drop(managing);
        self.refresh_revoked().await
    }

    /// Does the same as [`Access::refresh`], for a caller that already holds `managing`.
    pub(crate) async fn refresh_managing(&self) -> Result<(), AccessError> {
        let version = if self.is_in_doubt() {
            self.version_after_all().await?
        } else {
            self.stored_version().await?
        };
        if version == self.version() && !self.is_in_doubt() {
            return Ok(());
        }
        match self.read_registry().await {
            Ok(registry) => {
                self.change(version, |current| *current = registry);
                Ok(())
            }
            Err(error) => {
                // The registry is known to be outdated.
                self.doubt(true);
                Err(error)
            }
        }
    }

    /// Reads the whole stored registry.
    async fn read_registry(&self) -> Result<Registry, AccessError> {
        let mut registry = Registry::new(&self.claims);
        for row in self.store.query(Sql::new(sql::CLAIM_SETS, vec![])).await? {
            let (set, id) = self.stored_set(&row)?;
            registry.put_set(set, id, &self.claims);
        }
        for row in self.store.query(Sql::new(sql::MANAGED, vec![])).await? {
            if !registry.items.take(&row) {
                return Err(AccessError::Damaged("managed item"));
            }
        }
        for row in self.store.query(Sql::new(sql::MANAGED_LAST, vec![])).await? {
            if !registry.items.take_last(&row) {
                return Err(AccessError::Damaged("count of managed items"));
            }
        }
        registry.take_views(&self.model);
        let mut secrets: HashMap<String, Vec<SecretRecord>> = HashMap::new();
        for row in self.store.query(Sql::new(sql::SECRETS, vec![])).await? {
            let (key, secret) = SecretRecord::read(&row).ok_or(AccessError::Damaged("secret"))?;
            secrets.entry(key).or_default().push(secret);
        }
        for row in self.store.query(Sql::new(sql::CLIENTS, vec![])).await? {
            let record = ClientRecord::read(&row).ok_or(AccessError::Damaged("client"))?;
            let secrets = secrets.remove(&record.key).unwrap_or_default();
            registry.put_client(record, secrets, &self.claims);
        }
        Ok(registry)
    }

    /// Applies a change that is stored under `version`; it takes effect with the next request.
    pub(crate) fn change(&self, version: i64, change: impl FnOnce(&mut Registry)) {
        let mut registry = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut registry);
        registry.version = version;
        drop(registry);
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.doubt(false);
    }

    /// Returns whether the registry may differ from what is stored, because a change may have been
    /// written but could not be read. Meanwhile nobody is recognized; [`Access::refresh`] ends this
    /// state.
    pub fn is_in_doubt(&self) -> bool {
        self.in_doubt.load(Ordering::Acquire)
    }

    pub(crate) fn doubt(&self, is_in_doubt: bool) {
        self.in_doubt.store(is_in_doubt, Ordering::Release);
    }

    /// Returns a number that every change of the registry in this process increments. A client
    /// recognized at one generation is current as long as the number stays the same.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Returns how often a token's signature was verified, or a secret compared, to recognize a caller
    /// of whom nothing was cached.
    pub fn verifications(&self) -> u64 {
        self.verifications.load(Ordering::Relaxed)
    }

    pub(crate) fn count_verification(&self) {
        self.verifications.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the hierarchy of resource claims.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// Reads from the registry.
    pub fn look_up<T>(&self, ask: impl FnOnce(&Registry) -> T) -> T {
        ask(&self.registry.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the version that the registry reflects.
    pub(crate) fn version(&self) -> i64 {
        self.look_up(|registry| registry.version)
    }

    async fn stored_version(&self) -> Result<i64, AccessError> {
        let rows = self.store.look_up(Sql::new(sql::VERSION, vec![])).await?;
        let version = rows.first().and_then(|row| row.first()?.as_integer());
        version.ok_or(AccessError::Damaged("version"))
    }

    /// Returns the stored version after all writes that this process has already submitted.
    async fn version_after_all(&self) -> Result<i64, AccessError> {
        let plan = Plan {
            ask: vec![Ask::AccessVersion],
            decide: |found: Vec<Answer>| -> Decision<i64, AccessError> {
                match found.first() {
                    Some(Answer::AccessVersion(version)) => Decision::Write(vec![], *version),
                    _ => Decision::Refuse(AccessError::Damaged("version")),
                }
            },
        };
        match self.store.run(plan).await {
            Ok(ran) => Ok(ran.value),
            Err(Refused::Decision(error)) => Err(error),
            Err(Refused::Store(error)) => Err(error.into()),
        }
    }

    /// Reads a stored claim set with its id; claims that do not fit the model grant nothing.
    fn stored_set(&self, row: &[Value]) -> Result<(ClaimSet, i64), AccessError> {
        let damaged = || AccessError::Damaged("claim set");
        let [folded, name, definition, _] = row else { return Err(damaged()) };
        let name = name.as_text().ok_or_else(damaged)?;
        let definition = definition.as_text().and_then(|text| serde_json::from_str(text).ok());
        let mut definition: serde_json::Value = definition.ok_or_else(damaged)?;
        // A set that an earlier version has put has no id.
        let id = definition["id"].as_i64();
        let id = id.or_else(|| folded.as_text().map(stable_id)).ok_or_else(damaged)?;
        if let Some(claims) = definition["resourceClaims"].as_array_mut() {
            let before = claims.len();
            claims.retain(|item| {
                let claim = item["claim"].as_str().and_then(ClaimName::read);
                claim.is_some_and(|claim| self.claims.knows_claim(&claim))
            });
            if claims.len() < before {
                let dropped = before - claims.len();
                tracing::warn!(
                    claim_set = name,
                    dropped,
                    "claims on kinds that the model no longer has"
                );
            }
        }
        let set = ClaimSet::read(name, &definition, &self.claims).unwrap_or_else(|faults| {
            tracing::error!(claim_set = name, ?faults, "a stored claim set does not fit the model");
            ClaimSet::new(name)
        });
        Ok((set, id))
    }
}
