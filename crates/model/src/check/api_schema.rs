//! Facts of an API schema: members from its JSON schema, identity, unification, targets, updatable
//! keys.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::facts::{Facts, SpotKind, add_unified, groups_of, own_groups, place_of, spots, yes};
use super::openapi::{Shape, add_limits};
use crate::resource::{Model, PropertyKind, Resource, Target};
use crate::source::{Presence, ResourceKind};

/// Returns what the model states about the kinds that the schema also has.
pub fn ours(model: &Model, theirs: &Facts) -> Facts {
    let mut facts = Facts::default();
    for resource in model.resources.iter().filter(|resource| theirs.know(&resource.name)) {
        facts.add(&resource.name, "endpoint", &resource.endpoint);
        facts.add(&resource.name, "key-updatable", yes(resource.updatable_key));
        if let Some(base) = &resource.base {
            facts.add(&resource.name, "base", &model.base(base.id).name);
        }
        facts.add(&resource.name, "key", key(resource));
        add_unified(&mut facts, &resource.name, &own_groups(resource));
        for spot in spots(model, resource) {
            facts.add(&spot.place, "required", yes(spot.presence != Presence::Optional));
            match &spot.kind {
                SpotKind::Scalar(scalar) => {
                    let limits = resource.kind != ResourceKind::Descriptor;
                    add_limits(&mut facts, &spot.place, Shape::of(model, scalar), limits);
                    if let Some(target) = Shape::of(model, scalar).descriptor {
                        facts.add(&spot.place, "target", target);
                    }
                }
                SpotKind::Part(scalar, column) => {
                    add_limits(&mut facts, &spot.place, Shape::of(model, scalar), true);
                    facts.add(&spot.place, "target's column", column);
                }
                SpotKind::Reference(reference) => {
                    facts.add(&spot.place, "type", "object");
                    facts.add(&spot.place, "target", model.target_name(reference.target));
                }
                SpotKind::Object => facts.add(&spot.place, "type", "object"),
                SpotKind::List(_) => facts.add(&spot.place, "type", "array"),
            }
        }
    }
    facts
}

/// Returns the places of the identity.
fn key(resource: &Resource) -> String {
    let mut places = BTreeSet::new();
    for property in resource.properties.iter().filter(|p| p.presence == Presence::Key) {
        match &property.kind {
            PropertyKind::Reference(reference) => places.extend(
                reference.parts.iter().map(|part| format!("{}.{}", property.name, part.name)),
            ),
            _ => _ = places.insert(property.name.clone()),
        }
    }
    places.into_iter().collect::<Vec<_>>().join(" ")
}

/// Returns what the schema states about the kinds that the model also has.
pub fn theirs(text: &str, model: &Model) -> Result<Facts, String> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| format!("the API schema is not JSON: {error}"))?;
    let mut facts = Facts::default();
    let projects = document["projectSchemas"].as_object().into_iter().flat_map(Map::values);
    for project in projects.chain(document.get("projectSchema")) {
        for (endpoint, schema) in project["resourceSchemas"].as_object().into_iter().flatten() {
            let name = text_of(&schema["resourceName"]);
            if let Some(Target::Resource(id)) = model.by_name(name) {
                resource_facts(&mut facts, model, model.resource(id), endpoint, schema);
            }
        }
    }
    Ok(facts)
}

fn resource_facts(
    facts: &mut Facts,
    model: &Model,
    resource: &Resource,
    endpoint: &str,
    schema: &Value,
) {
    let name = &resource.name;
    facts.add(name, "endpoint", endpoint);
    facts.add(name, "key-updatable", yes(schema["allowIdentityUpdates"] == true));
    if schema["isSubclass"] == true {
        facts.add(name, "base", text_of(&schema["superclassResourceName"]));
    }
    let key: BTreeSet<&str> = list(&schema["identityJsonPaths"])
        .iter()
        .map(|path| text_of(path).trim_start_matches("$."))
        .collect();
    facts.add(name, "key", key.into_iter().collect::<Vec<_>>().join(" "));
    let pairs: Vec<(String, String)> = list(&schema["equalityConstraints"])
        .iter()
        .map(|pair| {
            let path = |end: &str| text_of(&pair[end]).to_owned();
            (path("sourceJsonPath"), path("targetJsonPath"))
        })
        .collect();
    add_unified(facts, name, &groups_of(&pairs));
    object_facts(facts, name, &schema["jsonSchemaForInsert"], resource);
    for mapping in schema["documentPathsMapping"].as_object().into_iter().flat_map(Map::values) {
        if mapping["isReference"] != true {
            continue;
        }
        let target = text_of(&mapping["resourceName"]);
        if let Some(path) = mapping["path"].as_str() {
            facts.add(place_of(name, path), "target", target);
            continue;
        }
        for member in list(&mapping["referenceJsonPaths"]) {
            let place = place_of(name, text_of(&member["referenceJsonPath"]));
            if let Some((reference, _)) = place.rsplit_once('.') {
                facts.add(reference, "target", target);
            }
            let column = column_of(model, target, text_of(&member["identityJsonPath"]));
            facts.add(place, "target's column", column);
        }
    }
}

/// Returns the key column behind a path in a target's document.
fn column_of(model: &Model, target: &str, path: &str) -> String {
    let path = path.trim_start_matches("$.");
    let properties = match model.by_name(target) {
        Some(Target::Resource(id)) => &model.resource(id).properties,
        Some(Target::Abstract(id)) => &model.base(id).properties,
        None => return path.to_owned(),
    };
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let found = properties.iter().find(|property| property.name == first);
    match found.map(|property| &property.kind) {
        Some(PropertyKind::Reference(reference)) => {
            let part = reference.parts.iter().find(|part| part.name == rest);
            part.map_or(path.to_owned(), |part| part.column.clone())
        }
        _ => path.to_owned(),
    }
}

fn object_facts(facts: &mut Facts, prefix: &str, schema: &Value, resource: &Resource) {
    let required: BTreeSet<&str> = list(&schema["required"]).iter().map(text_of).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{prefix}.{name}");
        facts.add(&place, "required", yes(required.contains(name.as_str())));
        match text_of(&property["type"]) {
            "object" => {
                facts.add(&place, "type", "object");
                object_facts(facts, &place, property, resource);
            }
            "array" => {
                facts.add(&place, "type", "array");
                object_facts(facts, &place, &property["items"], resource);
            }
            _ => {
                let limits = resource.kind != ResourceKind::Descriptor;
                add_limits(facts, &place, Shape::read(property), limits);
            }
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}
