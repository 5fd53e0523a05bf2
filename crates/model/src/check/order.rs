//! Facts of a dependencies endpoint: the level of each resource, by set of operations.

use serde_json::Value;

use super::facts::Facts;
use crate::dependencies::dependency_order;
use crate::resource::Model;

/// Returns the model's levels.
pub fn ours(model: &Model) -> Facts {
    let mut facts = Facts::default();
    for found in dependency_order(model) {
        let place = place(&found.path(model), found.operations.names());
        facts.add(place, "order", found.order.to_string());
    }
    facts
}

/// Returns the levels in the endpoint's answer.
pub fn theirs(text: &str) -> Result<Facts, String> {
    let answer: Value = serde_json::from_str(text)
        .map_err(|error| format!("the dependencies are not JSON: {error}"))?;
    let mut facts = Facts::default();
    for entry in answer.as_array().into_iter().flatten() {
        let operations: Vec<&str> = entry["operations"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let place = place(entry["resource"].as_str().unwrap_or(""), &operations);
        facts.add(place, "order", entry["order"].to_string());
    }
    Ok(facts)
}

fn place(path: &str, operations: &[&str]) -> String {
    format!("{path} {}", operations.join("+"))
}
