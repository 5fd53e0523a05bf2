//! Facts of `OpenAPI` documents: paths, members, types, limits, required, identity, updatable.

use std::collections::BTreeSet;

use serde_json::Value;

use super::facts::{Facts, SpotKind, spots, yes};
use crate::resource::{KeyColumn, Model, Resource, Scalar, Target};
use crate::source::Presence;

/// Members that every document has and that no model lists.
const NO_PROPERTIES: [&str; 5] = ["id", "_etag", "_lastModifiedDate", "_ext", "link"];

/// What a JSON schema can state about a value.
#[derive(Debug, Default)]
pub struct Shape {
    kind: String,
    max_length: Option<u32>,
    min_length: Option<u32>,
    min: Option<String>,
    max: Option<String>,
    /// The descriptor whose URI the value is.
    pub descriptor: Option<String>,
}

impl Shape {
    /// Returns what the model states about a value.
    pub fn of(model: &Model, scalar: &Scalar) -> Self {
        let kind = |name: &str| Self { kind: name.to_owned(), ..Self::default() };
        match scalar {
            Scalar::Text { min, max } => Self {
                min_length: (*min > 0).then_some(*min),
                max_length: Some(*max),
                ..kind("string")
            },
            Scalar::Integer { bits, min, max } => {
                let (least, most) = match bits {
                    32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
                    _ => (i64::MIN, i64::MAX),
                };
                Self {
                    min: (*min != least).then(|| min.to_string()),
                    max: (*max != most).then(|| max.to_string()),
                    ..kind("integer")
                }
            }
            Scalar::Decimal { min, max, .. } => Self {
                min: min.map(|bound| bound.to_string()),
                max: max.map(|bound| bound.to_string()),
                ..kind("number")
            },
            Scalar::Boolean => kind("boolean"),
            Scalar::Date => kind("string date"),
            Scalar::DateTime => kind("string date-time"),
            Scalar::Time => kind("string time"),
            Scalar::Descriptor(id) => {
                Self { descriptor: Some(model.resource(*id).name.clone()), ..kind("string") }
            }
        }
    }

    /// Returns what a JSON schema states about a value.
    pub fn read(schema: &Value) -> Self {
        let length =
            |name: &str| schema[name].as_u64().and_then(|length| u32::try_from(length).ok());
        let bound = |name: &str| schema[name].is_number().then(|| schema[name].to_string());
        let format = match schema["format"].as_str() {
            Some(format @ ("date" | "date-time" | "time")) => format!(" {format}"),
            _ => String::new(),
        };
        Self {
            kind: format!("{}{format}", schema["type"].as_str().unwrap_or("")),
            max_length: length("maxLength"),
            min_length: length("minLength"),
            min: bound("minimum"),
            max: bound("maximum"),
            descriptor: None,
        }
    }
}

/// Whether a place is a property of the document itself; only there do the documents mark
/// the identity as the model does.
fn at_root(place: &str) -> bool {
    place.matches('.').count() == 1
}

/// Adds the facts about a value; without `limits`, only its type.
pub fn add_limits(facts: &mut Facts, place: &str, shape: Shape, limits: bool) {
    facts.add(place, "type", shape.kind);
    if !limits {
        return;
    }
    let lengths = [("max length", shape.max_length), ("min length", shape.min_length)];
    for (what, length) in lengths {
        if let Some(length) = length {
            facts.add(place, what, length.to_string());
        }
    }
    for (what, bound) in [("min", shape.min), ("max", shape.max)] {
        if let Some(bound) = bound {
            facts.add(place, what, bound);
        }
    }
}

/// Returns what the model states about everything that the documents cover.
pub fn ours(model: &Model) -> Facts {
    let mut facts = Facts::default();
    for resource in &model.resources {
        facts.add(&resource.name, "endpoint", &resource.endpoint);
        facts.add(&resource.name, "key-updatable", yes(resource.updatable_key));
        for spot in spots(model, resource) {
            facts.add(&spot.place, "required", yes(spot.presence != Presence::Optional));
            match &spot.kind {
                SpotKind::Scalar(scalar) | SpotKind::Part(scalar, _) => {
                    let mut shape = Shape::of(model, scalar);
                    if let Scalar::Descriptor(id) = scalar {
                        shape.max_length = Some(uri_max(model.resource(*id)));
                    }
                    add_limits(&mut facts, &spot.place, shape, true);
                }
                SpotKind::Reference(reference) => {
                    let target = model.target_name(reference.target);
                    facts.add(&spot.place, "type", format!("reference {target}"));
                }
                SpotKind::Object => facts.add(&spot.place, "type", "object"),
                SpotKind::List(_) => {
                    facts.add(&spot.place, "type", "array");
                    let required = spot.presence != Presence::Optional;
                    facts.add(&spot.place, "min items", if required { "1" } else { "0" });
                    continue;
                }
            }
            if at_root(&spot.place) {
                facts.add(&spot.place, "identity", yes(spot.presence == Presence::Key));
            }
        }
    }
    facts
}

/// Returns the length of a descriptor's longest URI: namespace, `#`, code value.
fn uri_max(descriptor: &Resource) -> u32 {
    let text = |column: &KeyColumn| match column.scalar {
        Scalar::Text { max, .. } => max,
        _ => 0,
    };
    descriptor.key.iter().map(text).sum::<u32>() + 1
}

/// Returns what the documents state.
pub fn theirs(texts: &[&str], model: &Model) -> Result<Facts, String> {
    let schema_segment = model.projects.first().map_or("", |project| &project.schema);
    let prefix = format!("/{schema_segment}/");
    let mut facts = Facts::default();
    for text in texts {
        let document: Value = serde_json::from_str(text)
            .map_err(|error| format!("an OpenAPI document is not JSON: {error}"))?;
        for (path, operations) in document["paths"].as_object().into_iter().flatten() {
            let Some(endpoint) = path.strip_prefix(&prefix).filter(|rest| !rest.contains('/'))
            else {
                continue;
            };
            let name = model.by_endpoint(schema_segment, endpoint).map_or(endpoint, |r| &r.name);
            facts.add(name, "endpoint", endpoint);
            let put = &document["paths"][format!("{path}/{{id}}")]["put"];
            facts.add(name, "key-updatable", yes(put["x-Ed-Fi-isUpdatable"] == true));
            let posted = &operations["post"]["requestBody"]["content"]["application/json"];
            let listed = &operations["get"]["responses"]["200"]["content"]["application/json"];
            let schema = [&posted["schema"], &listed["schema"]["items"]]
                .iter()
                .find_map(|schema| schema["$ref"].as_str())
                .unwrap_or("");
            object_facts(&mut facts, name, schema, &document, model);
        }
    }
    Ok(facts)
}

fn object_facts(facts: &mut Facts, prefix: &str, target: &str, document: &Value, model: &Model) {
    let schema = &document["components"]["schemas"][last(target)];
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if NO_PROPERTIES.contains(&name.as_str()) {
            continue;
        }
        let place = format!("{prefix}.{name}");
        facts.add(&place, "required", yes(required.contains(name.as_str())));
        let identity = yes(property["x-Ed-Fi-isIdentity"] == true);
        if at_root(&place) && property["items"].is_null() {
            facts.add(&place, "identity", identity);
        }
        if let Some(inner) = property["$ref"].as_str() {
            if let Some(target) = reference_target(last(inner), model) {
                facts.add(&place, "type", format!("reference {target}"));
                part_facts(facts, &place, inner, document);
            } else {
                facts.add(&place, "type", "object");
                object_facts(facts, &place, inner, document, model);
            }
        } else if let Some(inner) = property["items"]["$ref"].as_str() {
            facts.add(&place, "type", "array");
            facts.add(&place, "min items", property["minItems"].to_string());
            object_facts(facts, &place, inner, document, model);
        } else {
            add_limits(facts, &place, Shape::read(property), true);
        }
    }
}

fn part_facts(facts: &mut Facts, place: &str, target: &str, document: &Value) {
    let schema = &document["components"]["schemas"][last(target)];
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if !NO_PROPERTIES.contains(&name.as_str()) {
            let required = schema["required"].as_array().into_iter().flatten();
            let required = required.filter_map(Value::as_str).any(|found| found == name);
            facts.add(format!("{place}.{name}"), "required", yes(required));
            add_limits(facts, &format!("{place}.{name}"), Shape::read(property), true);
        }
    }
}

/// Returns the name of the resource or base that a reference's schema stands for.
fn reference_target(schema: &str, model: &Model) -> Option<String> {
    let name = schema.split_once('_').map_or(schema, |(_, name)| name);
    let kind = name.strip_suffix("Reference")?.trim_end_matches('_');
    let resources = model.resources.iter().map(|r| (r.name.as_str(), Target::Resource(r.id)));
    let bases = model.abstracts.iter().map(|a| (a.name.as_str(), Target::Abstract(a.id)));
    let found = resources.chain(bases).find(|(name, _)| name.eq_ignore_ascii_case(kind));
    Some(found.map_or(kind, |(name, _)| name).to_owned())
}

fn last(target: &str) -> &str {
    target.rsplit('/').next().unwrap_or(target)
}
