//! The differences between two definitions, by field.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::definition::Published;

/// A difference.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct Difference {
    /// The field, such as `apis.payments.timeout`; the name alone for what is added or removed.
    pub field: String,
    /// What is published; `null` for what is not.
    pub old: Value,
    /// What the other definition says; `null` for what it does not have.
    pub new: Value,
}

/// Returns what would change if `new` were published instead of `old`.
pub fn differences(old: &Published, new: &Published) -> Vec<Difference> {
    let (old, new) = (fields(old), fields(new));
    let mut found = vec![];
    for (name, before) in &old {
        match new.get(name) {
            None => found.push(Difference {
                field: name.clone(),
                old: before.clone(),
                new: Value::Null,
            }),
            Some(after) => compare(name, before, after, &mut found),
        }
    }
    for (name, after) in new {
        if !old.contains_key(&name) {
            found.push(Difference { field: name, old: Value::Null, new: after });
        }
    }
    found
}

/// Returns plans and APIs by name, each API with the text of its document.
fn fields(published: &Published) -> BTreeMap<String, Value> {
    let mut fields = BTreeMap::new();
    for plan in &published.definition.plans {
        let value = serde_json::to_value(plan).unwrap_or_default();
        fields.insert(format!("plans.{}", plan.name), value);
    }
    for api in &published.definition.apis {
        let mut value = serde_json::to_value(api).unwrap_or_default();
        if let Some(text) = api.openapi.as_ref().and_then(|name| published.documents.get(name)) {
            value["openapi"] = text.as_str().into();
        }
        fields.insert(format!("apis.{}", api.name), value);
    }
    fields
}

fn compare(field: &str, old: &Value, new: &Value, found: &mut Vec<Difference>) {
    if old == new {
        return;
    }
    if let (Value::Object(before), Value::Object(after)) = (old, new) {
        let added = after.keys().filter(|name| !before.contains_key(*name));
        for name in before.keys().chain(added) {
            let of = |members: &serde_json::Map<String, Value>| {
                members.get(name).cloned().unwrap_or(Value::Null)
            };
            compare(&format!("{field}.{name}"), &of(before), &of(after), found);
        }
        return;
    }
    found.push(Difference { field: field.to_owned(), old: old.clone(), new: new.clone() });
}
