//! The text of a subject within a document.

use homeroom_model::{Place, PropertyKind, Resource};

use crate::json::member_text;

/// Returns the JSON text at a place of a canonical document.
pub(super) fn text_at<'b>(resource: &Resource, place: &Place, body: &'b str) -> Option<&'b str> {
    let property = &resource.properties[*place.steps.first()?];
    let text = member_text(body, &property.name)?;
    match (&property.kind, place.part) {
        (PropertyKind::Reference(reference), Some(part)) => {
            member_text(text, &reference.parts[part].name)
        }
        _ => Some(text),
    }
}
