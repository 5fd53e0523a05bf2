//! A change of the registry: checked against its current state, written as a whole, effective at
//! once.

mod clients;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use homeroom_http::Timestamp;
use homeroom_store::{Sql, StoreError};
use serde_json::{Value, json};

use crate::access::Access;
use crate::audit::{Author, DONE, UNKNOWN, What};
use crate::claim_set::{ClaimSet, fold_name};
use crate::client::{ApiClient, Scope, Status};
use crate::error::AccessError;
use crate::error::ManageError;
use crate::items::{ItemKind, ODS_INSTANCE};
use crate::records::{ClientRecord, SecretRecord};
use crate::registry::Registry;
use crate::secret::Secret;
use crate::sql;

/// Most clients in a store.
pub(crate) const CLIENTS_MAX: usize = 100_000;

/// The name of the counter for client numbers.
const CLIENT_NUMBERS: &str = "api-client";

/// The greatest id that fits the 32 bits that the Admin API uses.
const ID_MAX: i64 = i32::MAX as i64;

/// The rights of an application's client: everything but its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRights {
    /// Name of the application.
    pub application: String,
    /// Name of the claim set, as the registry spells it.
    pub claim_set: Option<String>,
    /// Education organizations.
    pub education_organizations: Vec<i64>,
    /// Namespace prefixes.
    pub namespace_prefixes: Vec<String>,
}

impl From<&Arc<ApiClient>> for ClientRights {
    fn from(client: &Arc<ApiClient>) -> Self {
        Self {
            application: client.application.clone(),
            claim_set: client.claim_set.clone(),
            education_organizations: client.education_organizations.to_vec(),
            namespace_prefixes: client.namespace_prefixes.to_vec(),
        }
    }
}

/// A new client with its secret, which is shown only this once.
#[derive(Debug, Clone)]
pub struct NewClient {
    /// Its number in the Admin API.
    pub id: i64,
    /// The key (`client_id`).
    pub key: String,
    /// The secret (`client_secret`).
    pub secret: Secret,
}

/// A change in progress. Nothing else in this process changes the registry until it is dropped, and
/// nothing is written before [`Change::commit`].
pub struct Change<'a> {
    access: &'a Access,
    _managing: tokio::sync::MutexGuard<'a, ()>,
    now: Timestamp,
    author: Author,
    /// What the audit log will say.
    noted: Vec<(String, What)>,
    writes: Vec<Sql>,
    effects: Vec<Effect>,
    /// Clients as they will be after the change, by key.
    clients: BTreeMap<String, Pending>,
    last: BTreeMap<&'static str, i64>,
}

/// A client as it will be after the change, with its secrets.
struct Pending {
    record: ClientRecord,
    secrets: Vec<SecretRecord>,
}

enum Effect {
    Put(ItemKind, i64, Value),
    Remove(ItemKind, i64),
    RemoveClient(String),
    PutSet(ClaimSet, i64),
    RemoveSet(String),
}

impl Access {
    /// Begins a change of the registry as it is in the store, which the server itself makes.
    ///
    /// # Errors
    ///
    /// [`ManageError::Access`] when the store cannot be read.
    pub async fn begin_change(&self, now: Timestamp) -> Result<Change<'_>, ManageError> {
        self.begin_change_by(Author::default(), now).await
    }

    /// Begins a change that somebody asks for, by whose name it is in the audit log.
    ///
    /// # Errors
    ///
    /// The same as [`Access::begin_change`].
    pub async fn begin_change_by(
        &self,
        author: Author,
        now: Timestamp,
    ) -> Result<Change<'_>, ManageError> {
        let managing = self.managing.lock().await;
        self.refresh_managing().await?;
        Ok(Change {
            access: self,
            _managing: managing,
            now,
            author,
            noted: vec![],
            writes: vec![],
            effects: vec![],
            clients: BTreeMap::new(),
            last: BTreeMap::new(),
        })
    }
}

/// Most clients that one change adopts.
const ADOPTED_MAX: usize = 1_000;

/// How often another process may win the race while clients are adopted.
const HINDERED_MAX: usize = 20;

impl Access {
    /// Creates applications for the clients that an earlier version made without one, and puts the
    /// instance into a new store.
    pub(crate) async fn adopt_clients(&self, now: Timestamp) -> Result<(), AccessError> {
        let mut hindered = 0;
        loop {
            match self.adopt_some(now).await {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(ManageError::Meanwhile) if hindered < HINDERED_MAX => hindered += 1,
                Err(ManageError::Access(error)) => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, "keys of an earlier version do not belong to applications yet");
                    return Ok(());
                }
            }
        }
    }

    /// Adopts as many clients as fit in one change. Returns whether there may be more.
    async fn adopt_some(&self, now: Timestamp) -> Result<bool, ManageError> {
        let mut change = self.begin_change(now).await?;
        let mut orphans: Vec<ClientRecord> = change.look_up(|registry| {
            let clients = registry.clients.values().filter(|registered| registered.link.is_none());
            let active = clients.filter(|registered| registered.client.status == Status::Active);
            active.map(|registered| (&*registered.client).into()).collect()
        });
        orphans.retain(|record| record.scopes.contains(&Scope::Data));
        orphans.sort_by(|a, b| (a.created, &a.key).cmp(&(b.created, &b.key)));
        let has_more = orphans.len() > ADOPTED_MAX;
        orphans.truncate(ADOPTED_MAX);
        for record in orphans {
            change.adopt(&record)?;
        }
        if change.look_up(|registry| registry.item(ItemKind::OdsInstance, ODS_INSTANCE).is_none()) {
            let instance = json!({"name": "Homeroom", "instanceType": "OdsInstance"});
            change.put(ItemKind::OdsInstance, Some(ODS_INSTANCE), instance)?;
        }
        // Nobody has asked for it, and it changes no rights.
        change.noted.clear();
        change.commit().await?;
        Ok(has_more)
    }
}

impl Change<'_> {
    /// Creates an application for a client that has none, if the client's scopes include data.
    pub(crate) fn adopt(&mut self, record: &ClientRecord) -> Result<(), ManageError> {
        if !record.scopes.contains(&Scope::Data) {
            return Ok(());
        }
        let application = json!({
            "applicationName": record.application,
            "vendorId": null,
            "claimSetName": record.claim_set,
            "educationOrganizationIds": record.education_organizations,
            "profileIds": [],
            "odsInstanceIds": [ODS_INSTANCE],
        });
        let id = self.put(ItemKind::Application, None, application)?;
        self.link_client(&record.key, id, &record.application, true)?;
        Ok(())
    }

    /// Reads the registry as it was before this change.
    pub fn look_up<T>(&self, ask: impl FnOnce(&Registry) -> T) -> T {
        self.access.look_up(ask)
    }

    /// Adds an item, or replaces the one with this id. Returns its id.
    ///
    /// # Errors
    ///
    /// [`ManageError::Refused`] when all ids are used up.
    pub fn put(
        &mut self,
        kind: ItemKind,
        id: Option<i64>,
        definition: Value,
    ) -> Result<i64, ManageError> {
        let id = match id {
            Some(id) => id,
            None => self.next_id(kind.name())?,
        };
        let arguments = vec![kind.name().into(), id.into(), definition.to_string().into()];
        self.writes.push(Sql::new(sql::PUT_MANAGED, arguments));
        let is_new = self.look_up(|registry| registry.item(kind, id).is_none());
        let done = if is_new { "created" } else { "changed" };
        self.note(format!("{}.{done}", kind.name()), What::Item(id));
        self.effects.push(Effect::Put(kind, id, definition));
        Ok(id)
    }

    /// Removes an item.
    pub fn remove(&mut self, kind: ItemKind, id: i64) {
        self.writes.push(Sql::new(sql::REMOVE_MANAGED, vec![kind.name().into(), id.into()]));
        self.note(format!("{}.removed", kind.name()), What::Item(id));
        self.effects.push(Effect::Remove(kind, id));
    }

    /// Adds or replaces an operator's claim set. Returns its id.
    ///
    /// # Errors
    ///
    /// [`ManageError::Refused`] for a shipped set, and when there are too many.
    pub fn put_claim_set(&mut self, set: ClaimSet) -> Result<i64, ManageError> {
        let folded = fold_name(&set.name);
        let id = self.look_up(|registry| registry.id_for_set(&folded))?;
        self.write_set(set, folded, id);
        Ok(id)
    }

    fn write_set(&mut self, set: ClaimSet, folded: String, id: i64) {
        let mut definition = set.to_json();
        definition["id"] = id.into();
        let arguments = vec![
            folded.into(),
            set.name.as_str().into(),
            definition.to_string().into(),
            self.now.0.into(),
        ];
        self.writes.push(Sql::new(sql::PUT_CLAIM_SET, arguments));
        let is_new = self.look_up(|registry| registry.own_set(&fold_name(&set.name)).is_err());
        let action = if is_new { "claim-set.created" } else { "claim-set.changed" };
        self.note(action, What::ClaimSet(set.name.clone()));
        self.effects.push(Effect::PutSet(set, id));
    }

    /// Renames a claim set; applications that use it keep it.
    ///
    /// # Errors
    ///
    /// [`ManageError::Refused`] for a shipped set or an override of one, and where the name is
    /// taken.
    pub fn rename_claim_set(&mut self, from: &str, to: &str) -> Result<(), ManageError> {
        let (old, new) = (fold_name(from), fold_name(to));
        let (mut set, id, clients, applications) = self.look_up(|registry| {
            let known = registry.own_set(&old)?;
            if known.is_override() {
                return Err(ManageError::Refused(format!(
                    "the claim set `{from}` replaces a shipped one and cannot be renamed; copy it \
                     under the new name"
                )));
            }
            if old != new && registry.sets.contains_key(&new) {
                return Err(ManageError::Refused(format!("a claim set `{to}` already exists")));
            }
            let has_it = |name: Option<&str>| name.map(fold_name).as_ref() == Some(&old);
            let clients = registry.clients.values().map(|registered| &registered.client);
            let clients: Vec<(String, ClientRights)> = clients
                .filter(|client| has_it(client.claim_set.as_deref()))
                .map(|client| (client.key.clone(), client.into()))
                .collect();
            let applications: Vec<(i64, Value)> = registry
                .items
                .of(ItemKind::Application)
                .filter(|(_, application)| has_it(application["claimSetName"].as_str()))
                .map(|(id, application)| (id, application.clone()))
                .collect();
            Ok((known.set.clone(), known.id, clients, applications))
        })?;
        to.trim().clone_into(&mut set.name);
        if old != new {
            self.remove_set(old);
        }
        let name = set.name.clone();
        self.write_set(set, new, id);
        for (key, rights) in clients {
            self.grant(&key, &ClientRights { claim_set: Some(name.clone()), ..rights });
        }
        for (id, mut application) in applications {
            application["claimSetName"] = name.as_str().into();
            self.put(ItemKind::Application, Some(id), application)?;
        }
        Ok(())
    }

    /// Removes an operator's claim set. Removing an override restores the shipped set, for
    /// applications and keys too. Returns whether it was an override.
    ///
    /// # Errors
    ///
    /// [`ManageError::Refused`] for a shipped set, and for an operator's set that an application or
    /// a key uses.
    pub fn remove_claim_set(&mut self, name: &str) -> Result<bool, ManageError> {
        let folded = fold_name(name);
        let is_override = self.look_up(|registry| {
            let known = registry.own_set(&folded)?;
            let has_it = |name: Option<&str>| name.map(fold_name).as_ref() == Some(&folded);
            let clients = registry.clients.values().map(|registered| &registered.client);
            let keys = clients.filter(|client| has_it(client.claim_set.as_deref())).count();
            let items = registry.items.of(ItemKind::Application);
            let applications =
                items.filter(|(_, item)| has_it(item["claimSetName"].as_str())).count();
            if known.is_override() || keys + applications == 0 {
                return Ok(known.is_override());
            }
            Err(ManageError::Refused(format!(
                "the claim set `{name}` is used by {applications} application(s) and {keys} \
                 key(s); assign them another first"
            )))
        })?;
        self.remove_set(folded);
        Ok(is_override)
    }

    fn remove_set(&mut self, folded: String) {
        self.writes.push(Sql::new(sql::REMOVE_CLAIM_SET, vec![folded.as_str().into()]));
        let name =
            self.look_up(|registry| registry.set(&folded).map(|known| known.set.name.clone()));
        self.note("claim-set.removed", What::ClaimSet(name.unwrap_or_else(|| folded.clone())));
        self.effects.push(Effect::RemoveSet(folded));
    }

    /// Writes the whole change or nothing; it takes effect with the next request. What was written
    /// is applied without being read back, so that nothing can fail in between.
    ///
    /// # Errors
    ///
    /// [`ManageError::Meanwhile`] where another process was quicker; nothing was changed. After
    /// [`homeroom_store::StoreError::Unsure`] the outcome is unknown. Then, and when the call is
    /// abandoned, nobody is recognized until the outcome is known ([`Access::is_in_doubt`]).
    pub async fn commit(self) -> Result<(), ManageError> {
        if self.writes.is_empty() {
            return Ok(());
        }
        let Self { access, mut writes, effects, clients, last, author, noted, .. } = self;
        for (kind, id) in &last {
            writes.push(Sql::new(sql::PUT_LAST, vec![(*kind).into(), (*id).into()]));
        }
        let tell = |outcome| {
            for (action, what) in &noted {
                author.write(action, what, outcome);
            }
        };
        let written = access.write(writes).await;
        if let Err(ManageError::Access(AccessError::Store(StoreError::Unsure))) = &written {
            tell(UNKNOWN);
        }
        let version = written?;
        tell(DONE);
        let has_views = effects.iter().any(|effect| {
            use ItemKind::AuthorizationStrategy as View;
            matches!(effect, Effect::Put(View, ..) | Effect::Remove(View, _))
        });
        access.change(version, |registry| {
            for (kind, id) in last {
                registry.items.set_last(kind, id);
            }
            for effect in effects {
                match effect {
                    Effect::Put(kind, id, definition) => registry.items.put(kind, id, definition),
                    Effect::Remove(kind, id) => registry.items.remove(kind, id),
                    Effect::RemoveClient(key) => registry.remove_client(&key),
                    Effect::PutSet(set, id) => registry.put_set(set, id, &access.claims),
                    Effect::RemoveSet(folded) => registry.remove_set(&folded, &access.claims),
                }
            }
            if has_views {
                registry.take_views(&access.model);
            }
            for Pending { record, secrets } in clients.into_values() {
                registry.put_client(record, secrets, &access.claims);
            }
        });
        Ok(())
    }

    /// Notes something for the audit log, once.
    fn note(&mut self, action: impl Into<String>, what: What) {
        let noted = (action.into(), what);
        if !self.noted.contains(&noted) {
            self.noted.push(noted);
        }
    }

    /// Notes something about a key for the audit log.
    fn note_key(&mut self, action: &str, key: &str) {
        self.note(action, What::Key { key: key.to_owned(), claim_set: None });
    }

    fn next_id(&mut self, kind: &'static str) -> Result<i64, ManageError> {
        let stored = self.look_up(|registry| registry.items.last(kind));
        let last = self.last.entry(kind).or_insert(stored);
        if *last >= ID_MAX {
            return Err(ManageError::Refused(format!("every id of a {kind} is used up")));
        }
        *last += 1;
        Ok(*last)
    }
}
