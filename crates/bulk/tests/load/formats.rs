//! Files of every format, and equivalent spellings in each.

use homeroom_bulk::LoadOptions;
use homeroom_store::{Answer, Decision, Plan, Sql, Write};
use serde_json::{Value, json};

use crate::support::{Folder, load_all, load_with, stored, target};
use crate::{GRADE, descriptors, enrolment, interchange, lines, school, student};

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

    // A second load, with the descriptors' own documents in another case, changes nothing.
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
fn a_load_respells_descriptors_that_an_older_version_stored_as_sent() {
    let (target, folder) = (target(), Folder::new());
    let shouted = GRADE.to_uppercase();
    folder.write("a.xml", descriptors());
    folder.write("b.xml", interchange("EducationOrganization", &school(7, "S")));
    load_all(&target, &[folder.path()]);
    // Exactly the text that the older version stored.
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
fn a_document_stored_in_another_spelling_counts_as_unchanged_in_every_format() {
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
fn a_value_without_content_counts_as_missing_in_every_format() {
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
fn broken_records_are_rejected_in_place_and_all_others_are_loaded() {
    let (target, folder) = (target(), Folder::new());
    let broken = student("2").replace("</Student>", "</Pupil>");
    let students = student("1") + &broken + &student("3").replace("</Name>", "") + &student("4");
    folder.write("b.xml", interchange("Student", &students));
    folder.write("c.xml", "\u{1f}\u{8b} not text");
    let cut_off = interchange("Student", &(student("5") + &student("6")));
    folder.write("d.xml", &cut_off[..cut_off.len() - 40]);
    folder.write("pupils.jsonl", "{}\n");

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    let of = |file: &str| -> Vec<_> {
        let is_of = |reject: &&Value| reject["file"].as_str().unwrap().ends_with(file);
        let told = |reject: &Value| {
            let message = reject["message"].as_str().unwrap().to_owned();
            (reject["line"].as_u64().unwrap(), reject["element"].clone(), message)
        };
        rejects.iter().filter(is_of).map(told).collect()
    };
    let ids: Vec<_> =
        stored(&target, "students").iter().map(|s| s["studentUniqueId"].clone()).collect();
    assert_eq!(ids, ["1", "4", "5"]);
    assert_eq!((summary.loaded, summary.rejected), (3, 6), "{rejects:#?}");
    assert_eq!(of("b.xml").iter().map(|told| told.0).collect::<Vec<_>>(), [4, 5]);
    assert!(of("b.xml").iter().all(|told| told.1 == "Student"));
    assert!(of("c.xml")[0].2.starts_with("Nothing of this file was loaded"));
    assert!(of("d.xml")[0].2.starts_with("Among the records, the file ends"), "{:?}", of("d.xml"));
    assert_eq!(of("d.xml")[1].1, "Student");
    assert!(of("pupils.jsonl")[0].2.contains("resource and document"));
    // Columns count bytes, in the file.
    let columns: Vec<_> = rejects.iter().map(|reject| reject["column"].as_u64()).collect();
    assert!(columns.iter().flatten().all(|column| *column > 0));
}

#[test]
fn unknown_elements_are_counted_once_per_name() {
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
fn unknown_elements_inside_records_are_warnings() {
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
fn json_lines_arrays_and_items_with_a_resource_name_are_read() {
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
    assert!(rejects[1]["message"].as_str().unwrap().contains("not JSON"));
    assert_eq!(rejects[1]["line"], 3);
}

#[test]
fn a_pipe_among_the_files_is_rejected_without_waiting() {
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
    assert!(rejects[0]["message"].as_str().unwrap().contains("not a regular file"), "{rejects:?}");
}
