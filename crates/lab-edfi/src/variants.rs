//! Creates more documents of a resource, so that keys made only of references can be new.

use super::api::ApiError;
use super::document::{Anchors, Made, Wish, compose};
use super::identity::{refers_alike, varied};
use super::links::singular;
use super::setup::SetUp;
use super::shape::{Form, Property, Resource, Shapes};
use super::world::State;

/// The resources that make a person visible to a key that is bound to education organizations: for
/// each kind of person, the resources that tie it to an organization, directly or through another
/// person.
///
/// Source: the standard's authorization by relationships.
const TIES: &[(&str, &[&str])] = &[
    (
        "student",
        &["studentSchoolAssociation", "studentEducationOrganizationResponsibilityAssociation"],
    ),
    (
        "staff",
        &[
            "staffEducationOrganizationAssignmentAssociation",
            "staffEducationOrganizationEmploymentAssociation",
        ],
    ),
    ("contact", &["studentContactAssociation"]),
    ("parent", &["studentParentAssociation"]),
];

impl SetUp<'_, '_> {
    /// Makes sure that a resource has `wanted` more documents besides its first, as far as the
    /// target allows. Returns how many there are.
    ///
    /// # Errors
    ///
    /// If the target cannot be reached.
    pub fn more(&mut self, at: usize, wanted: usize) -> Result<usize, ApiError> {
        let shapes = self.world.shapes;
        let resource = &shapes.resources[at];
        let Some(first) = self.world.anchor(at).cloned() else { return Ok(0) };
        let Some(property) = varied(resource) else { return Ok(0) };
        if !self.world.more.contains_key(&at) && !self.world.is_own(at) {
            let found = self.find_more(at, &first, wanted)?;
            self.world.more.insert(at, found);
        }
        let there = self.world.more.get(&at).map_or(0, Vec::len);
        // A document that was found may hold more than a new one may.
        let body = if self.world.is_own(at) { Some(first.body) } else { self.body_of(at).ok() };
        let (Some(mut body), Form::Scalar(scalar)) = (body, &property.form) else {
            return Ok(there);
        };
        for _ in there..wanted {
            body[&property.name] =
                self.values.new_one(singular(&resource.schema), &property.name, scalar);
            let Ok(made) = self.create(resource, &body)? else { break };
            self.tie(at, &made)?;
            self.world.more.entry(at).or_default().push(made);
        }
        Ok(self.world.more.get(&at).map_or(0, Vec::len))
    }

    /// Finds more documents of a resource that cannot be created: those with the same references as
    /// the first.
    fn find_more(&mut self, at: usize, first: &Made, wanted: usize) -> Result<Vec<Made>, ApiError> {
        let resource = &self.world.shapes.resources[at];
        let mut found = self.list(resource, "", wanted + 1)?;
        let parents = self.parents_of(at);
        found.retain(|made| {
            made.id != first.id
                && refers_alike(resource, &made.body, &first.body)
                && parents.iter().all(|parent| made.body[parent] == first.body[parent])
        });
        Ok(found)
    }

    /// Ties a new person to the organization that all documents belong to.
    fn tie(&mut self, person: usize, made: &Made) -> Result<(), ApiError> {
        let shapes = self.world.shapes;
        let is_there = |tie: &usize| matches!(self.world.states[*tie], State::There { .. });
        let Some(tie) = ties(shapes, person).into_iter().find(is_there) else { return Ok(()) };
        let resource = &shapes.resources[tie];
        let refers = |property: &&Property| match &property.form {
            Form::Reference(reference) => reference.targets.contains(&person),
            _ => false,
        };
        let Some(property) = resource.properties.iter().find(refers) else { return Ok(()) };
        let mut wish = Wish::default();
        wish.targets.insert(property.name.clone(), (person, made));
        let body = compose(shapes, resource, &self.world, &mut self.values, &wish);
        if let Ok(body) = body {
            // If this is refused, the refusal shows later where the person is used.
            _ = self.create(resource, &body)?;
        }
        Ok(())
    }
}

/// Returns the resources that tie persons of a resource to an organization; empty if it is not a
/// person.
pub fn ties(shapes: &Shapes, at: usize) -> Vec<usize> {
    let name = singular(&shapes.resources[at].schema);
    let ties = TIES.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, ties)| *ties);
    let named =
        |tie: &str| shapes.resources.iter().position(|resource| singular(&resource.schema) == tie);
    ties.iter().filter_map(|tie| named(tie)).collect()
}

/// Returns whether documents of a resource are persons, which need a tie.
pub fn is_person(resource: &Resource) -> bool {
    TIES.iter().any(|(name, _)| *name == singular(&resource.schema))
}
