//! Rejected records, and the files that are written about them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use homeroom_bulk::{LoadError, LoadOptions, load};
use serde_json::{Value, json};

use crate::support::{Folder, load_all, load_with, stored, target};
use crate::{
    CATEGORY, descriptors, enrolment, interchange, lines, location, school, standard, student,
};

#[test]
fn a_reject_names_the_missing_target_and_later_rejects_name_it_as_their_cause() {
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
    let [first, follows, other] = summary.causes.as_slice() else { panic!("{summary:#?}") };
    assert_eq!((first.count, first.following), (1, 1));
    assert!(
        first.what.contains("a EducationOrganizationCategoryDescriptor that is not"),
        "{}",
        first.what
    );
    assert!(first.what.starts_with("School uses"), "{}", first.what);
    let lacking = &first.lacking[0];
    assert_eq!(lacking.key, "uri://x/EducationOrganizationCategoryDescriptor#No");
    assert_eq!((lacking.count, lacking.releases), (1, 1));
    assert_eq!((follows.count, follows.following, follows.follows), (1, 0, true));
    assert_eq!(
        follows.what,
        "Location refers to a School that was rejected itself ($.schoolReference)."
    );
    assert_eq!(follows.resource.as_deref(), Some("ed-fi/locations"));
    assert_eq!((other.count, other.following), (1, 0));
    assert_eq!(other.examples, [r#"{"schoolId":9}"#]);
}

/// Returns the names of the members of an object, in order.
fn members(object: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn results_have_the_members_that_readers_of_lists_know() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    let records = school(7, "S") + &location(9, "D") + &school(8, "T") + &school(7, "again");
    folder.write("b.xml", interchange("EducationOrganization", &records));
    let results = folder.path().join("results.jsonl");
    let paths = vec![folder.path().join("a.xml"), folder.path().join("b.xml")];
    let options = LoadOptions { paths, results: Some(results), ..LoadOptions::default() };

    load(&target, &options, &mut |_| {}, &|| false).unwrap();

    let text = folder.read("results.jsonl");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let repeated = lines.iter().find(|line| line["repeats"].is_object()).unwrap();
    let reject = lines.iter().find(|line| line["missing"].is_array()).unwrap();
    let summary = &lines.last().unwrap()["summary"];
    // Those that lightbeam 0.1.12 writes of a failure.
    for line in [repeated, reject] {
        for name in ["status_code", "message", "file", "line_numbers", "count"] {
            assert!(!line[name].is_null(), "{name} of {line}");
        }
        assert_eq!(line["line_numbers"], json!([line["line"]]));
    }
    let status = [&repeated["status_code"], &reject["status_code"]];
    assert_eq!(status, [&json!(200), &json!(409)]);
    assert_eq!(
        members(reject),
        [
            "count",
            "element",
            "file",
            "hint",
            "key",
            "line",
            "line_numbers",
            "message",
            "method",
            "missing",
            "resource",
            "status_code",
            "type",
        ]
    );
    assert_eq!(
        members(repeated),
        [
            "count",
            "element",
            "file",
            "hint",
            "line",
            "line_numbers",
            "message",
            "method",
            "repeats",
            "resource",
            "status_code",
            "type",
        ]
    );
    // And those of each resource.
    let tally = &summary["resources"]["ed-fi/locations"];
    assert_eq!(
        members(tally),
        [
            "deleted",
            "loaded",
            "records_failed",
            "records_processed",
            "records_skipped",
            "rejected",
            "unchanged",
        ]
    );
    let counts = ["processed", "skipped", "failed"].map(|name| &tally[format!("records_{name}")]);
    assert_eq!(counts, [&json!(1), &json!(0), &json!(1)]);
    let schools = &summary["resources"]["ed-fi/schools"];
    assert_eq!(schools["records_processed"], 3, "{summary}");
}

#[test]
fn a_cause_tells_all_kinds_of_documents_that_are_missing() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    folder.write("studentSchoolAssociations.jsonl", lines([enrolment("1", 7)]));

    let (summary, _) = load_all(&target, &[folder.path()]);

    let [cause] = summary.causes.as_slice() else { panic!("{summary:#?}") };
    assert_eq!(
        cause.what,
        "StudentSchoolAssociation refers to a School ($.schoolReference) and a Student \
         ($.studentReference) that do not exist."
    );
    assert!(cause.hint.contains("no School and no Student at all"), "{}", cause.hint);
}

#[test]
fn what_is_not_json_is_told_with_its_line_and_column_in_the_file() {
    let (target, folder) = (target(), Folder::new());
    folder.write("students.jsonl", "\n{\"studentUniqueId\": 1x}\n");
    folder.write("schools.json", "[{},\n  {\"schoolId\": 1,\n   \"nameOf\" 2}]\n");

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    let place = |file: &str| {
        let ends = |reject: &&Value| reject["file"].as_str().unwrap().ends_with(file);
        let found = rejects.iter().filter(ends).find(|reject| !reject["column"].is_null()).unwrap();
        let (line, column) = (found["line"].as_u64().unwrap(), found["column"].as_u64().unwrap());
        let message = found["message"].as_str().unwrap();
        assert!(message.contains(&format!("(line {line}, column {column})")), "{message}");
        (line, column)
    };
    assert_eq!(place("students.jsonl"), (2, 22));
    assert_eq!(place("schools.json"), (3, 13));
    assert_eq!(summary.causes.iter().filter(|cause| cause.line > 1).count(), 2);
}

#[test]
fn members_that_the_model_has_not_are_warnings() {
    let (target, folder) = (target(), Folder::new());
    let student = json!({"studentUniqueId": "1", "firstName": "A", "lastSurname": "B",
        "birthDate": "2010-01-01", "lastSurnam": "C", "_etag": "1",
        "identificationDocuments": [{"a": 1}, {"a": 2}]});
    folder.write("students.jsonl", lines([student]));

    let (summary, _) = load_all(&target, &[folder.path()]);

    let told: Vec<_> =
        summary.warnings.iter().map(|warning| (warning.what.as_str(), warning.count)).collect();
    assert_eq!(
        told,
        [
            (
                "Student $.identificationDocuments.a: the model has no such member; it was ignored.",
                2
            ),
            ("Student $.lastSurnam: the model has no such member; it was ignored.", 1),
        ]
    );
}

#[test]
fn a_strict_load_rejects_what_another_ignores_or_guesses() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", interchange("Student", &student("1").replace("<Name>", "<Nam/><Name>")));
    let guessed = json!({"studentUniqueId": "2", "firstName": "A", "lastSurname": "B",
        "birthDate": "3/4/2010", "lastSurnam": "C"});
    folder.write("students.jsonl", lines([guessed]));
    let options = |strict| LoadOptions {
        paths: vec![folder.path().to_owned()],
        strict,
        ..LoadOptions::default()
    };

    let (strict, rejects) = load_with(&target, options(true));
    let (usual, _) = load_with(&target, options(false));

    assert_eq!((strict.loaded, strict.rejected, strict.warnings.len()), (0, 2, 0), "{rejects:#?}");
    let messages: String =
        rejects.iter().map(|reject| reject["message"].as_str().unwrap()).collect();
    for wrong in ["Nam", "$.birthDate: The date could begin", "$.lastSurnam: The model has no"] {
        assert!(messages.contains(wrong), "{messages}");
    }
    assert_eq!((usual.loaded, usual.rejected, usual.warnings.len()), (2, 0, 2));
}

#[test]
fn invalid_records_are_rejects_with_the_known_part_of_their_key() {
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
fn rejected_records_can_be_corrected_and_loaded_again() {
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
    let array: Value = serde_json::from_str(&folder.read("rejects/students.json")).unwrap();
    std::fs::remove_file(rejects.join("students.json")).unwrap();
    let (second, left) = load_all(&target, &[&rejects]);

    assert_eq!((first.loaded, first.rejected), (5, 6));
    assert_eq!(array, json!([{"studentUniqueId": "1"}, 5, {}]));
    assert!(copied.contains("http://x/5.2.0") && !copied.contains(">D<"), "{copied}");
    assert_eq!((second.loaded, second.unchanged, left.len()), (3, 1, 0), "{left:#?}");
    assert_eq!(stored(&target, "locations").len(), 3);
}

#[test]
fn rejected_items_of_an_array_are_written_as_an_array() {
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
fn rejects_go_to_a_folder_that_nothing_else_is_in() {
    let (target, folder) = (target(), Folder::new());
    let text = "{\"studentUniqueId\":\"1\"}\n";
    let input = folder.write("in/students.jsonl", text);
    let same = folder.write("in/more/students.jsonl", text);
    let rejects = folder.path().join("rejects");
    let into = |rejects: &Path| LoadOptions {
        paths: vec![input.clone(), same.clone()],
        rejects: Some(rejects.to_owned()),
        ..LoadOptions::default()
    };
    let refused = |rejects: &Path| {
        load(&target, &into(rejects), &mut |_| {}, &|| false).unwrap_err().to_string()
    };

    load_with(&target, into(&rejects));
    let twice = refused(&rejects);
    let beside = refused(&folder.path().join("in"));

    assert!(twice.contains("students") && twice.contains("earlier ones"), "{twice}");
    assert!(beside.contains("new or empty") && !beside.contains("earlier"), "{beside}");
    let mut names: Vec<_> =
        std::fs::read_dir(&rejects).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    // A search for files skips names that begin with a dot.
    assert_eq!(names.remove(0), ".homeroom-rejects");
    assert_eq!(names, ["students-2.jsonl", "students.jsonl"]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for name in names {
        let path = rejects.join(name);
        assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), mode(&path)), (text, 0o600));
        std::fs::remove_file(path).unwrap();
    }
    // A folder that was emptied can be used again.
    load_with(&target, into(&rejects));
    assert_eq!(folder.read("rejects/students.jsonl"), text);
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
