//! Clients and claim sets in memory, as they are stored.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use homeroom_http::Fingerprint;
use homeroom_model::Model;

use crate::claim_set::{ClaimSet, fold_name};
use crate::claims::Claims;
use crate::client::ApiClient;
use crate::custom_view::Views;
use crate::error::ManageError;
use crate::items::{ItemKind, Items, stable_id};
use crate::records::{ClientLink, ClientRecord, SecretRecord};
use crate::rights::Rights;

/// Most claim sets in a store, including the shipped ones.
const CLAIM_SETS_MAX: usize = 1_000;

/// A client with its live secrets and certificates.
#[derive(Debug, Clone)]
pub(crate) struct Registered {
    pub(crate) client: Arc<ApiClient>,
    pub(crate) secrets: Vec<SecretRecord>,
    pub(crate) certificates: Vec<SecretRecord>,
    pub(crate) link: Option<ClientLink>,
}

/// The origin of a claim set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It is shipped, and cannot be changed.
    Shipped,
    /// It is the operator's, and replaces the shipped one of the same name.
    Override,
    /// It is the operator's own.
    Own,
}

/// A claim set with its rights, which are compiled when a client first needs them.
#[derive(Debug)]
pub struct KnownSet {
    pub(crate) set: ClaimSet,
    /// Its id in the Admin API.
    pub(crate) id: i64,
    /// Its origin.
    pub(crate) origin: Origin,
    rights: OnceLock<Arc<Rights>>,
}

impl Registered {
    /// Returns its secrets and its certificates.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &SecretRecord> {
        self.secrets.iter().chain(&self.certificates)
    }

    /// Returns the record of a certificate by its hash.
    pub(crate) fn certificate(&self, hash: &blake3::Hash) -> Option<&SecretRecord> {
        self.certificates.iter().find(|kept| kept.hash == *hash)
    }

    /// Returns the client as it is stored.
    pub(crate) fn record(&self) -> ClientRecord {
        ClientRecord { link: self.link.clone(), ..(&*self.client).into() }
    }
}

impl KnownSet {
    pub(crate) fn new(set: ClaimSet, id: i64, origin: Origin) -> Self {
        Self { set, id, origin, rights: OnceLock::new() }
    }

    /// Returns the claim set.
    pub fn set(&self) -> &ClaimSet {
        &self.set
    }

    /// Returns its id in the Admin API.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Returns its origin.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Returns whether it is shipped, and so cannot be changed.
    pub fn is_shipped(&self) -> bool {
        self.origin == Origin::Shipped
    }

    /// Returns whether it replaces a shipped one.
    pub fn is_override(&self) -> bool {
        self.origin == Origin::Override
    }

    fn rights(&self, claims: &Claims) -> Arc<Rights> {
        Arc::clone(self.rights.get_or_init(|| Arc::new(Rights::compile(claims, &self.set))))
    }
}

/// All clients, claim sets and managed items, at one version.
#[derive(Debug, Default)]
pub struct Registry {
    pub(crate) clients: HashMap<String, Registered>,
    /// Keys of clients by application, sorted by their number.
    by_application: BTreeMap<i64, BTreeSet<(i64, String)>>,
    /// Keys of clients by number.
    by_number: HashMap<i64, String>,
    /// Keys of clients by certificate.
    by_certificate: HashMap<Fingerprint, String>,
    /// Claim sets by folded name.
    pub(crate) sets: BTreeMap<String, KnownSet>,
    pub(crate) items: Items,
    pub(crate) views: Arc<Views>,
    /// Version of the stored tables that this registry reflects.
    pub(crate) version: i64,
}

/// A client of an application.
#[derive(Debug, Clone)]
pub struct ApplicationClient {
    /// Its number in the Admin API.
    pub id: i64,
    /// Id of its application.
    pub application: i64,
    /// Its name.
    pub name: String,
    /// Whether it is approved to call; a revoked client still may not.
    pub is_approved: bool,
    /// The client itself.
    pub client: Arc<ApiClient>,
}

impl Registry {
    /// Creates a registry that has only the shipped sets.
    pub(crate) fn new(claims: &Claims) -> Self {
        let sets = claims.shipped().iter();
        let sets = sets.map(|set| {
            let folded = fold_name(&set.name);
            let id = stable_id(&folded);
            (folded, KnownSet::new(set.clone(), id, Origin::Shipped))
        });
        Self { sets: sets.collect(), version: -1, ..Self::default() }
    }

    /// Returns an item by its id.
    pub fn item(&self, kind: ItemKind, id: i64) -> Option<&serde_json::Value> {
        self.items.get(kind, id)
    }

    /// Returns all items of a kind, by id.
    pub fn items(&self, kind: ItemKind) -> impl Iterator<Item = (i64, &serde_json::Value)> {
        self.items.of(kind)
    }

    /// Returns the custom views.
    pub fn views(&self) -> &Views {
        &self.views
    }

    /// Rebuilds the custom views from the stored items; all clients get them at once.
    pub(crate) fn take_views(&mut self, model: &Model) {
        self.views = Arc::new(Views::of(&self.items, model));
        for registered in self.clients.values_mut() {
            let views = Arc::clone(&self.views);
            registered.client = Arc::new(ApiClient { views, ..(*registered.client).clone() });
        }
    }

    /// Returns all claim sets, by name.
    pub fn claim_sets(&self) -> impl Iterator<Item = &KnownSet> {
        self.sets.values()
    }

    /// Returns the claim set with an id.
    pub fn claim_set(&self, id: i64) -> Option<&KnownSet> {
        self.sets.values().find(|known| known.id == id)
    }

    /// Returns whether a client names this claim set, even one that does not exist.
    pub fn has_claim_set(&self, client: &ApiClient, name: &str) -> bool {
        client.claim_set.as_deref().map(fold_name) == Some(fold_name(name))
    }

    /// Returns the claim set with a name; spaces, hyphens and case are ignored.
    pub fn claim_set_named(&self, name: &str) -> Option<&KnownSet> {
        self.set(name)
    }

    /// Returns all clients, in no particular order.
    pub fn clients(&self) -> impl Iterator<Item = &ApiClient> {
        self.clients.values().map(|registered| &*registered.client)
    }

    /// Returns the clients of an application, by number.
    pub fn clients_of(&self, application: i64) -> impl Iterator<Item = ApplicationClient> {
        let keys = self.by_application.get(&application).into_iter().flatten();
        keys.filter_map(|(_, key)| self.linked(key))
    }

    /// Returns the client with a number.
    pub fn client_numbered(&self, id: i64) -> Option<ApplicationClient> {
        self.linked(self.by_number.get(&id)?)
    }

    fn linked(&self, key: &str) -> Option<ApplicationClient> {
        let registered = self.clients.get(key)?;
        let link = registered.link.as_ref()?;
        Some(ApplicationClient {
            id: link.id,
            application: link.application,
            name: link.name.clone(),
            is_approved: link.is_approved,
            client: Arc::clone(&registered.client),
        })
    }

    /// Returns the claim set with a folded name, which must be the operator's own.
    pub(crate) fn own_set(&self, folded: &str) -> Result<&KnownSet, ManageError> {
        match self.sets.get(folded) {
            Some(known) if known.is_shipped() => Err(ManageError::Refused(format!(
                "the claim set `{}` is shipped and stays as published; a set that you put under \
                 its name replaces it until you remove that set",
                known.set.name
            ))),
            Some(known) => Ok(known),
            None => Err(ManageError::UnknownClaimSet {
                name: folded.to_owned(),
                known: self.set_names(),
            }),
        }
    }

    /// Returns the id of a claim set, existing or new, by its folded name. An override has the id
    /// of the shipped set that it replaces.
    pub(crate) fn id_for_set(&self, folded: &str) -> Result<i64, ManageError> {
        if let Some(known) = self.sets.get(folded) {
            return Ok(known.id);
        }
        if self.sets.len() >= CLAIM_SETS_MAX {
            return Err(ManageError::Refused(format!(
                "there are already {CLAIM_SETS_MAX} claim sets"
            )));
        }
        let mut id = stable_id(folded);
        while self.claim_set(id).is_some() {
            id = stable_id(&id.to_string());
        }
        Ok(id)
    }

    /// Returns the claim set with a name; spaces, hyphens and case are ignored.
    pub(crate) fn set(&self, name: &str) -> Option<&KnownSet> {
        self.sets.get(&fold_name(name))
    }

    /// Returns the names of all claim sets.
    pub(crate) fn set_names(&self) -> Vec<String> {
        self.sets.values().map(|known| known.set.name.clone()).collect()
    }

    /// Adds or replaces a stored set; its clients get the new rights at once.
    pub(crate) fn put_set(&mut self, set: ClaimSet, id: i64, claims: &Claims) {
        let folded = fold_name(&set.name);
        let origin = match claims.shipped_named(&folded) {
            Some(_) => Origin::Override,
            None => Origin::Own,
        };
        self.take_set(folded, KnownSet::new(set, id, origin), claims);
    }

    /// Removes a stored set. If it was an override, the shipped set is restored, for its clients
    /// too; any other set has no clients.
    pub(crate) fn remove_set(&mut self, folded: &str, claims: &Claims) {
        let Some(removed) = self.sets.remove(folded) else { return };
        if let Some(shipped) = claims.shipped_named(folded) {
            let known = KnownSet::new(shipped.clone(), removed.id, Origin::Shipped);
            self.take_set(folded.to_owned(), known, claims);
        }
    }

    fn take_set(&mut self, folded: String, known: KnownSet, claims: &Claims) {
        let rights = known.rights(claims);
        for registered in self.clients.values_mut() {
            if registered.client.claim_set.as_deref().map(fold_name).as_ref() == Some(&folded) {
                let client =
                    ApiClient { rights: Arc::clone(&rights), ..(*registered.client).clone() };
                registered.client = Arc::new(client);
            }
        }
        self.sets.insert(folded, known);
    }

    /// Removes a client.
    pub(crate) fn remove_client(&mut self, key: &str) {
        let Some(removed) = self.clients.remove(key) else { return };
        for fingerprint in removed.certificates.iter().filter_map(SecretRecord::certificate) {
            self.by_certificate.remove(&fingerprint);
        }
        if let Some(link) = removed.link {
            self.unlink(key, &link);
        }
    }

    fn unlink(&mut self, key: &str, link: &ClientLink) {
        self.by_number.remove(&link.id);
        if let Some(keys) = self.by_application.get_mut(&link.application) {
            keys.remove(&(link.id, key.to_owned()));
        }
    }

    /// Returns the key with which a certificate is registered.
    pub(crate) fn key_of(&self, certificate: &Fingerprint) -> Option<&str> {
        self.by_certificate.get(certificate).map(String::as_str)
    }

    /// Adds or replaces a client. A client whose claim set is missing has no rights.
    pub(crate) fn put_client(
        &mut self,
        record: ClientRecord,
        secrets: Vec<SecretRecord>,
        claims: &Claims,
    ) {
        let known = record.claim_set.as_deref().map(|name| self.set(name));
        if let Some(None) = known {
            tracing::warn!(key = record.key, "the claim set of this key no longer exists");
        }
        let rights = match known.flatten() {
            Some(known) => known.rights(claims),
            None => Arc::new(Rights::none()),
        };
        self.remove_client(&record.key);
        if let Some(link) = &record.link {
            self.by_number.insert(link.id, record.key.clone());
            let keys = self.by_application.entry(link.application).or_default();
            keys.insert((link.id, record.key.clone()));
        }
        let application =
            record.link.as_ref().and_then(|l| self.items.get(ItemKind::Application, l.application));
        let profiles = application.and_then(|application| application["profileIds"].as_array());
        let mut organizations = record.education_organizations;
        organizations.sort_unstable();
        organizations.dedup();
        let client = ApiClient {
            profiles: profiles
                .into_iter()
                .flatten()
                .filter_map(serde_json::Value::as_i64)
                .collect(),
            key: record.key.clone(),
            application: record.application,
            claim_set: record.claim_set,
            rights,
            views: Arc::clone(&self.views),
            education_organizations: organizations.into(),
            namespace_prefixes: record.namespace_prefixes.into(),
            ownership_tokens: record.ownership_tokens.into(),
            creator_token: record.creator_token,
            scopes: record.scopes,
            held_to: None,
            status: record.status,
            created: record.created,
        };
        let (certificates, secrets): (Vec<_>, Vec<_>) =
            secrets.into_iter().partition(|shown| shown.certificate().is_some());
        for fingerprint in certificates.iter().filter_map(SecretRecord::certificate) {
            self.by_certificate.insert(fingerprint, record.key.clone());
        }
        let link = record.link;
        let registered = Registered { client: Arc::new(client), secrets, certificates, link };
        self.clients.insert(record.key, registered);
    }
}
