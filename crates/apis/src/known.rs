//! What a process knows of what is published, how far it has followed it, and what it serves of it.

use std::collections::HashSet;

use crate::edit::Edit;
use crate::index::Index;
use crate::rows::Kind;
use crate::serving::Serving;

/// What a process knows.
pub(crate) struct Known {
    pub(crate) index: Index,
    /// The version up to which it has all changes; below 0 for none.
    pub(crate) version: i64,
    /// The version up to which it has forgotten what was removed.
    pub(crate) removed: i64,
    /// [`None`] for a process that only changes.
    pub(crate) serving: Option<Serving>,
}

impl Default for Known {
    fn default() -> Self {
        Self { index: Index::default(), version: -1, removed: -1, serving: None }
    }
}

impl Known {
    /// Forgets what this process itself has removed with the change of a version.
    pub(crate) fn forget(&mut self, edit: &Edit, version: i64) {
        if !edit.removes() {
            return;
        }
        for (name, _) in edit.plans.iter().filter(|(_, new)| new.is_none()) {
            self.index.remove_plan(name);
        }
        for (name, _) in edit.documents.iter().filter(|(_, new)| new.is_none()) {
            self.index.remove_document(name);
        }
        for (name, _) in edit.apis.iter().filter(|(_, new)| new.is_none()) {
            self.forget_api(name);
        }
        self.removed = version;
    }

    /// Forgets all but what the store has.
    pub(crate) fn keep_only(&mut self, stored: &HashSet<(Kind, String)>) {
        let gone = |kind: Kind, all: &mut dyn Iterator<Item = &String>| -> Vec<String> {
            all.filter(|name| !stored.contains(&(kind, (*name).clone()))).cloned().collect()
        };
        let plans = gone(Kind::Plan, &mut self.index.plans().map(|kept| &kept.item.name));
        let documents = gone(Kind::Document, &mut self.index.documents());
        let apis = gone(Kind::Api, &mut self.index.apis().map(|kept| &kept.item.name));
        for plan in plans {
            self.index.remove_plan(&plan);
        }
        for document in documents {
            self.index.remove_document(&document);
        }
        for api in apis {
            self.forget_api(&api);
        }
    }

    fn forget_api(&mut self, name: &str) {
        self.index.remove_api(name);
        if let Some(serving) = &mut self.serving {
            serving.note(name);
        }
    }
}
