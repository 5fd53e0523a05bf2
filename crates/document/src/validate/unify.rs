//! Key unification: places whose values must agree, because they are one column in the standard's
//! tables.
//!
//! Two places are compared if they share their items: root with root, root with each item, or
//! within one item. Items of different collections are not compared, because neither owns the
//! other.

use std::collections::{HashMap, HashSet};

use homeroom_model::{EXTENSIONS, Model, Place, Property, PropertyKind, Resource, Scalar};

use super::extension;
use crate::json::Json;
use crate::scalar;

/// A value at a place, with the indices of its items.
struct Found {
    items: Vec<usize>,
    path: String,
    text: String,
}

/// Checks every group of places; `note` receives each path concerned.
pub(super) fn check(
    model: &Model,
    resource: &Resource,
    json: &Json<'_>,
    mut note: impl FnMut(String, String),
) {
    // If one place differs from many, only that one is reported.
    let mut told = HashSet::new();
    for group in &resource.unified {
        let found: Vec<Vec<Found>> =
            group.iter().map(|place| values(model, resource, json, place)).collect();
        if found.iter().filter(|values| !values.is_empty()).count() < 2 {
            continue;
        }
        for (at, a) in group.iter().enumerate() {
            for (later, b) in group.iter().enumerate().skip(at + 1) {
                let Some(shared) = shared_lists(resource, a, b) else { continue };
                // Grouping by items keeps the cost of a long list linear instead of quadratic.
                let mut beside: HashMap<&[usize], Vec<&Found>> = HashMap::new();
                for y in &found[later] {
                    beside.entry(&y.items[..shared]).or_default().push(y);
                }
                for x in &found[at] {
                    let beside = beside.get(&x.items[..shared]).into_iter().flatten();
                    for y in beside.filter(|y| x.text != y.text) {
                        let message =
                            format!("The values of {} and {} must be the same.", x.path, y.path);
                        for path in [&x.path, &y.path] {
                            if told.insert(path.clone()) {
                                note(path.clone(), message.clone());
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns how many lists two places share; [`None`] if both also lie in lists of their own.
fn shared_lists(resource: &Resource, a: &Place, b: &Place) -> Option<usize> {
    let common = a.steps.iter().zip(&b.steps).take_while(|(x, y)| x == y).count();
    let lists = |place: &Place, upto: usize| {
        let mut properties = resource.properties.as_slice();
        let mut lists = 0;
        for step in &place.steps[..upto] {
            match &properties[*step].kind {
                PropertyKind::List(inner) => {
                    lists += 1;
                    properties = inner;
                }
                PropertyKind::Object(inner) => properties = inner,
                PropertyKind::Scalar(_) | PropertyKind::Reference(_) => {}
            }
        }
        lists
    };
    let shared = lists(a, common);
    let (own_a, own_b) = (lists(a, a.steps.len()) > shared, lists(b, b.steps.len()) > shared);
    (!(own_a && own_b)).then_some(shared)
}

fn values(model: &Model, resource: &Resource, json: &Json<'_>, place: &Place) -> Vec<Found> {
    let mut out = vec![];
    let search = Search { model, place };
    search.collect(&resource.properties, json, 0, &mut vec![], "$", &mut out);
    out
}

/// A search for the values at a place.
struct Search<'a> {
    model: &'a Model,
    place: &'a Place,
}

impl Search<'_> {
    fn collect(
        &self,
        properties: &[Property],
        json: &Json<'_>,
        depth: usize,
        items: &mut Vec<usize>,
        path: &str,
        out: &mut Vec<Found>,
    ) {
        let Json::Object(members) = json else { return };
        let at = self.place.steps[depth];
        let property = &properties[at];
        // An extension's object may be sent under more than one name.
        let value = if path.rsplit('.').next() == Some(EXTENSIONS) {
            extension::member(self.model, properties, at, members)
        } else {
            Json::member(members, &property.name)
        };
        let Some(value) = value else { return };
        let path = format!("{path}.{}", property.name);
        match (&property.kind, value) {
            (PropertyKind::Scalar(scalar), value) => {
                add(&property.name, *scalar, value, items, path, out);
            }
            (PropertyKind::Reference(reference), Json::Object(parts)) => {
                let Some(part) = self.place.part.map(|part| &reference.parts[part]) else { return };
                let Some(value) = Json::member(parts, &part.name) else { return };
                let path = format!("{path}.{}", part.name);
                add(&part.name, part.scalar, value, items, path, out);
            }
            (PropertyKind::Object(inner), value) => {
                self.collect(inner, value, depth + 1, items, &path, out);
            }
            (PropertyKind::List(inner), Json::Array(values)) => {
                for (at, value) in values.iter().enumerate() {
                    items.push(at);
                    self.collect(inner, value, depth + 1, items, &format!("{path}[{at}]"), out);
                    items.pop();
                }
            }
            _ => {}
        }
    }
}

/// Adds a value unless it counts as absent or has another type; its range is not checked.
fn add(
    name: &str,
    scalar: Scalar,
    value: &Json<'_>,
    items: &[usize],
    path: String,
    out: &mut Vec<Found>,
) {
    let text = scalar::comparable(scalar, value)
        .filter(|text| !scalar::is_blank(value) && !scalar::is_default(name, scalar, text));
    if let Some(text) = text {
        out.push(Found { items: items.to_vec(), path, text });
    }
}
