//! Decides an upsert and a replacement by id.

use std::collections::HashMap;
use std::sync::Arc;

use homeroom_access::{Grant, Phase, UpsertGrant};
use homeroom_http::{Kind, Problem, Timestamp, Violations};
use homeroom_model::Resource;
use homeroom_store::{
    Answer, Ask, Decide, Decision, DocumentId, KindId, Link, NaturalKey, NewDocument, Plan,
    References, Row, Start, Uuid, Write,
};

use super::respell::{Respelled, keep_identity, respell};
use super::{
    Effect, Place, Precondition, Written, check_stored, stored_starts, unknown_descriptor,
};
use crate::catalog::{Catalog, is_descriptor};
use crate::rights::{self, About, Asked, AskedViews, questions};
use crate::validate::{Document, key_values};

/// Most places that one problem lists.
const NAMED_MAX: usize = 100;

/// Decides the plans of [`super::upsert`] and [`super::replace`].
#[derive(Clone)]
pub struct Save {
    catalog: Arc<Catalog>,
    document: Option<Document>,
    grant: UpsertGrant,
    precondition: Precondition,
    now: Timestamp,
    place: Place,
    /// Subjects of the document.
    about: Vec<Option<About>>,
    /// Questions for the relationships of the sent document.
    asked: Asked,
    /// Questions for the views, about the sent and the stored document.
    views: AskedViews,
    stored: Option<Row>,
    stage: Stage,
}

/// What the store was last asked for.
#[derive(Clone)]
enum Stage {
    /// The stored document.
    Document,
    /// The relationships of the stored document if its subjects differ from the sent ones, and the
    /// views that it leads to.
    Stored(Option<Asked>),
    /// The targets of these identities, in order.
    Targets(Vec<NaturalKey>),
    /// The documents of descriptors among these targets whose spelling is not known yet.
    Spellings(Targets, Vec<NaturalKey>),
}

/// The documents that have the requested identities.
type Targets = HashMap<NaturalKey, (DocumentId, Uuid, KindId)>;

type Decided = Result<Decision<Written, Problem>, Problem>;

impl Save {
    pub(super) fn new(
        catalog: &Arc<Catalog>,
        document: Document,
        grant: UpsertGrant,
        precondition: Precondition,
        now: Timestamp,
        place: Place,
    ) -> Self {
        let about = rights::proposed(catalog, &document);
        let starts = starts(&about, document.key);
        let resource = catalog.model.resource(document.resource);
        let asked = questions(catalog, resource, grant.relationships(), &starts);
        let mut views = AskedViews::default();
        views.add(catalog, resource, grant.views(), &document.body, document.key);
        Self {
            catalog: Arc::clone(catalog),
            document: Some(document),
            grant,
            precondition,
            now,
            place,
            about,
            asked,
            views,
            stored: None,
            stage: Stage::Document,
        }
    }

    /// Returns the sent document of a plan that has not been decided yet.
    ///
    /// # Panics
    ///
    /// Panics if the plan has been decided.
    pub fn into_document(self) -> Document {
        self.document.expect("the last round takes it, and none has run")
    }

    /// Returns the plan that looks up the document by `first`.
    pub(super) fn plan(self, first: Ask) -> Plan<Self> {
        let mut ask = vec![first];
        ask.extend(ways(&self.asked));
        ask.extend(self.views.asks(&self.catalog));
        Plan { ask, decide: self }
    }

    /// Handles the looked-up document: decides whether it exists and may be written.
    fn first(&mut self, found: Vec<Answer>) -> Decided {
        let document = self.document.as_ref().expect("the last round takes it, not the first");
        let resource = self.catalog.model.resource(document.resource);
        let mut found = found.into_iter();
        let row = match found.next() {
            Some(Answer::Document(row)) => row,
            _ => None,
        };
        self.asked.take(found.by_ref());
        self.views.take(found);
        let row = row.filter(|row| row.kind == self.catalog.kind(document.resource));
        let Some(row) = row else {
            if let Place::Id(_) = self.place {
                return Err(Problem::of(Kind::NotFound));
            }
            let grant =
                self.grant.create.as_ref().map_err(|denial| Problem::from(denial.clone()))?;
            self.check_proposed(grant)?;
            self.precondition.check(None)?;
            return self.ask_targets();
        };
        let grant = self.grant.update.as_ref().map_err(|denial| Problem::from(denial.clone()))?;
        let stored = stored_starts(&self.catalog, resource, &row);
        let is_about_the_same = row.key == document.key && {
            let slots = stored.iter().zip(&self.about);
            slots.into_iter().all(|(stored, about)| match (stored, about) {
                (Some(Start::Number(stored)), Some(About::Organization(sent, _))) => stored == sent,
                // A person is part of the identity, which is the same.
                (Some(_), Some(About::Person(_) | About::Itself)) | (None, None) => true,
                _ => false,
            })
        };
        let asked = (!is_about_the_same).then(|| {
            let relationships = grant.relationships.as_deref().into_iter();
            questions(&self.catalog, resource, relationships, &stored)
        });
        self.views.add(&self.catalog, resource, grant.views.iter(), &row.body, row.key);
        self.stored = Some(row);
        let mut asks: Vec<Ask> = asked.iter().flat_map(ways).collect();
        asks.extend(self.views.asks(&self.catalog));
        if asks.is_empty() {
            return self.stored(asked, vec![]);
        }
        self.stage = Stage::Stored(asked);
        Ok(Decision::Ask(asks))
    }

    /// Handles the stored document's relationships; without questions of its own, it has the same
    /// subjects as the sent document.
    fn stored(&mut self, asked: Option<Asked>, found: Vec<Answer>) -> Decided {
        let mut found = found.into_iter();
        let document = self.document.as_ref().expect("the last round takes it");
        let resource = self.catalog.model.resource(document.resource);
        let row = self.stored.as_ref().expect("the first round stored it");
        let (asked, starts) = match asked {
            Some(mut asked) => {
                asked.take(found.by_ref());
                (asked, stored_starts(&self.catalog, resource, row))
            }
            None => (self.asked.clone(), starts(&self.about, document.key)),
        };
        self.views.take(found);
        let grant = self.grant.update.as_ref().map_err(|denial| Problem::from(denial.clone()))?;
        check_stored(&self.catalog, grant, resource, row, &self.views)?;
        if let Some(relationships) = &grant.relationships {
            asked.check(&self.catalog, resource, relationships, Phase::Stored, &starts)?;
        }
        self.second()
    }

    /// Checks the sent document, after the stored one was within reach, and whether there is a
    /// change.
    fn second(&mut self) -> Decided {
        let document = self.document.as_ref().expect("the last round takes it");
        let resource = self.catalog.model.resource(document.resource);
        let grant = self.grant.update.as_ref().map_err(|denial| Problem::from(denial.clone()))?;
        let row = self.stored.as_ref().expect("the first round stored it");
        if row.key != document.key {
            return Err(key_change(resource));
        }
        self.check_proposed(grant)?;
        self.precondition.check(Some(row))?;
        if is_descriptor(resource) {
            let document = self.document.as_mut().expect("the last round takes it");
            keep_identity(document, &row.body);
        }
        if self.is_unchanged() && self.is_spelled_as_known() {
            return Ok(Decision::Write(vec![], unchanged(row)));
        }
        self.ask_targets()
    }

    /// Whether the stored document has the same text.
    fn is_unchanged(&self) -> bool {
        let (row, document) = (self.stored.as_ref(), self.document.as_ref());
        row.zip(document).is_some_and(|(row, document)| row.body == document.body)
    }

    /// Whether the document spells descriptors as the cached spellings do. An older version may
    /// have stored them as they were sent, so even an equal text may have to be stored again.
    fn is_spelled_as_known(&self) -> bool {
        let document = self.document.as_ref().expect("the last round takes it");
        let spelled = document.spelled.iter();
        self.catalog.spellings.agree(spelled.map(|at| (at.key, at.text(&document.body))))
    }

    /// Checks the sent document against the grant.
    fn check_proposed(&self, grant: &Grant) -> Result<(), Problem> {
        let document = self.document.as_ref().expect("the last round takes it");
        let resource = self.catalog.model.resource(document.resource);
        let sent = (document.body.as_str(), document.key);
        self.views.check(&self.catalog, grant, resource, sent, Phase::Proposed)?;
        let Some(relationships) = &grant.relationships else { return Ok(()) };
        let starts = starts(&self.about, document.key);
        self.asked.check(&self.catalog, resource, relationships, Phase::Proposed, &starts)?;
        Ok(())
    }

    /// Asks the store for all targets of the document.
    fn ask_targets(&mut self) -> Decided {
        let document = self.document.as_ref().expect("the last round takes it");
        let mut keys: Vec<NaturalKey> = document
            .references
            .iter()
            .map(|reference| reference.key)
            .chain(document.spelled.iter().map(|descriptor| descriptor.key))
            .chain(document.alias)
            .chain(rights::targets(&self.about))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() {
            return self.last(Targets::new());
        }
        let asks = keys.iter().copied().map(Ask::Target).collect();
        self.stage = Stage::Targets(keys);
        Ok(Decision::Ask(asks))
    }

    /// Handles the looked-up targets, and asks for unknown spellings of descriptors among them.
    fn targets(&mut self, keys: &[NaturalKey], found: Vec<Answer>) -> Decided {
        let mut targets = Targets::new();
        for (key, answer) in keys.iter().zip(found) {
            if let Answer::Target(Some(target)) = answer {
                targets.insert(*key, target);
            }
        }
        let document = self.document.as_ref().expect("the last round takes it");
        let mut unknown: Vec<NaturalKey> = document.spelled.iter().map(|text| text.key).collect();
        unknown.sort_unstable();
        unknown.dedup();
        let spellings = &self.catalog.spellings;
        unknown.retain(|key| {
            targets.get(key).is_some_and(|(_, uuid, _)| spellings.get(*key, *uuid).is_none())
        });
        if unknown.is_empty() {
            return self.spell(targets, &HashMap::new());
        }
        let asks = unknown.iter().copied().map(Ask::Document).collect();
        self.stage = Stage::Spellings(targets, unknown);
        Ok(Decision::Ask(asks))
    }

    /// Spells each descriptor as its own document does; newly read spellings are in `learned`.
    fn spell(&mut self, targets: Targets, learned: &HashMap<NaturalKey, Arc<str>>) -> Decided {
        let document = self.document.as_mut().expect("the last round takes it");
        let mut others = vec![];
        for at in &document.spelled {
            let known = || self.catalog.spellings.get(at.key, targets.get(&at.key)?.1);
            let text = learned.get(&at.key).cloned().or_else(known);
            if let Some(text) = text.filter(|text| **text != *at.text(&document.body)) {
                others.push(Respelled { at: *at, text });
            }
        }
        respell(document, &others);
        match &self.stored {
            Some(row) if self.is_unchanged() => Ok(Decision::Write(vec![], unchanged(row))),
            _ => self.last(targets),
        }
    }

    /// Handles the looked-up documents of descriptors.
    fn learn(&mut self, targets: Targets, keys: &[NaturalKey], found: Vec<Answer>) -> Decided {
        let mut learned = HashMap::new();
        for (key, answer) in keys.iter().zip(found) {
            if let Answer::Document(Some(row)) = answer
                && let Some(spelling) = self.catalog.spellings.learn(&row)
            {
                learned.insert(*key, spelling);
            }
        }
        self.spell(targets, &learned)
    }

    /// Checks that all targets exist, and writes the document.
    fn last(&mut self, mut targets: Targets) -> Decided {
        let document = self.document.take().expect("a plan is decided once");
        let resource = self.catalog.model.resource(document.resource);
        let kind = self.catalog.kind(document.resource);
        let uuid = self.stored.as_ref().map_or_else(Uuid::new, |row| row.uuid);
        let itself = (self.stored.as_ref().map_or(DocumentId::ITSELF, |row| row.id), uuid, kind);
        if let Some(alias) = document.alias {
            if targets.get(&alias).is_some_and(|target| target.0 != itself.0) {
                return Err(identity_taken(resource, &document.body));
            }
            targets.insert(alias, itself);
        }
        targets.insert(document.key, itself);
        let mut references = self.resolve(resource, &document, &targets)?;
        let about = rights::targets(&self.about).filter_map(|key| targets.get(&key));
        references.others.extend(about.map(|target| target.0));
        references.others.sort_unstable();
        references.others.dedup();
        let owner = match &self.stored {
            Some(row) => rights::owner(&self.catalog, resource, row),
            None => self.grant.create.as_ref().ok().and_then(|grant| grant.creator_token),
        };
        let number = |key| targets.get(&key).map(|target| target.0.0);
        references.marks = rights::marks(&self.about, itself.0, owner, number);
        references.gaps = self.catalog.empties(resource.id).noted(&document.body);
        let ties = rights::ties(&self.catalog, resource, &document.body, &references.marks);
        let new = NewDocument {
            uuid,
            kind,
            key: document.key,
            alias: document.alias,
            body: document.body,
            references,
            ties,
            // If the clock was set back, the document's time does not go back.
            modified: self.stored.as_ref().map_or(self.now.0, |row| row.modified.max(self.now.0)),
        };
        Ok(match self.stored.take() {
            None => Decision::Write(
                vec![Write::Create(new)],
                Written { effect: Effect::Created, uuid, version_before: 0 },
            ),
            Some(row) => {
                let old_ties = rights::ties_of(&self.catalog, resource, &row);
                let (old, old_references) = (row.id, row.references);
                Decision::Write(
                    vec![Write::Replace { old, old_references, old_ties, new }],
                    Written { effect: Effect::Updated, uuid, version_before: row.change_version },
                )
            }
        })
    }

    fn resolve(
        &self,
        resource: &Resource,
        document: &Document,
        targets: &Targets,
    ) -> Result<References, Problem> {
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
            return Err(Problem::of(Kind::DataValidationFailed).violations(unknown).hint(
                "Send the descriptor first, or use one that the descriptor's endpoint \
                 lists.",
            ));
        }
        if !missing.is_empty() {
            let mut names: Vec<&str> = missing.iter().map(|(_, name)| *name).collect();
            names.sort_unstable();
            names.dedup();
            let more = match missing.len().saturating_sub(NAMED_MAX) {
                0 => String::new(),
                more => format!(" {more} more references point to documents that do not exist."),
            };
            return Err(Problem::of(Kind::UnresolvedReference)
                .detail(format!("The referenced {} does not exist.{more}", names.join(", ")))
                .violations(unresolved(&missing))
                .hint("Send the referenced document first; /metadata/data/v3/dependencies gives an order that works."));
        }
        Ok(references)
    }
}

/// Returns the outcome for a stored document that already equals the sent one.
fn unchanged(row: &Row) -> Written {
    Written { effect: Effect::Unchanged, uuid: row.uuid, version_before: row.change_version }
}

/// Returns the starting points for relationship questions: the subjects of a document with this
/// identity.
fn starts(about: &[Option<About>], key: NaturalKey) -> Vec<Option<Start>> {
    about.iter().map(|about| about.map(|about| about.start(key))).collect()
}

/// Returns the relationship questions as questions of a plan.
fn ways(asked: &Asked) -> impl Iterator<Item = Ask> + '_ {
    asked.questions.iter().cloned().map(|(start, way)| Ask::Reach(start, way))
}

impl Decide for Save {
    type Done = Written;
    type Refusal = Problem;

    fn decide(&mut self, found: Vec<Answer>) -> Decision<Written, Problem> {
        let decided = match std::mem::replace(&mut self.stage, Stage::Document) {
            Stage::Document => self.first(found),
            Stage::Stored(asked) => self.stored(asked, found),
            Stage::Targets(keys) => self.targets(&keys, found),
            Stage::Spellings(targets, keys) => self.learn(targets, &keys, found),
        };
        decided.unwrap_or_else(Decision::Refuse)
    }
}

/// Returns the violations for references without a target, each at its first place.
fn unresolved(missing: &[(String, &str)]) -> Violations {
    let said = |name: &str| vec![format!("The referenced {name} does not exist.")];
    missing.iter().take(NAMED_MAX).map(|(path, name)| (path.clone(), said(name))).collect()
}

fn identity_taken(resource: &Resource, body: &str) -> Problem {
    Problem::of(Kind::NonUniqueIdentity)
        .detail("A document of another kind already has these identifying values.")
        .error(format!("{} {}", resource.name, key_values(resource, body)))
        .hint("The identity must be unique among all kinds of the same base.")
}

fn key_change(resource: &Resource) -> Problem {
    let columns: Vec<&str> = resource.key.iter().map(|column| column.name.as_str()).collect();
    let named = format!("The identifying values of {} ({})", resource.name, columns.join(", "));
    Problem::of(Kind::KeyChangeNotSupported).detail(if resource.updatable_key {
        format!("{named} cannot be changed yet; delete the document and create it again.")
    } else {
        format!("{named} cannot be changed; delete the document and create it again.")
    })
}
