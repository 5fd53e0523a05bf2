//! Management as values: requests of commands, and their answers.

mod certificates;
mod claim_sets;
mod keys;
mod strategies;

use std::sync::Arc;

use homeroom_http::{Timestamp, did_you_mean};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Access;
use crate::audit::Author;
use crate::client::ApiClient;
use crate::explain::Explain;

use crate::error::ManageError;
use keys::NewKey;
pub use keys::{EDUCATION_ORGANIZATIONS_MAX, NAMESPACE_PREFIXES_MAX, TEXT_MAX};

/// A request of a management command.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "manage", rename_all = "kebab-case")]
pub enum Manage {
    /// Creates a key; the answer has its secret, which is shown only this once.
    CreateKey {
        /// Claim set, required for the scope `data`; spaces, hyphens and case are ignored.
        #[serde(default)]
        claim_set: Option<String>,
        /// Name of the application; defaults to the key.
        #[serde(default)]
        name: Option<String>,
        /// Scopes; defaults to `data`.
        #[serde(default)]
        scopes: Vec<String>,
        /// Education organizations.
        #[serde(default)]
        education_organizations: Vec<i64>,
        /// Namespace prefixes.
        #[serde(default)]
        namespace_prefixes: Vec<String>,
        /// Ownership tokens whose documents the key may access, where a strategy goes by ownership.
        #[serde(default)]
        ownership_tokens: Vec<i64>,
        /// The ownership token given to documents that the key creates.
        #[serde(default)]
        creator_token: Option<i64>,
    },
    /// Lists all keys, without secrets.
    ListKeys {},
    /// Adds a second secret; the old one stays valid until it is revoked or its time is over.
    RotateKey {
        /// The key.
        key: String,
        /// How long the old secret stays valid; [`None`] means until it is revoked.
        #[serde(default)]
        old_secret_seconds: Option<u32>,
    },
    /// Revokes a key, or all its secrets but the newest, at once.
    RevokeKey {
        /// The key.
        key: String,
        /// Whether to revoke only the secrets older than the newest.
        #[serde(default)]
        old_secrets_only: bool,
    },
    /// Registers a certificate with a key, or removes one at once.
    SetCertificate {
        /// The key.
        key: String,
        /// The certificate's SHA-256 fingerprint, 64 hex digits.
        sha256: String,
        /// Whether to remove it instead.
        #[serde(default)]
        remove: bool,
    },
    /// Suspends a key, whose tokens are refused at once, or lets a suspended one call again.
    SuspendKey {
        /// The key.
        key: String,
        /// Whether to end the suspension instead.
        #[serde(default)]
        resume: bool,
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
    /// Removes an operator's claim set; a shipped set of that name is restored.
    RemoveClaimSet {
        /// Its name.
        name: String,
    },
    /// Creates or replaces a custom view, which is used as a strategy.
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
    /// Explains what a key may do to a resource and which claims decide it. For a stored document,
    /// also explains whether the key has access to it, and why, if the part that knows documents
    /// executes the command.
    Explain(Explain),
}

impl Access {
    /// Executes a management command of the server itself. Changes take effect with the next request.
    ///
    /// # Errors
    ///
    /// [`ManageError`]. Nothing was changed, except after [`StoreError::Unsure`](homeroom_store::StoreError::Unsure), where that is
    /// unknown.
    pub async fn manage(&self, asked: Manage, now: Timestamp) -> Result<Value, ManageError> {
        self.manage_by(Author::default(), asked, now).await
    }

    /// Executes a management command of somebody, by whose name it is in the audit log.
    ///
    /// # Errors
    ///
    /// The same as [`Access::manage`].
    pub async fn manage_by(
        &self,
        author: Author,
        asked: Manage,
        now: Timestamp,
    ) -> Result<Value, ManageError> {
        let mut change = self.begin_change_by(author, now).await?;
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
            Manage::SetCertificate { key, sha256, remove } => {
                let set = self.set_certificate(&mut change, &key, &sha256, remove)?;
                change.commit().await?;
                Ok(set)
            }
            Manage::SuspendKey { key, resume } => {
                let suspended = self.suspend_key(&mut change, &key, resume)?;
                change.commit().await?;
                Ok(suspended)
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
            Manage::Explain(asked) => Ok(self.explanation(&asked)?.into_value()),
        }
    }

    pub(crate) fn client(&self, key: &str) -> Result<Arc<ApiClient>, ManageError> {
        self.look_up(|registry| match registry.clients.get(key) {
            Some(registered) => Ok(Arc::clone(&registered.client)),
            None => Err(ManageError::UnknownKey {
                key: key.to_owned(),
                hint: did_you_mean(key, registry.clients.keys().map(String::as_str)),
            }),
        })
    }
}
