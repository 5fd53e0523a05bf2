//! Decides a deletion.

use std::sync::Arc;

use homeroom_access::{Grant, Phase};
use homeroom_model::{Resource, ResourceId};
use homeroom_store::{Answer, Ask, ChangedAt, Decide, Decision, KindId, Row, Tombstone, Write};

use super::precondition::Precondition;
use super::reach::{check_stored, ways};
use crate::catalog::Catalog;
use crate::refusal::Refusal;
use crate::rights::{Asked, AskedViews, questions, stored_starts, ties_of};
use crate::validate::key_values;

/// Decides the plan of [`delete`](fn@crate::plan::delete).
#[derive(Clone)]
pub struct Delete {
    catalog: Arc<Catalog>,
    resource: ResourceId,
    grant: Grant,
    precondition: Precondition,
    now: ChangedAt,
    stage: DeleteStage,
}

/// What the store was last asked for.
#[derive(Clone)]
enum DeleteStage {
    /// The document.
    Sent,
    /// What refers to this document, and what leads from it to the caller.
    Stored(Box<Row>, Asked, AskedViews),
    /// Nothing; the plan is decided.
    Decided,
}

type Decided = Result<Decision<(), Refusal>, Refusal>;

impl Delete {
    pub(super) fn new(
        catalog: &Arc<Catalog>,
        resource: ResourceId,
        grant: Grant,
        precondition: Precondition,
        now: ChangedAt,
    ) -> Self {
        let catalog = Arc::clone(catalog);
        Self { catalog, resource, grant, precondition, now, stage: DeleteStage::Sent }
    }

    /// Takes the document, and asks what refers to it and whether the grant covers it.
    fn look(&mut self, found: Vec<Answer>) -> Decided {
        let resource = self.catalog.model.resource(self.resource);
        let Some(Answer::Document(row)) = found.into_iter().next() else {
            return Err(Refusal::Confused);
        };
        let row = row.filter(|row| row.kind == self.catalog.kind(self.resource));
        let Some(row) = row else { return Err(Refusal::NotFound) };
        let starts = stored_starts(&self.catalog, resource, &row);
        let relationships = self.grant.relationships.as_deref().into_iter();
        let asked = questions(&self.catalog, resource, relationships, &starts);
        let mut views = AskedViews::default();
        views.add(&self.catalog, resource, self.grant.views.iter(), &row.body, row.key);
        let mut asks = vec![Ask::Referrers(row.id)];
        asks.extend(ways(&asked));
        asks.extend(views.asks(&self.catalog));
        self.stage = DeleteStage::Stored(Box::new(row), asked, views);
        Ok(Decision::Ask(asks))
    }

    /// Checks the grant and that nothing refers to the document, and deletes it.
    fn decide_stored(
        &self,
        row: Box<Row>,
        mut asked: Asked,
        mut views: AskedViews,
        found: Vec<Answer>,
    ) -> Decided {
        let resource = self.catalog.model.resource(self.resource);
        let mut found = found.into_iter();
        let Some(Answer::Referrers(kinds)) = found.next() else { return Err(Refusal::Confused) };
        asked.take(found.by_ref());
        views.take(found);
        check_stored(&self.catalog, &self.grant, resource, &row, &views)?;
        if let Some(relationships) = &self.grant.relationships {
            let starts = stored_starts(&self.catalog, resource, &row);
            asked.check(&self.catalog, resource, relationships, Phase::Stored, &starts)?;
        }
        self.precondition.check(Some(&row))?;
        if !kinds.is_empty() {
            return Err(referred(&self.catalog, resource, &kinds));
        }
        let tombstone =
            Tombstone { key_values: key_values(resource, &row.body), modified: self.now.0 };
        let ties = ties_of(&self.catalog, resource, &row);
        Ok(Decision::Write(vec![Write::Delete { row, ties, tombstone }], ()))
    }
}

/// Returns the refusal that names the resources which still refer to the document. Edges that only
/// name a subject are left out: they accompany edges of real references.
fn referred(catalog: &Catalog, resource: &Resource, kinds: &[KindId]) -> Refusal {
    let all = || kinds.iter().filter_map(|kind| catalog.resource(*kind));
    let names_of = |only_direct: bool| -> Vec<String> {
        all()
            .filter(|from| !only_direct || catalog.refers(from.id, resource.id))
            .map(|from| from.name.clone())
            .collect()
    };
    let mut by = names_of(true);
    if by.is_empty() {
        by = names_of(false);
    }
    Refusal::Referred { by }
}

impl Decide for Delete {
    type Done = ();
    type Refusal = Refusal;

    fn decide(&mut self, found: Vec<Answer>) -> Decision<(), Refusal> {
        let decided = match std::mem::replace(&mut self.stage, DeleteStage::Decided) {
            DeleteStage::Sent => self.look(found),
            DeleteStage::Stored(row, asked, views) => self.decide_stored(row, asked, views, found),
            DeleteStage::Decided => Err(Refusal::Confused),
        };
        decided.unwrap_or_else(Decision::Refuse)
    }
}
