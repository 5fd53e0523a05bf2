//! The files hold the same documents as the stream, in both formats.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use homeroom_district::{DistrictPlan, Document, Format, WriteError, documents, write};
use homeroom_model::{Target, format, link};
use serde_json::Value;

use crate::model;
use crate::reader::read_interchange;

fn plan() -> DistrictPlan {
    DistrictPlan::new(26, 9, 2026).unwrap()
}

/// Makes an empty folder for one test's files.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("district").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    folder
}

/// Returns the documents as values, by resource, in order.
fn expected() -> HashMap<String, Vec<Value>> {
    let mut expected: HashMap<String, Vec<Value>> = HashMap::new();
    for Document { resource, json } in documents(&plan()) {
        let value = serde_json::from_str(&json).unwrap();
        expected.entry(resource.to_owned()).or_default().push(value);
    }
    expected
}

#[test]
fn json_lines_files_contain_the_documents_of_the_stream() {
    let (model, folder) = (model(), folder("jsonl"));

    let written = write(&plan(), None, &model, &folder, &[Format::Jsonl]).unwrap();

    let expected = expected();
    assert_eq!(written.files.len(), expected.len());
    assert_eq!(written.documents.len(), expected.len());
    assert!(written.files.contains(&"studentSchoolAssociations.jsonl".to_owned()));
    for (resource, documents) in expected {
        let Some(Target::Resource(id)) = model.by_name(&resource) else { unreachable!() };
        let path = folder.join(format!("{}.jsonl", model.resource(id).endpoint));
        let text = fs::read_to_string(path).unwrap();
        let read: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(read, documents, "{resource}");
    }
}

#[test]
fn a_document_read_back_from_its_interchange_is_the_document() {
    let (model, folder) = (model(), folder("xml"));

    let written = write(&plan(), None, &model, &folder, &[Format::Xml]).unwrap();

    let mut read: HashMap<String, Vec<Value>> = HashMap::new();
    for file in &written.files {
        read_interchange(&model, &fs::read_to_string(folder.join(file)).unwrap(), &mut read);
    }
    let mut expected = expected();
    assert_eq!(read.len(), expected.len());
    for (resource, documents) in read {
        assert_eq!(Some(documents), expected.remove(&resource), "{resource}");
    }
}

#[test]
fn nothing_is_overwritten() {
    let (model, folder) = (model(), folder("twice"));
    write(&plan(), None, &model, &folder, &[Format::Jsonl]).unwrap();

    let again = write(&plan(), None, &model, &folder, &[Format::Jsonl]);
    let other = write(&plan(), None, &model, &folder, &[Format::Xml]);

    assert!(matches!(again, Err(WriteError::Exists { .. })), "{again:?}");
    assert!(other.is_ok(), "{other:?}");
}

#[test]
fn a_model_of_another_standard_is_refused_by_the_name_that_it_lacks() {
    let source = format::read("standard Other other 1.0\n").unwrap();
    let model = link(&[source]).unwrap();

    let refused = write(&plan(), None, &model, &folder("other"), &[Format::Xml]).unwrap_err();

    assert!(matches!(refused, WriteError::Unplaced { .. }), "{refused}");
}
