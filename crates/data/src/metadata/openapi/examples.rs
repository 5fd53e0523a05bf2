//! Examples of documents: from a generated district, or made from the model.

use std::collections::HashMap;
use std::sync::OnceLock;

use homeroom_model::{Model, Presence, Property, PropertyKind, Resource, Scalar, shipped_examples};
use serde_json::{Map, Value};

use super::words::sentence;

/// The version of the standard that the district is of.
const VERSION: &str = "5.2.0";

/// Returns an example of a document. All people in it are fictitious.
pub fn example(model: &Model, resource: &Resource) -> Value {
    static SHIPPED: OnceLock<HashMap<String, Value>> = OnceLock::new();
    let is_core = model.projects.first().is_some_and(|core| core.version == VERSION);
    if is_core && resource.project == 0 {
        let found = SHIPPED.get_or_init(shipped).get(&resource.name);
        if let Some(found) = found {
            return found.clone();
        }
    }
    object(model, resource, &resource.properties)
}

/// Reads the shipped examples, by resource.
fn shipped() -> HashMap<String, Value> {
    let lines = shipped_examples(VERSION).unwrap_or_default().lines();
    let lines = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .filter_map(|mut line| {
            let name = line["resource"].as_str()?.to_owned();
            Some((name, line["document"].take()))
        })
        .collect()
}

/// Makes an object of the members that it must have.
fn object(model: &Model, of: &Resource, properties: &[Property]) -> Value {
    let needed = properties.iter().filter(|property| property.presence != Presence::Optional);
    let members = needed.map(|property| {
        let value = match &property.kind {
            PropertyKind::Scalar(kind) => scalar(model, of, &property.name, *kind),
            PropertyKind::Reference(reference) => {
                // Unified parts have the same column, and so the same value.
                let parts = reference.parts.iter();
                let parts = parts
                    .map(|part| (part.name.clone(), scalar(model, of, &part.column, part.scalar)));
                parts.collect::<Map<_, _>>().into()
            }
            PropertyKind::Object(inner) => object(model, of, inner),
            PropertyKind::List(inner) => vec![object(model, of, inner)].into(),
        };
        (property.name.clone(), value)
    });
    members.collect::<Map<_, _>>().into()
}

fn scalar(model: &Model, of: &Resource, name: &str, kind: Scalar) -> Value {
    match kind {
        Scalar::Text { min, max } => text(of, name, min, max).into(),
        Scalar::Integer { min, max, .. } => {
            let usual = if name.to_ascii_lowercase().ends_with("year") { 2026 } else { 1 };
            usual.clamp(min, max).into()
        }
        Scalar::Decimal { min, max, .. } => {
            let least = min.unwrap_or(1.0).max(1.0);
            let value = max.map_or(least, |max| least.min(max));
            // A whole number, where it is one, as a person would write it.
            serde_json::Number::from_f64(value).map_or(Value::Null, Value::from)
        }
        Scalar::Boolean => true.into(),
        Scalar::Date => "2026-08-17".into(),
        Scalar::DateTime => "2026-08-17T08:00:00Z".into(),
        Scalar::Time => "08:00:00".into(),
        Scalar::Descriptor(id) => {
            let name = &model.resource(id).name;
            let value = sentence(name.strip_suffix("Descriptor").unwrap_or(name));
            format!("uri://ed-fi.org/{name}#{value}").into()
        }
    }
}

/// Makes a text from the words of a name, within its bounds.
fn text(of: &Resource, name: &str, min: u32, max: u32) -> String {
    let words = if name.eq_ignore_ascii_case("namespace") {
        format!("uri://ed-fi.org/{}", of.name)
    } else {
        sentence(name)
    };
    let count = |bound: u32| usize::try_from(bound).unwrap_or(usize::MAX);
    let mut text: String = words.chars().take(count(max)).collect();
    while text.chars().count() < count(min) {
        text.push('x');
    }
    text.trim_end().to_owned()
}
