//! What is wrong with a document, by place.

use std::collections::BTreeMap;

/// The messages about an invalid document, by JSON path.
pub type Violations = BTreeMap<String, Vec<String>>;
