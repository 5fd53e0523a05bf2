//! Rejected records, and the files that are written about them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use homeroom_bulk::{LoadError, LoadOptions, load};
use serde_json::{Value, json};

use crate::support::{Folder, load_all, load_with, stored, target};
use crate::{CATEGORY, descriptors, interchange, lines, location, school, standard, student};

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
    let [first, second] = summary.causes.as_slice() else { panic!("{:#?}", summary.causes) };
    assert_eq!((first.count, first.following), (2, 1));
    assert!(first.what.contains("EducationOrganizationCategoryDescriptor#No"), "{}", first.what);
    assert_eq!((second.count, second.following), (1, 0));
    assert_eq!(second.examples, [r#"{"schoolId":9}"#]);
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
    let (second, left) = load_all(&target, &[&rejects]);

    // The array is refused as a whole, because 5 is not a document.
    assert_eq!((first.loaded, first.rejected), (5, 4));
    assert!(!rejects.join("students.json").exists());
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
    // A search for files skips names that begin with a dot.
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
