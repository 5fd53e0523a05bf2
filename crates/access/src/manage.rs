//! Management as values: what a command asks, and what it is told.

mod claim_sets;
mod keys;
mod strategies;

use std::sync::Arc;

use homeroom_http::Timestamp;
use homeroom_store::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::{Access, AccessError};
use crate::client::ApiClient;
use crate::nearest::did_you_mean;
use crate::secret::RandomError;
use keys::NewKey;
pub use keys::{EDUCATION_ORGANIZATIONS_MAX, NAMESPACE_PREFIXES_MAX, TEXT_MAX};

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
        /// Ownership tokens whose documents it may touch, where it is authorized by ownership.
        #[serde(default)]
        ownership_tokens: Vec<i64>,
        /// The ownership token that its documents get.
        #[serde(default)]
        creator_token: Option<i64>,
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
    /// Shows a claim set.
    ShowClaimSet {
        /// Its name.
        name: String,
    },
    /// Removes a claim set of the operator's own; a shipped one of its name is back.
    RemoveClaimSet {
        /// Its name.
        name: String,
    },
    /// Creates or replaces a strategy that is a custom view.
    PutStrategy {
        /// Its name, `{Basis}With{Text}`.
        name: String,
        /// The object with `where`.
        definition: Value,
    },
    /// Lists all strategies.
    ListStrategies {},
    /// Shows a custom view.
    ShowStrategy {
        /// Its name.
        name: String,
    },
    /// Removes a custom view that no claim set names.
    RemoveStrategy {
        /// Its name.
        name: String,
    },
    /// Says what a key may do to a resource, and which claims say so; and whether it reaches a stored
    /// document, and why.
    Explain {
        /// The key.
        key: String,
        /// HTTP method or action.
        method: String,
        /// Endpoint, name or document: `/ed-fi/schools`, `schools`, `School`, `/ed-fi/schools/{id}`.
        resource: String,
    },
}

/// Why a managing command was not done; nothing was changed, as far as the store knows.
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
    /// Another process changed the registry at the same moment.
    #[error("another process changed keys, claim sets or strategies at this moment; try again")]
    Meanwhile,
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
    /// [`ManageError`]; nothing was changed, unless it is [`StoreError::Unsure`]: then it is not known.
    pub async fn manage(&self, asked: Manage, now: Timestamp) -> Result<Value, ManageError> {
        let mut change = self.begin_change(now).await?;
        match asked {
            Manage::CreateKey {
                claim_set,
                name,
                scopes,
                education_organizations,
                namespace_prefixes,
                ownership_tokens,
                creator_token,
            } => {
                let asked = NewKey {
                    claim_set,
                    name,
                    scopes,
                    education_organizations,
                    namespace_prefixes,
                    ownership_tokens,
                    creator_token,
                };
                let made = self.create_key(&mut change, asked, now)?;
                change.commit().await?;
                Ok(made)
            }
            Manage::ListKeys {} => Ok(self.list_keys(now)),
            Manage::RotateKey { key, old_secret_seconds } => {
                let rotated = self.rotate_key(&mut change, &key, old_secret_seconds, now)?;
                change.commit().await?;
                Ok(rotated)
            }
            Manage::RevokeKey { key, old_secrets_only } => {
                let revoked = self.revoke_key(&mut change, &key, old_secrets_only)?;
                change.commit().await?;
                Ok(revoked)
            }
            Manage::PutClaimSet { name, definition } => {
                let put = self.put_claim_set(&mut change, &name, &definition)?;
                change.commit().await?;
                Ok(put)
            }
            Manage::ListClaimSets {} => Ok(self.list_claim_sets()),
            Manage::ShowClaimSet { name } => self.show_claim_set(&name),
            Manage::RemoveClaimSet { name } => {
                let removed = claim_sets::remove(&mut change, &name)?;
                change.commit().await?;
                Ok(removed)
            }
            Manage::PutStrategy { name, definition } => {
                let put = self.put_strategy(&mut change, &name, &definition)?;
                change.commit().await?;
                Ok(put)
            }
            Manage::ListStrategies {} => Ok(self.list_strategies()),
            Manage::ShowStrategy { name } => self.show_strategy(&name),
            Manage::RemoveStrategy { name } => {
                let removed = strategies::remove(&mut change, &name)?;
                change.commit().await?;
                Ok(removed)
            }
            Manage::Explain { key, method, resource } => {
                let client = self.client(&key)?;
                self.explain(&client, &method, &resource).await
            }
        }
    }

    fn client(&self, key: &str) -> Result<Arc<ApiClient>, ManageError> {
        self.look_up(|registry| match registry.clients.get(key) {
            Some(registered) => Ok(Arc::clone(&registered.client)),
            None => Err(ManageError::UnknownKey {
                key: key.to_owned(),
                hint: did_you_mean(key, registry.clients.keys().map(String::as_str)),
            }),
        })
    }
}
