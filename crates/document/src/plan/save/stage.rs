//! The stages of an upsert or a replacement.

use std::collections::HashMap;
use std::sync::Arc;

use homeroom_access::{Grant, UpsertGrant};
use homeroom_store::{ChangedAt, Decision, DocumentId, KindId, NaturalKey, Row, Start, Uuid};

use super::super::outcome::Written;
use super::super::precondition::Precondition;
use crate::catalog::Catalog;
use crate::refusal::Refusal;
use crate::rights::{self, About, Asked, AskedViews, questions};
use crate::validate::Document;

/// What stays the same from the first stage to the last.
#[derive(Clone)]
pub(super) struct Terms {
    pub(super) catalog: Arc<Catalog>,
    pub(super) precondition: Precondition,
    pub(super) now: ChangedAt,
}

/// How the stored document is looked up, with the grants that may apply.
#[derive(Clone)]
pub(in crate::plan) enum Grants {
    /// By its identity; it is created if it is missing.
    ByIdentity(UpsertGrant),
    /// By its public id; it must exist.
    ById(Grant),
}

/// What was sent, and what the store is asked about it.
#[derive(Clone)]
pub(super) struct Sent {
    pub(super) document: Document,
    /// Whom the document is about.
    pub(super) about: Vec<Option<About>>,
    /// Questions for relationships.
    pub(super) asked: Asked,
    /// Questions for views, about the sent and later the stored document.
    pub(super) views: AskedViews,
}

impl Sent {
    pub(super) fn new(catalog: &Catalog, document: Document, grants: &Grants) -> Self {
        let about = rights::proposed(catalog, &document);
        let starts = starts(&about, document.key);
        let resource = catalog.model.resource(document.resource);
        let mut views = AskedViews::default();
        let asked = match grants {
            Grants::ByIdentity(grant) => {
                views.add(catalog, resource, grant.views(), &document.body, document.key);
                questions(catalog, resource, grant.relationships(), &starts)
            }
            Grants::ById(grant) => {
                views.add(catalog, resource, grant.views.iter(), &document.body, document.key);
                questions(catalog, resource, grant.relationships.as_deref().into_iter(), &starts)
            }
        };
        Self { document, about, asked, views }
    }

    /// Returns where questions about relationships of the sent document begin.
    pub(super) fn starts(&self) -> Vec<Option<Start>> {
        starts(&self.about, self.document.key)
    }
}

fn starts(about: &[Option<About>], key: NaturalKey) -> Vec<Option<Start>> {
    about.iter().map(|about| about.map(|about| about.start(key))).collect()
}

/// A stored document that the sent one would replace, and the grant for that.
#[derive(Clone)]
pub(super) struct Stored {
    pub(super) sent: Sent,
    pub(super) row: Row,
    pub(super) grant: Grant,
    /// Questions for relationships of the stored document; [`None`] if it is about the same as the
    /// sent one.
    pub(super) asked: Option<Asked>,
}

/// A document that may be written, once everything that it refers to is found.
#[derive(Clone)]
pub(super) struct Cleared {
    pub(super) document: Document,
    pub(super) about: Vec<Option<About>>,
    pub(super) onto: Onto,
}

/// What the document replaces.
#[derive(Clone)]
pub(super) enum Onto {
    /// Nothing: it is new, and gets this ownership token.
    New(Option<i64>),
    /// This stored document.
    Stored(Row),
}

impl Cleared {
    /// Returns the stored document if it has the same text.
    pub(super) fn unchanged(&self) -> Option<&Row> {
        match &self.onto {
            Onto::Stored(row) if row.body == self.document.body => Some(row),
            Onto::Stored(_) | Onto::New(_) => None,
        }
    }
}

/// The documents that have the requested identities.
pub(super) type Targets = HashMap<NaturalKey, (DocumentId, Uuid, KindId)>;

/// What is known, and what the store was last asked for.
#[derive(Clone)]
pub(super) enum SaveStage {
    /// The stored document, and what leads from the sent one to the caller.
    Sent(Sent, Grants),
    /// What leads from the stored document to the caller.
    Stored(Stored),
    /// The targets of these identities, in order.
    Targets(Cleared, Vec<NaturalKey>),
    /// The documents of descriptors among the targets whose spelling is not known yet.
    Spellings(Cleared, Targets, Vec<NaturalKey>),
    /// Nothing; the plan is decided.
    Decided,
}

impl SaveStage {
    /// Returns the document as long as it is not decided upon.
    pub(super) fn into_document(self) -> Option<Document> {
        match self {
            Self::Sent(sent, _) | Self::Stored(Stored { sent, .. }) => Some(sent.document),
            Self::Targets(cleared, _) | Self::Spellings(cleared, ..) => Some(cleared.document),
            Self::Decided => None,
        }
    }
}

/// The next stage with its questions, or the last one with its writes.
pub(super) type NextStage = Result<(SaveStage, Decision<Written, Refusal>), Refusal>;
