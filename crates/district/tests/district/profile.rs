//! A profile has the proportions that its file states, in every interchange of the standard.

use std::collections::BTreeSet;

use homeroom_district::{DistrictPlan, Profile, profiled};
use homeroom_model::{ResourceKind, Target};
use serde_json::Value;

use crate::checker::Checker;
use crate::model;

const STUDENTS: usize = 2_000;

/// Counts a document and the items of its collections.
fn records(document: &Value) -> usize {
    fn items(value: &Value) -> usize {
        match value {
            Value::Array(all) => all.len() + all.iter().map(items).sum::<usize>(),
            Value::Object(members) => members.values().map(items).sum(),
            _ => 0,
        }
    }
    1 + items(document)
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "the counts are small")]
fn the_published_profile_has_the_published_proportions_over_all_interchanges() {
    let model = model();
    let profile = Profile::named("published").unwrap();
    let plan = DistrictPlan::new(STUDENTS, 1, 2026).unwrap();
    let (mut documents, mut all, mut of_students) = (0_usize, 0_usize, 0_usize);
    let mut found = BTreeSet::new();

    for document in profiled(&plan, profile) {
        let Some(Target::Resource(id)) = model.by_name(document.resource) else {
            panic!("no resource {}", document.resource)
        };
        let resource = model.resource(id);
        let count = records(&serde_json::from_str(&document.json).unwrap());
        (documents, all) = (documents + 1, all + count);
        if resource.kind != ResourceKind::Descriptor {
            let interchange = resource.interchanges.first().unwrap();
            of_students += if interchange == "Student" { count } else { 0 };
        }
        found.extend(resource.interchanges.first().cloned());
    }

    let ratios = profile.ratios;
    let near = |found: usize, wanted: f64| {
        let each = found as f64 / STUDENTS as f64;
        assert!((each / wanted - 1.0).abs() < 0.01, "{each} is not {wanted}");
    };
    near(all, ratios.records_per_student);
    near(documents, ratios.documents_per_student);
    near(of_students, ratios.student_interchange_records_per_student);
    let [least, most] = ratios.records_per_document;
    let each = all as f64 / documents as f64;
    assert!((least..=most).contains(&each), "{each}");
    let wanted: BTreeSet<String> =
        model.resources.iter().flat_map(|resource| resource.interchanges.clone()).collect();
    assert_eq!(wanted.len(), 25);
    assert_eq!(found, wanted);
}

#[test]
fn every_document_of_a_profile_fits_the_model_and_refers_only_to_what_came_before() {
    let model = model();
    for students in [0, 1, 150] {
        let plan = DistrictPlan::new(students, 3, 2026).unwrap();
        let mut checker = Checker::new(&model);

        for document in profiled(&plan, Profile::named("published").unwrap()) {
            checker.document(document.resource, &document.json);
        }

        checker.wrong.truncate(20);
        assert!(checker.wrong.is_empty(), "{students} students: {:#?}", checker.wrong);
    }
}
