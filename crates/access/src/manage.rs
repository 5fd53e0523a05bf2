//! Management as values: what a command asks, and what it is told.

use homeroom_http::Timestamp;
use homeroom_store::{Answer, Decision, Plan, Refused, Sql, StoreError, Value as SqlValue, Write};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::{Access, AccessError};
use crate::claim_set::{ClaimSet, fold_name};
use crate::client::{ApiClient, Scope, Status};
use crate::nearest::did_you_mean;
use crate::recognize::SECRETS_MAX;
use crate::records::{ClientRecord, SecretRecord};
use crate::secret::{RandomError, new_key, new_secret, new_secret_id};
use crate::sql;

/// Most clients of a store.
const CLIENTS_MAX: usize = 100_000;
/// Most claim sets of a store, the shipped ones included.
const CLAIM_SETS_MAX: usize = 1_000;
/// Most education organizations of a client.
const EDUCATION_ORGANIZATIONS_MAX: usize = 10_000;
/// Most namespace prefixes of a client.
const NAMESPACE_PREFIXES_MAX: usize = 100;
/// Most characters of a name or a namespace prefix.
const TEXT_MAX: usize = 255;

/// What a managing command asks.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "manage", rename_all = "kebab-case")]
pub enum Manage {
    /// Makes a key; the answer has its secret, which is shown this once.
    CreateKey {
        /// Claim set, required for the scope `data`; blanks, hyphens and case do not matter.
        #[serde(default)]
        claim_set: Option<String>,
        /// Name of the application; the key itself where none is given.
        #[serde(default)]
        name: Option<String>,
        /// Scopes; `data` where none is given.
        #[serde(default)]
        scopes: Vec<String>,
        /// Education organizations.
        #[serde(default)]
        education_organizations: Vec<i64>,
        /// Beginnings of namespaces.
        #[serde(default)]
        namespace_prefixes: Vec<String>,
    },
    /// Lists all keys, without secrets.
    ListKeys {},
    /// Makes a second secret; the old one stays valid until it is revoked or the time is over.
    RotateKey {
        /// The key.
        key: String,
        /// How long the old secret stays valid; [`None`]: until it is revoked.
        #[serde(default)]
        old_secret_seconds: Option<u32>,
    },
    /// Ends a key, or all its secrets but the newest, at once.
    RevokeKey {
        /// The key.
        key: String,
        /// Only the secrets before the newest.
        #[serde(default)]
        old_secrets_only: bool,
    },
    /// Creates or replaces a claim set.
    PutClaimSet {
        /// Its name.
        name: String,
        /// The object with `resourceClaims`.
        definition: Value,
    },
    /// Lists all claim sets.
    ListClaimSets {},
    /// Says what a key may do to a resource, and which claims say so.
    Explain {
        /// The key.
        key: String,
        /// HTTP method or action.
        method: String,
        /// Endpoint or name: `/ed-fi/schools`, `schools`, `School`.
        resource: String,
    },
}

/// Why a managing command was not done; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ManageError {
    /// A key of the scope `data` needs a claim set.
    #[error("a key needs a claim set, which says what it may do; there are {}", .0.join(", "))]
    NoClaimSet(Vec<String>),
    /// No claim set has this name.
    #[error("there is no claim set `{name}`; there are {}", .known.join(", "))]
    UnknownClaimSet {
        /// The name that was given.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// No client has this key.
    #[error("there is no key `{key}`{hint}")]
    UnknownKey {
        /// The key that was given.
        key: String,
        /// What may have been meant.
        hint: String,
    },
    /// What was asked makes no sense as it stands.
    #[error("{0}")]
    Invalid(String),
    /// What was asked is at odds with how things are.
    #[error("{0}")]
    Refused(String),
    /// The store or the system failed.
    #[error(transparent)]
    Access(#[from] AccessError),
}

impl From<StoreError> for ManageError {
    fn from(error: StoreError) -> Self {
        Self::Access(error.into())
    }
}

impl From<RandomError> for ManageError {
    fn from(error: RandomError) -> Self {
        Self::Access(error.into())
    }
}

impl Access {
    /// Does what a managing command asks. What it changes holds from the next request on.
    ///
    /// # Errors
    ///
    /// [`ManageError`]; nothing was changed.
    pub async fn manage(&self, asked: Manage, now: Timestamp) -> Result<Value, ManageError> {
        let _managing = self.managing.lock().await;
        self.refresh_managing().await?;
        match asked {
            Manage::CreateKey {
                claim_set,
                name,
                scopes,
                education_organizations,
                namespace_prefixes,
            } => {
                let record = ClientRecord {
                    key: new_key()?,
                    application: checked_name(name)?,
                    claim_set,
                    scopes: checked_scopes(&scopes)?,
                    education_organizations: checked_organizations(education_organizations)?,
                    namespace_prefixes: checked_prefixes(namespace_prefixes)?,
                    created: now,
                    status: Status::Active,
                };
                self.create_key(record, now).await
            }
            Manage::ListKeys {} => Ok(self.list_keys(now)),
            Manage::RotateKey { key, old_secret_seconds } => {
                self.rotate_key(&key, old_secret_seconds, now).await
            }
            Manage::RevokeKey { key, old_secrets_only } => {
                self.revoke_key(&key, old_secrets_only, now).await
            }
            Manage::PutClaimSet { name, definition } => {
                self.put_claim_set(&name, &definition, now).await
            }
            Manage::ListClaimSets {} => Ok(self.list_claim_sets()),
            Manage::Explain { key, method, resource } => {
                let client = self.client(&key)?;
                self.explain(&client, &method, &resource)
            }
        }
    }

    async fn create_key(
        &self,
        mut record: ClientRecord,
        now: Timestamp,
    ) -> Result<Value, ManageError> {
        let needs_set = record.scopes.contains(&Scope::Data);
        record.claim_set = self.look_up(|registry| {
            if registry.clients.len() >= CLIENTS_MAX {
                return Err(ManageError::Refused(format!("there are {CLIENTS_MAX} keys already")));
            }
            match &record.claim_set {
                None if needs_set => Err(ManageError::NoClaimSet(registry.set_names())),
                None => Ok(None),
                Some(name) => match registry.set(name) {
                    Some(known) => Ok(Some(known.set.name.clone())),
                    None => Err(ManageError::UnknownClaimSet {
                        name: name.clone(),
                        known: registry.set_names(),
                    }),
                },
            }
        })?;
        if record.application.is_empty() {
            record.application.clone_from(&record.key);
        }
        let secret = new_secret()?;
        let hash = self.hasher.hash(&record.key, &secret);
        let version = self
            .write(vec![
                Sql::new(sql::ADD_CLIENT, record.arguments()),
                add_secret(&record.key, &hash, now)?,
            ])
            .await?;
        self.reload_client(&record.key, version).await?;
        Ok(json!({
            "key": record.key,
            "secret": secret.expose(),
            "name": record.application,
            "claimSet": record.claim_set,
            "scopes": scope_names(&record.scopes),
            "educationOrganizations": record.education_organizations,
            "namespacePrefixes": record.namespace_prefixes,
        }))
    }

    fn list_keys(&self, now: Timestamp) -> Value {
        let mut keys = self.look_up(|registry| {
            let clients = registry.clients.values();
            clients
                .map(|registered| (registered.client.created, shown(registered, now)))
                .collect::<Vec<_>>()
        });
        keys.sort_by_key(|(created, _)| *created);
        json!({ "keys": keys.into_iter().map(|(_, key)| key).collect::<Vec<_>>() })
    }

    async fn rotate_key(
        &self,
        key: &str,
        old_secret_seconds: Option<u32>,
        now: Timestamp,
    ) -> Result<Value, ManageError> {
        let secrets = self.secrets_of_active(key)?;
        let (live, ended): (Vec<_>, Vec<_>) =
            secrets.into_iter().partition(|secret| secret.is_live(now));
        if live.len() >= SECRETS_MAX {
            return Err(ManageError::Refused(format!(
                "the key {key} has {SECRETS_MAX} live secrets already; revoke the older one first \
                 (homeroom keys revoke {key} --old-secrets)"
            )));
        }
        let secret = new_secret()?;
        let hash = self.hasher.hash(key, &secret);
        let mut writes: Vec<Sql> = ended
            .iter()
            .map(|old| Sql::new(sql::REMOVE_SECRET, vec![old.id.clone().into()]))
            .collect();
        let until = old_secret_seconds.map(|seconds| now.plus_seconds(i64::from(seconds)));
        if let Some(until) = until {
            writes.extend(live.iter().map(|old| {
                let until = old.valid_until.map_or(until, |earlier| earlier.min(until));
                Sql::new(sql::END_SECRET, vec![old.id.clone().into(), until.0.into()])
            }));
        }
        // The newest secret is told by its moment, so that one must be later than the other's.
        let newest = live.iter().map(|old| old.created.0 + 1).max();
        let created = newest.map_or(now, |newest| now.max(Timestamp(newest)));
        writes.push(add_secret(key, &hash, created)?);
        let version = self.write(writes).await?;
        self.reload_client(key, version).await?;
        Ok(json!({
            "key": key,
            "secret": secret.expose(),
            "oldSecretValidUntil": until.map(|until| until.to_string()),
        }))
    }

    async fn revoke_key(
        &self,
        key: &str,
        old_secrets_only: bool,
        now: Timestamp,
    ) -> Result<Value, ManageError> {
        let secrets = self.secrets_of_active(key)?;
        let writes = if old_secrets_only {
            let older = &secrets[..secrets.len().saturating_sub(1)];
            let remove = |secret: &SecretRecord| vec![secret.id.clone().into()];
            older.iter().map(|secret| Sql::new(sql::REMOVE_SECRET, remove(secret))).collect()
        } else {
            vec![
                Sql::new(sql::REVOKE_CLIENT, vec![key.into(), now.0.into()]),
                Sql::new(sql::REMOVE_SECRETS_OF, vec![key.into()]),
            ]
        };
        let revoked = if old_secrets_only { writes.len() } else { secrets.len() };
        let version = self.write(writes).await?;
        self.reload_client(key, version).await?;
        let status = if old_secrets_only { "active" } else { "revoked" };
        Ok(json!({ "key": key, "status": status, "secretsRevoked": revoked }))
    }

    async fn put_claim_set(
        &self,
        name: &str,
        definition: &Value,
        now: Timestamp,
    ) -> Result<Value, ManageError> {
        let set = ClaimSet::read(name, definition, &self.claims).map_err(|faults| {
            ManageError::Invalid(format!(
                "the claim set `{name}` cannot be used:\n  {}",
                faults.join("\n  ")
            ))
        })?;
        let folded = fold_name(&set.name);
        if folded.is_empty() {
            return Err(ManageError::Invalid("the name of a claim set needs a letter".into()));
        }
        let replaced = self.look_up(|registry| match registry.sets.get(&folded) {
            Some(known) if known.shipped => Err(ManageError::Refused(format!(
                "the claim set `{}` is shipped and stays as published; choose another name",
                known.set.name
            ))),
            None if registry.sets.len() >= CLAIM_SETS_MAX => {
                Err(ManageError::Refused(format!("there are {CLAIM_SETS_MAX} claim sets already")))
            }
            known => Ok(known.is_some()),
        })?;
        let arguments = vec![
            folded.into(),
            set.name.as_str().into(),
            set.to_json().to_string().into(),
            now.0.into(),
        ];
        let version = self.write(vec![Sql::new(sql::PUT_CLAIM_SET, arguments)]).await?;
        let answer = json!({
            "name": set.name,
            "replaced": replaced,
            "resourceClaims": set.grants.len(),
        });
        self.change(version, |registry| registry.put_set(set, &self.claims));
        Ok(answer)
    }

    fn list_claim_sets(&self) -> Value {
        let sets = self.look_up(|registry| {
            let sets = registry.sets.values();
            sets.map(|known| {
                let clients = registry.clients.values();
                let keys = clients
                    .filter(|r| r.client.claim_set.as_ref() == Some(&known.set.name))
                    .filter(|r| r.client.status == Status::Active);
                json!({
                    "name": known.set.name,
                    "shipped": known.shipped,
                    "resourceClaims": known.set.grants.len(),
                    "keys": keys.count(),
                })
            })
            .collect::<Vec<_>>()
        });
        json!({ "claimSets": sets })
    }

    fn client(&self, key: &str) -> Result<std::sync::Arc<ApiClient>, ManageError> {
        self.look_up(|registry| match registry.clients.get(key) {
            Some(registered) => Ok(std::sync::Arc::clone(&registered.client)),
            None => Err(ManageError::UnknownKey {
                key: key.to_owned(),
                hint: did_you_mean(key, registry.clients.keys().map(String::as_str)),
            }),
        })
    }

    fn secrets_of_active(&self, key: &str) -> Result<Vec<SecretRecord>, ManageError> {
        if let Status::Revoked(since) = self.client(key)?.status {
            return Err(ManageError::Refused(format!(
                "the key {key} was revoked at {since} and stays so; create another"
            )));
        }
        Ok(self.look_up(|registry| {
            registry.clients.get(key).map_or(vec![], |registered| registered.secrets.clone())
        }))
    }

    /// Writes all of it or none, and gives the version that it has.
    async fn write(&self, writes: Vec<Sql>) -> Result<i64, ManageError> {
        let shown = self.version();
        let mut writes = Some(writes);
        let plan = Plan {
            ask: vec![homeroom_store::Ask::Sql(Sql::new(sql::VERSION, vec![]))],
            decide: move |found: Vec<Answer>| -> Decision<i64, ManageError> {
                let version = match found.first() {
                    Some(Answer::Rows(rows)) => rows.first().and_then(|row| row[0].as_integer()),
                    _ => None,
                };
                if version != Some(shown) {
                    return Decision::Refuse(ManageError::Refused(
                        "another process changed keys or claim sets at this moment; try again"
                            .into(),
                    ));
                }
                let count = Sql::new(sql::SET_VERSION, vec![SqlValue::Integer(shown + 1)]);
                let writes = writes.take().into_iter().flatten().chain([count]);
                Decision::Write(writes.map(Write::Sql).collect(), shown + 1)
            },
        };
        match self.store.run(plan).await {
            Ok(ran) => Ok(ran.value),
            Err(Refused::Decision(error)) => Err(error),
            Err(Refused::Store(error)) => Err(error.into()),
        }
    }
}

fn add_secret(key: &str, hash: &blake3::Hash, now: Timestamp) -> Result<Sql, RandomError> {
    let id = new_secret_id()?;
    let arguments = vec![id.into(), key.into(), hash.to_hex().to_string().into(), now.0.into()];
    Ok(Sql::new(sql::ADD_SECRET, arguments))
}

fn shown(registered: &crate::registry::Registered, now: Timestamp) -> Value {
    let client = &registered.client;
    let live = registered.secrets.iter().filter(|secret| secret.is_live(now));
    let secrets: Vec<Value> = live
        .map(|secret| {
            json!({
                "created": secret.created.to_string(),
                "validUntil": secret.valid_until.map(|until| until.to_string()),
            })
        })
        .collect();
    let (status, revoked) = match client.status {
        Status::Active => ("active", None),
        Status::Revoked(since) => ("revoked", Some(since.to_string())),
    };
    json!({
        "key": client.key,
        "name": client.application,
        "claimSet": client.claim_set,
        "scopes": scope_names(&client.scopes),
        "educationOrganizations": *client.education_organizations,
        "namespacePrefixes": *client.namespace_prefixes,
        "status": status,
        "created": client.created.to_string(),
        "revoked": revoked,
        "secrets": secrets,
    })
}

fn scope_names(scopes: &[Scope]) -> Vec<&'static str> {
    scopes.iter().map(|scope| scope.name()).collect()
}

fn checked_name(name: Option<String>) -> Result<String, ManageError> {
    let name = name.unwrap_or_default().trim().to_owned();
    if name.chars().count() > TEXT_MAX || name.chars().any(char::is_control) {
        return Err(ManageError::Invalid(format!(
            "the name of an application has at most {TEXT_MAX} characters, none of them a control"
        )));
    }
    Ok(name)
}

fn checked_scopes(names: &[String]) -> Result<Vec<Scope>, ManageError> {
    if names.is_empty() {
        return Ok(vec![Scope::Data]);
    }
    let mut scopes = vec![];
    for name in names {
        let scope = Scope::read(name).ok_or_else(|| {
            let known = Scope::ALL.map(Scope::name);
            ManageError::Invalid(format!(
                "there is no scope `{name}`; there are {}",
                known.join(", ")
            ))
        })?;
        scopes.push(scope);
    }
    scopes.sort_unstable();
    scopes.dedup();
    Ok(scopes)
}

fn checked_organizations(mut ids: Vec<i64>) -> Result<Vec<i64>, ManageError> {
    ids.sort_unstable();
    ids.dedup();
    if ids.len() > EDUCATION_ORGANIZATIONS_MAX {
        return Err(ManageError::Invalid(format!(
            "a key has at most {EDUCATION_ORGANIZATIONS_MAX} education organizations; name one \
             above them instead"
        )));
    }
    Ok(ids)
}

fn checked_prefixes(given: Vec<String>) -> Result<Vec<String>, ManageError> {
    let mut prefixes: Vec<String> = vec![];
    for prefix in given {
        let prefix = prefix.trim().to_owned();
        let length = prefix.chars().count();
        if length == 0 || length > TEXT_MAX || prefix.chars().any(char::is_control) {
            return Err(ManageError::Invalid(format!(
                "a namespace prefix has 1 to {TEXT_MAX} characters, such as `uri://ed-fi.org`"
            )));
        }
        if !prefixes.contains(&prefix) {
            prefixes.push(prefix);
        }
    }
    if prefixes.len() > NAMESPACE_PREFIXES_MAX {
        return Err(ManageError::Invalid(format!(
            "a key has at most {NAMESPACE_PREFIXES_MAX} namespace prefixes"
        )));
    }
    Ok(prefixes)
}
