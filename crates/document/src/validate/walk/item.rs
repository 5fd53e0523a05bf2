//! The identity of an item within its collection.

use homeroom_model::{Presence, Property, PropertyKind, Scalar};

use crate::json::{Json, Members};
use crate::scalar;

/// Returns an item's identity as text: the canonical values of its key properties.
pub(super) fn identity(properties: &[Property], members: &Members<'_>) -> String {
    let mut out = String::new();
    let mut add = |scalar: Scalar, json: Option<&Json<'_>>| {
        let start = out.len();
        if let Some(json) = json {
            _ = scalar::write(&mut out, scalar, json);
        }
        if matches!(scalar, Scalar::Descriptor(_)) {
            let folded = out[start..].to_lowercase();
            out.replace_range(start.., &folded);
        }
        out.push('\u{1f}');
    };
    for property in properties.iter().filter(|property| property.presence == Presence::Key) {
        let sent = Json::member(members, &property.name);
        match (&property.kind, sent) {
            (PropertyKind::Scalar(scalar), sent) => add(*scalar, sent),
            (PropertyKind::Reference(reference), Some(Json::Object(parts))) => {
                for part in &reference.parts {
                    add(part.scalar, Json::member(parts, &part.name));
                }
            }
            _ => {}
        }
    }
    out
}
