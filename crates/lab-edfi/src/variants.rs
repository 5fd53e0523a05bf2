//! Creates more documents of a resource, so that keys made only of references can be new.

use super::api::ApiError;
use super::document::{Anchors, Made, Wish, compose};
use super::links::singular;
use super::setup::{SetUp, refers_alike};
use super::shape::{Form, Kind, Property, Scalar, Shapes};
use super::values::is_namespace;
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
        let kind = &shapes.kinds[at];
        let Some(first) = self.world.anchor(at).cloned() else { return Ok(0) };
        let Some(property) = varied(kind) else { return Ok(0) };
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
                self.values.new_one(singular(&kind.schema), &property.name, scalar);
            let Ok(made) = self.create(kind, &body)? else { break };
            self.tie(at, &made)?;
            self.world.more.entry(at).or_default().push(made);
        }
        Ok(self.world.more.get(&at).map_or(0, Vec::len))
    }

    /// Finds more documents of a resource that cannot be created: those with the same references as
    /// the first.
    fn find_more(&mut self, at: usize, first: &Made, wanted: usize) -> Result<Vec<Made>, ApiError> {
        let kind = &self.world.shapes.kinds[at];
        let mut found = self.list(kind, "", wanted + 1)?;
        let parents = self.parents_of(at);
        found.retain(|made| {
            made.id != first.id
                && refers_alike(kind, &made.body, &first.body)
                && parents.iter().all(|parent| made.body[parent] == first.body[parent])
        });
        Ok(found)
    }

    /// Ties a new person to the organization that all documents belong to.
    fn tie(&mut self, person: usize, made: &Made) -> Result<(), ApiError> {
        let shapes = self.world.shapes;
        let is_there = |tie: &usize| matches!(self.world.states[*tie], State::There { .. });
        let Some(tie) = ties(shapes, person).into_iter().find(is_there) else { return Ok(()) };
        let kind = &shapes.kinds[tie];
        let refers = |property: &&Property| match &property.form {
            Form::Reference(reference) => reference.targets.contains(&person),
            _ => false,
        };
        let Some(property) = kind.properties.iter().find(refers) else { return Ok(()) };
        let mut wish = Wish::default();
        wish.targets.insert(property.name.clone(), (person, made));
        let body = compose(shapes, kind, &self.world, &mut self.values, &wish);
        if let Ok(body) = body {
            // If this is refused, the refusal shows later where the person is used.
            _ = self.create(kind, &body)?;
        }
        Ok(())
    }
}

/// Returns the resources that tie persons of a resource to an organization; empty if it is not a
/// person.
pub fn ties(shapes: &Shapes, at: usize) -> Vec<usize> {
    let name = singular(&shapes.kinds[at].schema);
    let ties = TIES.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, ties)| *ties);
    let named = |tie: &str| shapes.kinds.iter().position(|kind| singular(&kind.schema) == tie);
    ties.iter().filter_map(|tie| named(tie)).collect()
}

/// Returns whether documents of a resource are persons, which need a tie.
pub fn is_person(kind: &Kind) -> bool {
    TIES.iter().any(|(name, _)| *name == singular(&kind.schema))
}

/// Returns the resource's own member that differs between its documents.
pub fn varied(kind: &Kind) -> Option<&Property> {
    let rank = |property: &&Property| match &property.form {
        _ if !property.is_identity || is_namespace(&property.name) => None,
        Form::Scalar(Scalar::Text { max, .. }) if *max >= 8 => Some(0),
        Form::Scalar(Scalar::Integer { .. }) => Some(1),
        Form::Scalar(Scalar::Date) => Some(2),
        Form::Scalar(Scalar::Moment) => Some(3),
        Form::Scalar(Scalar::Time) => Some(4),
        _ => None,
    };
    let ranked = kind.properties.iter().filter_map(|property| Some((rank(&property)?, property)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, property)| property)
}
