//! What belongs to a vendor.

use homeroom_access::{ItemKind, Registry};
use serde_json::Value;

/// Returns a vendor's namespace prefixes.
pub(crate) fn prefixes_of(vendor: &Value) -> Vec<String> {
    let text = vendor["namespacePrefixes"].as_str().unwrap_or_default();
    let mut prefixes: Vec<String> = vec![];
    for prefix in text.split(',').map(str::trim).filter(|prefix| !prefix.is_empty()) {
        if !prefixes.iter().any(|known| known == prefix) {
            prefixes.push(prefix.to_owned());
        }
    }
    prefixes
}

/// Returns the applications of a vendor.
pub(crate) fn applications_of(
    registry: &Registry,
    vendor: i64,
) -> impl Iterator<Item = (i64, &Value)> {
    registry
        .items(ItemKind::Application)
        .filter(move |(_, application)| application["vendorId"].as_i64() == Some(vendor))
}
