//! Checks that everything exists that a document refers to, and writes the document.

use homeroom_model::Resource;
use homeroom_store::{Decision, DocumentId, Link, NewDocument, References, Row, Uuid, Write};

use super::super::outcome::{Effect, Written};
use super::stage::{Cleared, NextStage, Onto, SaveStage, Targets, Terms};
use crate::refusal::{Refusal, unknown_descriptor};
use crate::rights;
use crate::validate::Document;
use crate::violations::Violations;

/// Most places that one refusal lists.
const NAMED_MAX: usize = 100;

impl Terms {
    /// Checks that all targets exist, and writes the document.
    pub(super) fn write(&self, cleared: Cleared, mut targets: Targets) -> NextStage {
        let Cleared { document, about, onto } = cleared;
        let resource = self.catalog.model.resource(document.resource);
        let kind = self.catalog.kind(document.resource);
        let (id, uuid, owner, modified) = match &onto {
            Onto::New(owner) => (DocumentId::ITSELF, Uuid::new(), *owner, self.now.0),
            Onto::Stored(row) => {
                let owner = rights::owner(&self.catalog, resource, row);
                // If the clock was set back, the document's time does not go back.
                (row.id, row.uuid, owner, row.modified.max(self.now.0))
            }
        };
        if let Some(alias) = document.alias {
            if targets.get(&alias).is_some_and(|target| target.0 != id) {
                return Err(Refusal::identity_taken(resource, &document.body));
            }
            targets.insert(alias, (id, uuid, kind));
        }
        targets.insert(document.key, (id, uuid, kind));
        let mut references = self.references(resource, &document, &targets)?;
        let found = rights::targets(&about).filter_map(|key| targets.get(&key));
        references.others.extend(found.map(|target| target.0));
        references.others.sort_unstable();
        references.others.dedup();
        let number = |key| targets.get(&key).map(|target| target.0.0);
        references.marks = rights::marks(&about, id, owner, number);
        references.gaps = self.catalog.empties(resource.id).noted(document.gaps);
        let ties = rights::ties(&self.catalog, resource, &document.body, &references.marks);
        let new = NewDocument {
            uuid,
            kind,
            key: document.key,
            alias: document.alias,
            body: document.body,
            references,
            ties,
            modified,
        };
        let (write, written) = match onto {
            Onto::New(_) => {
                (Write::Create(new), Written { effect: Effect::Created, uuid, version_before: 0 })
            }
            Onto::Stored(row) => {
                let old_ties = rights::ties_of(&self.catalog, resource, &row);
                let (effect, version_before) = (Effect::Updated, row.change_version);
                let (old, old_references) = (row.id, row.references);
                (
                    Write::Replace { old, old_references, old_ties, new },
                    Written { effect, uuid, version_before },
                )
            }
        };
        Ok((SaveStage::Decided, Decision::Write(vec![write], written)))
    }

    /// Returns the document's references with their targets.
    fn references(
        &self,
        resource: &Resource,
        document: &Document,
        targets: &Targets,
    ) -> Result<References, Refusal> {
        let mut references = References::default();
        let mut unknown = Violations::new();
        let mut missing: Vec<(String, &str)> = vec![];
        for reference in &document.references {
            if let Some((target, uuid, kind)) = targets.get(&reference.key) {
                references.links.push(Link {
                    offset: reference.offset,
                    target: *target,
                    kind: *kind,
                    uuid: *uuid,
                });
            } else {
                let name = self.catalog.model.target_name(reference.target);
                missing.push((reference.path.json(resource), name));
            }
        }
        let used = document.descriptors.iter().filter_map(|used| targets.get(&used.key));
        references.others.extend(used.map(|target| target.0));
        // A descriptor that is part of a reference is reported as a descriptor.
        let all = document.descriptors.iter().chain(&document.parts);
        for descriptor in all.filter(|used| !targets.contains_key(&used.key)).take(NAMED_MAX) {
            let name = &self.catalog.model.resource(descriptor.descriptor).name;
            let messages = unknown.entry(descriptor.path.json(resource)).or_default();
            messages.push(unknown_descriptor(name));
        }
        if !unknown.is_empty() {
            return Err(Refusal::UnknownDescriptors(unknown));
        }
        if !missing.is_empty() {
            return Err(unresolved(&missing));
        }
        Ok(references)
    }
}

/// Returns the outcome for a stored document that already equals the sent one.
pub(super) fn unchanged(row: &Row) -> Written {
    Written { effect: Effect::Unchanged, uuid: row.uuid, version_before: row.change_version }
}

/// Returns the refusal for references without a target, each at its first place.
fn unresolved(missing: &[(String, &str)]) -> Refusal {
    let mut targets: Vec<String> = missing.iter().map(|(_, name)| (*name).to_owned()).collect();
    targets.sort_unstable();
    targets.dedup();
    let said = |name: &str| vec![format!("The referenced {name} does not exist.")];
    let listed = missing.iter().take(NAMED_MAX);
    Refusal::Unresolved {
        targets,
        more: missing.len().saturating_sub(NAMED_MAX),
        violations: listed.map(|(path, name)| (path.clone(), said(name))).collect(),
    }
}
