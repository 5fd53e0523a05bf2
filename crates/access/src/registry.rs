//! Clients and claim sets in memory, as the store has them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use crate::claim_set::{ClaimSet, fold_name};
use crate::claims::Claims;
use crate::client::ApiClient;
use crate::records::{ClientRecord, SecretRecord};
use crate::rights::Rights;

/// A client with its live secrets.
#[derive(Debug, Clone)]
pub(crate) struct Registered {
    pub(crate) client: Arc<ApiClient>,
    pub(crate) secrets: Vec<SecretRecord>,
}

/// A claim set with its rights, which are compiled when a client needs them.
#[derive(Debug)]
pub(crate) struct KnownSet {
    pub(crate) set: ClaimSet,
    /// Whether it is shipped, not stored.
    pub(crate) shipped: bool,
    rights: OnceLock<Arc<Rights>>,
}

impl KnownSet {
    pub(crate) fn new(set: ClaimSet, shipped: bool) -> Self {
        Self { set, shipped, rights: OnceLock::new() }
    }

    fn rights(&self, claims: &Claims) -> Arc<Rights> {
        Arc::clone(self.rights.get_or_init(|| Arc::new(Rights::compile(claims, &self.set))))
    }
}

/// Every client and every claim set.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    pub(crate) clients: HashMap<String, Registered>,
    /// By folded name.
    pub(crate) sets: BTreeMap<String, KnownSet>,
}

impl Registry {
    /// A registry that has the shipped sets alone.
    pub(crate) fn new(claims: &Claims) -> Self {
        let sets = claims.shipped().iter();
        let sets = sets.map(|set| (fold_name(&set.name), KnownSet::new(set.clone(), true)));
        Self { clients: HashMap::new(), sets: sets.collect() }
    }

    /// The claim set of a name; blanks, hyphens and case do not matter.
    pub(crate) fn set(&self, name: &str) -> Option<&KnownSet> {
        self.sets.get(&fold_name(name))
    }

    /// Names of all claim sets.
    pub(crate) fn set_names(&self) -> Vec<String> {
        self.sets.values().map(|known| known.set.name.clone()).collect()
    }

    /// Adds or replaces a stored set; its clients have the new rights at once.
    pub(crate) fn put_set(&mut self, set: ClaimSet, claims: &Claims) {
        let folded = fold_name(&set.name);
        let known = KnownSet::new(set, false);
        let rights = known.rights(claims);
        self.sets.insert(folded.clone(), known);
        for registered in self.clients.values_mut() {
            if registered.client.claim_set.as_deref().map(fold_name) == Some(folded.clone()) {
                let client =
                    ApiClient { rights: Arc::clone(&rights), ..(*registered.client).clone() };
                registered.client = Arc::new(client);
            }
        }
    }

    /// Adds or replaces a client. One whose claim set is gone may do nothing.
    pub(crate) fn put_client(
        &mut self,
        record: ClientRecord,
        secrets: Vec<SecretRecord>,
        claims: &Claims,
    ) {
        let known = record.claim_set.as_deref().map(|name| self.set(name));
        if let Some(None) = known {
            tracing::warn!(key = record.key, "the claim set of this key is not there any more");
        }
        let rights = match known.flatten() {
            Some(known) => known.rights(claims),
            None => Arc::new(Rights::none()),
        };
        let client = ApiClient {
            key: record.key.clone(),
            application: record.application,
            claim_set: record.claim_set,
            rights,
            education_organizations: record.education_organizations.into(),
            namespace_prefixes: record.namespace_prefixes.into(),
            scopes: record.scopes,
            status: record.status,
            created: record.created,
        };
        self.clients.insert(record.key, Registered { client: Arc::new(client), secrets });
    }
}
