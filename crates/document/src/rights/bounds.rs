//! Turns a grant into bounds of a list.

use std::sync::Arc;

use homeroom_access::{Alternative, By, Grant, Relationships};
use homeroom_model::Resource;
use homeroom_store::{Bounds, Leads, MarkTest};

use super::standing::way;
use crate::catalog::Catalog;

/// Returns the bounds that restrict a list of a resource to the documents that a grant covers,
/// except for namespaces.
pub fn bounds(catalog: &Catalog, resource: &Resource, grant: &Grant) -> Bounds {
    let mut groups = vec![];
    if let Some(tokens) = &grant.ownership_tokens {
        let mark = catalog.routes.slots(resource.id).len();
        groups.push(vec![vec![MarkTest::OneOf { mark, numbers: Arc::clone(tokens) }]]);
    }
    if let Some(relationships) = &grant.relationships {
        let alternatives = relationships.alternatives.iter();
        let tests = alternatives
            .map(|alternative| alternative_tests(catalog, resource, relationships, alternative));
        groups.push(tests.collect());
    }
    Bounds(groups)
}

fn alternative_tests(
    catalog: &Catalog,
    resource: &Resource,
    relationships: &Relationships,
    alternative: &Alternative,
) -> Vec<MarkTest> {
    let numbers = || Arc::clone(&relationships.organizations);
    let nothing = |mark| MarkTest::OneOf { mark, numbers: Arc::new([]) };
    let tests = alternative.parts.iter().map(|part| {
        let Some((mark, slot)) = catalog.routes.slot(resource.id, part.subject) else {
            return nothing(0);
        };
        let leads = if slot.is_itself { Leads::Itself } else { Leads::Reference };
        let Some(way) = way(catalog, slot, part.by) else { return nothing(mark) };
        match part.by {
            By::Above => MarkTest::ReachedFrom { mark, label: way.up, numbers: numbers(), leads },
            By::Below | By::Person { .. } => {
                MarkTest::Reaches { mark, way, numbers: numbers(), leads }
            }
        }
    });
    tests.collect()
}
