//! Creates, lists, rotates and revokes keys.

use homeroom_http::Timestamp;
use serde_json::{Value, json};

use crate::access::Access;
use crate::change::Change;
use crate::client::{Scope, Status};
use crate::error::ManageError;
use crate::recognize::SECRETS_MAX;
use crate::records::{ClientRecord, SecretRecord};
use crate::registry::Registered;
use crate::secret::new_key;

/// Most education organizations of a client.
pub const EDUCATION_ORGANIZATIONS_MAX: usize = 10_000;
/// Most namespace prefixes of a client.
pub const NAMESPACE_PREFIXES_MAX: usize = 100;
/// Most ownership tokens of a client.
const OWNERSHIP_TOKENS_MAX: usize = 1_000;
/// Most characters of a name or a namespace prefix.
pub const TEXT_MAX: usize = 255;

/// The properties of a new key, as requested.
pub(super) struct NewKey {
    pub(super) claim_set: Option<String>,
    pub(super) name: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) education_organizations: Vec<i64>,
    pub(super) namespace_prefixes: Vec<String>,
    pub(super) ownership_tokens: Vec<i64>,
    pub(super) creator_token: Option<i64>,
}

impl Access {
    pub(super) fn create_key(
        &self,
        change: &mut Change<'_>,
        asked: NewKey,
        now: Timestamp,
    ) -> Result<Value, ManageError> {
        let mut record = ClientRecord {
            key: new_key()?,
            application: checked_name(asked.name)?,
            claim_set: asked.claim_set,
            scopes: checked_scopes(&asked.scopes)?,
            education_organizations: checked_organizations(asked.education_organizations)?,
            namespace_prefixes: checked_prefixes(asked.namespace_prefixes)?,
            created: now,
            status: Status::Active,
            link: None,
            ownership_tokens: checked_tokens(asked.ownership_tokens, asked.creator_token)?,
            creator_token: asked.creator_token,
        };
        let needs_set = record.scopes.contains(&Scope::Data);
        record.claim_set = self.look_up(|registry| match &record.claim_set {
            None if needs_set => Err(ManageError::NoClaimSet(registry.set_names())),
            None => Ok(None),
            Some(name) => match registry.set(name) {
                Some(known) => Ok(Some(known.set.name.clone())),
                None => Err(ManageError::UnknownClaimSet {
                    name: name.clone(),
                    known: registry.set_names(),
                }),
            },
        })?;
        if record.application.is_empty() {
            record.application.clone_from(&record.key);
        }
        let secret = change.add_record(&record)?;
        change.adopt(&record)?;
        Ok(json!({
            "key": record.key,
            "secret": secret.expose(),
            "name": record.application,
            "claimSet": record.claim_set,
            "scopes": scope_names(&record.scopes),
            "educationOrganizations": record.education_organizations,
            "namespacePrefixes": record.namespace_prefixes,
            "ownershipTokens": record.ownership_tokens,
            "creatorToken": record.creator_token,
        }))
    }

    pub(super) fn list_keys(&self, now: Timestamp) -> Value {
        let mut keys = self.look_up(|registry| {
            let clients = registry.clients.values();
            clients
                .map(|registered| (registered.client.created, shown(registered, now)))
                .collect::<Vec<_>>()
        });
        keys.sort_by_key(|(created, _)| *created);
        json!({ "keys": keys.into_iter().map(|(_, key)| key).collect::<Vec<_>>() })
    }

    pub(super) fn rotate_key(
        &self,
        change: &mut Change<'_>,
        key: &str,
        old_secret_seconds: Option<u32>,
        now: Timestamp,
    ) -> Result<Value, ManageError> {
        let secrets = self.secrets_of_active(key)?;
        let (live, ended): (Vec<_>, Vec<_>) =
            secrets.into_iter().partition(|secret| secret.is_live(now));
        if live.len() >= SECRETS_MAX {
            return Err(ManageError::Refused(format!(
                "the key {key} already has {SECRETS_MAX} valid secrets; revoke the older one first \
                 (homeroom keys revoke {key} --old-secrets)"
            )));
        }
        for old in &ended {
            change.remove_secret(key, &old.id);
        }
        let until = old_secret_seconds.map(|seconds| now.plus_seconds(i64::from(seconds)));
        if let Some(until) = until {
            for old in &live {
                change.end_secret(key, &old.id, old.valid_until.map_or(until, |e| e.min(until)));
            }
        }
        // The newest secret is the one created last, so the new one must be later than all others.
        let newest = live.iter().map(|old| old.created.0 + 1).max();
        let created = newest.map_or(now, |newest| now.max(Timestamp(newest)));
        let secret = change.add_secret(key, created)?;
        Ok(json!({
            "key": key,
            "secret": secret.expose(),
            "oldSecretValidUntil": until.map(|until| until.to_string()),
        }))
    }

    pub(super) fn revoke_key(
        &self,
        change: &mut Change<'_>,
        key: &str,
        old_secrets_only: bool,
    ) -> Result<Value, ManageError> {
        let secrets = self.secrets_of_active(key)?;
        let (revoked, status) = if old_secrets_only {
            let older = &secrets[..secrets.len().saturating_sub(1)];
            for secret in older {
                change.remove_secret(key, &secret.id);
            }
            (older.len(), "active")
        } else {
            change.revoke_client(key);
            (secrets.len(), "revoked")
        };
        Ok(json!({ "key": key, "status": status, "secretsRevoked": revoked }))
    }

    pub(super) fn suspend_key(
        &self,
        change: &mut Change<'_>,
        key: &str,
        resume: bool,
    ) -> Result<Value, ManageError> {
        self.secrets_of_active(key)?;
        change.approve_client(key, resume)?;
        Ok(json!({ "key": key, "status": if resume { "active" } else { "suspended" } }))
    }

    pub(super) fn secrets_of_active(&self, key: &str) -> Result<Vec<SecretRecord>, ManageError> {
        if let Status::Revoked(since) = self.client(key)?.status {
            return Err(ManageError::Refused(format!(
                "the key {key} was revoked at {since}, which is permanent; create another"
            )));
        }
        Ok(self.look_up(|registry| {
            registry.clients.get(key).map_or(vec![], |registered| registered.secrets.clone())
        }))
    }
}

fn shown(registered: &Registered, now: Timestamp) -> Value {
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
    let certificates: Vec<String> = registered
        .certificates
        .iter()
        .filter_map(|kept| kept.certificate().map(|certificate| certificate.to_string()))
        .collect();
    let (status, revoked) = match client.status {
        Status::Active => ("active", None),
        Status::Suspended => ("suspended", None),
        Status::Revoked(since) => ("revoked", Some(since.to_string())),
    };
    json!({
        "key": client.key,
        "name": client.application,
        "claimSet": client.claim_set,
        "scopes": scope_names(&client.scopes),
        "educationOrganizations": *client.education_organizations,
        "namespacePrefixes": *client.namespace_prefixes,
        "ownershipTokens": *client.ownership_tokens,
        "creatorToken": client.creator_token,
        "status": status,
        "created": client.created.to_string(),
        "revoked": revoked,
        "secrets": secrets,
        "certificates": certificates,
    })
}

fn scope_names(scopes: &[Scope]) -> Vec<&'static str> {
    scopes.iter().map(|scope| scope.name()).collect()
}

fn checked_name(name: Option<String>) -> Result<String, ManageError> {
    let name = name.unwrap_or_default().trim().to_owned();
    if name.chars().count() > TEXT_MAX || name.chars().any(char::is_control) {
        return Err(ManageError::Invalid(format!(
            "the name of an application has at most {TEXT_MAX} characters and no control characters"
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
        let served = Scope::read(name).filter(|scope| Scope::SERVED.contains(scope));
        let scope = served.ok_or_else(|| {
            let known = Scope::SERVED.map(Scope::name);
            ManageError::Invalid(format!(
                "there is no scope `{name}`; available: {}",
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

/// Returns the tokens in order, including the creator's: a key that creates a document may access
/// it.
fn checked_tokens(mut tokens: Vec<i64>, creator: Option<i64>) -> Result<Vec<i64>, ManageError> {
    tokens.extend(creator);
    tokens.sort_unstable();
    tokens.dedup();
    if tokens.len() > OWNERSHIP_TOKENS_MAX || tokens.iter().any(|token| *token < 1) {
        return Err(ManageError::Invalid(format!(
            "an ownership token is a whole number from 1, and a key has at most \
             {OWNERSHIP_TOKENS_MAX}"
        )));
    }
    Ok(tokens)
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
