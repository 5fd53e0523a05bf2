//! Validation never panics, and every document that it accepts is canonical.

use std::sync::Arc;

use homeroom_document::Catalog;
use homeroom_document::json::Json;
use homeroom_document::validate::{Document, validate};
use homeroom_http::Violations;
use homeroom_model::{Model, Property, PropertyKind, Resource, ResourceId};
use homeroom_store::Store;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::holds;
use super::spelling::{Dice, respelled};
use crate::app::places::walk;
use crate::app::samples::{Extent, Sample, Samples};
use crate::app::{STANDARDS, model};

/// Makes a catalog on its own store, which must outlive it.
fn catalog() -> (Store, Catalog) {
    catalog_of(model())
}

/// Does the same with extensions.
fn extended() -> (Store, Catalog) {
    catalog_of(STANDARDS[1].model())
}

fn catalog_of(model: Arc<Model>) -> (Store, Catalog) {
    let store = Store::temporary(&[]).unwrap();
    let catalog = Catalog::bind(model, &store).unwrap();
    (store, catalog)
}

fn check(catalog: &Catalog, resource: &Resource, text: &str) -> Result<Document, Violations> {
    validate(catalog, resource, &Json::read(text.as_bytes()).unwrap())
}

/// Generates a sample of any resource.
fn any_sample(catalog: &Catalog) -> impl Strategy<Value = Sample> + use<> {
    let model = catalog.model.clone();
    (0..model.resources.len(), any::<bool>(), 1..1_000_u64).prop_map(move |(at, full, seed)| {
        let extent = if full { Extent::Fullest } else { Extent::Smallest };
        let mut made =
            Samples::new(&model, seed).of(ResourceId(u16::try_from(at).unwrap()), extent);
        made.pop().unwrap()
    })
}

/// Generates any JSON; its members often have names from `names`.
fn any_json(names: Vec<String>) -> impl Strategy<Value = Value> {
    let name = prop_oneof![8 => proptest::sample::select(names), 1 => ".{0,12}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner), 0..10)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// Generates texts that often look like values of some type.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,40}",
        "-?[0-9]{1,25}(\\.[0-9]{0,25})?([eE][+-]?[0-9]{1,12})?",
        "[0-9]{1,5}[-/][0-9]{1,3}[-/][0-9]{1,5}",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]{0,14}([Z+-][0-9:]{0,6})?",
        "[0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,10})?)?",
        "(true|FALSE|True)",
        "[a-zA-Z:/# ]{0,20}#[a-zA-Zé ]{0,20}",
        "\\PC{60,80}",
    ]
}

/// Collects the names of all members that a resource's documents may have.
fn names(properties: &[Property], out: &mut Vec<String>) {
    for property in properties {
        out.push(property.name.clone());
        match &property.kind {
            PropertyKind::Reference(reference) => {
                out.extend(reference.parts.iter().map(|part| part.name.clone()));
            }
            PropertyKind::Object(inner) | PropertyKind::List(inner) => names(inner, out),
            PropertyKind::Scalar(_) => {}
        }
    }
}

#[test]
fn any_json_can_be_validated() {
    let (_store, catalog) = catalog();
    let model = catalog.model.clone();
    let strategy = (0..model.resources.len()).prop_flat_map(|at| {
        let mut known = vec![];
        names(&model.resources[at].properties, &mut known);
        (Just(at), any_json(known))
    });

    holds(3_000, &strategy, |(at, json)| {
        let resource = &model.resources[at];
        match check(&catalog, resource, &json.to_string()) {
            Ok(document) => prop_assert!(check(&catalog, resource, &document.body).is_ok()),
            Err(violations) => {
                prop_assert!(!violations.is_empty(), "refused without a reason");
                prop_assert!(violations.iter().all(|(path, _)| path.starts_with('$')));
            }
        }
        Ok(())
    });
}

#[test]
fn a_valid_document_is_stored_in_canonical_form() {
    let (_store, catalog) = catalog();

    holds(400, &any_sample(&catalog), |sample| {
        let resource = catalog.model.resource(sample.resource);
        let first = check(&catalog, resource, &sample.body.to_string());
        prop_assert!(first.is_ok(), "{first:?}");
        let first = first.unwrap();

        let again = check(&catalog, resource, &first.body);

        prop_assert_eq!(again, Ok(first));
        Ok(())
    });
}

#[test]
fn the_spelling_of_a_document_does_not_matter() {
    let (_store, catalog) = extended();
    let strategy = (any_sample(&catalog), any::<u64>());

    holds(600, &strategy, |(sample, seed)| {
        let resource = catalog.model.resource(sample.resource);
        let plain = check(&catalog, resource, &sample.body.to_string());

        let other = respelled(resource, &sample.body, &mut Dice::new(seed));

        prop_assert_ne!(&other, &sample.body.to_string());
        prop_assert_eq!(check(&catalog, resource, &other), plain, "{}", other);
        Ok(())
    });
}

#[test]
fn a_valid_document_with_arbitrary_values_is_stored_in_canonical_form() {
    let (_store, catalog) = catalog();
    let value = prop_oneof![
        any_text().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-100_i64..100).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-1.0..2.0).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
    ];
    let passed = std::cell::Cell::new(0);
    let strategy = (any_sample(&catalog), any::<prop::sample::Index>(), value);

    holds(6_000, &strategy, |(sample, at, value)| {
        let resource = catalog.model.resource(sample.resource);
        let found = walk(resource, &sample.body);
        let places: Vec<_> = found.iter().filter(|found| found.scalar().is_some()).collect();
        let place = places[at.index(places.len())];
        let body = sample.with(&place.spot, &value);

        if let Ok(document) = check(&catalog, resource, &body.to_string()) {
            passed.set(passed.get() + 1);
            let again = check(&catalog, resource, &document.body);
            prop_assert_eq!(again, Ok(document));
        }
        Ok(())
    });
    assert!(passed.get() > 500, "only {} passed", passed.get());
}

#[test]
fn documents_of_other_keys_have_other_identities() {
    let (_store, catalog) = catalog();
    let strategy = (any_sample(&catalog), any::<prop::sample::Index>(), any_text());

    holds(1_000, &strategy, |(sample, at, text)| {
        let resource = catalog.model.resource(sample.resource);
        let column = &resource.key[at.index(resource.key.len())];
        let found = walk(resource, &sample.body);
        let path = resource.column_path(column.source);
        let place = found.iter().find(|found| found.spot.to_string() == path).unwrap();
        let before = place.spot.get(&sample.body).clone();
        let first = check(&catalog, resource, &sample.body.to_string()).unwrap();

        if let Ok(second) =
            check(&catalog, resource, &sample.with(&place.spot, &json!(text)).to_string())
        {
            let folded = |value: &Value| value.to_string().to_ascii_lowercase();
            let body: Value = serde_json::from_str(&second.body).unwrap();
            let same = folded(place.spot.get(&body)) == folded(&before);
            prop_assert_eq!(second.key == first.key, same, "{} {} {}", path, before, text);
        }
        Ok(())
    });
}
