//! Changes of clients: each as SQL, and as the client's new state.

use homeroom_http::{Fingerprint, Timestamp};
use homeroom_store::Sql;
use serde_json::Value;

use super::{CLIENT_NUMBERS, CLIENTS_MAX, Change, ClientRights, Effect, NewClient, Pending};
use crate::audit::What;
use crate::client::{Scope, Status};
use crate::error::ManageError;
use crate::ownership::Ownership;
use crate::records::{ClientLink, ClientRecord, SecretRecord};
use crate::secret::{Secret, new_key, new_secret, new_secret_id};
use crate::sql;

impl Change<'_> {
    /// Creates a client of an application, with a key and a secret.
    ///
    /// # Errors
    ///
    /// [`ManageError`] when the limit of clients is reached, or the system has no random bytes.
    pub fn add_client(
        &mut self,
        application: i64,
        name: &str,
        is_approved: bool,
        rights: ClientRights,
    ) -> Result<NewClient, ManageError> {
        let own = self.look_up(|registry| Ownership::in_application(registry, application));
        let record = ClientRecord {
            key: new_key()?,
            application: rights.application,
            claim_set: rights.claim_set,
            scopes: vec![Scope::Data],
            education_organizations: rights.education_organizations,
            namespace_prefixes: rights.namespace_prefixes,
            created: self.now,
            status: Status::Active,
            ownership_tokens: own.tokens,
            creator_token: own.creator,
            link: None,
        };
        let secret = self.add_record(&record)?;
        let id = self.link_client(&record.key, application, name, is_approved)?;
        Ok(NewClient { id, key: record.key, secret })
    }

    /// Adds a client that belongs to no application yet. Returns its secret.
    pub(crate) fn add_record(&mut self, record: &ClientRecord) -> Result<Secret, ManageError> {
        if self.look_up(|registry| registry.clients.len()) >= CLIENTS_MAX {
            return Err(ManageError::Refused(format!("there are already {CLIENTS_MAX} keys")));
        }
        self.writes.push(Sql::new(sql::ADD_CLIENT, record.arguments()));
        let pending = Pending { record: record.clone(), secrets: vec![] };
        self.clients.insert(record.key.clone(), pending);
        let what = What::Key { key: record.key.clone(), claim_set: record.claim_set.clone() };
        self.note("key.created", what);
        self.new_secret(&record.key, self.now)
    }

    /// Assigns a client without an application to one. Returns its number there.
    pub(crate) fn link_client(
        &mut self,
        key: &str,
        application: i64,
        name: &str,
        is_approved: bool,
    ) -> Result<i64, ManageError> {
        let id = self.next_id(CLIENT_NUMBERS)?;
        self.put_link(key, ClientLink { id, application, name: name.into(), is_approved });
        Ok(id)
    }

    /// Changes a client's name, its application, and whether it may call. A client that moves to
    /// another application gets the ownership tokens of that application's clients.
    ///
    /// # Errors
    ///
    /// [`ManageError::UnknownKey`] where no application has this client.
    pub fn change_client(
        &mut self,
        key: &str,
        application: i64,
        name: &str,
        is_approved: bool,
    ) -> Result<(), ManageError> {
        let link = self.look_up(|registry| registry.clients.get(key)?.link.clone());
        let before = link.ok_or_else(|| unknown(key))?;
        if before.application != application {
            let own = self.look_up(|registry| Ownership::in_application(registry, application));
            let tokens = Value::from(own.tokens.clone()).to_string();
            let arguments = vec![key.into(), tokens.into(), own.creator.into()];
            self.writes.push(Sql::new(sql::OWN_AS, arguments));
            self.with_client(key, |client| {
                client.record.ownership_tokens = own.tokens;
                client.record.creator_token = own.creator;
            });
        }
        let id = before.id;
        if (before.application, &*before.name) != (application, name) {
            self.note_key("key.moved", key);
        }
        self.note_approval(key, before.is_approved, is_approved);
        self.put_link(key, ClientLink { id, application, name: name.into(), is_approved });
        Ok(())
    }

    fn note_approval(&mut self, key: &str, before: bool, after: bool) {
        match (before, after) {
            (true, false) => self.note_key("key.suspended", key),
            (false, true) => self.note_key("key.resumed", key),
            (true, true) | (false, false) => {}
        }
    }

    /// Sets whether a client may call, until it is changed back.
    ///
    /// # Errors
    ///
    /// [`ManageError::UnknownKey`] where there is no such client.
    pub(crate) fn approve_client(
        &mut self,
        key: &str,
        is_approved: bool,
    ) -> Result<(), ManageError> {
        let known = self.look_up(|registry| {
            let registered = registry.clients.get(key)?;
            Some((registered.link.clone(), registered.client.status))
        });
        let (link, status) = known.ok_or_else(|| unknown(key))?;
        let was_approved = link.as_ref().map_or(status == Status::Active, |link| link.is_approved);
        self.note_approval(key, was_approved, is_approved);
        if let Some(link) = link {
            self.put_link(key, ClientLink { is_approved, ..link });
            return Ok(());
        }
        let arguments = vec![key.into(), i64::from(!is_approved).into()];
        self.writes.push(Sql::new(sql::SUSPEND_CLIENT, arguments));
        self.with_client(key, |client| client.set_approved(is_approved));
        Ok(())
    }

    fn put_link(&mut self, key: &str, link: ClientLink) {
        self.writes.push(Sql::new(sql::PUT_LINK, link.arguments(key)));
        self.with_client(key, |client| {
            client.set_approved(link.is_approved);
            client.record.link = Some(link);
        });
    }

    /// Replaces a client's rights.
    pub fn grant(&mut self, key: &str, rights: &ClientRights) {
        let json = |list: Value| homeroom_store::Value::Text(list.to_string());
        let arguments = vec![
            key.into(),
            rights.application.as_str().into(),
            rights.claim_set.clone().into(),
            json(rights.education_organizations.clone().into()),
            json(rights.namespace_prefixes.clone().into()),
        ];
        self.writes.push(Sql::new(sql::GRANT_CLIENT, arguments));
        let what = What::Key { key: key.to_owned(), claim_set: rights.claim_set.clone() };
        self.note("key.rights-changed", what);
        self.with_client(key, |client| {
            let rights = rights.clone();
            client.record.application = rights.application;
            client.record.claim_set = rights.claim_set;
            client.record.education_organizations = rights.education_organizations;
            client.record.namespace_prefixes = rights.namespace_prefixes;
        });
    }

    /// Ends all secrets and certificates of a client, and with them its tokens, and creates a new secret.
    ///
    /// # Errors
    ///
    /// [`ManageError::Refused`] for a revoked key, which stays revoked.
    pub fn reset_secret(&mut self, key: &str) -> Result<Secret, ManageError> {
        let status = self.look_up(|registry| Some(registry.clients.get(key)?.client.status));
        match status {
            None => return Err(unknown(key)),
            Some(Status::Revoked(since)) => {
                return Err(ManageError::Refused(format!(
                    "the key {key} was revoked at {since}, which is permanent; create another"
                )));
            }
            Some(Status::Active | Status::Suspended) => {}
        }
        self.note_key("key.secrets-removed", key);
        self.remove_secrets(key);
        self.add_secret(key, self.now)
    }

    /// Adds a secret, which becomes the newest, and returns it.
    pub(crate) fn add_secret(
        &mut self,
        key: &str,
        created: Timestamp,
    ) -> Result<Secret, ManageError> {
        self.note_key("key.secret-added", key);
        self.new_secret(key, created)
    }

    fn new_secret(&mut self, key: &str, created: Timestamp) -> Result<Secret, ManageError> {
        let secret = new_secret()?;
        let hash = self.access.hasher.hash(key, &secret);
        let record = SecretRecord { id: new_secret_id()?, hash, created, valid_until: None };
        self.writes.push(Sql::new(sql::ADD_SECRET, record.arguments(key)));
        self.with_client(key, |client| client.secrets.push(record));
        Ok(secret)
    }

    /// Registers a certificate.
    pub(crate) fn add_certificate(&mut self, key: &str, certificate: &Fingerprint) {
        self.note_key("key.certificate-added", key);
        let record = SecretRecord::of_certificate(certificate, self.now);
        self.writes.push(Sql::new(sql::ADD_SECRET, record.arguments(key)));
        self.with_client(key, |client| client.secrets.push(record));
    }

    /// Sets the end of a secret's validity.
    pub(crate) fn end_secret(&mut self, key: &str, id: &str, until: Timestamp) {
        self.note_key("key.secret-ends", key);
        self.writes.push(Sql::new(sql::END_SECRET, vec![id.into(), until.0.into()]));
        self.with_client(key, |client| {
            for secret in client.secrets.iter_mut().filter(|secret| secret.id == id) {
                secret.valid_until = Some(until);
            }
        });
    }

    /// Removes a secret or a certificate.
    pub(crate) fn remove_secret(&mut self, key: &str, id: &str) {
        self.note_key("key.secret-removed", key);
        self.writes.push(Sql::new(sql::REMOVE_SECRET, vec![id.into()]));
        self.with_client(key, |client| client.secrets.retain(|secret| secret.id != id));
    }

    fn remove_secrets(&mut self, key: &str) {
        self.writes.push(Sql::new(sql::REMOVE_SECRETS_OF, vec![key.into()]));
        self.with_client(key, |client| client.secrets.clear());
    }

    /// Revokes a client for good.
    pub(crate) fn revoke_client(&mut self, key: &str) {
        let now = self.now;
        self.note_key("key.revoked", key);
        self.writes.push(Sql::new(sql::REVOKE_CLIENT, vec![key.into(), now.0.into()]));
        self.remove_secrets(key);
        self.with_client(key, |client| client.record.status = Status::Revoked(now));
    }

    /// Removes a client with its secrets.
    pub fn remove_client(&mut self, key: &str) {
        for text in [sql::REMOVE_SECRETS_OF, sql::REMOVE_LINK, sql::REMOVE_CLIENT] {
            self.writes.push(Sql::new(text, vec![key.into()]));
        }
        self.note_key("key.removed", key);
        self.clients.remove(key);
        self.effects.push(Effect::RemoveClient(key.to_owned()));
    }

    /// Changes the new state of a client, if it exists.
    fn with_client(&mut self, key: &str, change: impl FnOnce(&mut Pending)) {
        if !self.clients.contains_key(key) {
            let stored = self.look_up(|registry| {
                let registered = registry.clients.get(key)?;
                let secrets = registered.shown().cloned().collect();
                Some(Pending { record: registered.record(), secrets })
            });
            let Some(stored) = stored else { return };
            self.clients.insert(key.to_owned(), stored);
        }
        if let Some(pending) = self.clients.get_mut(key) {
            change(pending);
        }
    }
}

impl Pending {
    /// Sets whether it may call; a revoked client stays revoked.
    fn set_approved(&mut self, is_approved: bool) {
        self.record.status = match self.record.status {
            revoked @ Status::Revoked(_) => revoked,
            Status::Active | Status::Suspended if is_approved => Status::Active,
            Status::Active | Status::Suspended => Status::Suspended,
        };
    }
}

fn unknown(key: &str) -> ManageError {
    ManageError::UnknownKey { key: key.to_owned(), hint: String::new() }
}
