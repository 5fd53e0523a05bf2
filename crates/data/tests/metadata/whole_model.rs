//! Compares the OpenAPI documents of the shipped model with the model.

use std::collections::HashSet;

use crate::support::models;
use homeroom_data::metadata::{Section, document};
use homeroom_model::{
    ColumnSource, Presence, Property, PropertyKind, Reference, Resource, ResourceKind, Scalar,
};
use serde_json::{Value, json};

const SECTIONS: [Section; 2] = [Section::Resources, Section::Descriptors];

/// Calls `check` with each reference to another part of the document.
fn each_ref(value: &Value, check: &mut impl FnMut(&str)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match (name.as_str(), member) {
                    ("$ref", Value::String(target)) => check(target),
                    _ => each_ref(member, check),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_ref(item, check)),
        _ => {}
    }
}

fn resolve<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    match schema["$ref"].as_str() {
        Some(target) => document.pointer(&target[1..]).expect("a test of its own says so"),
        None => schema,
    }
}

/// Returns the schema that a client derives from an endpoint, as lightbeam does.
fn derived_schema<'d>(document: &'d Value, resource: &Resource) -> &'d Value {
    let endpoint = &resource.endpoint;
    if resource.project > 0 {
        let posted = &document["paths"][resource.path()]["post"]["requestBody"]["content"];
        return resolve(document, &posted["application/json"]["schema"]);
    }
    let single = match endpoint.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None if endpoint == "people" => "person".into(),
        None => endpoint[..endpoint.len() - 1].to_owned(),
    };
    let name = format!("edFi_{single}");
    document["components"]["schemas"].get(&name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn every_ref_can_be_resolved() {
    for model in models() {
        for section in SECTIONS {
            let document = document(&model, section);
            let mut count = 0;

            each_ref(&document, &mut |target| {
                count += 1;
                assert!(document.pointer(&target[1..]).is_some(), "{target}");
            });

            assert!(count > 1000, "{section:?}: only {count}");
        }
    }
}

#[test]
fn every_resource_has_paths_a_tag_and_a_schema() {
    for model in models() {
        let mut seen = 0;
        for section in SECTIONS {
            let document = document(&model, section);
            let tags: HashSet<&str> = document["tags"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|tag| tag["description"].as_str().is_some_and(|text| !text.is_empty()))
                .map(|tag| tag["name"].as_str().unwrap())
                .collect();
            assert_eq!(tags.len(), section.resources(&model).len(), "two tags of one name");
            let mut paths: HashSet<&str> =
                document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
            for resource in section.resources(&model) {
                let root = resource.path();
                let tracked = resource.kind != ResourceKind::Enumeration;
                for (ending, methods, expected) in [
                    ("", &["get", "post"][..], true),
                    ("/{id}", &["get", "put", "delete"], true),
                    ("/partitions", &["get"], true),
                    ("/deletes", &["get"], tracked),
                    ("/keyChanges", &["get"], tracked),
                ] {
                    let path = format!("{root}{ending}");

                    assert_eq!(paths.remove(path.as_str()), expected, "{path}");
                    for method in methods.iter().filter(|_| expected) {
                        let operation = &document["paths"][&path][method];
                        let tag = operation["tags"][0].as_str().unwrap();
                        assert!(tags.contains(tag), "{method} {path}");
                        let end = tag.len() - resource.endpoint.len();
                        assert!(
                            tag[end..].eq_ignore_ascii_case(&resource.endpoint),
                            "{tag} {path}"
                        );
                    }
                }
                assert_eq!(derived_schema(&document, resource)["type"], "object", "{root}");
                let updatable =
                    &document["paths"][&format!("{root}/{{id}}")]["put"]["x-Ed-Fi-isUpdatable"];
                // No key can be changed yet, whatever the standard allows.
                assert!(updatable.is_null(), "{root}");
                seen += 1;
            }
            assert!(paths.is_empty(), "{paths:?}");
        }
        assert_eq!(seen, model.resources.len());
    }
}

#[test]
fn operation_ids_are_unique() {
    for model in models() {
        for section in [SECTIONS[0], SECTIONS[1], Section::All, Section::Project(0)] {
            let document = document(&model, section);
            let mut names = HashSet::new();

            for (path, item) in document["paths"].as_object().unwrap() {
                for (method, operation) in item.as_object().unwrap() {
                    let name = operation["operationId"].as_str().unwrap();
                    assert!(names.insert(name), "{method} {path}: {name}");
                }
            }
        }
    }
}

#[test]
fn every_query_field_is_a_parameter_and_carries_its_identity_mark() {
    for model in models() {
        for section in SECTIONS {
            let document = document(&model, section);
            for resource in section.resources(&model) {
                let path = resource.path();
                let parameters = document["paths"][&path]["get"]["parameters"].as_array().unwrap();
                let partitions = format!("{path}/partitions");
                let partitions = document["paths"][&partitions]["get"]["parameters"].as_array();
                let partitions = partitions.unwrap();
                for name in ["MinChangeVersion", "MaxChangeVersion"] {
                    let shared = json!({"$ref": format!("#/components/parameters/{name}")});
                    assert!(partitions.contains(&shared), "{path}/partitions {name}");
                }
                for field in &resource.query_fields {
                    let is_same = |own: &&Value| own["name"].as_str() == Some(&*field.name);
                    let also = partitions.iter().find(is_same);
                    assert_eq!(also, parameters.iter().find(is_same), "{path}?{}", field.name);
                    let found: Vec<&Value> = parameters
                        .iter()
                        .filter(|p| p["name"].as_str() == Some(field.name.as_str()))
                        .collect();

                    assert_eq!(found.len(), 1, "{path}?{}", field.name);
                    assert_eq!(found[0]["in"], "query", "{path}?{}", field.name);
                    assert_eq!(
                        found[0]["x-Ed-Fi-isIdentity"] == true,
                        field.identity,
                        "{path}?{}",
                        field.name
                    );
                }
            }
        }
    }
}

#[test]
fn every_property_has_its_schema_at_its_json_path() {
    for model in models() {
        let mut count = 0;
        for section in SECTIONS {
            let document = document(&model, section);
            for resource in section.resources(&model) {
                let schema = derived_schema(&document, resource);
                let root = format!("{}: $", resource.endpoint);
                for own in ["id", "_etag", "_lastModifiedDate"] {
                    assert_eq!(schema["properties"][own]["readOnly"], true, "{root}.{own}");
                }
                let members = schema["properties"].as_object().unwrap().len();
                assert_eq!(members, resource.properties.len() + 3, "{root}");

                count += check_object(&document, schema, &resource.properties, &root);
            }
        }
        assert!(count > 4000, "only {count}");
    }
}

fn check_object(document: &Value, schema: &Value, properties: &[Property], path: &str) -> usize {
    let required: HashSet<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut count = 0;
    for property in properties {
        let path = format!("{path}.{}", property.name);
        let member = &schema["properties"][&property.name];
        count += 1;
        assert_eq!(
            required.contains(property.name.as_str()),
            property.presence != Presence::Optional,
            "{path}"
        );
        match &property.kind {
            PropertyKind::Scalar(scalar) => {
                check_scalar(member, *scalar, &path);
                let identity = property.presence == Presence::Key;
                assert_eq!(member["x-Ed-Fi-isIdentity"] == true, identity, "{path}");
            }
            PropertyKind::Reference(reference) => {
                count += check_reference(document, member, reference, &path);
            }
            PropertyKind::Object(inner) => {
                let object = resolve(document, member);
                assert_eq!(object["properties"].as_object().unwrap().len(), inner.len(), "{path}");
                count += check_object(document, object, inner, &path);
            }
            PropertyKind::List(inner) => {
                assert_eq!(member["type"], "array", "{path}");
                let least = (property.presence != Presence::Optional).then_some(1);
                assert_eq!(member["minItems"].as_u64(), least, "{path}");
                assert!(member["items"]["$ref"].is_string(), "{path}");
                let item = resolve(document, &member["items"]);
                assert_eq!(item["properties"].as_object().unwrap().len(), inner.len(), "{path}");
                count += check_object(document, item, inner, &format!("{path}[*]"));
            }
        }
    }
    assert!(required.iter().all(|name| properties.iter().any(|p| p.name == *name)), "{path}");
    count
}

fn check_reference(document: &Value, member: &Value, reference: &Reference, path: &str) -> usize {
    assert!(member["$ref"].is_string(), "{path}");
    let schema = resolve(document, member);
    assert!(schema["properties"]["link"]["$ref"].is_string(), "{path}");
    assert_eq!(schema["required"].as_array().unwrap().len(), reference.parts.len(), "{path}");
    for part in &reference.parts {
        let path = format!("{path}.{}", part.name);
        let member = &schema["properties"][&part.name];
        check_scalar(member, part.scalar, &path);
        assert_eq!(member["x-Ed-Fi-isIdentity"], true, "{path}");
    }
    reference.parts.len()
}

fn check_scalar(schema: &Value, scalar: Scalar, path: &str) {
    let (kind, form) = match scalar {
        Scalar::Text { .. } | Scalar::Descriptor(_) => ("string", None),
        Scalar::Integer { bits: 32, .. } => ("integer", Some("int32")),
        Scalar::Integer { .. } => ("integer", Some("int64")),
        Scalar::Decimal { .. } => ("number", Some("double")),
        Scalar::Boolean => ("boolean", None),
        Scalar::Date => ("string", Some("date")),
        Scalar::DateTime => ("string", Some("date-time")),
        Scalar::Time => ("string", Some("time")),
    };
    assert_eq!(schema["type"], kind, "{path}");
    assert_eq!(schema["format"].as_str(), form, "{path}");
    assert!(schema["description"].as_str().is_some_and(|text| text.ends_with('.')), "{path}");
    match scalar {
        Scalar::Text { min, max } => {
            assert_eq!(schema["minLength"].as_u64().unwrap_or(0), u64::from(min), "{path}");
            assert_eq!(schema["maxLength"].as_u64(), Some(u64::from(max)), "{path}");
        }
        Scalar::Integer { bits, min, max } => {
            let (least, greatest) =
                if bits == 32 { (i32::MIN.into(), i32::MAX.into()) } else { (i64::MIN, i64::MAX) };
            let own = |bound: i64, of_format: i64| (bound != of_format).then_some(bound);
            assert_eq!(schema["minimum"].as_i64(), own(min, least), "{path}");
            assert_eq!(schema["maximum"].as_i64(), own(max, greatest), "{path}");
        }
        Scalar::Descriptor(_) => assert_eq!(schema["maxLength"], 306, "{path}"),
        _ => {}
    }
}

#[test]
fn exactly_the_key_properties_are_marked_as_identity() {
    for model in models() {
        for section in SECTIONS {
            let document = document(&model, section);
            for resource in section.resources(&model) {
                let schema = derived_schema(&document, resource);
                let marked: HashSet<&str> = schema["properties"]
                    .as_object()
                    .unwrap()
                    .iter()
                    .filter(|(_, member)| member["x-Ed-Fi-isIdentity"] == true)
                    .map(|(name, _)| name.as_str())
                    .collect();
                let mut expected = HashSet::new();
                for column in &resource.key {
                    match column.source {
                        ColumnSource::Scalar(at) => {
                            expected.insert(resource.properties[at].name.as_str());
                        }
                        ColumnSource::Part(at, part) => {
                            let member = &schema["properties"][&resource.properties[at].name];
                            let PropertyKind::Reference(reference) = &resource.properties[at].kind
                            else {
                                panic!("{}: {} is not a reference", resource.name, column.name);
                            };
                            let name = &reference.parts[part].name;
                            let member = &resolve(&document, member)["properties"][name];
                            assert_eq!(member["x-Ed-Fi-isIdentity"], true, "{}", resource.name);
                        }
                    }
                }
                for property in &resource.properties {
                    if let (Presence::Key, PropertyKind::Scalar(_)) =
                        (property.presence, &property.kind)
                    {
                        expected.insert(property.name.as_str());
                    }
                }

                assert_eq!(marked, expected, "{}", resource.name);
            }
        }
    }
}

/// Members that describe themselves say more than the words of their name, those of deleted keys too.
#[test]
fn every_member_is_described_by_more_than_its_name() {
    const FILLING: [&str; 8] = ["the", "a", "true", "or", "false", "it", "is", "required"];
    let letters = |text: &str| {
        let is_word = |part: &&str| !part.is_empty();
        let parts = text.split(|letter: char| !letter.is_alphanumeric());
        parts.filter(is_word).map(str::to_lowercase).collect::<Vec<_>>()
    };
    for model in models() {
        let mut count = 0;
        for section in SECTIONS {
            let document = document(&model, section);
            for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
                for (member, value) in schema["properties"].as_object().into_iter().flatten() {
                    if value.get("$ref").is_some() {
                        continue;
                    }
                    let about = value["description"].as_str().unwrap_or("");
                    let own = member.to_lowercase();
                    let more = letters(about)
                        .into_iter()
                        .any(|word| !own.contains(&word) && !FILLING.contains(&word.as_str()));
                    assert!(more, "{name}.{member}: {about}");
                    count += 1;
                }
            }
        }
        assert!(count > 2_000, "{count}");
    }
}
