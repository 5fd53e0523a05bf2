//! The published descriptions, read from the folder that `HOMEROOM_REFERENCE` names.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::All;
use crate::openapi;
use crate::shape::{Form, Property, Resource, Shapes};

const VERSIONS: &[&str] = &["ds-4.0", "ds-5.2-with-tpdm-dms", "ds-6.0"];

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("HOMEROOM_REFERENCE").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: HOMEROOM_REFERENCE names no folder");
    }
    folder.map(|folder| folder.join("ed-fi/openapi"))
}

fn published(folder: &Path, version: &str) -> Shapes {
    let read = |part: &str| {
        let text = std::fs::read(folder.join(format!("{part}-{version}.json"))).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()
    };
    openapi::read(&[read("resources"), read("descriptors")])
}

fn unresolved(properties: &[Property], found: &mut Vec<String>) {
    for property in properties {
        match &property.form {
            Form::Descriptor(None) => found.push(property.name.clone()),
            Form::Reference(reference) if reference.targets.is_empty() => {
                found.push(property.name.clone());
            }
            Form::Object(inner) | Form::List(inner) => unresolved(inner, found),
            _ => {}
        }
    }
}

/// Returns the pairs of a document's references that disagree about a part of the identity.
fn disagreements(resource: &Resource, body: &Value) -> Vec<String> {
    let mut known: HashMap<&str, &Value> = HashMap::new();
    let mut found = vec![];
    for property in &resource.properties {
        let Form::Reference(reference) = &property.form else { continue };
        for (member, _) in &reference.members {
            let Some(value) = body[&property.name].get(member) else { continue };
            let flat = resource.flat_name(&property.name, reference, member);
            if *known.entry(flat).or_insert(value) != value {
                found.push(format!("{}: {flat}", resource.name));
            }
        }
    }
    found
}

#[test]
fn every_reference_and_descriptor_of_the_published_models_has_a_resource() {
    let Some(folder) = folder() else { return };
    for version in VERSIONS {
        let shapes = published(&folder, version);

        let mut found = vec![];
        shapes.resources.iter().for_each(|resource| unresolved(&resource.properties, &mut found));

        assert!(shapes.resources.len() > 300, "{version}: {}", shapes.resources.len());
        assert!(found.is_empty(), "{version}: {found:?}");
    }
}

#[test]
fn every_resource_of_the_published_models_has_a_document_whose_references_agree() {
    let Some(folder) = folder() else { return };
    for version in VERSIONS {
        let shapes = published(&folder, version);

        let all = All::of(&shapes);

        assert_eq!(all.missing(), [""; 0], "{version}");
        let made = shapes.resources.iter().zip(all.made.iter().flatten());
        let found: Vec<String> =
            made.flat_map(|(resource, made)| disagreements(resource, &made.body)).collect();
        assert!(found.is_empty(), "{version}: {found:?}");
    }
}
