//! Facts of a relational manifest: columns with types and nullability, keys, unification.

use std::collections::BTreeSet;

use serde_json::Value;

use super::facts::{Facts, SpotKind, add_unified, groups_of, own_groups, place_of, spots, yes};
use crate::resource::{Model, Property, Scalar};
use crate::source::{Presence, ResourceKind};

/// Returns what the model states about everything that a manifest covers.
pub fn ours(model: &Model) -> Facts {
    let mut facts = Facts::default();
    for resource in &model.resources {
        facts.add(&resource.name, "endpoint", &resource.endpoint);
        if resource.kind == ResourceKind::Descriptor {
            continue;
        }
        facts.add(&resource.name, "key", key_names(&resource.properties));
        add_unified(&mut facts, &resource.name, &own_groups(resource));
        for spot in spots(model, resource) {
            let kind = match &spot.kind {
                SpotKind::Scalar(scalar) | SpotKind::Part(scalar, _) => type_name(model, scalar),
                SpotKind::Reference(reference) => {
                    format!("reference {}", model.target_name(reference.target))
                }
                SpotKind::Object => continue,
                SpotKind::List(items) => {
                    facts.add(spot.place, "key", key_names(items));
                    continue;
                }
            };
            facts.add(&spot.place, "type", kind);
            facts.add(spot.place, "in every row", yes(spot.in_every_row));
        }
    }
    facts
}

fn key_names(properties: &[Property]) -> String {
    let key = properties.iter().filter(|property| property.presence == Presence::Key);
    let names: BTreeSet<&str> = key.map(|property| property.name.as_str()).collect();
    names.into_iter().collect::<Vec<_>>().join(" ")
}

fn type_name(model: &Model, scalar: &Scalar) -> String {
    match scalar {
        Scalar::Text { max, .. } => format!("text({max})"),
        Scalar::Integer { bits, .. } => format!("int{bits}"),
        Scalar::Decimal { precision, scale, .. } => format!("decimal({precision},{scale})"),
        Scalar::Boolean => "boolean".into(),
        Scalar::Date => "date".into(),
        Scalar::DateTime => "datetime".into(),
        Scalar::Time => "time".into(),
        Scalar::Descriptor(id) => format!("descriptor {}", model.resource(*id).name),
    }
}

/// Returns what the manifest states.
pub fn theirs(text: &str) -> Result<Facts, String> {
    let manifest: Value =
        serde_json::from_str(text).map_err(|error| format!("the manifest is not JSON: {error}"))?;
    let mut facts = Facts::default();
    for entry in list(&manifest["resources"]) {
        let resource = &entry["manifest"];
        let name = text_of(&resource["resource"]["resource_name"]);
        facts.add(name, "endpoint", text_of(&entry["resource_endpoint_name"]));
        for table in list(&resource["tables"]) {
            table_facts(&mut facts, name, table, resource);
        }
        let constraints = &resource["key_unification_equality_constraints"];
        let pairs: Vec<(String, String)> = ["applied", "redundant", "ignored", "skipped"]
            .iter()
            .flat_map(|group| list(&constraints[group]))
            .map(|pair| {
                let path = |end: &str| text_of(&pair[end]).to_owned();
                (path("endpoint_a_path"), path("endpoint_b_path"))
            })
            .collect();
        add_unified(&mut facts, name, &groups_of(&pairs));
    }
    Ok(facts)
}

fn table_facts(facts: &mut Facts, name: &str, table: &Value, resource: &Value) {
    let columns = list(&table["columns"]);
    let source = |column: &str| {
        let found = columns.iter().find(|found| found["name"] == column)?;
        found["source_path"].as_str()
    };
    for column in columns {
        let Some(path) = column["source_path"].as_str() else { continue };
        let place = place_of(name, path);
        let kind = &column["type"];
        let described = match (text_of(&column["kind"]), text_of(&kind["kind"])) {
            ("DocumentFk", _) => reference_target(table, text_of(&column["name"])),
            ("DescriptorFk", _) => list(&resource["descriptor_edge_sources"])
                .iter()
                .find(|edge| edge["descriptor_value_path"] == path)
                .map_or_else(
                    || "descriptor".to_owned(),
                    |edge| {
                        let found = &edge["descriptor_resource"]["resource_name"];
                        format!("descriptor {}", text_of(found))
                    },
                ),
            (_, "String") => format!("text({})", kind["max_length"]),
            (_, "Decimal") => format!("decimal({},{})", kind["precision"], kind["scale"]),
            (_, "Int32") => "int32".into(),
            (_, "Int64") => "int64".into(),
            (_, other) => other.to_ascii_lowercase(),
        };
        facts.add(&place, "type", described);
        facts.add(place, "in every row", yes(column["is_nullable"] == false));
    }
    let scope = text_of(&table["scope"]);
    let first_step = |path: &str| {
        let path = path.trim_start_matches("$.");
        path.split('.').next().unwrap_or(path).to_owned()
    };
    let key: BTreeSet<String> = if scope == "$" {
        list(&table["constraints"])
            .iter()
            .filter(|constraint| constraint["kind"] == "Unique")
            .filter(|constraint| list(&constraint["columns"]).iter().all(|c| c != "DocumentId"))
            .flat_map(|constraint| list(&constraint["columns"]))
            .filter_map(|column| source(text_of(column)))
            .map(first_step)
            .collect()
    } else {
        list(&table["identity_metadata"]["semantic_identity_bindings"])
            .iter()
            .map(|binding| first_step(text_of(&binding["relative_path"])))
            .collect()
    };
    let key: Vec<String> = key.into_iter().collect();
    facts.add(place_of(name, scope), "key", key.join(" "));
}

/// Returns the target of a reference's column; a base's table is named after the base.
fn reference_target(table: &Value, column: &str) -> String {
    let found = list(&table["constraints"]).iter().find(|constraint| {
        constraint["kind"] == "ForeignKey"
            && list(&constraint["columns"]).iter().any(|name| name == column)
    });
    let target = found.map_or("", |constraint| text_of(&constraint["target_table"]["name"]));
    format!("reference {}", target.strip_suffix("Identity").unwrap_or(target))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}
