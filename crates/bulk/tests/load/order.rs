//! What is loaded, in which order, and how a load ends.

use homeroom_bulk::{LoadError, LoadOptions, load, load_documents};
use homeroom_model::{Dependency, Operations, Resource, dependency_order};
use homeroom_store::Sql;
use serde_json::{Value, json};

use crate::support::{Folder, load_all, load_with, stored, target};
use crate::{
    GRADE, descriptors, enrolment, interchange, lines, location, school, standard, student,
};

#[test]
fn records_are_loaded_in_the_order_of_their_dependencies_over_all_files() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a/studentSchoolAssociations.jsonl", lines([enrolment("1", 7)]));
    folder.write(
        "b.xml",
        interchange("EducationOrganization", &(location(7, "C") + &school(7, "S"))),
    );
    folder.write("c.xml", interchange("Student", &student("1")));
    folder.write("z.xml", descriptors());

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, rejects), (7, vec![]));
    assert_eq!((summary.documents, summary.files), (7, 4));
    let association = &stored(&target, "studentSchoolAssociations")[0];
    assert_eq!(association["schoolReference"], json!({"schoolId": 7}));
    assert_eq!(
        stored(&target, "schools")[0]["gradeLevels"],
        json!([{"gradeLevelDescriptor": GRADE}])
    );
}

#[test]
fn ids_are_in_the_order_of_level_file_and_record() {
    let (target, folder) = (target(), Folder::new());
    let model = &target.catalog.model;
    let levels = dependency_order(model);
    let level = |name: &str| {
        let resource = model.by_endpoint("ed-fi", name).unwrap().id;
        let own = |place: &&Dependency| {
            place.resource == resource && place.operations != Operations::Update
        };
        levels.iter().find(own).unwrap().order
    };
    // The files in their order; each record with its resource and a value that is its own.
    let files = [
        ("1.xml", interchange("Student", &(student("s1") + &student("s2")))),
        (
            "2.xml",
            interchange(
                "EducationOrganization",
                &(location(7, "l1") + &school(7, "o1") + &school(8, "o2") + &location(8, "l2")),
            ),
        ),
        ("3.xml", interchange("Student", &student("s3"))),
        ("4.xml", interchange("EducationOrganization", &(school(9, "o3") + &location(7, "l3")))),
        ("5/studentSchoolAssociations.jsonl", lines([enrolment("s3", 9), enrolment("s1", 7)])),
        ("6.xml", descriptors()),
    ];
    let mut expected = [
        ("students", &["s1", "s2"][..]),
        ("locations", &["l1"]),
        ("schools", &["o1", "o2"]),
        ("locations", &["l2"]),
        ("students", &["s3"]),
        ("schools", &["o3"]),
        ("locations", &["l3"]),
        ("studentSchoolAssociations", &["s3", "s1"]),
        ("gradeLevelDescriptors", &["1"]),
        ("educationOrganizationCategoryDescriptors", &["School"]),
        ("academicSubjectDescriptors", &["Math"]),
    ]
    .iter()
    .flat_map(|(resource, values)| values.iter().map(|value| (*resource, (*value).to_owned())))
    .collect::<Vec<_>>();
    expected.sort_by_key(|(resource, _)| level(resource));
    for (name, text) in files {
        folder.write(name, text);
    }
    let query = |text, arguments| target.store.query_blocking(Sql::new(text, arguments)).unwrap();
    let before = query("SELECT max(id) FROM doc", vec![])[0][0].clone();

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, rejects), (expected.len() as u64, vec![]));
    let value = |body: &Value| {
        let names = ["codeValue", "classroomIdentificationCode", "nameOfInstitution"];
        let own = names.iter().chain(&["studentUniqueId"]).map(|name| &body[name]);
        let of_student = &body["studentReference"]["studentUniqueId"];
        own.chain([of_student]).find_map(Value::as_str).unwrap().to_owned()
    };
    let found: Vec<(&str, String)> =
        query("SELECT kind, body FROM doc WHERE id > ?1 ORDER BY id", vec![before])
            .iter()
            .map(|row| {
                let kind = |resource: &&Resource| {
                    Some(i64::from(target.catalog.kind(resource.id).0)) == row[0].as_integer()
                };
                let resource = model.resources.iter().find(kind).unwrap();
                let body = serde_json::from_str(row[1].as_text().unwrap()).unwrap();
                (&*resource.endpoint, value(&body))
            })
            .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_second_load_changes_nothing() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    folder.write("b.xml", interchange("EducationOrganization", &school(7, "S")));
    load_all(&target, &[folder.path()]);
    let version = target.store.newest_change_version_blocking().unwrap();

    let (again, _) = load_all(&target, &[folder.path()]);
    folder.write("b.xml", interchange("EducationOrganization", &school(7, "T")));
    let (renamed, _) = load_all(&target, &[folder.path()]);

    assert_eq!((again.loaded, again.unchanged), (0, 4));
    assert_eq!((renamed.loaded, renamed.unchanged), (1, 3));
    assert_eq!(target.store.newest_change_version_blocking().unwrap(), version + 1);
}

#[test]
fn the_last_record_of_a_repeated_identity_wins() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    let schools = school(7, "first") + &school(8, "other") + &school(7, "last");
    folder.write("b.xml", interchange("EducationOrganization", &schools));

    let (summary, _) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.repeated), (6, 1));
    assert_eq!(stored(&target, "schools")[0]["nameOfInstitution"], "last");
}

#[test]
fn a_record_that_refers_to_a_later_one_of_its_own_kind_waits_for_it() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    // A chain longer than a batch, in which each document's parent comes after it.
    let chain = (0..700).map(|n| standard(&n.to_string(), Some(&(n + 1).to_string())));
    folder.write("learningStandards.jsonl", lines(chain.chain([standard("700", None)])));

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected, rejects.len()), (704, 0, 0));
}

#[test]
fn records_in_a_circle_and_their_dependents_are_rejected() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    let circle = [
        standard("hangs", Some("1")),
        standard("1", Some("2")),
        standard("2", Some("1")),
        standard("itself", Some("itself")),
    ];
    folder.write("learningStandards.jsonl", lines(circle));

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected), (4, 3), "{rejects:#?}");
    assert_eq!(summary.causes.iter().map(|cause| cause.count).sum::<u64>(), 3);
}

#[test]
fn only_what_is_selected_is_loaded() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    folder.write("b.xml", interchange("Student", &(student("1") + &student("2"))));
    let options = |select: &str| LoadOptions {
        paths: vec![folder.path().to_owned()],
        select: vec![select.to_owned()],
        ..LoadOptions::default()
    };

    let (summary, _) = load_with(&target, options("Student"));
    let unknown = load(&target, &options("pupils"), &mut |_| {}, &|| false).unwrap_err();

    assert_eq!((summary.loaded, summary.passed_over), (2, 3));
    assert!(matches!(unknown, LoadError::UnknownResource(name) if name == "pupils"));
}

#[test]
fn a_dry_run_gives_the_same_report_and_writes_nothing() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    let records = location(7, "C") + &school(7, "S") + &location(9, "D") + &school(8, "");
    folder.write("b.xml", interchange("EducationOrganization", &records));
    let chain = [standard("1", Some("2")), standard("2", None)];
    folder.write("learningStandards.jsonl", lines(chain));
    let options = LoadOptions {
        paths: vec![folder.path().to_owned()],
        dry_run: true,
        ..LoadOptions::default()
    };
    let version = target.store.newest_change_version_blocking().unwrap();

    let (dry, dry_rejects) = load_with(&target, options.clone());
    let written = target.store.newest_change_version_blocking().unwrap() - version;
    let (wet, wet_rejects) = load_with(&target, LoadOptions { dry_run: false, ..options.clone() });
    let (again, _) = load_with(&target, options);

    assert_eq!(written, 0);
    assert_eq!((dry.loaded, dry.rejected, dry.dry_run), (7, 2, true));
    assert_eq!((wet.loaded, wet.rejected, wet.dry_run), (7, 2, false));
    assert_eq!(dry_rejects, wet_rejects);
    assert_eq!((again.loaded, again.unchanged), (0, 7));
}

#[test]
fn a_stopped_load_ends_and_keeps_the_records_already_loaded() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    let students: String = (0..5_000).map(|number| student(&number.to_string())).collect();
    folder.write("b.xml", interchange("Student", &students));
    let options = LoadOptions { paths: vec![folder.path().to_owned()], ..LoadOptions::default() };
    let is_stopped = std::cell::Cell::new(false);

    let ended = load(
        &target,
        &options,
        &mut |progress| is_stopped.set(progress.documents >= 3_000),
        &|| is_stopped.get(),
    );

    assert!(matches!(ended, Err(LoadError::Stopped)));
    let loaded = stored(&target, "students").len();
    assert!(0 < loaded && loaded < 5_000, "{loaded}");
}

#[test]
fn documents_in_order_are_loaded_from_memory() {
    let target = target();
    let student = |id: &str| {
        let text = json!({"studentUniqueId": id, "firstName": "A", "lastSurname": "B",
                          "birthDate": "2010-01-01"});
        ("students", text.to_string())
    };
    let mut documents = vec![student("1"), student("2"), ("Student", "{}".into())];
    documents.push(("ed-fi/studentSchoolAssociations", enrolment("1", 7).to_string()));
    documents.push(("students", "no".into()));

    let summary = load_documents(&target, documents).unwrap();
    let unknown = load_documents(&target, [("pupils", String::new())]).unwrap_err();

    assert_eq!((summary.loaded, summary.rejected, summary.documents), (2, 3, 5));
    assert!(summary.causes.iter().any(|cause| cause.what.contains("GradeLevel")));
    assert!(matches!(unknown, LoadError::UnknownResource(_)));
}

#[test]
fn progress_is_reported_to_the_end() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    let options = LoadOptions { paths: vec![folder.path().to_owned()], ..LoadOptions::default() };
    let mut all = vec![];

    load(&target, &options, &mut |progress| all.push(*progress), &|| false).unwrap();

    let last = all.last().unwrap();
    assert_eq!((last.documents, last.documents_in_all, last.files_surveyed), (3, 3, 1));
    assert!(all.is_sorted_by_key(|progress| progress.documents));
}
