//! Names of schemas and operations.

use homeroom_model::{Model, Reference, Resource, Target};

use super::words::capitalized;

/// Returns a resource's name in the case of its endpoint: `section` for `Section`,
/// `cteProgramServiceDescriptor` for `CTEProgramServiceDescriptor`.
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

/// Returns the name of a resource's schema, `edFi_section`.
pub fn schema(resource: &Resource) -> String {
    format!("{}_{}", prefix(&resource.schema), of_resource(resource))
}

/// Returns the name of a reference's schema, `edFi_schoolReference`. If its members are named
/// differently from the target's key, the name of its place comes first.
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

/// Returns the name from which those of an abstract base's references and shared items are made,
/// `edFi_educationOrganization`.
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

/// Returns a prefix that makes a resource's name unique across all schemas: `homograph` if an
/// earlier schema has a resource with the same name or endpoint, otherwise empty.
pub fn apart(model: &Model, resource: &Resource) -> String {
    let is_known = |other: &&Resource| {
        other.project < resource.project
            && (other.name.eq_ignore_ascii_case(&resource.name)
                || other.endpoint.eq_ignore_ascii_case(&resource.endpoint))
    };
    let known = model.resources.iter().find(is_known);
    known.map_or_else(String::new, |_| prefix(&resource.schema))
}

/// Returns the tag of a resource's operations: its endpoint, with [`apart`] in front.
pub fn tag(model: &Model, resource: &Resource) -> String {
    match apart(model, resource) {
        none if none.is_empty() => resource.endpoint.clone(),
        apart => apart + &capitalized(&resource.endpoint),
    }
}

/// Returns a schema's prefix in names: `edFi` for `ed-fi`.
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
