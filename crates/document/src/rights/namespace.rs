//! The namespace of a document.

use homeroom_access::namespace_subject;
use homeroom_model::{PropertyKind, Resource};

use crate::json::{Json, member_text};

/// Returns the value of a canonical document's namespace subject.
pub fn namespace_of(resource: &Resource, body: &str) -> Option<String> {
    let place = &namespace_subject(resource)?.place;
    let property = &resource.properties[*place.steps.first()?];
    let mut value = member_text(body, &property.name)?;
    if let (PropertyKind::Reference(reference), Some(part)) = (&property.kind, place.part) {
        value = member_text(value, &reference.parts[part].name)?;
    }
    match Json::read(value.as_bytes()).ok()? {
        Json::Text(text) => Some(text.into_owned()),
        _ => None,
    }
}
