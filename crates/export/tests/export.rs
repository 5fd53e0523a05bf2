//! Exports of a generated district.

mod support;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::Arc;

use homeroom_bulk::{LoadOptions, load};
use homeroom_document::Documents;
use homeroom_export::{ExportError, ExportOptions, Format, Formulas, Manifest, export, unescaped};
use homeroom_model::{format, link, shipped};
use homeroom_store::{ChangedAt, Decision, Plan, SnapshotOptions, Tombstone, Uuid, Write};
use homeroom_testkit::trial;
use serde_json::Value;
use support::{Folder, district, options, run, target};

/// Returns every document by resource, without the members that the store adds.
fn documents(folder: &Folder, manifest: &Manifest) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for file in &manifest.files {
        let mut documents: Vec<String> = folder
            .read(&file.path)
            .lines()
            .map(|line| {
                let mut document: Value = serde_json::from_str(line).unwrap();
                without_the_stores_own(&mut document);
                document.to_string()
            })
            .collect();
        documents.sort();
        found.insert(file.path.clone(), documents);
    }
    found
}

fn without_the_stores_own(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for own in ["id", "_etag", "_lastModifiedDate", "link"] {
                members.shift_remove(own);
            }
            members.values_mut().for_each(without_the_stores_own);
        }
        Value::Array(items) => items.iter_mut().for_each(without_the_stores_own),
        _ => {}
    }
}

/// Deletes a document that nothing refers to.
fn delete(data: &Documents, id: &str) {
    let row = data.store.document_blocking(Uuid::read(id).unwrap()).unwrap().unwrap();
    let decide = move |_| -> Decision<(), ()> {
        let key_values = "{\"studentUniqueId\":\"7\"}".into();
        let tombstone = Tombstone { key_values, modified: 1_000_000 };
        Decision::Write(
            vec![Write::Delete { row: Box::new(row.clone()), ties: vec![], tombstone }],
            (),
        )
    };
    data.store.run_blocking(Plan { ask: vec![], decide }).unwrap();
}

#[test]
fn an_export_that_is_loaded_again_gives_the_same_export() {
    let (first, second) = (Folder::unmade(), Folder::unmade());
    let source = district(20);
    let exported = run(&source, &options(Format::Jsonl, &first)).unwrap();
    let copy = target();

    let loading = LoadOptions { paths: vec![first.path().to_owned()], ..LoadOptions::default() };
    let summary = load(&copy, &loading, &mut |_| {}, &|| false).unwrap();
    let again = run(&copy, &options(Format::Jsonl, &second)).unwrap();

    assert!(summary.is_clean(), "{summary:?}");
    assert!(exported.documents > 1_000, "{}", exported.documents);
    assert_eq!(exported.resources, again.resources);
    assert_eq!(documents(&first, &exported), documents(&second, &again));
}

#[test]
fn the_manifest_lists_the_files_of_the_export() {
    let folder = Folder::unmade();
    let source = district(3);

    let manifest = run(&source, &options(Format::Jsonl, &folder)).unwrap();

    let written: Manifest = serde_json::from_str(&folder.read("manifest.json")).unwrap();
    assert_eq!(written, manifest);
    assert_eq!(manifest.change_version, source.store.newest_change_version_blocking().unwrap());
    assert_eq!(manifest.projects[0].version, "5.2.0");
    assert_eq!(manifest.documents, manifest.resources.values().sum::<u64>());
    for file in &manifest.files {
        let text = folder.read(&file.path);
        assert_eq!(file.bytes, text.len() as u64, "{}", file.path);
        assert_eq!(file.rows, text.lines().count() as u64, "{}", file.path);
        assert_eq!(file.sha256.len(), 64);
        assert_eq!(file.path, format!("{}.jsonl", file.resource.as_deref().unwrap()));
    }
}

#[test]
fn an_export_since_a_version_contains_changes_and_deletions() {
    let (whole, part) = (Folder::unmade(), Folder::unmade());
    let source = district(3);
    let before = run(&source, &options(Format::Jsonl, &whole)).unwrap();
    let events = "studentSchoolAttendanceEvents";
    let lines = whole.read(&format!("ed-fi/{events}.jsonl"));
    let gone: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    delete(&source, gone["id"].as_str().unwrap());
    let new = "{\"codeValue\":\"new\",\"namespace\":\"uri://x/TermDescriptor\",\
               \"shortDescription\":\"new\"}";
    homeroom_bulk::load_documents(&source, [("TermDescriptor", new.to_owned())]).unwrap();
    let mut options = options(Format::Jsonl, &part);
    (options.since, options.deletes) = (Some(before.change_version), true);

    let manifest = run(&source, &options).unwrap();

    assert_eq!((manifest.documents, manifest.deletes), (1, 1));
    assert_eq!(manifest.since, before.change_version);
    assert_eq!(manifest.change_version, before.change_version + 2);
    let deleted: Value = serde_json::from_str(&part.read("deletes.jsonl")).unwrap();
    assert_eq!(deleted["resource"], format!("ed-fi/{events}"));
    assert_eq!(deleted["id"], gone["id"]);
    assert_eq!(deleted["keyValues"]["studentUniqueId"], "7");
    assert!(part.read("ed-fi/termDescriptors.jsonl").contains("\"codeValue\":\"new\""));
}

#[test]
fn tables_have_a_row_for_each_document_and_item() {
    let (lines, tables) = (Folder::unmade(), Folder::unmade());
    let source = district(10);
    run(&source, &options(Format::Jsonl, &lines)).unwrap();

    let manifest = run(&source, &options(Format::Csv, &tables)).unwrap();

    let rows = |table: &str| {
        manifest.files.iter().find(|f| f.table.as_deref() == Some(table)).map_or(0, |f| f.rows)
    };
    let schools: Vec<Value> = lines
        .read("ed-fi/schools.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let grades: usize = schools.iter().map(|s| s["gradeLevels"].as_array().unwrap().len()).sum();
    assert_eq!(rows("edfi.School"), schools.len() as u64);
    assert_eq!(rows("edfi.SchoolGradeLevel"), grades as u64);
    let text = tables.read("edfi/SchoolGradeLevel.csv");
    let mut csv = text.split("\r\n");
    assert_eq!(
        csv.next(),
        Some("SchoolId,GradeLevelDescriptor,GradeLevelCodeValue,Id,ChangeVersion,LastModifiedDate")
    );
    let first = csv.next().unwrap();
    assert!(first.starts_with(&format!("{},uri://", schools[0]["schoolId"])), "{first}");
}

#[test]
fn a_formula_in_a_name_is_exported_as_text_unless_formulas_are_kept() {
    let name = "=HYPERLINK(1)";
    let source = target();
    let student = format!(
        "{{\"studentUniqueId\":\"-7\",\"firstName\":\"{name}\",\"lastSurname\":\"Quill\",\
         \"birthDate\":\"2012-05-17\"}}"
    );
    homeroom_bulk::load_documents(&source, [("Student", student)]).unwrap();
    let export = |formulas, format| {
        let folder = Folder::unmade();
        let manifest = run(&source, &ExportOptions { formulas, ..options(format, &folder) });
        let written = folder.read("manifest.json");
        assert_eq!(serde_json::from_str::<Manifest>(&written).unwrap(), manifest.unwrap());
        let table = std::fs::read_to_string(folder.path().join("edfi/Student.csv"));
        (written, table.unwrap_or_default())
    };

    let (escaped_manifest, escaped) = export(Formulas::default(), Format::Csv);
    let (kept_manifest, kept) = export(Formulas::Keep, Format::Csv);
    let (lines_manifest, _) = export(Formulas::default(), Format::Jsonl);

    for wanted in ["'-7", &format!("'{name}")] {
        let field = escaped.split([',', '\r', '\n']).find(|field| *field == wanted);
        assert_eq!(field.map(unescaped), Some(&wanted[1..]), "{escaped}");
        assert!(!kept.contains(wanted) && kept.contains(&wanted[1..]), "{kept}");
    }
    assert!(escaped_manifest.contains("\"csvFormulas\": \"escape\""), "{escaped_manifest}");
    assert!(kept_manifest.contains("\"csvFormulas\": \"keep\""), "{kept_manifest}");
    assert!(!lines_manifest.contains("csvFormulas"), "{lines_manifest}");
}

#[test]
fn a_compressed_export_holds_the_same() {
    let (plain, packed) = (Folder::unmade(), Folder::unmade());
    let source = district(3);
    run(&source, &options(Format::Csv, &plain)).unwrap();
    let mut compressed = options(Format::Csv, &packed);
    compressed.compress = true;

    run(&source, &compressed).unwrap();

    let file = std::fs::File::open(packed.path().join("edfi/Student.csv.gz")).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    assert_eq!(text, plain.read("edfi/Student.csv"));
}

#[test]
fn a_nonempty_folder_is_refused_unless_it_may_be_replaced() {
    let folder = Folder::unmade();
    let source = district(3);
    let first = run(&source, &options(Format::Csv, &folder)).unwrap();
    std::fs::write(folder.path().join("notes.txt"), "mine").unwrap();

    let refused = run(&source, &options(Format::Jsonl, &folder)).unwrap_err();
    let mut replacing = options(Format::Jsonl, &folder);
    replacing.replace = true;
    run(&source, &replacing).unwrap();

    assert!(matches!(refused, ExportError::NotEmpty(_)), "{refused}");
    for file in &first.files {
        assert!(!folder.path().join(&file.path).exists(), "{}", file.path);
    }
    assert_eq!(folder.read("notes.txt"), "mine");
    assert!(folder.read("manifest.json").contains("\"jsonl\""));
}

#[test]
fn an_export_replaces_only_files_of_an_earlier_export() {
    let folder = Folder::unmade();
    let source = district(3);
    let mut replacing = options(Format::Jsonl, &folder);
    replacing.replace = true;
    let others = Folder::unmade();
    std::fs::create_dir_all(others.path()).unwrap();
    std::fs::write(others.path().join("notes.txt"), "mine").unwrap();
    let mut elsewhere = options(Format::Jsonl, &others);
    elsewhere.replace = true;
    run(&source, &options(Format::Csv, &folder)).unwrap();
    std::fs::create_dir_all(folder.path().join("ed-fi")).unwrap();
    // A CSV export has no such file, but the next export would write it.
    std::fs::write(folder.path().join("ed-fi/students.jsonl"), "mine").unwrap();

    let foreign = run(&source, &elsewhere).unwrap_err();
    let beside = run(&source, &replacing).unwrap_err();

    assert!(matches!(foreign, ExportError::Foreign(_)), "{foreign}");
    assert!(matches!(beside, ExportError::Refused(_)), "{beside}");
    assert_eq!(folder.read("ed-fi/students.jsonl"), "mine");
    assert!(folder.read("manifest.json").contains("\"csv\""), "the export before is whole");
    // A database is not removed either, although a list names it.
    std::fs::remove_file(folder.path().join("ed-fi/students.jsonl")).unwrap();
    let database = folder.path().join("edfi/Student.csv");
    std::fs::write(&database, "SQLite format 3\0 and so on").unwrap();
    let listed = run(&source, &replacing).unwrap_err();
    assert!(matches!(listed, ExportError::Refused(_)), "{listed}");
    assert!(database.exists());
}

#[test]
fn an_export_reports_kinds_unknown_to_the_model_unless_resources_are_named() {
    let folder = Folder::unmade();
    let source = target();
    let bus = "{\"busId\":\"1\"}";
    homeroom_bulk::load_documents(&source, [("sample/buses", bus.to_owned())]).unwrap();
    let snapshot = source.store.snapshot_blocking(&SnapshotOptions::default()).unwrap();
    let core = format::read(shipped("5.2.0").unwrap()).unwrap();
    let core = Arc::new(link(&[core]).unwrap());
    let write = |folder: &Folder, resources: Vec<String>| {
        let options = ExportOptions { resources, ..options(Format::Jsonl, folder) };
        export(&core, &snapshot, &options, ChangedAt(0), &|| false, &mut |_| {}).unwrap()
    };

    let whole = write(&folder, vec![]);
    let part = write(&Folder::unmade(), vec!["students".into()]);

    assert_eq!(whole.left_out, BTreeMap::from([("sample/Bus".to_owned(), 1)]));
    assert!(folder.read("manifest.json").contains("\"leftOut\""));
    assert_eq!(part.left_out, BTreeMap::new());
}

#[test]
fn an_export_that_is_stopped_has_no_manifest() {
    let folder = Folder::unmade();
    let source = district(3);
    let snapshot = source.store.snapshot_blocking(&SnapshotOptions::default()).unwrap();
    let asked = std::cell::Cell::new(0);
    let is_stopped = || {
        asked.set(asked.get() + 1);
        asked.get() > 9
    };

    let stopped = export(
        &source.catalog.model,
        &snapshot,
        &options(Format::Jsonl, &folder),
        ChangedAt(0),
        &is_stopped,
        &mut |_| {},
    );

    assert!(matches!(stopped, Err(ExportError::Interrupted)), "{stopped:?}");
    assert!(folder.path().join("ed-fi").exists());
    assert!(!folder.path().join("manifest.json").exists());
}

#[test]
fn files_of_an_interrupted_export_are_removed_when_it_is_replaced() {
    let folder = Folder::unmade();
    let source = district(3);
    let snapshot = source.store.snapshot_blocking(&SnapshotOptions::default()).unwrap();
    let asked = std::cell::Cell::new(0);
    let is_stopped = || asked.replace(asked.get() + 1) > 9;
    let (lines, model) = (options(Format::Jsonl, &folder), &source.catalog.model);
    export(model, &snapshot, &lines, ChangedAt(0), &is_stopped, &mut |_| {}).unwrap_err();
    let written = || std::fs::read_dir(folder.path().join("ed-fi")).unwrap().count();
    let before = written();
    let mut replacing = options(Format::Csv, &folder);
    replacing.replace = true;

    run(&source, &replacing).unwrap();

    assert_eq!((before > 0, written()), (true, 0));
    assert!(!folder.path().join(".export.part").exists());
}

#[test]
fn an_export_since_a_version_newer_than_the_store_is_refused() {
    let folder = Folder::unmade();
    let source = target();
    let mut options = options(Format::Jsonl, &folder);
    options.since = Some(1_000_000);

    let refused = run(&source, &options).unwrap_err();

    assert!(matches!(refused, ExportError::BeforeSince { .. }), "{refused}");
    assert!(!folder.path().exists());
}

#[test]
fn all_of_this_holds_on_postgresql() {
    trial::again_on_postgres("all_of_this_holds_on_postgresql");
}
