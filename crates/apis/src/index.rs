//! What is published as this process knows it: all plans and APIs, and of each document its hash. A change
//! is checked and worked out against it, so that it reads only what it is about.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ring::digest::{SHA256, digest};

use crate::definition::{Api, Definition, Plan};

/// The hash of a document's text.
pub(crate) type Hash = [u8; 32];

/// Everything that is published, without the texts of documents.
#[derive(Debug, Default)]
pub(crate) struct Index {
    plans: BTreeMap<String, Kept<Plan>>,
    apis: BTreeMap<String, Kept<Arc<Api>>>,
    documents: BTreeMap<String, Document>,
    /// The name of the API at each base, in lower case.
    bases: HashMap<String, String>,
    /// The names of the APIs that name a document, by its name.
    users: HashMap<String, Vec<String>>,
    /// Bytes of all texts.
    bytes: usize,
    /// The greatest place that was ever given.
    last_place: i64,
}

/// A plan or an API, and where it stands among the others.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    pub(crate) place: i64,
    pub(crate) item: T,
    pub(crate) bytes: usize,
}

/// What is known of a document.
#[derive(Debug, Clone, Copy)]
struct Document {
    hash: Hash,
    bytes: usize,
}

impl Index {
    pub(crate) fn plan(&self, name: &str) -> Option<&Kept<Plan>> {
        self.plans.get(name)
    }

    pub(crate) fn api(&self, name: &str) -> Option<&Kept<Arc<Api>>> {
        self.apis.get(name)
    }

    /// Returns the plans by name.
    pub(crate) fn plans(&self) -> impl ExactSizeIterator<Item = &Kept<Plan>> {
        self.plans.values()
    }

    /// Returns the APIs by name.
    pub(crate) fn apis(&self) -> impl ExactSizeIterator<Item = &Kept<Arc<Api>>> {
        self.apis.values()
    }

    /// Returns the names of all documents.
    pub(crate) fn documents(&self) -> impl Iterator<Item = &String> {
        self.documents.keys()
    }

    /// Returns the hash of a document.
    pub(crate) fn hash(&self, document: &str) -> Option<Hash> {
        self.documents.get(document).map(|known| known.hash)
    }

    /// Returns the hash of the document that an API names.
    pub(crate) fn hash_of(&self, api: &Api) -> Option<Hash> {
        self.hash(api.openapi.as_ref()?)
    }

    /// Returns the name of the API at a base, in whatever case it is written.
    pub(crate) fn at(&self, base: &str) -> Option<&str> {
        self.bases.get(&base.to_ascii_lowercase()).map(String::as_str)
    }

    /// Returns the names of the APIs that name a document.
    pub(crate) fn users(&self, document: &str) -> &[String] {
        self.users.get(document).map_or(&[], Vec::as_slice)
    }

    /// Returns the bytes of all texts.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the bytes of a document's text, 0 for one that is not there.
    pub(crate) fn bytes_of(&self, document: &str) -> usize {
        self.documents.get(document).map_or(0, |known| known.bytes)
    }

    /// Returns all plans and APIs in the order of their places.
    pub(crate) fn definition(&self) -> Definition {
        let mut plans: Vec<_> = self.plans.values().collect();
        plans.sort_by_key(|kept| kept.place);
        let mut apis: Vec<_> = self.apis.values().collect();
        apis.sort_by_key(|kept| kept.place);
        Definition {
            plans: plans.into_iter().map(|kept| kept.item.clone()).collect(),
            apis: apis.into_iter().map(|kept| Api::clone(&kept.item)).collect(),
        }
    }

    pub(crate) fn last_place(&self) -> i64 {
        self.last_place
    }

    pub(crate) fn put_plan(&mut self, place: i64, plan: Plan, bytes: usize) {
        self.last_place = self.last_place.max(place);
        let before = self.plans.insert(plan.name.clone(), Kept { place, item: plan, bytes });
        self.count(before.map_or(0, |kept| kept.bytes), bytes);
    }

    pub(crate) fn put_api(&mut self, place: i64, api: Api, bytes: usize) {
        let name = api.name.clone();
        if let Some(kept) = self.apis.get_mut(&name)
            && *kept.item == api
        {
            // The `Arc` stays the same, so its holders need not compare.
            kept.place = place;
            self.last_place = self.last_place.max(place);
            return;
        }
        self.remove_api(&name);
        self.last_place = self.last_place.max(place);
        self.bases.insert(api.base().to_ascii_lowercase(), name.clone());
        if let Some(document) = &api.openapi {
            let users = self.users.entry(document.clone());
            users.or_insert_with(|| Vec::with_capacity(1)).push(name.clone());
        }
        self.apis.insert(name, Kept { place, item: Arc::new(api), bytes });
        self.count(0, bytes);
    }

    pub(crate) fn put_document(&mut self, name: String, text: &str) {
        let new = Document { hash: hash(text), bytes: text.len() };
        let before = self.documents.insert(name, new);
        self.count(before.map_or(0, |known| known.bytes), new.bytes);
    }

    pub(crate) fn remove_plan(&mut self, name: &str) {
        let before = self.plans.remove(name);
        self.count(before.map_or(0, |kept| kept.bytes), 0);
    }

    pub(crate) fn remove_api(&mut self, name: &str) {
        let Some(Kept { item: api, bytes, .. }) = self.apis.remove(name) else { return };
        self.count(bytes, 0);
        let base = api.base().to_ascii_lowercase();
        // Another one may have taken it over already.
        if self.bases.get(&base).is_some_and(|own| own == name) {
            self.bases.remove(&base);
        }
        if let Some(document) = &api.openapi
            && let Some(users) = self.users.get_mut(document)
        {
            users.retain(|user| user != name);
            if users.is_empty() {
                self.users.remove(document);
            }
        }
    }

    pub(crate) fn remove_document(&mut self, name: &str) {
        let before = self.documents.remove(name);
        self.count(before.map_or(0, |known| known.bytes), 0);
    }

    fn count(&mut self, before: usize, now: usize) {
        self.bytes = (self.bytes + now).saturating_sub(before);
    }
}

/// Returns the hash of a document's text.
pub(crate) fn hash(text: &str) -> Hash {
    let mut hash = Hash::default();
    hash.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(name: &str, context: &str, document: Option<&str>) -> Api {
        let api = serde_json::json!({"name": name, "context": context, "version": "v1"});
        Api { openapi: document.map(str::to_owned), ..serde_json::from_value(api).unwrap() }
    }

    #[test]
    fn two_apis_that_change_places_are_found_where_they_are() {
        let mut index = Index::default();
        index.put_api(1, api("a", "x", None), 10);
        index.put_api(2, api("b", "Y", None), 10);

        index.put_api(1, api("a", "Y", None), 12);
        index.put_api(2, api("b", "x", None), 10);

        assert_eq!((index.at("/apis/y/v1"), index.at("/apis/X/v1")), (Some("a"), Some("b")));
        assert_eq!((index.bytes(), index.last_place()), (22, 2));
    }

    #[test]
    fn a_document_is_known_by_its_hash_and_by_who_names_it() {
        let mut index = Index::default();
        index.put_document("d".into(), "1");
        index.put_api(1, api("a", "a", Some("d")), 5);
        index.put_api(2, api("b", "b", Some("d")), 5);
        assert_eq!(index.hash_of(&index.api("b").unwrap().item), Some(hash("1")));

        index.put_document("d".into(), "22");
        index.put_api(1, api("a", "a", None), 5);
        assert_eq!((index.users("d"), index.bytes()), (&["b".to_owned()][..], 12));

        index.remove_api("b");
        index.remove_document("d");
        assert_eq!((index.users("d"), index.hash("d"), index.bytes()), (&[][..], None, 5));
    }
}
