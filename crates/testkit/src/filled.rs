//! The answer for a sent document: it has every collection, empty if the document lacks it.

use homeroom_model::{Property, PropertyKind};
use serde_json::{Map, Value};

/// Returns the document with every collection of these properties.
pub fn filled(properties: &[Property], document: &Value) -> Value {
    let mut out = Map::new();
    for property in properties {
        let sent = document.get(&property.name);
        let value = match &property.kind {
            PropertyKind::Scalar(_) | PropertyKind::Reference(_) => sent.cloned(),
            PropertyKind::Object(projects) if property.is_extensions() => {
                extensions(projects, sent)
            }
            PropertyKind::Object(inner) => sent.map(|sent| filled(inner, sent)),
            PropertyKind::List(inner) => {
                let items = sent.and_then(Value::as_array).into_iter().flatten();
                Some(items.map(|item| filled(inner, item)).collect())
            }
        };
        out.extend(value.map(|value| (property.name.clone(), value)));
    }
    Value::Object(out)
}

/// Returns the member `_ext`: the extensions with content, and those that have only collections.
fn extensions(projects: &[Property], sent: Option<&Value>) -> Option<Value> {
    let mut out = Map::new();
    for project in projects {
        let PropertyKind::Object(added) = &project.kind else { continue };
        let nothing = Value::Object(Map::new());
        let value =
            filled(added, sent.and_then(|sent| sent.get(&project.name)).unwrap_or(&nothing));
        let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        let says_something = value.as_object()?.values().any(|value| !is_empty(value));
        let is_of_collections = added.iter().all(|p| matches!(p.kind, PropertyKind::List(_)));
        if says_something || is_of_collections {
            out.insert(project.name.clone(), value);
        }
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// Returns an answer's document without the members that the server adds, except empty collections.
pub fn without_additions(document: &Value) -> Value {
    match document {
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| {
                !["id", "link", "_etag", "_lastModifiedDate"].contains(&name.as_str())
            })
            .map(|(name, value)| (name.clone(), without_additions(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_additions).collect(),
        value => value.clone(),
    }
}
