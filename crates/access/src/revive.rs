//! The keys, secrets and rights that a restored store brings back, compared with those of the store
//! that it replaces.

use std::collections::{BTreeMap, BTreeSet};

use homeroom_http::Timestamp;
use homeroom_store::{Snapshot, Sql, StoreError, Value};
use serde::Serialize;

use crate::client::Status;
use crate::records::{ClientRecord, SecretRecord};
use crate::sql;

/// What a restore brings back, and what is done about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Revival {
    /// Whether the replaced store is a later state of the same one; otherwise nothing is compared.
    pub is_later: bool,
    /// Keys that were revoked or removed since the backup, and that stay so.
    pub stay_revoked: Vec<String>,
    /// Keys that were suspended since the backup, and that stay so.
    pub stay_suspended: Vec<String>,
    /// Keys that keep the secrets of the replaced store, since they were rotated, ended or added.
    pub secrets_kept: Vec<String>,
    /// Keys that were revoked, removed or suspended since the backup, and that may call again.
    pub active_again: Vec<String>,
    /// Keys with secrets that were ended since the backup, and that are valid again.
    pub secrets_valid_again: Vec<String>,
    /// Keys whose rights differ from those in the replaced store.
    pub rights_differ: Vec<String>,
    /// Claim sets that differ between the two stores, or exist in only one of them.
    pub claim_sets_differ: Vec<String>,
    /// Keys that were created since the backup, and that are lost.
    pub lost_keys: Vec<String>,
    /// All keys that may call.
    pub active_keys: Vec<String>,
}

/// Clients with their secrets, claim sets, and what identifies a store.
struct StoredClients {
    clients: BTreeMap<String, ClientRecord>,
    secrets: BTreeMap<String, Vec<SecretRecord>>,
    claim_sets: BTreeMap<String, String>,
    server_keys: BTreeSet<String>,
    version: i64,
}

impl StoredClients {
    fn read(snapshot: &Snapshot) -> Result<Self, StoreError> {
        let rows = |text| snapshot.rows(Sql::new(text, vec![]));
        let damaged = |what: &str| StoreError::Failed(format!("a row of a {what} cannot be read"));
        let mut clients = BTreeMap::new();
        for row in rows(sql::CLIENTS)? {
            let client = ClientRecord::read(&row).ok_or_else(|| damaged("client"))?;
            clients.insert(client.key.clone(), client);
        }
        let mut secrets: BTreeMap<String, Vec<SecretRecord>> = BTreeMap::new();
        for row in rows(sql::SECRETS)? {
            let (key, secret) = SecretRecord::read(&row).ok_or_else(|| damaged("secret"))?;
            secrets.entry(key).or_default().push(secret);
        }
        let text = |value: &Value| value.as_text().unwrap_or_default().to_owned();
        let claim_sets =
            rows(sql::CLAIM_SETS)?.iter().map(|row| (text(&row[1]), text(&row[2]))).collect();
        let server_keys =
            rows(sql::SERVER_KEYS)?.iter().map(|row| text(&row[0]) + &text(&row[1])).collect();
        let version = rows(sql::VERSION)?.first().and_then(|row| row[0].as_integer()).unwrap_or(0);
        Ok(Self { clients, secrets, claim_sets, server_keys, version })
    }

    fn secrets(&self, key: &str) -> BTreeMap<&str, Option<Timestamp>> {
        let secrets = self.secrets.get(key).into_iter().flatten();
        secrets.map(|secret| (secret.id.as_str(), secret.valid_until)).collect()
    }
}

/// Compares the clients of a store that is about to be restored with those of the store that it
/// replaces, where that can be read. Returns the comparison, and the SQL that applies it.
///
/// Unless `as_in_backup` is set, keys that were revoked, removed or suspended since the backup stay
/// so, and secrets are those of the replaced store. Rights are always those of the backup.
///
/// # Errors
///
/// Errors of reading the snapshots.
pub fn revive(
    restored: &Snapshot,
    replaced: Option<&Snapshot>,
    as_in_backup: bool,
    now: Timestamp,
) -> Result<(Revival, Vec<Sql>), StoreError> {
    let new = StoredClients::read(restored)?;
    let mut revival = Revival::default();
    let mut statements = vec![];
    let old = replaced.map(StoredClients::read).transpose()?;
    // Keys of another store, or of an earlier state of this one, say nothing about this one's.
    let old = old
        .filter(|old| !old.server_keys.is_disjoint(&new.server_keys) && old.version >= new.version);
    if let Some(old) = &old {
        revival.is_later = true;
        for client in new.clients.values() {
            compare(client, &new, old, as_in_backup, now, &mut revival, &mut statements);
        }
        let lost = old.clients.keys().filter(|key| !new.clients.contains_key(*key));
        revival.lost_keys = lost.cloned().collect();
        let names: BTreeSet<&String> = new.claim_sets.keys().chain(old.claim_sets.keys()).collect();
        let differ =
            names.into_iter().filter(|name| new.claim_sets.get(*name) != old.claim_sets.get(*name));
        revival.claim_sets_differ = differ.cloned().collect();
    }
    let stay: BTreeSet<&String> =
        revival.stay_revoked.iter().chain(&revival.stay_suspended).collect();
    let active = new
        .clients
        .values()
        .filter(|client| client.status == Status::Active && !stay.contains(&client.key));
    revival.active_keys = active.map(|client| client.key.clone()).collect();
    Ok((revival, statements))
}

/// Compares one client of the backup with its state in the replaced store.
fn compare(
    client: &ClientRecord,
    new: &StoredClients,
    old: &StoredClients,
    as_in_backup: bool,
    now: Timestamp,
    revival: &mut Revival,
    statements: &mut Vec<Sql>,
) {
    let key = &client.key;
    let before = old.clients.get(key);
    let revoked = match before.map(|before| before.status) {
        None => Some(now),
        Some(Status::Revoked(moment)) => Some(moment),
        Some(Status::Active | Status::Suspended) => None,
    };
    let was_active = client.status == Status::Active;
    if let Some(moment) = revoked {
        if matches!(client.status, Status::Revoked(_)) {
            return;
        }
        if as_in_backup {
            revival.active_again.extend(was_active.then(|| key.clone()));
            return;
        }
        revival.stay_revoked.push(key.clone());
        let arguments = vec![key.as_str().into(), moment.0.into()];
        statements.push(Sql::new(sql::REVOKE_CLIENT, arguments));
        statements.push(Sql::new(sql::REMOVE_SECRETS_OF, vec![key.as_str().into()]));
        return;
    }
    let Some(before) = before else { return };
    if was_active && before.status == Status::Suspended {
        if as_in_backup {
            revival.active_again.push(key.clone());
        } else {
            revival.stay_suspended.push(key.clone());
            // The link of the backup's own application stays, and only loses its approval.
            statements.push(match client.link.as_ref().or(before.link.as_ref()) {
                Some(link) => {
                    let link = crate::records::ClientLink { is_approved: false, ..link.clone() };
                    Sql::new(sql::PUT_LINK, link.arguments(key))
                }
                None => Sql::new(sql::SUSPEND_CLIENT, vec![key.as_str().into(), 1.into()]),
            });
        }
    }
    let (secrets, secrets_before) = (new.secrets(key), old.secrets(key));
    if secrets != secrets_before {
        if as_in_backup {
            let ended = secrets
                .iter()
                .any(|(id, until)| secrets_before.get(id).is_none_or(|before| before != until));
            revival.secrets_valid_again.extend(ended.then(|| key.clone()));
        } else {
            revival.secrets_kept.push(key.clone());
            statements.push(Sql::new(sql::REMOVE_SECRETS_OF, vec![key.as_str().into()]));
            for secret in old.secrets.get(key).into_iter().flatten() {
                statements.extend(put_secret(key, secret));
            }
        }
    }
    if rights(client) != rights(before) {
        revival.rights_differ.push(key.clone());
    }
}

/// Returns the SQL that stores a secret with its original values.
fn put_secret(key: &str, secret: &SecretRecord) -> Vec<Sql> {
    let hash = secret.hash.to_hex().to_string();
    let arguments =
        vec![secret.id.as_str().into(), key.into(), hash.into(), secret.created.0.into()];
    let mut statements = vec![Sql::new(sql::ADD_SECRET, arguments)];
    if let Some(until) = secret.valid_until {
        let arguments = vec![secret.id.as_str().into(), until.0.into()];
        statements.push(Sql::new(sql::END_SECRET, arguments));
    }
    statements
}

/// Returns a client's rights, without its identity and status.
fn rights(client: &ClientRecord) -> ClientRecord {
    ClientRecord {
        application: String::new(),
        status: Status::Active,
        link: None,
        ..client.clone()
    }
}
