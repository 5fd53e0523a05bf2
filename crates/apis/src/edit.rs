//! What a change comes to: which plans, APIs and documents are put or removed. Pure, and about nothing else.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::Serialize;

use crate::definition::{Api, Plan, Published};
use crate::error::ApisError;
use crate::index::{Hash, Index, hash};

/// What somebody wants to be published.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wish<'a> {
    /// The definition becomes exactly this.
    Exactly(&'a Published),
    /// These plans and APIs are added, or replace those of the same names.
    Beside(&'a Published),
    /// This API is removed.
    WithoutApi(&'a str),
    /// This plan is removed.
    WithoutPlan(&'a str),
}

impl<'a> Wish<'a> {
    /// Returns the wish of whoever sends a definition; `prunes` says whether what it does not name is withdrawn.
    pub(crate) fn of(new: &'a Published, prunes: bool) -> Self {
        if prunes { Self::Exactly(new) } else { Self::Beside(new) }
    }

    /// Returns what is sent with it.
    pub(crate) fn sent(self) -> Option<&'a Published> {
        match self {
            Self::Exactly(new) | Self::Beside(new) => Some(new),
            Self::WithoutApi(_) | Self::WithoutPlan(_) => None,
        }
    }
}

/// What is put, with its place among its like, and by its name alone what is removed.
#[derive(Debug, Default)]
pub(crate) struct Edit {
    pub(crate) plans: BTreeMap<String, Option<(i64, Plan)>>,
    /// An API is put if its document changes, too.
    pub(crate) apis: BTreeMap<String, Option<(i64, Api)>>,
    pub(crate) documents: BTreeMap<String, Option<String>>,
    /// Other places of plans, and of APIs, that stay what they are.
    pub(crate) moved_plans: Vec<(String, i64)>,
    pub(crate) moved_apis: Vec<(String, i64)>,
}

impl Edit {
    /// Works out what a wish comes to.
    ///
    /// # Errors
    ///
    /// [`ApisError::Unknown`] and [`ApisError::InUse`] for what cannot be removed.
    pub(crate) fn of(wish: Wish<'_>, index: &Index) -> Result<Self, ApisError> {
        match wish {
            Wish::Exactly(new) => Ok(exactly(new, index)),
            Wish::Beside(new) => Ok(beside(new, index)),
            Wish::WithoutApi(name) => without_api(name, index),
            Wish::WithoutPlan(name) => without_plan(name, index),
        }
    }

    /// Returns whether something is removed.
    pub(crate) fn removes(&self) -> bool {
        self.plans.values().any(Option::is_none)
            || self.apis.values().any(Option::is_none)
            || self.documents.values().any(Option::is_none)
    }

    /// Returns the bytes that everything then has.
    ///
    /// # Errors
    ///
    /// [`ApisError::Damaged`] if something cannot be written.
    pub(crate) fn bytes(&self, index: &Index) -> Result<usize, ApisError> {
        let (mut before, mut after) = (0, 0);
        for (name, new) in &self.plans {
            before += index.plan(name).map_or(0, |kept| kept.bytes);
            after += new.as_ref().map_or(Ok(0), |(_, plan)| text(plan).map(|text| text.len()))?;
        }
        for (name, new) in &self.apis {
            before += index.api(name).map_or(0, |kept| kept.bytes);
            after += new.as_ref().map_or(Ok(0), |(_, api)| text(api).map(|text| text.len()))?;
        }
        for (name, new) in &self.documents {
            before += index.bytes_of(name);
            after += new.as_ref().map_or(0, String::len);
        }
        Ok((index.bytes() + after).saturating_sub(before))
    }

    /// Returns the documents that the store has and that are needed to show what changes, and to check what
    /// is `sent`.
    pub(crate) fn wanted(&self, index: &Index, sent: Option<&Published>) -> BTreeSet<String> {
        let mut wanted = BTreeSet::new();
        for (name, new) in &self.apis {
            let new = new.as_ref().map(|(_, api)| api);
            if !self.is_same_document(name, index) {
                wanted.extend(index.api(name).and_then(|kept| kept.item.openapi.clone()));
                wanted.extend(new.and_then(|api| api.openapi.clone()));
            }
            let is_sent =
                |document: &String| sent.is_some_and(|sent| sent.documents.contains_key(document));
            wanted.extend(new.and_then(|api| api.openapi.clone()).filter(|own| !is_sent(own)));
        }
        wanted.retain(|document| index.hash(document).is_some());
        wanted
    }

    /// Returns what is published now and what would be then, of all that is put or removed. `stored` has the
    /// [wanted](Self::wanted) documents.
    pub(crate) fn before_and_after(
        &self,
        index: &Index,
        stored: &BTreeMap<String, String>,
    ) -> (Published, Published) {
        let (mut before, mut after) = (Published::default(), Published::default());
        for (name, new) in &self.plans {
            before.definition.plans.extend(index.plan(name).map(|kept| kept.item.clone()));
            after.definition.plans.extend(new.as_ref().map(|(_, plan)| plan.clone()));
        }
        for (name, new) in &self.apis {
            let old = index.api(name).map(|kept| Api::clone(&kept.item));
            let new = new.as_ref().map(|(_, api)| api.clone());
            // Where the document stays, its text is no difference, and is not read.
            let same = self.is_same_document(name, index).then(String::new);
            for (api, part, is_new) in [(old, &mut before, false), (new, &mut after, true)] {
                let Some(mut api) = api else { continue };
                if let Some(document) = &mut api.openapi {
                    let own = self.documents.get(document).filter(|_| is_new);
                    let own = own.and_then(Option::as_ref);
                    let text = own.or_else(|| stored.get(document)).cloned();
                    match (&same, text) {
                        (Some(same), _) => same.clone_into(document),
                        (None, Some(text)) => _ = part.documents.insert(document.clone(), text),
                        (None, None) => {}
                    }
                }
                part.definition.apis.push(api);
            }
        }
        (before, after)
    }

    /// Returns whether an API has the same document before and after.
    fn is_same_document(&self, api: &str, index: &Index) -> bool {
        let old = index.api(api).and_then(|kept| index.hash_of(&kept.item));
        let new = self.apis.get(api).and_then(Option::as_ref);
        let new = new.and_then(|(_, api)| self.hash(api.openapi.as_ref()?, index));
        old.is_some() && old == new
    }

    /// Returns the hash that a document then has.
    fn hash(&self, document: &str, index: &Index) -> Option<Hash> {
        match self.documents.get(document) {
            Some(own) => own.as_deref().map(hash),
            None => index.hash(document),
        }
    }
}

/// Returns how a plan or an API is stored.
///
/// # Errors
///
/// [`ApisError::Damaged`] if it cannot be written.
pub(crate) fn text(item: &impl Serialize) -> Result<String, ApisError> {
    serde_json::to_string(item).map_err(|error| ApisError::Damaged(error.to_string()))
}

fn exactly(new: &Published, index: &Index) -> Edit {
    let mut edit = Edit::default();
    let mut last = index.last_place();
    let apis = &new.definition.apis;
    let in_use: HashSet<&String> = apis.iter().filter_map(|api| api.openapi.as_ref()).collect();
    for name in &in_use {
        if let Some(text) = new.documents.get(*name)
            && index.hash(name) != Some(hash(text))
        {
            edit.documents.insert((*name).clone(), Some(text.clone()));
        }
    }
    let gone = index.documents().filter(|name| !in_use.contains(name));
    edit.documents.extend(gone.map(|name| (name.clone(), None)));

    let plans = &new.definition.plans;
    let known: Vec<_> =
        plans.iter().map(|plan| index.plan(&plan.name).map(|kept| kept.place)).collect();
    for (plan, place) in plans.iter().zip(placed(&known, &mut last)) {
        match index.plan(&plan.name).filter(|kept| kept.item == *plan) {
            None => _ = edit.plans.insert(plan.name.clone(), Some((place, plan.clone()))),
            Some(kept) if kept.place != place => edit.moved_plans.push((plan.name.clone(), place)),
            Some(_) => {}
        }
    }
    let known: Vec<_> =
        apis.iter().map(|api| index.api(&api.name).map(|kept| kept.place)).collect();
    for (api, place) in apis.iter().zip(placed(&known, &mut last)) {
        let has_new_document = api.openapi.as_ref().is_some_and(|d| edit.documents.contains_key(d));
        match index.api(&api.name).filter(|kept| *kept.item == *api && !has_new_document) {
            None => _ = edit.apis.insert(api.name.clone(), Some((place, api.clone()))),
            Some(kept) if kept.place != place => edit.moved_apis.push((api.name.clone(), place)),
            Some(_) => {}
        }
    }

    let stay: HashSet<&String> = plans.iter().map(|plan| &plan.name).collect();
    let gone = index.plans().map(|kept| &kept.item.name).filter(|name| !stay.contains(name));
    edit.plans.extend(gone.map(|name| (name.clone(), None)));
    let stay: HashSet<&String> = apis.iter().map(|api| &api.name).collect();
    let gone = index.apis().map(|kept| &kept.item.name).filter(|name| !stay.contains(name));
    edit.apis.extend(gone.map(|name| (name.clone(), None)));
    edit
}

/// Returns the places of items in their order. Those that have one keep it if they are in the order of their
/// places and in front of all that have none.
fn placed(known: &[Option<i64>], last: &mut i64) -> Vec<i64> {
    let old: Vec<i64> = known.iter().map_while(|place| *place).collect();
    let stay = old.is_sorted_by(|a, b| a < b) && known[old.len()..].iter().all(Option::is_none);
    let place = |known: &Option<i64>| {
        known.filter(|_| stay).unwrap_or_else(|| {
            *last += 1;
            *last
        })
    };
    known.iter().map(place).collect()
}

fn beside(new: &Published, index: &Index) -> Edit {
    let mut edit = Edit::default();
    let mut last = index.last_place();
    let mut next = || {
        last += 1;
        last
    };
    for plan in &new.definition.plans {
        let kept = index.plan(&plan.name);
        if kept.is_none_or(|kept| kept.item != *plan) {
            let place = kept.map_or_else(&mut next, |kept| kept.place);
            edit.plans.insert(plan.name.clone(), Some((place, plan.clone())));
        }
    }
    let apis = &new.definition.apis;
    let replaced: HashSet<&str> = apis.iter().map(|api| api.name.as_str()).collect();
    // A document that is named but not sent is the stored one.
    let unsent = apis.iter().filter_map(|api| api.openapi.as_ref());
    let unsent: HashSet<&String> =
        unsent.filter(|name| !new.documents.contains_key(*name)).collect();
    let mut hashes: HashMap<&String, Hash> = HashMap::new();
    let mut claimed: HashMap<String, Hash> = HashMap::new();
    let mut named: HashSet<String> = unsent.iter().map(|name| (*name).clone()).collect();
    for api in apis {
        let mut api = api.clone();
        if let Some(name) = &mut api.openapi
            && let Some((sent, text)) = new.documents.get_key_value(name)
        {
            let own = *hashes.entry(sent).or_insert_with(|| hash(text));
            *name = free_name(name, |name| match claimed.get(name) {
                Some(other) => *other != own,
                // Documents of what is replaced go with it, so that their names are free.
                None => {
                    let stays = unsent.contains(name)
                        || index.users(name).iter().any(|user| !replaced.contains(user.as_str()));
                    stays && index.hash(name).is_some_and(|other| other != own)
                }
            });
            if claimed.insert(name.clone(), own).is_none() && index.hash(name) != Some(own) {
                edit.documents.insert(name.clone(), Some(text.clone()));
            }
            named.insert(name.clone());
        }
        let has_new_document = api.openapi.as_ref().is_some_and(|d| edit.documents.contains_key(d));
        let kept = index.api(&api.name);
        if has_new_document || kept.is_none_or(|kept| *kept.item != api) {
            let place = kept.map_or_else(&mut next, |kept| kept.place);
            edit.apis.insert(api.name.clone(), Some((place, api)));
        }
    }
    edit.free(index, &replaced, &named);
    edit
}

/// Returns the first of `short`, `2-short`, `3-short` … that is not taken.
pub(crate) fn free_name(short: &str, is_taken: impl Fn(&String) -> bool) -> String {
    let mut unique = short.to_owned();
    let mut number = 2;
    while is_taken(&unique) {
        unique = format!("{number}-{short}");
        number += 1;
    }
    unique
}

impl Edit {
    /// Removes the documents that only `replaced` APIs named, unless they are `named` again.
    fn free(&mut self, index: &Index, replaced: &HashSet<&str>, named: &HashSet<String>) {
        let before = replaced.iter().filter_map(|name| index.api(name)?.item.openapi.clone());
        let is_free = |document: &String| {
            !named.contains(document)
                && index.hash(document).is_some()
                && index.users(document).iter().all(|user| replaced.contains(user.as_str()))
        };
        self.documents.extend(before.filter(is_free).map(|document| (document, None)));
    }
}

fn without_api(name: &str, index: &Index) -> Result<Edit, ApisError> {
    if index.api(name).is_none() {
        return Err(ApisError::Unknown { what: "API", name: name.to_owned() });
    }
    let mut edit = Edit { apis: BTreeMap::from([(name.to_owned(), None)]), ..Edit::default() };
    edit.free(index, &HashSet::from([name]), &HashSet::new());
    Ok(edit)
}

fn without_plan(name: &str, index: &Index) -> Result<Edit, ApisError> {
    if index.plan(name).is_none() {
        return Err(ApisError::Unknown { what: "plan", name: name.to_owned() });
    }
    let users = index.apis().filter(|kept| kept.item.plan.as_deref() == Some(name));
    let apis: Vec<String> = users.map(|kept| kept.item.name.clone()).collect();
    if !apis.is_empty() {
        return Err(ApisError::InUse { plan: name.to_owned(), apis, keys: vec![] });
    }
    Ok(Edit { plans: BTreeMap::from([(name.to_owned(), None)]), ..Edit::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is published, as a store would have it.
    #[derive(Default)]
    struct Stored {
        index: Index,
        documents: BTreeMap<String, String>,
    }

    impl Stored {
        /// Does what is wished. Returns the names of all that is written or removed.
        fn change(&mut self, wish: Wish<'_>) -> Vec<String> {
            let edit = Edit::of(wish, &self.index).unwrap();
            let mut touched: Vec<String> = vec![];
            for (name, new) in edit.plans {
                touched.push(format!("plan {name}"));
                match new {
                    Some((place, plan)) => self.index.put_plan(place, plan, 1),
                    None => self.index.remove_plan(&name),
                }
            }
            for (name, new) in edit.apis {
                touched.push(format!("api {name}"));
                match new {
                    Some((place, api)) => self.index.put_api(place, api, 1),
                    None => self.index.remove_api(&name),
                }
            }
            for (name, new) in edit.documents {
                touched.push(format!("document {name}"));
                match new {
                    Some(text) => {
                        self.index.put_document(name.clone(), &text);
                        self.documents.insert(name, text);
                    }
                    None => {
                        self.index.remove_document(&name);
                        self.documents.remove(&name);
                    }
                }
            }
            for (name, place) in edit.moved_apis {
                let api = Api::clone(&self.index.api(&name).unwrap().item);
                self.index.put_api(place, api, 1);
            }
            touched
        }

        fn published(&self) -> Published {
            Published { definition: self.index.definition(), documents: self.documents.clone() }
        }

        /// Returns the documents that an API and another one name.
        fn named(&self, names: [&str; 2]) -> [Option<&str>; 2] {
            names.map(|name| self.index.api(name)?.item.openapi.as_deref())
        }
    }

    /// APIs of these names, contexts and documents, and the texts of documents.
    fn published(apis: &[(&str, Option<&str>)], documents: &[(&str, &str)]) -> Published {
        let api = |(name, document): &(&str, Option<&str>)| {
            let api = serde_json::json!({"name": name, "context": name, "version": "v1"});
            Api { openapi: document.map(str::to_owned), ..serde_json::from_value(api).unwrap() }
        };
        let text = |(name, text): &(&str, &str)| (String::from(*name), String::from(*text));
        let mut all = Published::default();
        all.definition.apis = apis.iter().map(api).collect();
        all.documents = documents.iter().map(text).collect();
        all
    }

    #[test]
    fn what_is_wished_exactly_is_so_in_this_order_and_nothing_else_is_written() {
        let mut stored = Stored::default();
        let first = published(&[("b", Some("d")), ("a", None), ("c", None)], &[("d", "1")]);
        let changed = published(&[("b", Some("d")), ("a", None), ("c", None)], &[("d", "2")]);
        let other_order = published(&[("c", None), ("new", None), ("b", None)], &[]);

        stored.change(Wish::Exactly(&first));
        assert_eq!(stored.published(), first);
        assert!(stored.change(Wish::Exactly(&first)).is_empty());

        assert_eq!(stored.change(Wish::Exactly(&changed)), ["api b", "document d"]);
        assert_eq!(stored.published(), changed);

        let touched = stored.change(Wish::Exactly(&other_order));
        assert_eq!(touched, ["api a", "api b", "api new", "document d"]);
        assert_eq!(stored.published(), other_order);
    }

    #[test]
    fn what_comes_beside_keeps_its_place_or_comes_last() {
        let mut stored = Stored::default();
        stored.change(Wish::Exactly(&published(&[("b", None), ("a", None)], &[])));

        let new = published(&[("c", None), ("b", Some("d"))], &[("d", "1")]);
        let touched = stored.change(Wish::Beside(&new));

        assert_eq!(touched, ["api b", "api c", "document d"]);
        let names = stored.published().definition.apis.into_iter().map(|api| api.name);
        assert_eq!(names.collect::<Vec<_>>(), ["b", "a", "c"]);
    }

    #[test]
    fn a_document_stays_while_an_api_names_it_and_another_text_of_its_name_gets_another() {
        let mut stored = Stored::default();
        stored.change(Wish::Exactly(&published(
            &[("a", Some("d")), ("b", Some("d"))],
            &[("d", "1")],
        )));

        let other = published(&[("a", Some("d"))], &[("d", "2")]);
        assert_eq!(stored.change(Wish::Beside(&other)), ["api a", "document 2-d"]);
        assert_eq!(stored.named(["a", "b"]), [Some("2-d"), Some("d")]);
        let unsent = published(&[("a", Some("d"))], &[]);
        assert_eq!(stored.change(Wish::Beside(&unsent)), ["api a", "document 2-d"]);
        assert_eq!(stored.named(["a", "b"]), [Some("d"), Some("d")]);

        let both = published(&[("a", Some("d")), ("b", Some("d"))], &[("d", "3")]);
        assert_eq!(stored.change(Wish::Beside(&both)), ["api a", "api b", "document d"]);
        assert_eq!(stored.change(Wish::WithoutApi("a")), ["api a"]);
        assert_eq!(stored.change(Wish::WithoutApi("b")), ["api b", "document d"]);
        assert_eq!(stored.published(), Published::default());
    }

    #[test]
    fn a_difference_shows_texts_of_documents_where_they_differ() {
        let mut stored = Stored::default();
        stored.change(Wish::Exactly(&published(&[("a", Some("d"))], &[("d", "1")])));
        let fields = |new: &Published| {
            let edit = Edit::of(Wish::Beside(new), &stored.index).unwrap();
            let wanted = edit.wanted(&stored.index, Some(new));
            let (before, after) = edit.before_and_after(&stored.index, &stored.documents);
            let found = crate::diff::differences(&before, &after).into_iter();
            let found = found.map(|one| format!("{}: {} {}", one.field, one.old, one.new));
            (wanted.into_iter().collect::<Vec<_>>(), found.collect::<Vec<_>>())
        };

        let same = fields(&published(&[("a", Some("e"))], &[("e", "1")]));
        let other = fields(&published(&[("a", Some("d"))], &[("d", "2")]));

        assert_eq!(same, (vec![], vec![]), "another name is no difference");
        let shown = "apis.a.openapi: \"1\" \"2\"".to_owned();
        assert_eq!(other, (vec!["d".into()], vec![shown]));
    }
}
