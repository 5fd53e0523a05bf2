//! How a document leads to a document of a view's basis: it is one, or it refers to one.

use homeroom_model::{Model, Place, Presence, Property, PropertyKind, Reference, Resource, Target};

/// How a document leads to a view's basis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BasisOf {
    /// The document is itself one of the basis.
    Itself,
    /// The document has a reference that leads to the basis.
    Places {
        /// One for each identity column of the basis.
        places: Vec<Place>,
        /// Names of the columns in the document.
        columns: Vec<String>,
    },
}

/// Why a resource's documents lead to no basis, or to more than one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoBasis {
    /// No reference leads to the basis.
    None,
    /// References of several properties do, with these names.
    Several(Vec<String>),
}

/// Most references in a chain that is followed.
const CHAIN_MAX: usize = 6;
/// Most chains that are followed at the same time.
const CHAINS_MAX: usize = 500;

/// A chain of references from a resource.
#[derive(Clone)]
struct Chain {
    /// The resource's own property.
    first: usize,
    /// The kind of document that it leads to.
    target: Target,
    /// Which members of the first reference hold the target's key.
    members: Vec<usize>,
}

/// How far a chain is from the resource's main subject; smaller is nearer.
type Distance = (bool, u8, bool);

/// Finds how a resource's documents lead to a basis. The shortest chain of references wins. Among
/// equally short ones, a reference to the basis itself comes first, then one that is part of the
/// identity, then a required one, then one without a role.
pub(super) fn basis_of(
    model: &Model,
    resource: &Resource,
    basis: Target,
) -> Result<BasisOf, NoBasis> {
    let is_one = match basis {
        Target::Resource(id) => resource.id == id,
        Target::Abstract(id) => resource.base.as_ref().is_some_and(|base| base.id == id),
    };
    if is_one {
        return Ok(BasisOf::Itself);
    }
    let mut chains: Vec<Chain> = references(&resource.properties)
        .map(|(first, reference)| Chain {
            first,
            target: reference.target,
            members: (0..reference.parts.len()).collect(),
        })
        .collect();
    for _ in 0..CHAIN_MAX {
        let ends: Vec<(Distance, &Chain, Vec<usize>)> = chains
            .iter()
            .filter_map(|chain| {
                let members = as_key_of(model, chain, basis)?;
                Some((distance(model, resource, chain, basis), chain, members))
            })
            .collect();
        if let Some(nearest) = ends.iter().map(|(distance, ..)| *distance).min() {
            let mut nearest = ends.iter().filter(|(distance, ..)| *distance == nearest);
            let (_, chain, members) = nearest.next().expect("it is the distance of one of them");
            let found = places(resource, chain.first, members);
            let others: Vec<&Chain> = nearest
                .filter(|(_, other, members)| {
                    !is_same(resource, &found, &places(resource, other.first, members))
                })
                .map(|(_, other, _)| *other)
                .collect();
            if others.is_empty() {
                return Ok(found);
            }
            let name = |chain: &Chain| resource.properties[chain.first].name.clone();
            let mut names: Vec<String> = others.into_iter().chain([*chain]).map(name).collect();
            names.sort_unstable();
            names.dedup();
            return Err(NoBasis::Several(names));
        }
        chains = chains.iter().flat_map(|chain| longer(model, chain)).take(CHAINS_MAX).collect();
    }
    Err(NoBasis::None)
}

/// Returns the references at the root, with their positions.
fn references(properties: &[Property]) -> impl Iterator<Item = (usize, &Reference)> {
    properties.iter().enumerate().filter_map(|(at, property)| match &property.kind {
        PropertyKind::Reference(reference) => Some((at, reference)),
        _ => None,
    })
}

fn distance(model: &Model, resource: &Resource, chain: &Chain, basis: Target) -> Distance {
    let property = &resource.properties[chain.first];
    let has_role = match &property.kind {
        PropertyKind::Reference(reference) => {
            !is_plain_name(&property.name, model.target_name(reference.target))
        }
        _ => true,
    };
    let presence = match property.presence {
        Presence::Key => 0,
        Presence::Required => 1,
        Presence::Optional => 2,
    };
    (chain.target != basis, presence, has_role)
}

/// Returns whether a property is named after its target alone: `schoolReference`.
fn is_plain_name(property: &str, target: &str) -> bool {
    property.strip_suffix("Reference").is_some_and(|name| name.eq_ignore_ascii_case(target))
}

/// Returns the members that form the key of `basis`, where the chain leads to the basis or may do
/// so.
fn as_key_of(model: &Model, chain: &Chain, basis: Target) -> Option<Vec<usize>> {
    match (chain.target, basis) {
        (target, basis) if target == basis => Some(chain.members.clone()),
        (Target::Resource(of), Target::Abstract(id)) => {
            let base = model.resource(of).base.as_ref().filter(|base| base.id == id)?;
            base.columns.iter().map(|column| chain.members.get(*column).copied()).collect()
        }
        (Target::Abstract(id), Target::Resource(of)) => {
            let basis = model.resource(of);
            let base = basis.base.as_ref().filter(|base| base.id == id)?;
            let own = |column| base.columns.iter().position(|own| *own == column);
            (0..basis.key.len()).map(|c| chain.members.get(own(c)?).copied()).collect()
        }
        _ => None,
    }
}

/// Extends the chain by the references that are part of its target's identity.
fn longer<'m>(model: &'m Model, chain: &Chain) -> impl Iterator<Item = Chain> + use<'m> {
    let (properties, key): (&[Property], _) = match chain.target {
        Target::Resource(id) => (&model.resource(id).properties, &model.resource(id).key),
        Target::Abstract(id) => (&model.base(id).properties, &model.base(id).key),
    };
    let chain = chain.clone();
    references(properties).filter_map(move |(_, reference)| {
        let member = |name: &String| {
            let column = key.iter().position(|column| column.name == *name)?;
            chain.members.get(column).copied()
        };
        let members: Option<Vec<usize>> =
            reference.parts.iter().map(|part| member(&part.column)).collect();
        Some(Chain { first: chain.first, target: reference.target, members: members? })
    })
}

fn places(resource: &Resource, first: usize, members: &[usize]) -> BasisOf {
    let column = |member: &usize| match &resource.properties[first].kind {
        PropertyKind::Reference(reference) => reference.parts[*member].column.clone(),
        _ => String::new(),
    };
    BasisOf::Places {
        places: members
            .iter()
            .map(|member| Place { steps: vec![first], part: Some(*member) })
            .collect(),
        columns: members.iter().map(column).collect(),
    }
}

/// Returns whether two chains always end at the same document, because their values must agree.
fn is_same(resource: &Resource, one: &BasisOf, other: &BasisOf) -> bool {
    let (BasisOf::Places { places: one, .. }, BasisOf::Places { places: other, .. }) = (one, other)
    else {
        return one == other;
    };
    let agree = |(one, other): (&Place, &Place)| {
        one == other || resource.unified.iter().any(|all| all.contains(one) && all.contains(other))
    };
    one.len() == other.len() && one.iter().zip(other).all(agree)
}

#[cfg(test)]
mod tests {
    use homeroom_model::{format, link, shipped};

    use super::*;

    fn model() -> Model {
        link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap()
    }

    /// Returns the properties that lead to a basis, or why none does.
    fn led(model: &Model, endpoint: &str, basis: &str) -> String {
        let resource = model.by_endpoint("ed-fi", endpoint).unwrap();
        match basis_of(model, resource, model.by_name(basis).unwrap()) {
            Ok(BasisOf::Itself) => "itself".into(),
            Ok(BasisOf::Places { places, .. }) => {
                let place = |place: &Place| {
                    let (at, part) = (place.steps[0], place.part.unwrap());
                    let PropertyKind::Reference(to) = &resource.properties[at].kind else {
                        panic!("{endpoint} {basis}: no reference")
                    };
                    format!("{}.{}", resource.properties[at].name, to.parts[part].name)
                };
                places.iter().map(place).collect::<Vec<_>>().join(" ")
            }
            Err(NoBasis::None) => "none".into(),
            Err(NoBasis::Several(names)) => format!("several: {}", names.join(" ")),
        }
    }

    #[test]
    fn a_document_reaches_its_basis_by_the_shortest_path_and_identity_references_first() {
        let model = model();
        for (endpoint, basis, expected) in [
            ("students", "Student", "itself"),
            ("schools", "EducationOrganization", "itself"),
            (
                "schools",
                "LocalEducationAgency",
                "localEducationAgencyReference.localEducationAgencyId",
            ),
            ("studentSchoolAssociations", "Student", "studentReference.studentUniqueId"),
            // Part of the identity, unlike nextYearSchoolReference.
            ("studentSchoolAssociations", "School", "schoolReference.schoolId"),
            // Required, unlike assignmentSchoolReference.
            ("disciplineActions", "School", "responsibilitySchoolReference.schoolId"),
            ("surveyResponses", "Student", "studentReference.studentUniqueId"),
            // An organization of any kind may be a school.
            ("courses", "School", "educationOrganizationReference.educationOrganizationId"),
            (
                "courses",
                "EducationOrganization",
                "educationOrganizationReference.educationOrganizationId",
            ),
            ("courseOfferings", "EducationOrganization", "schoolReference.schoolId"),
            ("courseTranscripts", "Student", "studentAcademicRecordReference.studentUniqueId"),
            (
                "studentSectionAssociations",
                "CourseOffering",
                "sectionReference.localCourseCode sectionReference.schoolId \
                 sectionReference.schoolYear sectionReference.sessionName",
            ),
            ("sessions", "Student", "none"),
            ("students", "School", "none"),
            (
                "studentAssessmentRegistrations",
                "School",
                "several: reportingEducationOrganizationReference testingEducationOrganizationReference",
            ),
        ] {
            assert_eq!(led(&model, endpoint, basis), expected, "{endpoint} {basis}");
        }
    }
}
