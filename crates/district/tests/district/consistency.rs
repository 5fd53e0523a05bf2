//! Every document fits the model, and comes after all documents that it refers to.

use std::collections::{BTreeMap, HashMap, HashSet};

use homeroom_district::{DistrictPlan, documents};
use homeroom_model::{Property, PropertyKind, Scalar, Target};
use serde_json::Value;

use crate::checker::Checker;
use crate::model;

fn check(plan: &DistrictPlan) -> Vec<String> {
    let model = model();
    let mut checker = Checker::new(&model);
    for document in documents(plan) {
        checker.document(document.resource, &document.json);
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

/// Returns all documents of a plan, one per line.
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
fn no_attendance_or_assessment_falls_on_a_weekend() {
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
