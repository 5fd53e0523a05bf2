//! Conversion between rows of the store and values.

use homeroom_http::{Fingerprint, Timestamp};
use homeroom_store::Value;

use crate::client::{ApiClient, Scope, Status};

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
    pub(crate) ownership_tokens: Vec<i64>,
    pub(crate) creator_token: Option<i64>,
    pub(crate) link: Option<ClientLink>,
}

/// A client's membership in an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientLink {
    /// Number of the client in the Admin API.
    pub(crate) id: i64,
    /// Id of the application.
    pub(crate) application: i64,
    /// Name of the client.
    pub(crate) name: String,
    /// Whether it is approved to call.
    pub(crate) is_approved: bool,
}

/// Begins the id of a certificate among the secrets, and names how the rest was made.
///
/// Source: RFC 7515 §4.1.8 (`x5t#S256`).
const CERTIFICATE: &str = "x5t:";

/// A secret of a client, or a certificate that takes the place of one, as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct SecretRecord {
    pub(crate) id: String,
    /// The keyed hash of a secret; the fingerprint of a certificate.
    pub(crate) hash: blake3::Hash,
    pub(crate) created: Timestamp,
    pub(crate) valid_until: Option<Timestamp>,
}

impl SecretRecord {
    /// Returns the record of a certificate, which is valid until it is removed.
    pub(crate) fn of_certificate(fingerprint: &Fingerprint, created: Timestamp) -> Self {
        let hash = blake3::Hash::from_bytes(*fingerprint.bytes());
        Self { id: Self::id_of(fingerprint), hash, created, valid_until: None }
    }

    /// Returns the id that the record of a certificate has.
    pub(crate) fn id_of(fingerprint: &Fingerprint) -> String {
        format!("{CERTIFICATE}{fingerprint}")
    }

    /// Returns the fingerprint, if it is the record of a certificate.
    pub(crate) fn certificate(&self) -> Option<Fingerprint> {
        Fingerprint::read(self.id.strip_prefix(CERTIFICATE)?)
    }

    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        self.valid_until.is_none_or(|until| now < until)
    }
}

impl From<&ApiClient> for ClientRecord {
    /// Converts a client in memory, without its link to an application.
    fn from(client: &ApiClient) -> Self {
        Self {
            key: client.key.clone(),
            application: client.application.clone(),
            claim_set: client.claim_set.clone(),
            scopes: client.scopes.clone(),
            education_organizations: client.education_organizations.to_vec(),
            namespace_prefixes: client.namespace_prefixes.to_vec(),
            created: client.created,
            status: client.status,
            ownership_tokens: client.ownership_tokens.to_vec(),
            creator_token: client.creator_token,
            link: None,
        }
    }
}

impl ClientRecord {
    /// Reads a row of [`crate::sql::CLIENTS`]; [`None`] where it is malformed.
    pub(crate) fn read(row: &[Value]) -> Option<Self> {
        let (row, link) = row.split_at_checked(11)?;
        let [
            key,
            application,
            claim_set,
            scopes,
            organizations,
            prefixes,
            created,
            revoked,
            ownership_tokens,
            creator_token,
            suspended,
        ] = row
        else {
            return None;
        };
        let link = ClientLink::read(link);
        let unrevoked = match &link {
            Some(link) if link.is_approved => Status::Active,
            None if suspended.as_integer()? == 0 => Status::Active,
            Some(_) | None => Status::Suspended,
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
                .map_or(unrevoked, |moment| Status::Revoked(Timestamp(moment))),
            link,
            ownership_tokens: serde_json::from_str(ownership_tokens.as_text()?).ok()?,
            creator_token: creator_token.as_integer(),
        })
    }

    /// Returns the arguments of [`crate::sql::ADD_CLIENT`].
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
            json(self.ownership_tokens.clone().into()),
            self.creator_token.into(),
        ]
    }
}

impl ClientLink {
    /// Reads the columns of a link; [`None`] for a client that belongs to no application.
    fn read(row: &[Value]) -> Option<Self> {
        let [id, application, name, approved] = row else { return None };
        Some(Self {
            id: id.as_integer()?,
            application: application.as_integer()?,
            name: name.as_text()?.to_owned(),
            is_approved: approved.as_integer()? != 0,
        })
    }

    /// Returns the arguments of [`crate::sql::PUT_LINK`].
    pub(crate) fn arguments(&self, key: &str) -> Vec<Value> {
        vec![
            key.into(),
            self.id.into(),
            self.application.into(),
            self.name.as_str().into(),
            i64::from(self.is_approved).into(),
        ]
    }
}

impl SecretRecord {
    /// Returns the arguments of [`crate::sql::ADD_SECRET`].
    pub(crate) fn arguments(&self, key: &str) -> Vec<Value> {
        let hash = self.hash.to_hex().to_string();
        vec![self.id.clone().into(), key.into(), hash.into(), self.created.0.into()]
    }

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
