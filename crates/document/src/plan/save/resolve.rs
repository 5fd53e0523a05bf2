//! Finds what a document refers to, and how its descriptors are spelled.

use std::collections::HashMap;
use std::sync::Arc;

use homeroom_store::{Answer, Ask, Decision, NaturalKey};

use super::super::respell::{Respelled, respell};
use super::stage::{Cleared, NextStage, SaveStage, Targets, Terms};
use super::write::unchanged;
use crate::rights;

impl Terms {
    /// Asks the store for all targets of the document.
    pub(super) fn ask_targets(&self, cleared: Cleared) -> NextStage {
        let Cleared { document, about, .. } = &cleared;
        let mut keys: Vec<NaturalKey> = document
            .references
            .iter()
            .map(|reference| reference.key)
            .chain(document.spelled.iter().map(|descriptor| descriptor.key))
            .chain(document.alias)
            .chain(rights::targets(about))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() {
            return self.write(cleared, Targets::new());
        }
        let asks = keys.iter().copied().map(Ask::Target).collect();
        Ok((SaveStage::Targets(cleared, keys), Decision::Ask(asks)))
    }

    /// Takes the targets, and asks for unknown spellings of descriptors among them.
    pub(super) fn resolve(
        &self,
        cleared: Cleared,
        keys: &[NaturalKey],
        found: Vec<Answer>,
    ) -> NextStage {
        let mut targets = Targets::new();
        for (key, answer) in keys.iter().zip(found) {
            if let Answer::Target(Some(target)) = answer {
                targets.insert(*key, target);
            }
        }
        let mut unknown: Vec<NaturalKey> =
            cleared.document.spelled.iter().map(|text| text.key).collect();
        unknown.sort_unstable();
        unknown.dedup();
        let spellings = &self.catalog.spellings;
        unknown.retain(|key| {
            targets.get(key).is_some_and(|(_, uuid, _)| spellings.get(*key, *uuid).is_none())
        });
        if unknown.is_empty() {
            return self.spell(cleared, targets, &HashMap::new());
        }
        let asks = unknown.iter().copied().map(Ask::Document).collect();
        Ok((SaveStage::Spellings(cleared, targets, unknown), Decision::Ask(asks)))
    }

    /// Takes the documents of descriptors, and remembers their spellings.
    pub(super) fn learn(
        &self,
        cleared: Cleared,
        targets: Targets,
        keys: &[NaturalKey],
        found: Vec<Answer>,
    ) -> NextStage {
        let mut learned = HashMap::new();
        for (key, answer) in keys.iter().zip(found) {
            if let Answer::Document(Some(row)) = answer
                && let Some(spelling) = self.catalog.spellings.learn(&row)
            {
                learned.insert(*key, spelling);
            }
        }
        self.spell(cleared, targets, &learned)
    }

    /// Spells each descriptor as its own document does; spellings that were just read are in
    /// `learned`.
    fn spell(
        &self,
        mut cleared: Cleared,
        targets: Targets,
        learned: &HashMap<NaturalKey, Arc<str>>,
    ) -> NextStage {
        let document = &mut cleared.document;
        let mut others = vec![];
        for at in &document.spelled {
            let known = || self.catalog.spellings.get(at.key, targets.get(&at.key)?.1);
            let text = learned.get(&at.key).cloned().or_else(known);
            if let Some(text) = text.filter(|text| **text != *at.text(&document.body)) {
                others.push(Respelled { at: *at, text });
            }
        }
        respell(document, &others);
        match cleared.unchanged() {
            Some(row) => Ok((SaveStage::Decided, Decision::Write(vec![], unchanged(row)))),
            None => self.write(cleared, targets),
        }
    }
}
