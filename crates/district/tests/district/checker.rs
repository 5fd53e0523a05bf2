//! Checks a document against the model and against the documents before it.

use std::collections::HashSet;

use homeroom_model::{
    ColumnSource, Model, Place, Presence, Property, PropertyKind, Resource, Scalar, Target,
};
use serde_json::{Map, Value};

/// The keys seen so far, and the errors found.
pub struct Checker<'a> {
    model: &'a Model,
    known: HashSet<(Target, Vec<String>)>,
    pub wrong: Vec<String>,
}

impl<'a> Checker<'a> {
    pub fn new(model: &'a Model) -> Self {
        Self { model, known: HashSet::new(), wrong: vec![] }
    }

    pub fn document(&mut self, resource: &str, json: &str) {
        let Some(Target::Resource(id)) = self.model.by_name(resource) else {
            return self.wrong.push(format!("no resource is named {resource}"));
        };
        let resource = self.model.resource(id);
        let value: Value = serde_json::from_str(json).unwrap();
        let value = value.as_object().unwrap();
        self.members(resource, &resource.properties, value);
        for group in &resource.unified {
            self.unified(resource, group, value);
        }
        let key = key(resource, value);
        if let Some(base) = &resource.base {
            let key = base.columns.iter().map(|at| key[*at].clone()).collect();
            self.known.insert((Target::Abstract(base.id), key));
        }
        if !self.known.insert((Target::Resource(id), key.clone())) {
            self.wrong.push(format!("{} {key:?} appears twice", resource.name));
        }
    }

    fn members(&mut self, owner: &Resource, properties: &[Property], value: &Map<String, Value>) {
        for name in value.keys() {
            if properties.iter().all(|property| property.name != *name) {
                self.wrong.push(format!("{} has no property {name}", owner.name));
            }
        }
        for property in properties {
            match value.get(&property.name) {
                Some(found) => self.property(owner, property, found),
                None if property.presence == Presence::Optional => {}
                None => self.wrong.push(format!("{} lacks {}", owner.name, property.name)),
            }
        }
    }

    fn property(&mut self, owner: &Resource, property: &Property, value: &Value) {
        match &property.kind {
            PropertyKind::Scalar(scalar) => self.scalar(owner, &property.name, *scalar, value),
            PropertyKind::Object(inner) => self.members(owner, inner, value.as_object().unwrap()),
            PropertyKind::List(inner) => {
                let items = value.as_array().unwrap();
                let mut identities = HashSet::new();
                for item in items {
                    let item = item.as_object().unwrap();
                    self.members(owner, inner, item);
                    let keys = inner.iter().filter(|p| p.presence == Presence::Key);
                    let identity: Vec<String> = keys.map(|p| item[&p.name].to_string()).collect();
                    if !identities.insert(identity) {
                        self.wrong.push(format!("{} repeats {}", owner.name, property.name));
                    }
                }
            }
            PropertyKind::Reference(reference) => {
                let members = value.as_object().unwrap();
                for part in &reference.parts {
                    match members.get(&part.name) {
                        Some(found) => self.scalar(owner, &part.name, part.scalar, found),
                        None => {
                            return self.wrong.push(format!(
                                "{}.{} lacks {}",
                                owner.name, property.name, part.name
                            ));
                        }
                    }
                }
                let key: Vec<String> =
                    reference.parts.iter().map(|part| members[&part.name].to_string()).collect();
                let is_year = self.model.target_name(reference.target) == "SchoolYearType"
                    && self.model.school_years.iter().any(|year| key == [year.to_string()]);
                if members.len() != reference.parts.len() {
                    self.wrong.push(format!("{}.{}: {value}", owner.name, property.name));
                }
                if !is_year && !self.known.contains(&(reference.target, key)) {
                    self.wrong.push(format!("{}.{}: {value}", owner.name, property.name));
                }
            }
        }
    }

    fn scalar(&mut self, owner: &Resource, name: &str, scalar: Scalar, value: &Value) {
        let fits = match scalar {
            Scalar::Text { min, max } => value.as_str().is_some_and(|text| {
                let length = u32::try_from(text.chars().count()).unwrap();
                (min..=max).contains(&length) && text.trim() == text
            }),
            Scalar::Integer { min, max, .. } => {
                value.as_i64().is_some_and(|number| (min..=max).contains(&number))
            }
            Scalar::Decimal { min, max, .. } => value.as_f64().is_some_and(|number| {
                min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max)
            }),
            Scalar::Boolean => value.is_boolean(),
            Scalar::Date => like(value, "0000-00-00"),
            Scalar::DateTime => like(value, "0000-00-00T00:00:00Z"),
            Scalar::Time => like(value, "00:00:00"),
            Scalar::Descriptor(id) => {
                let uri = value.as_str().unwrap();
                let (namespace, code) = uri.split_once('#').unwrap();
                let target = self.model.resource(id);
                let key = target
                    .key
                    .iter()
                    .map(|column| if column.name == "namespace" { namespace } else { code })
                    .map(|text| Value::from(text).to_string())
                    .collect();
                namespace == format!("uri://ed-fi.org/{}", target.name)
                    && self.known.contains(&(Target::Resource(id), key))
            }
        };
        if !fits {
            self.wrong.push(format!("{}: {name} is {value}", owner.name));
        }
    }

    fn unified(&mut self, owner: &Resource, group: &[Place], value: &Map<String, Value>) {
        let mut values = HashSet::new();
        for place in group {
            collect(&owner.properties, place, 0, value, &mut values);
        }
        if values.len() > 1 {
            self.wrong.push(format!("{} disagrees with itself: {values:?}", owner.name));
        }
    }
}

fn key(resource: &Resource, value: &Map<String, Value>) -> Vec<String> {
    let column = |source| match source {
        ColumnSource::Scalar(at) => {
            let at: usize = at;
            value[&resource.properties[at].name].to_string()
        }
        ColumnSource::Part(at, part) => {
            let property = &resource.properties[at];
            let PropertyKind::Reference(reference) = &property.kind else { unreachable!() };
            value[&property.name][&reference.parts[part].name].to_string()
        }
    };
    resource.key.iter().map(|key| column(key.source)).collect()
}

fn collect(
    properties: &[Property],
    place: &Place,
    depth: usize,
    value: &Map<String, Value>,
    into: &mut HashSet<String>,
) {
    let Some(at) = place.steps.get(depth) else { return };
    let property = &properties[*at];
    let Some(found) = value.get(&property.name) else { return };
    match &property.kind {
        PropertyKind::Scalar(_) => _ = into.insert(found.to_string()),
        PropertyKind::Reference(reference) => {
            into.insert(found[&reference.parts[place.part.unwrap()].name].to_string());
        }
        PropertyKind::Object(inner) => {
            collect(inner, place, depth + 1, found.as_object().unwrap(), into);
        }
        PropertyKind::List(inner) => {
            for item in found.as_array().unwrap() {
                collect(inner, place, depth + 1, item.as_object().unwrap(), into);
            }
        }
    }
}

/// Whether a text matches a pattern in which `0` stands for any digit.
fn like(value: &Value, pattern: &str) -> bool {
    let Some(text) = value.as_str() else { return false };
    text.len() == pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(found, wanted)| match wanted {
            b'0' => found.is_ascii_digit(),
            other => found == other,
        })
}
