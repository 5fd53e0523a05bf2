//! Each record of the failing sample fails in its own way.

use std::collections::HashMap;

use homeroom_district::{DistrictPlan, SCHOOL_YEAR_DEFAULT, documents, failing_sample};

use crate::checker::Checker;
use crate::model;
use crate::reader::read_interchange;

#[test]
fn five_records_of_the_failing_sample_are_wrong_and_one_is_right() {
    let model = model();
    let mut checker = Checker::new(&model);
    for document in documents(&DistrictPlan::new(1, 1, SCHOOL_YEAR_DEFAULT).unwrap()) {
        checker.document(document.resource, &document.json);
    }
    let mut records = vec![];
    for (name, text) in failing_sample() {
        let mut read = HashMap::new();
        match name.strip_suffix(".jsonl") {
            None => read_interchange(&model, text, &mut read),
            Some(endpoint) => {
                let resource = model.by_endpoint("ed-fi", endpoint).unwrap();
                let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
                read.insert(resource.name.clone(), lines.collect());
            }
        }
        for (resource, values) in read {
            records.extend(values.into_iter().map(|value| (resource.clone(), value.to_string())));
        }
    }
    assert_eq!(checker.wrong, [""; 0]);

    let found: Vec<usize> = records
        .iter()
        .map(|(resource, json)| {
            let before = checker.wrong.len();
            checker.document(resource, json);
            checker.wrong.len() - before
        })
        .collect();

    assert_eq!(found, [1, 1, 1, 1, 0, 1], "{:#?}", checker.wrong);
    for (message, about) in checker.wrong.iter().zip([
        "lastSurname",
        "birthDate",
        "entryGradeLevelDescriptor",
        "studentReference",
        "sessionReference",
    ]) {
        assert!(message.contains(about), "{message}");
    }
}
