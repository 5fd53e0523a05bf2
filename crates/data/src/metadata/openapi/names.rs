//! Names of schemas and operations.

use homeroom_model::{Model, Reference, Resource, Target};

use super::words::capitalized;

/// A name in the case of its endpoint: `Section` is `section`, `CTEProgramServiceDescriptor` is
/// `cteProgramServiceDescriptor`.
pub fn of_resource(resource: &Resource) -> String {
    let mut endpoint = resource.endpoint.chars();
    let mut same = true;
    resource
        .name
        .chars()
        .map(|letter| match endpoint.next() {
            Some(other) if same && other.eq_ignore_ascii_case(&letter) => other,
            _ => {
                same = false;
                letter
            }
        })
        .collect()
}

/// `edFi_section`
pub fn schema(resource: &Resource) -> String {
    format!("{}_{}", prefix(&resource.schema), of_resource(resource))
}

/// `edFi_schoolReference`; a reference whose members are named otherwise than its target's key has
/// the name of its place in front.
pub fn reference(model: &Model, owner: &str, property: &str, reference: &Reference) -> String {
    let usual = model
        .target_key(reference.target)
        .iter()
        .zip(&reference.parts)
        .all(|(column, part)| column.name == part.name);
    if usual {
        format!("{}Reference", target(model, reference.target))
    } else {
        format!("{owner}{}", capitalized(property))
    }
}

/// `edFi_educationOrganization`: the stem that an abstract base's references and shared items have.
pub fn target(model: &Model, target: Target) -> String {
    match target {
        Target::Resource(id) => schema(model.resource(id)),
        Target::Abstract(id) => {
            let base = model.base(id);
            let mut letters = base.name.chars();
            let first = letters.next().map(|letter| letter.to_ascii_lowercase());
            let name: String = first.into_iter().chain(letters).collect();
            format!("{}_{name}", prefix(&base.schema))
        }
    }
}

/// What stands in front of a resource's name where names must be unique over all schemas: nothing,
/// unless a schema before has a resource of the same name or endpoint; then `homograph`.
pub fn apart(model: &Model, resource: &Resource) -> String {
    let is_known = |other: &&Resource| {
        other.project < resource.project
            && (other.name.eq_ignore_ascii_case(&resource.name)
                || other.endpoint.eq_ignore_ascii_case(&resource.endpoint))
    };
    let known = model.resources.iter().find(is_known);
    known.map_or_else(String::new, |_| prefix(&resource.schema))
}

/// The tag of a resource's operations: its endpoint, with [`apart`] in front.
pub fn tag(model: &Model, resource: &Resource) -> String {
    match apart(model, resource) {
        none if none.is_empty() => resource.endpoint.clone(),
        apart => apart + &capitalized(&resource.endpoint),
    }
}

/// `ed-fi` is `edFi`.
pub fn prefix(schema: &str) -> String {
    let mut words = schema.split(['-', '_']).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default().to_ascii_lowercase();
    words.fold(first, |out, word| out + &capitalized(&word.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_segment_becomes_a_prefix() {
        for (schema, expected) in [
            ("ed-fi", "edFi"),
            ("tpdm", "tpdm"),
            ("Sample-Student-Transcript", "sampleStudentTranscript"),
        ] {
            assert_eq!(prefix(schema), expected);
        }
    }
}
