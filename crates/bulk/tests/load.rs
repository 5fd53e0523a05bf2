//! Loads of small files into a store of the shipped model.

mod support;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use homeroom_bulk::{LoadError, LoadOptions, load, load_documents};
use homeroom_store::{Answer, Decision, Plan, Sql, Write};
use serde_json::{Value, json};
use support::{Folder, load_all, load_with, stored, target};

const GRADE: &str = "uri://x/GradeLevelDescriptor#1";
const CATEGORY: &str = "uri://x/EducationOrganizationCategoryDescriptor#School";
const SUBJECT: &str = "uri://x/AcademicSubjectDescriptor#Math";

fn interchange(name: &str, records: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Interchange{name} xmlns=\"http://x/5.2.0\">\n\
         {records}\n</Interchange{name}>\n"
    )
}

fn descriptor(element: &str, code: &str) -> String {
    format!(
        "<{element}><CodeValue>{code}</CodeValue><ShortDescription>{code}</ShortDescription>\
         <Namespace>uri://x/{element}</Namespace></{element}>\n"
    )
}

fn descriptors() -> String {
    let records = descriptor("GradeLevelDescriptor", "1")
        + &descriptor("EducationOrganizationCategoryDescriptor", "School")
        + &descriptor("AcademicSubjectDescriptor", "Math");
    interchange("Descriptors", &records)
}

fn school(id: u32, name: &str) -> String {
    format!(
        "<School id='s{id}'><NameOfInstitution>{name}</NameOfInstitution>\
         <EducationOrganizationCategory>{CATEGORY}</EducationOrganizationCategory>\
         <SchoolId>{id}</SchoolId><GradeLevel>{GRADE}</GradeLevel></School>\n"
    )
}

fn location(school: u32, code: &str) -> String {
    format!(
        "<Location><ClassroomIdentificationCode>{code}</ClassroomIdentificationCode>\
         <SchoolReference><SchoolIdentity><SchoolId>{school}</SchoolId></SchoolIdentity>\
         </SchoolReference></Location>\n"
    )
}

fn student(id: &str) -> String {
    format!(
        "<Student><StudentUniqueId>{id}</StudentUniqueId><Name><FirstName>A</FirstName>\
         <LastSurname>B</LastSurname></Name><BirthData><BirthDate>2010-01-01</BirthDate></BirthData>\
         </Student>\n"
    )
}

fn enrolment(student: &str, school: u32) -> Value {
    json!({
        "entryDate": "2021-08-23",
        "entryGradeLevelDescriptor": GRADE,
        "schoolReference": {"schoolId": school},
        "studentReference": {"studentUniqueId": student},
    })
}

fn standard(id: &str, parent: Option<&str>) -> Value {
    let mut document = json!({
        "learningStandardId": id,
        "academicSubjects": [{"academicSubjectDescriptor": SUBJECT}],
        "contentStandard": {"title": "T"},
        "description": "D",
        "gradeLevels": [{"gradeLevelDescriptor": GRADE}],
        "namespace": "uri://x",
    });
    if let Some(parent) = parent {
        document["parentLearningStandardReference"] = json!({"learningStandardId": parent});
    }
    document
}

fn lines(documents: impl IntoIterator<Item = Value>) -> String {
    documents.into_iter().fold(String::new(), |text, document| text + &document.to_string() + "\n")
}

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
    assert_eq!((summary.documents, summary.records, summary.files), (7, 9, 4));
    let association = &stored(&target, "studentSchoolAssociations")[0];
    assert_eq!(association["schoolReference"], json!({"schoolId": 7}));
    assert_eq!(
        stored(&target, "schools")[0]["gradeLevels"],
        json!([{"gradeLevelDescriptor": GRADE}])
    );
}

#[test]
fn descriptors_in_any_case_are_stored_as_their_own_documents_spell_them() {
    let (target, folder) = (target(), Folder::new());
    let shouted = |text: String| text.replace(GRADE, &GRADE.to_uppercase());
    folder.write("a.xml", interchange("EducationOrganization", &shouted(school(7, "S"))));
    folder.write("b.xml", interchange("Student", &student("1")));
    let enrolments = shouted(lines([enrolment("1", 7)]));
    folder.write("studentSchoolAssociations.jsonl", &enrolments);
    folder.write("z.xml", descriptors());

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, rejects), (6, vec![]));
    assert_eq!(
        stored(&target, "schools")[0]["gradeLevels"],
        json!([{"gradeLevelDescriptor": GRADE}])
    );
    assert_eq!(
        stored(&target, "studentSchoolAssociations")[0]["entryGradeLevelDescriptor"],
        json!(GRADE)
    );

    // Again, and with the descriptors' own documents in another case: all is as it was.
    let own = descriptors()
        .replace(">uri://x/Grade", ">URI://X/GRADE")
        .replace("<CodeValue>Math", "<CodeValue>MATH");
    folder.write("z.xml", own);
    for dry_run in [true, false] {
        let paths = vec![folder.path().to_path_buf()];
        let options = LoadOptions { paths, dry_run, ..LoadOptions::default() };
        let (summary, rejects) = load_with(&target, options);
        assert_eq!((summary.loaded, summary.unchanged, rejects), (0, 6, vec![]), "{dry_run}");
    }
    assert_eq!(
        stored(&target, "gradeLevelDescriptors")[0]["namespace"],
        json!("uri://x/GradeLevelDescriptor")
    );
}

#[test]
fn what_an_older_version_spelled_as_it_was_sent_is_spelled_anew_by_a_load() {
    let (target, folder) = (target(), Folder::new());
    let shouted = GRADE.to_uppercase();
    folder.write("a.xml", descriptors());
    folder.write("b.xml", interchange("EducationOrganization", &school(7, "S")));
    load_all(&target, &[folder.path()]);
    // The very text that stands in the store then.
    let as_stored = school(7, "S").replace(GRADE, &shouted);
    folder.write("b.xml", interchange("EducationOrganization", &as_stored));
    let text = "UPDATE doc SET body = replace(body, ?1, ?2)";
    let mut damage = Some(Write::Sql(Sql::new(text, vec![GRADE.into(), shouted.into()])));
    let decide = move |_: Vec<Answer>| -> Decision<(), String> {
        Decision::Write(damage.take().into_iter().collect(), ())
    };
    target.store.run_blocking(Plan { ask: vec![], decide }).unwrap();

    let mut found = vec![];
    for dry_run in [true, false, false] {
        let paths = vec![folder.path().to_path_buf()];
        let (summary, rejects) =
            load_with(&target, LoadOptions { paths, dry_run, ..LoadOptions::default() });
        assert_eq!(rejects, [Value::Null; 0]);
        found.push((summary.loaded, summary.unchanged));
    }

    assert_eq!(found, [(1, 3), (1, 3), (0, 4)], "a dry run, a load, and another one");
    let levels = &stored(&target, "schools")[0]["gradeLevels"];
    assert_eq!(*levels, json!([{"gradeLevelDescriptor": GRADE}]));
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
fn of_an_identity_that_stands_twice_the_last_counts() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    let schools = school(7, "first") + &school(8, "other") + &school(7, "last");
    folder.write("b.xml", interchange("EducationOrganization", &schools));

    let (summary, _) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.repeated), (6, 1));
    assert_eq!(stored(&target, "schools")[0]["nameOfInstitution"], "last");
}

#[test]
fn what_refers_to_its_own_kind_waits_for_what_comes_later() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    // More than a batch, each the parent of the one before.
    let chain = (0..700).map(|n| standard(&n.to_string(), Some(&(n + 1).to_string())));
    folder.write("learningStandards.jsonl", lines(chain.chain([standard("700", None)])));

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected, rejects.len()), (704, 0, 0));
}

#[test]
fn a_circle_and_what_hangs_on_it_are_rejected() {
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
fn a_reject_names_what_is_missing_and_what_follows_is_put_down_to_it() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    let bad =
        school(7, "S").replace(CATEGORY, "uri://x/EducationOrganizationCategoryDescriptor#No");
    let records = bad + &school(8, "T") + &location(7, "C") + &location(9, "D");
    folder.write("b.xml", interchange("EducationOrganization", &records));

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected), (4, 3));
    let [descriptor, follower, other] = rejects.as_slice() else { panic!("{rejects:#?}") };
    assert_eq!(descriptor["type"], "urn:ed-fi:api:bad-request:data-validation-failed");
    assert_eq!(
        descriptor["missing"][0]["key"],
        "uri://x/EducationOrganizationCategoryDescriptor#No"
    );
    assert_eq!(descriptor["element"], "School");
    assert_eq!(descriptor["resource"], "ed-fi/schools");
    assert_eq!(descriptor["key"], r#"{"schoolId":7}"#);
    assert_eq!(descriptor["line"], 3);
    assert_eq!(follower["missing"][0]["rejected"]["line"], 3);
    assert_eq!(other["type"], "urn:ed-fi:api:data-conflict:unresolved-reference");
    assert_eq!(
        other["missing"],
        json!([{"resource": "School", "key": r#"{"schoolId":9}"#, "path": "$.schoolReference"}])
    );
    let [first, second] = summary.causes.as_slice() else { panic!("{:#?}", summary.causes) };
    assert_eq!((first.count, first.following), (2, 1));
    assert!(first.what.contains("EducationOrganizationCategoryDescriptor#No"), "{}", first.what);
    assert_eq!((second.count, second.following), (1, 0));
    assert_eq!(second.examples, [r#"{"schoolId":9}"#]);
}

#[test]
fn violations_are_rejects_with_the_key_as_far_as_it_is_known() {
    let (target, folder) = (target(), Folder::new());
    let no_birth_date = student("1").replace("<BirthDate>2010-01-01</BirthDate>", "");
    let no_id = student("").replace("2010-01-01", "yesterday");
    folder.write("a.xml", interchange("Student", &(no_birth_date + &no_id)));

    let (_, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!(rejects[0]["type"], "urn:ed-fi:api:bad-request:data-validation-failed");
    assert_eq!(rejects[0]["message"], "$.birthDate: birthDate is required.");
    assert_eq!(rejects[0]["key"], r#"{"studentUniqueId":"1"}"#);
    assert_eq!(rejects[1]["key"], Value::Null);
    assert!(rejects[1]["message"].as_str().unwrap().contains("$.studentUniqueId"));
}

#[test]
fn another_spelling_of_what_is_stored_is_unchanged_in_every_format() {
    let (target, folder) = (target(), Folder::new());
    let strict = json!({
        "studentUniqueId": "1", "firstName": "A", "lastSurname": "B", "birthDate": "2010-01-01",
        "multipleBirthStatus": true,
    });
    folder.write("strict/students.jsonl", strict.to_string());
    let lax = r#"{"studentUniqueId":"1","FIRSTNAME":"A","lastSurname":"B","middleName":" ",
        "birthDate":"1/1/2010 12:00:00 AM","multipleBirthStatus":"1","firstName":null,}"#;
    let lax = lax.replace('\n', "");
    folder.write("lines/students.jsonl", &lax);
    folder.write("array/students.json", format!("[{lax},]"));
    let multiple = "<BirthDate>2010/1/1</BirthDate><MultipleBirthStatus>1</MultipleBirthStatus>";
    let xml = student("1").replace("<BirthDate>2010-01-01</BirthDate>", multiple);
    folder.write("xml/a.xml", interchange("Student", &xml));
    let of = |name: &str| load_all(&target, &[&folder.path().join(name)]);
    assert_eq!(of("strict").0.loaded, 1);

    for name in ["lines", "array", "xml"] {
        let (summary, rejects) = of(name);

        let found = (summary.loaded, summary.unchanged, summary.rejected);
        assert_eq!(found, (0, 1, 0), "{name}: {rejects:?}");
    }
    assert_eq!(stored(&target, "ed-fi/students"), [strict]);
}

#[test]
fn what_says_nothing_is_missing_in_every_format() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", interchange("EducationOrganization", &school(0, "Oak Hill")));
    folder
        .write("b.xml", interchange("Student", &student("1").replace("2010-01-01", "0001-01-01")));
    let enrolment = enrolment("1", 0);
    folder.write("studentSchoolAssociations.jsonl", enrolment.to_string());

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!(summary.rejected, 3, "{rejects:?}");
    let said = |part: &str| {
        let says = |reject: &&Value| reject["message"].as_str().unwrap().contains(part);
        rejects.iter().filter(says).count()
    };
    assert_eq!(said("$.schoolId: schoolId is required."), 1, "{rejects:?}");
    assert_eq!(said("$.birthDate: birthDate is required."), 1, "{rejects:?}");
    assert_eq!(said("$.schoolReference: "), 1, "{rejects:?}");
}

#[test]
fn a_file_that_is_not_well_formed_is_one_reject_and_the_others_are_loaded() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", interchange("Student", &student("1")));
    let broken = interchange("Student", &student("2")).replace("</Student>", "</Pupil>");
    folder.write("b.xml", broken);
    folder.write("c.xml", "\u{1f}\u{8b} not text");
    folder.write("pupils.jsonl", "{}\n");

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected), (1, 3));
    assert!(rejects[0]["file"].as_str().unwrap().ends_with("b.xml"));
    assert_eq!(rejects[0]["line"], 3);
    assert!(rejects[0]["column"].as_u64().unwrap() > 1);
    assert!(rejects[0]["message"].as_str().unwrap().starts_with("Nothing of this file was loaded"));
    assert!(rejects[2]["message"].as_str().unwrap().contains("resource and document"));
}

#[test]
fn elements_that_the_model_does_not_have_are_counted_once_a_name() {
    let (target, folder) = (target(), Folder::new());
    let records = format!("<Pupil/><Pupil/>{}<Teacher/>", student("1"));
    folder.write("a.xml", interchange("Student", &records));

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected, summary.documents), (1, 3, 4));
    let counts: Vec<_> =
        rejects.iter().map(|r| (r["element"].clone(), r["count"].clone())).collect();
    assert_eq!(counts, [(json!("Pupil"), json!(2)), (json!("Teacher"), json!(1))]);
}

#[test]
fn elements_inside_records_that_the_model_does_not_have_are_warnings() {
    let (target, folder) = (target(), Folder::new());
    let records = student("1").replace("</Name>", "<NickName>x</NickName></Name>");
    folder.write("a.xml", interchange("Student", &records));

    let (summary, _) = load_all(&target, &[folder.path()]);

    assert_eq!(summary.loaded, 1);
    assert_eq!(summary.warnings.len(), 1);
    assert!(summary.warnings[0].what.contains("Student Name/NickName"));
    assert_eq!((summary.warnings[0].count, summary.warnings[0].line), (1, 3));
}

#[test]
fn json_lines_arrays_and_items_that_say_their_resource_are_read() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    let student = |id: u8| {
        json!({"studentUniqueId": id.to_string(), "firstName": "A", "lastSurname": "B",
               "birthDate": "2010-01-01"})
    };
    folder.write("students.jsonl", lines([student(1)]));
    folder.write("Student/2.ndjson", lines([student(2)]));
    folder.write("students-3.json", json!([student(3), student(4)]).to_string());
    let item = |id| json!({"resource": "ed-fi/students", "document": student(id)});
    folder.write(
        "all.jsonl",
        lines([item(5)]) + "{\"resource\": \"pupils\", \"document\": {}}\nno\n",
    );

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected), (8, 2), "{rejects:#?}");
    assert_eq!(stored(&target, "students").len(), 5);
    assert!(rejects[0]["message"].as_str().unwrap().contains("no resource pupils"));
    assert!(rejects[1]["message"].as_str().unwrap().contains("no JSON"));
    assert_eq!(rejects[1]["line"], 3);
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
fn a_dry_run_tells_the_same_and_writes_nothing() {
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
fn rejected_records_can_be_mended_and_loaded_again() {
    let (target, folder) = (target(), Folder::new());
    let input = folder.path().join("input");
    let by_ref = "<Location><ClassroomIdentificationCode>E</ClassroomIdentificationCode>\
                  <SchoolReference ref='s8'/><MaximumNumberOfSeats>many</MaximumNumberOfSeats>\
                  </Location>\n";
    folder.write("input/a.xml", descriptors());
    let records = location(7, "C") + &school(8, "T") + &location(8, "D") + by_ref;
    folder.write("input/x/b.xml", interchange("EducationOrganization", &records));
    folder.write("input/students.json", json!([{"studentUniqueId": "1"}, 5, {}]).to_string());
    folder.write("input/learningStandards.jsonl", lines([standard("1", Some("2"))]));
    let rejects = folder.path().join("rejects");
    let options = LoadOptions {
        paths: vec![input],
        rejects: Some(rejects.clone()),
        ..LoadOptions::default()
    };

    let (first, _) = load_with(&target, options);
    let copied = folder.read("rejects/x/b.xml");
    folder.write("rejects/x/b.xml", copied.replace(">many<", ">20<"));
    folder.write("more/b.xml", interchange("EducationOrganization", &school(7, "S")));
    folder.write("more/learningStandards.jsonl", lines([standard("2", None)]));
    load_all(&target, &[&folder.path().join("more")]);
    let (second, left) = load_all(&target, &[&rejects]);

    // The array is refused as a whole: 5 is no document.
    assert_eq!((first.loaded, first.rejected), (5, 4));
    assert!(!rejects.join("students.json").exists());
    assert!(copied.contains("http://x/5.2.0") && !copied.contains(">D<"), "{copied}");
    assert_eq!((second.loaded, second.unchanged, left.len()), (3, 1, 0), "{left:#?}");
    assert_eq!(stored(&target, "locations").len(), 3);
}

#[test]
fn rejected_items_of_an_array_stand_in_an_array_again() {
    let (target, folder) = (target(), Folder::new());
    let input = folder.write("students.json", "[{\"studentUniqueId\": \"1\"},\n {\"a\": [1]}]");
    let rejects = folder.path().join("rejects");
    let options =
        LoadOptions { paths: vec![input], rejects: Some(rejects), ..LoadOptions::default() };

    load_with(&target, options);

    let copied: Value = serde_json::from_str(&folder.read("rejects/students.json")).unwrap();
    assert_eq!(copied, json!([{"studentUniqueId": "1"}, {"a": [1]}]));
}

#[test]
fn rejects_are_written_beside_what_is_loaded_and_never_over_it() {
    let (target, folder) = (target(), Folder::new());
    let text = "{\"studentUniqueId\":\"1\"}\n";
    let input = folder.write("in/students.jsonl", text);
    let place = folder.path().join("in");
    let options = LoadOptions {
        paths: vec![input.clone()],
        rejects: Some(place.clone()),
        ..LoadOptions::default()
    };

    load_with(&target, options.clone());
    load_with(&target, options);

    let mut names: Vec<_> =
        std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    // A search for files does not see what begins with a dot.
    assert_eq!(names.remove(0), ".homeroom-rejects");
    assert_eq!(names, ["students-2.jsonl", "students-3.jsonl", "students.jsonl"]);
    for name in names {
        assert_eq!(std::fs::read_to_string(place.join(name)).unwrap(), text);
    }
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.join("students-2.jsonl")), 0o600);
}

#[test]
fn results_are_not_written_over_what_is_loaded() {
    let (target, folder) = (target(), Folder::new());
    let input = folder.write("students.jsonl", "{\"studentUniqueId\":\"1\"}\n");
    let other_name = folder.path().join("results.jsonl");
    std::fs::hard_link(&input, &other_name).unwrap();
    let options = |results: &Path| LoadOptions {
        paths: vec![input.clone()],
        results: Some(results.to_owned()),
        ..LoadOptions::default()
    };

    for results in [&input, &other_name] {
        let refused = load(&target, &options(results), &mut |_| {}, &|| false).unwrap_err();
        assert!(matches!(refused, LoadError::OutputIsSource(_)), "{refused}");
    }
    load(&target, &options(&folder.path().join("new")), &mut |_| {}, &|| false).unwrap();

    assert_eq!(folder.read("students.jsonl"), "{\"studentUniqueId\":\"1\"}\n");
    let about = std::fs::metadata(folder.path().join("new")).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_pipe_among_the_files_is_not_waited_for() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    let pipe = folder.path().join("students.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: there is no mkfifo here");
        return;
    }

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected), (3, 1));
    assert!(rejects[0]["message"].as_str().unwrap().contains("no regular file"), "{rejects:?}");
}

#[test]
fn a_load_that_is_told_to_stop_ends_and_what_it_has_loaded_stays() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    let students: String = (0..2_000).map(|number| student(&number.to_string())).collect();
    folder.write("b.xml", interchange("Student", &students));
    let options = LoadOptions { paths: vec![folder.path().to_owned()], ..LoadOptions::default() };
    let is_stopped = std::cell::Cell::new(false);

    let ended = load(
        &target,
        &options,
        &mut |progress| is_stopped.set(progress.documents >= 1_000),
        &|| is_stopped.get(),
    );

    assert!(matches!(ended, Err(LoadError::Stopped)));
    let loaded = stored(&target, "students").len();
    assert!(0 < loaded && loaded < 2_000, "{loaded}");
}

#[test]
fn a_lookup_finds_the_one_document_that_has_its_values() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    let schools = school(7, "North") + &school(8, "South") + &school(9, "South");
    folder.write("b.xml", interchange("EducationOrganization", &schools));
    let room = |code: &str, values: &str| {
        format!(
            "<Location><ClassroomIdentificationCode>{code}</ClassroomIdentificationCode>\
             <SchoolReference><SchoolLookup>{values}</SchoolLookup></SchoolReference></Location>"
        )
    };
    let name = |name: &str| format!("<NameOfInstitution>{name}</NameOfInstitution>");
    let category =
        format!("<EducationOrganizationCategory>{CATEGORY}</EducationOrganizationCategory>");
    let rooms = room("one", &(name("North") + &category))
        + &room("two", &name("South"))
        + &room("none", &name("West"))
        + &room("key", "<SchoolId>9</SchoolId>");
    folder.write("c.xml", interchange("EducationOrganization", &rooms));

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected), (8, 2), "{rejects:#?}");
    assert!(rejects[0]["message"].as_str().unwrap().contains("More than one School"));
    assert!(rejects[1]["message"].as_str().unwrap().contains("No School"));
    let rooms = stored(&target, "locations");
    assert_eq!(rooms[0]["schoolReference"], json!({"schoolId": 7}));
    assert_eq!(rooms[1]["schoolReference"], json!({"schoolId": 9}));
}

#[test]
fn a_lookup_of_a_base_searches_all_its_subclasses() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    folder.write("b.xml", interchange("EducationOrganization", &school(7, "North")));
    let rating = |title: &str, values: &str| {
        format!(
            "<AccountabilityRating><EducationOrganizationReference><EducationOrganizationLookup>\
             {values}</EducationOrganizationLookup></EducationOrganizationReference>\
             <RatingTitle>{title}</RatingTitle><Rating>A</Rating><SchoolYear>2021-2022</SchoolYear>\
             </AccountabilityRating>"
        )
    };
    let ratings = rating("name", "<NameOfInstitution>North</NameOfInstitution>")
        + &rating("id", "<EducationOrganizationId>7</EducationOrganizationId>");
    folder.write("c.xml", interchange("EducationOrganization", &ratings));

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected), (6, 0), "{rejects:#?}");
    for rating in stored(&target, "accountabilityRatings") {
        assert_eq!(rating["educationOrganizationReference"], json!({"educationOrganizationId": 7}));
    }
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
fn progress_is_told_to_the_end() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    let options = LoadOptions { paths: vec![folder.path().to_owned()], ..LoadOptions::default() };
    let mut all = vec![];

    load(&target, &options, &mut |progress| all.push(*progress), &|| false).unwrap();

    let last = all.last().unwrap();
    assert_eq!((last.documents, last.documents_in_all, last.files_surveyed), (3, 3, 1));
    assert!(all.is_sorted_by_key(|progress| progress.documents));
}

#[test]
fn all_of_this_holds_on_postgresql() {
    homeroom_store::trial::again_on_postgres("all_of_this_holds_on_postgresql");
}
