//! Values that count as not sent.

use homeroom_model::{Property, PropertyKind};

use crate::json::Json;
use crate::scalar;

/// Whether the value sent for a property counts as absent.
pub(super) fn says_nothing(property: &Property, sent: &Json<'_>) -> bool {
    match &property.kind {
        PropertyKind::List(_) => is_absent(sent),
        PropertyKind::Scalar(_) => *sent == Json::Null || scalar::is_blank(sent),
        PropertyKind::Reference(_) | PropertyKind::Object(_) => *sent == Json::Null,
    }
}

/// Whether a list counts as not sent.
pub(super) fn is_absent(json: &Json<'_>) -> bool {
    match json {
        Json::Null => true,
        Json::Array(items) => items.is_empty(),
        _ => false,
    }
}
