//! The decision of a deletion.

use std::sync::Arc;

use homeroom_access::Grant;
use homeroom_http::{Kind, Problem, Timestamp};
use homeroom_store::{Answer, Ask, Decide, Decision, Row, Tombstone, Write};

use super::{Precondition, check_stored};
use crate::catalog::Catalog;
use crate::validate::key_values;

/// The decision of [`super::delete`].
#[derive(Clone)]
pub struct Delete {
    pub(super) catalog: Arc<Catalog>,
    pub(super) resource: homeroom_model::ResourceId,
    pub(super) grant: Grant,
    pub(super) precondition: Precondition,
    pub(super) now: Timestamp,
    pub(super) stored: Option<Row>,
}

impl Delete {
    fn step(&mut self, found: Vec<Answer>) -> Result<Decision<(), Problem>, Problem> {
        let resource = self.catalog.model.resource(self.resource);
        match found.into_iter().next() {
            Some(Answer::Document(row)) => {
                let row = row.filter(|row| row.kind == self.catalog.kind(self.resource));
                let Some(row) = row else {
                    self.precondition.check(None)?;
                    return Err(Problem::of(Kind::NotFound));
                };
                check_stored(&self.grant, resource, &row.body)?;
                self.precondition.check(Some(&row))?;
                let id = row.id;
                self.stored = Some(row);
                Ok(Decision::Ask(vec![Ask::Referrers(id)]))
            }
            Some(Answer::Referrers(kinds)) if kinds.is_empty() => {
                let row = self.stored.take().expect("the first round stored it");
                let tombstone =
                    Tombstone { key_values: key_values(resource, &row.body), modified: self.now.0 };
                Ok(Decision::Write(vec![Write::Delete { row: Box::new(row), tombstone }], ()))
            }
            Some(Answer::Referrers(kinds)) => {
                let names: Vec<&str> = kinds
                    .iter()
                    .filter_map(|kind| self.catalog.resource(*kind))
                    .map(|resource| resource.name.as_str())
                    .collect();
                Err(Problem::of(Kind::DependentItemExists)
                    .detail(format!("The document is still referred to by: {}.", names.join(", ")))
                    .hint("Delete the documents that refer to it first."))
            }
            _ => Err(Problem::internal("the store answered another question")),
        }
    }
}

impl Decide for Delete {
    type Done = ();
    type Refusal = Problem;

    fn decide(&mut self, found: Vec<Answer>) -> Decision<(), Problem> {
        self.step(found).unwrap_or_else(Decision::Refuse)
    }
}
