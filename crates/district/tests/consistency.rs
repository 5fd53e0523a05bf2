//! Every document fits the model, and everything that it refers to comes before it.

use std::collections::{BTreeMap, HashMap, HashSet};

use homeroom_district::{DistrictPlan, Document, documents};
use homeroom_model::{
    ColumnSource, Model, Place, Presence, Property, PropertyKind, Resource, Scalar, Target, format,
    link, shipped,
};
use serde_json::{Map, Value};

fn model() -> Model {
    let source = format::read(shipped("5.2.0").unwrap()).unwrap();
    link(&[source]).unwrap()
}

/// What has come so far, and what was wrong.
struct Checker<'a> {
    model: &'a Model,
    known: HashSet<(Target, Vec<String>)>,
    wrong: Vec<String>,
}

impl<'a> Checker<'a> {
    fn new(model: &'a Model) -> Self {
        Self { model, known: HashSet::new(), wrong: vec![] }
    }

    fn document(&mut self, document: &Document) {
        let Some(Target::Resource(id)) = self.model.by_name(document.resource) else {
            return self.wrong.push(format!("no resource is named {}", document.resource));
        };
        let resource = self.model.resource(id);
        let value: Value = serde_json::from_str(&document.json).unwrap();
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
            self.wrong.push(format!("{} {key:?} stands twice", resource.name));
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

/// Whether a text looks like the pattern, `0` standing for any digit.
fn like(value: &Value, pattern: &str) -> bool {
    let Some(text) = value.as_str() else { return false };
    text.len() == pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(found, wanted)| match wanted {
            b'0' => found.is_ascii_digit(),
            other => found == other,
        })
}

fn check(plan: &DistrictPlan) -> Vec<String> {
    let model = model();
    let mut checker = Checker::new(&model);
    for document in documents(plan) {
        checker.document(&document);
    }
    let mut wrong = checker.wrong;
    wrong.truncate(20);
    wrong
}

#[test]
fn every_document_fits_the_model_and_refers_only_to_what_came_before() {
    for (students, seed, school_year) in
        [(0, 1, 2026), (1, 1, 2026), (300, 2, 1991), (1000, 3, 2047)]
    {
        let plan = DistrictPlan::new(students, seed, school_year).unwrap();

        let wrong = check(&plan);

        assert!(wrong.is_empty(), "{students} students: {wrong:#?}");
    }
}

fn counts(students: usize) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for document in documents(&DistrictPlan::new(students, 1, 2026).unwrap()) {
        *counts.entry(document.resource).or_default() += 1;
    }
    counts
}

#[test]
fn a_student_has_forty_to_sixty_documents() {
    let empty: usize = counts(0).values().sum();
    let counts = counts(2000);

    let each = (counts.values().sum::<usize>() - empty) / 2000;

    assert!((40..=60).contains(&each), "{each}");
    assert_eq!(counts["Student"], 2000);
    assert_eq!(counts["StudentSchoolAssociation"], 2000);
    assert_eq!(counts["School"], 5);
}

#[test]
fn at_least_three_in_a_hundred_documents_are_of_kinds_that_nothing_refers_to() {
    let model = model();
    let mut referred = HashSet::new();
    for resource in &model.resources {
        referred_to(&resource.properties, &mut referred);
    }

    let counts = counts(1000);

    let free: usize = counts
        .iter()
        .filter(|(name, _)| {
            let Some(Target::Resource(id)) = model.by_name(name) else { unreachable!() };
            let base = model.resource(id).base.as_ref().map(|base| Target::Abstract(base.id));
            !referred.contains(&Target::Resource(id)) && base.is_none_or(|b| !referred.contains(&b))
        })
        .map(|(_, count)| count)
        .sum();
    let all: usize = counts.values().sum();
    assert!(free * 100 >= all * 3, "{free} of {all}");
}

fn referred_to(properties: &[Property], into: &mut HashSet<Target>) {
    for property in properties {
        match &property.kind {
            PropertyKind::Scalar(Scalar::Descriptor(id)) => _ = into.insert(Target::Resource(*id)),
            PropertyKind::Scalar(_) => {}
            PropertyKind::Reference(reference) => _ = into.insert(reference.target),
            PropertyKind::Object(inner) | PropertyKind::List(inner) => referred_to(inner, into),
        }
    }
}

/// All documents of a plan, one a line.
fn text(students: usize, seed: u64, school_year: u16) -> String {
    let mut text = String::new();
    for document in documents(&DistrictPlan::new(students, seed, school_year).unwrap()) {
        text.push_str(document.resource);
        text.push_str(&document.json);
        text.push('\n');
    }
    text
}

#[test]
fn equal_plans_give_equal_bytes_and_a_changed_plan_gives_others() {
    let first = text(40, 1, 2026);

    assert_eq!(first, text(40, 1, 2026));
    assert_ne!(first, text(40, 2, 2026));
    assert_ne!(first, text(40, 1, 2027));
    assert!(text(80, 1, 2026).len() > first.len());
}

#[test]
fn nobody_is_counted_in_or_tested_on_a_weekend() {
    let plan = DistrictPlan::new(100, 5, 2026).unwrap();
    let mut days: HashMap<String, String> = HashMap::new();
    let mut events = vec![];
    for document in documents(&plan) {
        let value: Value = serde_json::from_str(&document.json).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        if let Some(event) = value["calendarEvents"][0]["calendarEventDescriptor"].as_str() {
            days.insert(text(&value["date"]), event.to_owned());
        } else if document.resource.ends_with("AttendanceEvent") {
            events.push(text(&value["eventDate"]));
        }
    }

    assert!(!events.is_empty());
    for event in events {
        assert!(days[&event].ends_with("#Instructional day"), "{event}");
    }
}
