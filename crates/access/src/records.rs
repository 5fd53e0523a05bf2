//! Rows of the store, and what they stand for.

use homeroom_http::Timestamp;
use homeroom_store::Value;

use crate::client::{Scope, Status};

/// A client as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientRecord {
    pub(crate) key: String,
    pub(crate) application: String,
    pub(crate) claim_set: Option<String>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) education_organizations: Vec<i64>,
    pub(crate) namespace_prefixes: Vec<String>,
    pub(crate) created: Timestamp,
    pub(crate) status: Status,
}

/// A secret of a client, as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct SecretRecord {
    pub(crate) id: String,
    pub(crate) hash: blake3::Hash,
    pub(crate) created: Timestamp,
    pub(crate) valid_until: Option<Timestamp>,
}

impl SecretRecord {
    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        self.valid_until.is_none_or(|until| now < until)
    }
}

impl ClientRecord {
    /// Reads a row of [`crate::sql::CLIENTS`]; none where it cannot be understood.
    pub(crate) fn read(row: &[Value]) -> Option<Self> {
        let [key, application, claim_set, scopes, organizations, prefixes, created, revoked] = row
        else {
            return None;
        };
        Some(Self {
            key: key.as_text()?.to_owned(),
            application: application.as_text()?.to_owned(),
            claim_set: claim_set.as_text().map(String::from),
            scopes: scopes.as_text()?.split(' ').filter_map(Scope::read).collect(),
            education_organizations: serde_json::from_str(organizations.as_text()?).ok()?,
            namespace_prefixes: serde_json::from_str(prefixes.as_text()?).ok()?,
            created: Timestamp(created.as_integer()?),
            status: revoked
                .as_integer()
                .map_or(Status::Active, |moment| Status::Revoked(Timestamp(moment))),
        })
    }

    /// The arguments of [`crate::sql::ADD_CLIENT`].
    pub(crate) fn arguments(&self) -> Vec<Value> {
        let scopes: Vec<&str> = self.scopes.iter().map(|scope| scope.name()).collect();
        let json = |list: serde_json::Value| Value::Text(list.to_string());
        vec![
            self.key.as_str().into(),
            self.application.as_str().into(),
            self.claim_set.clone().into(),
            scopes.join(" ").into(),
            json(self.education_organizations.clone().into()),
            json(self.namespace_prefixes.clone().into()),
            self.created.0.into(),
        ]
    }
}

impl SecretRecord {
    /// Reads a row of [`crate::sql::SECRETS`] with its client's key.
    pub(crate) fn read(row: &[Value]) -> Option<(String, Self)> {
        let [key, id, hash, created, valid_until] = row else { return None };
        let secret = Self {
            id: id.as_text()?.to_owned(),
            hash: blake3::Hash::from_hex(hash.as_text()?).ok()?,
            created: Timestamp(created.as_integer()?),
            valid_until: valid_until.as_integer().map(Timestamp),
        };
        Some((key.as_text()?.to_owned(), secret))
    }
}
