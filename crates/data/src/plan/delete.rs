//! Decides a deletion.

use std::sync::Arc;

use homeroom_access::{Grant, Phase};
use homeroom_http::{Kind, Problem, Timestamp};
use homeroom_model::Resource;
use homeroom_store::{Answer, Ask, Decide, Decision, KindId, Row, Tombstone, Write};

use super::{Precondition, check_stored, stored_starts};
use crate::catalog::Catalog;
use crate::rights::{Asked, AskedViews, questions, ties_of};
use crate::validate::key_values;

/// Decides the plan of [`super::delete`].
#[derive(Clone)]
pub struct Delete {
    pub(super) catalog: Arc<Catalog>,
    pub(super) resource: homeroom_model::ResourceId,
    pub(super) grant: Grant,
    pub(super) precondition: Precondition,
    pub(super) now: Timestamp,
    pub(super) stored: Option<Row>,
    /// Questions for the relationships of the grant.
    pub(super) asked: Asked,
    /// Questions for the views of the grant.
    pub(super) views: AskedViews,
}

impl Delete {
    fn step(&mut self, found: Vec<Answer>) -> Result<Decision<(), Problem>, Problem> {
        let resource = self.catalog.model.resource(self.resource);
        let mut found = found.into_iter();
        match found.next() {
            Some(Answer::Document(row)) => {
                let row = row.filter(|row| row.kind == self.catalog.kind(self.resource));
                let Some(row) = row else { return Err(Problem::of(Kind::NotFound)) };
                let starts = stored_starts(&self.catalog, resource, &row);
                let relationships = self.grant.relationships.as_deref().into_iter();
                self.asked = questions(&self.catalog, resource, relationships, &starts);
                let views = self.grant.views.iter();
                self.views.add(&self.catalog, resource, views, &row.body, row.key);
                let id = row.id;
                self.stored = Some(row);
                let mut asks = vec![Ask::Referrers(id)];
                let ways = self.asked.questions.iter().cloned();
                asks.extend(ways.map(|(start, way)| Ask::Reach(start, way)));
                asks.extend(self.views.asks(&self.catalog));
                Ok(Decision::Ask(asks))
            }
            Some(Answer::Referrers(kinds)) => {
                let row = self.stored.take().expect("the first round stored it");
                self.asked.take(found.by_ref());
                self.views.take(found);
                check_stored(&self.catalog, &self.grant, resource, &row, &self.views)?;
                if let Some(relationships) = &self.grant.relationships {
                    let starts = stored_starts(&self.catalog, resource, &row);
                    let (asked, phase) = (&self.asked, Phase::Stored);
                    asked.check(&self.catalog, resource, relationships, phase, &starts)?;
                }
                self.precondition.check(Some(&row))?;
                if !kinds.is_empty() {
                    return Err(dependents(&self.catalog, resource, &kinds));
                }
                let tombstone =
                    Tombstone { key_values: key_values(resource, &row.body), modified: self.now.0 };
                let ties = ties_of(&self.catalog, resource, &row);
                Ok(Decision::Write(vec![Write::Delete { row: Box::new(row), ties, tombstone }], ()))
            }
            _ => Err(Problem::internal("the store answered another question")),
        }
    }
}

/// Returns the problem that names the resources which still refer to the document. Edges that only
/// name a subject are left out: they accompany edges of real references.
fn dependents(catalog: &Catalog, resource: &Resource, kinds: &[KindId]) -> Problem {
    let all = || kinds.iter().filter_map(|kind| catalog.resource(*kind));
    let names_of = |only_direct: bool| -> Vec<&str> {
        all()
            .filter(|from| !only_direct || catalog.refers(from.id, resource.id))
            .map(|from| from.name.as_str())
            .collect()
    };
    let mut names = names_of(true);
    if names.is_empty() {
        names = names_of(false);
    }
    Problem::of(Kind::DependentItemExists)
        .detail(format!("Documents of these kinds still refer to this one: {}.", names.join(", ")))
        .hint("Delete the documents that refer to it first.")
}

impl Decide for Delete {
    type Done = ();
    type Refusal = Problem;

    fn decide(&mut self, found: Vec<Answer>) -> Decision<(), Problem> {
        self.step(found).unwrap_or_else(Decision::Refuse)
    }
}
