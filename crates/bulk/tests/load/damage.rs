//! Damage of each kind is reported in its place, and everything that is whole is loaded.

use homeroom_bulk::LoadOptions;
use serde_json::Value;

use crate::support::{Folder, load_all, load_with, stored, target};
use crate::{CATEGORY, GRADE, descriptor, descriptors, interchange, school, student};

/// Number of students, of which one in a hundred is damaged in one way.
const STUDENTS: usize = 500;

fn is_damaged(number: usize) -> bool {
    number % 100 == 37
}

/// Returns an interchange of students; `damage` changes some.
fn students(damage: impl Fn(&str) -> Vec<u8>) -> Vec<u8> {
    let mut out = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<InterchangeStudent xmlns=\"http://x/5.2.0\">\n".to_vec();
    for number in 0..STUDENTS {
        let record = student(&number.to_string());
        out.extend(if is_damaged(number) { damage(&record) } else { record.into_bytes() });
    }
    out.extend(b"</InterchangeStudent>\n");
    out
}

fn replaced(from: &'static str, to: &'static str) -> impl Fn(&str) -> Vec<u8> {
    move |record| record.replace(from, to).into_bytes()
}

/// Loads students that are damaged in one way. Checks that the damaged are rejected in place and the
/// others loaded.
fn assert_in_place(what: &str, file: Vec<u8>, line_breaks: usize) -> Vec<Value> {
    let (target, folder) = (target(), Folder::new());
    folder.write("Student.xml", file);

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    let damaged: Vec<usize> = (0..STUDENTS).filter(|number| is_damaged(*number)).collect();
    assert_eq!(summary.loaded, (STUDENTS - damaged.len()) as u64, "{what}: {rejects:?}");
    let of_records = rejects.iter().filter(|reject| reject["element"] == "Student");
    let lines: Vec<u64> = of_records.map(|reject| reject["line"].as_u64().unwrap()).collect();
    let expected: Vec<u64> = damaged
        .iter()
        .enumerate()
        .map(|(before, number)| (number + 3 + before * line_breaks) as u64)
        .collect();
    assert_eq!(lines, expected, "{what}: {rejects:?}");
    assert_eq!(stored(&target, "students").len(), STUDENTS - damaged.len(), "{what}");
    rejects
}

#[test]
fn each_damaged_record_is_rejected_in_its_place_and_all_others_are_loaded() {
    let long = "x".repeat(80);
    for (what, damage) in [
        ("a broken element", replaced("</FirstName>", "</FirstNam>")),
        ("an element that does not end", replaced("</Name>", "")),
        ("a value of a wrong type", replaced("2010-01-01", "soon")),
        ("an entity", replaced("<FirstName>A", "<FirstName>&bomb;")),
        ("a value that is missing", replaced("<FirstName>A</FirstName>", "")),
        ("a quote that is not closed", replaced("<Student>", "<Student id=\"a>")),
        ("a quote closed by another", replaced("<Student>", "<Student id='a\">")),
        ("a quote within", replaced("<FirstName>", "<FirstName x=\"a>")),
        ("an end tag without its end", replaced("</Student>", "</Student")),
        ("an inner tag without its end", replaced("<FirstName>", "<FirstName")),
        ("a comment without its end", replaced("<Name>", "<!-- <Name>")),
        ("a section without its end", replaced("<FirstName>A", "<FirstName><![CDATA[A")),
        ("an instruction without its end", replaced("<FirstName>A", "<FirstName><?A")),
    ] {
        assert_in_place(what, students(damage), 0);
    }
    let too_long = |record: &str| record.replace("<FirstName>A", &format!("<FirstName>{long}"));
    assert_in_place("a value that is too long", students(|r| too_long(r).into_bytes()), 0);
    let latin = |record: &str| {
        let text = record.replace("<FirstName>A", "<FirstName>\u{1}");
        text.bytes().map(|byte| if byte == 1 { 0xe9 } else { byte }).collect()
    };
    assert_in_place("bytes of another encoding", students(latin), 0);
    let unknown = replaced(
        "<BirthData>",
        "<Sex>uri://x/SexDescriptor#Neither</Sex><BirthData><BirthSex>uri://x/SexDescriptor#No</BirthSex>",
    );
    let rejects = assert_in_place("an unknown descriptor", students(unknown), 0);
    assert!(rejects.iter().all(|reject| reject["method"] == "descriptors"), "{rejects:?}");
}

/// An enrolment of student 1 in school 7, each on a day of its own.
fn enrolment_element(number: usize) -> String {
    let day =
        format!("20{:02}-{:02}-{:02}", 10 + number / 300, 1 + number / 25 % 12, 1 + number % 25);
    format!(
        "<StudentSchoolAssociation><StudentReference><StudentIdentity><StudentUniqueId>1</StudentUniqueId>\
         </StudentIdentity></StudentReference><SchoolReference><SchoolIdentity><SchoolId>7</SchoolId>\
         </SchoolIdentity></SchoolReference><EntryDate>{day}</EntryDate><EntryGradeLevel>{GRADE}\
         </EntryGradeLevel></StudentSchoolAssociation>\n"
    )
}

#[test]
fn of_a_file_with_damage_of_every_kind_the_damaged_records_alone_are_rejected() {
    // What is replaced, by what, and a part of the problem's type.
    let kinds = [
        ("</EntryDate>", "</EntryDat>", ""),
        ("<SchoolId>7<", "<SchoolId>8<", "unresolved-reference"),
        (GRADE, "uri://x/GradeLevelDescriptor#Nineth", "data-validation-failed"),
        ("<SchoolId>7<", "<SchoolId>S<", "data-validation-failed"),
        ("<EntryDate>", "<EntryDate x=\"a>", ""),
        ("<StudentUniqueId>1<", "<StudentUniqueId>2<", "unresolved-reference"),
    ];
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    folder.write("b.xml", interchange("EducationOrganization", &school(7, "S")));
    folder.write("c.xml", interchange("Student", &student("1")));
    let records = (0..100 * kinds.len()).map(|number| {
        let (from, to, _) = kinds[number / 100];
        let record = enrolment_element(number);
        assert!(record.contains(from), "{record} lacks {from}");
        if is_damaged(number) { record.replacen(from, to, 1) } else { record }
    });
    let records = records.collect::<String>();
    folder.write("d.xml", interchange("StudentEnrollment", records.trim_end()));

    let (summary, mut rejects) = load_all(&target, &[folder.path()]);

    assert_eq!(summary.rejected, 6, "{rejects:#?}");
    assert_eq!(stored(&target, "studentSchoolAssociations").len(), 594);
    rejects.sort_by_key(|reject| reject["line"].as_u64());
    for (at, (reject, (_, to, kind))) in rejects.iter().zip(kinds).enumerate() {
        assert_eq!(reject["line"], at * 100 + 37 + 3, "{to}: {reject}");
        assert!(reject["type"].as_str().unwrap().contains(kind), "{to}: {reject}");
    }
    let keys = [1, 5].map(|at| &rejects[at]["missing"][0]["key"]);
    assert_eq!(keys, ["{\"schoolId\":8}", "{\"studentUniqueId\":\"2\"}"]);
}

#[test]
fn what_stands_between_records_is_reported_in_its_place_and_hides_no_record() {
    for (between, part) in [
        ("<!-- hello ", "a comment does not end"),
        ("<![CDATA[ ", "does not end"),
        ("<?hello ", "does not end"),
        ("hello", "there is text"),
        ("<![CDATA[hello]]>", "there is text"),
        ("</Pupil>", "no start tag"),
    ] {
        let (target, folder) = (target(), Folder::new());
        folder.write("Student.xml", students(|record| [between, record].concat().into_bytes()));

        let (summary, rejects) = load_all(&target, &[folder.path()]);

        assert_eq!(summary.loaded, STUDENTS as u64, "{between}: {rejects:?}");
        let damaged: Vec<usize> = (0..STUDENTS).filter(|number| is_damaged(*number)).collect();
        let lines: Vec<u64> = rejects.iter().map(|r| r["line"].as_u64().unwrap()).collect();
        let expected: Vec<u64> = damaged.iter().map(|number| *number as u64 + 3).collect();
        assert_eq!(lines, expected, "{between}: {rejects:?}");
        let told = |reject: &Value| reject["message"].as_str().unwrap().contains(part);
        assert!(rejects.iter().all(told), "{between}: {rejects:?}");
        let hint = rejects[0]["hint"].as_str().unwrap();
        assert!(!hint.contains("were loaded"), "{hint}");
    }
}

#[test]
fn an_entity_bomb_expands_nowhere_and_spoils_only_the_records_that_use_it() {
    let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">\
                <!ENTITY bomb \"&b;&b;&b;&b;&b;&b;&b;&b;\">]>";
    let file = students(replaced("<FirstName>A", "<FirstName>&bomb;"));
    let text = String::from_utf8(file).unwrap().replacen("?>\n", &format!("?>{bomb}\n"), 1);

    let rejects = assert_in_place("a bomb", text.into_bytes(), 0);

    let about_file = rejects.iter().find(|reject| reject["element"].is_null()).unwrap();
    assert!(about_file["message"].as_str().unwrap().contains("DOCTYPE"), "{about_file}");
}

#[test]
fn an_element_of_a_hundred_megabytes_is_rejected_alone() {
    let huge = |record: &str| {
        let filling = "x".repeat(100 << 20);
        record.replace("<FirstName>A", &format!("<FirstName>{filling}")).into_bytes()
    };
    let (target, folder) = (target(), Folder::new());
    let mut file = b"<InterchangeStudent>\n".to_vec();
    file.extend(student("1").into_bytes());
    file.extend(huge(&student("2")));
    file.extend(student("3").into_bytes());
    file.extend(b"</InterchangeStudent>");
    folder.write("Student.xml", file);

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected), (2, 1));
    assert_eq!(rejects[0]["line"], 3);
    assert_eq!(rejects[0]["status_code"], 413);
}

#[test]
fn a_file_that_was_cut_off_is_loaded_up_to_its_last_whole_record() {
    let (target, folder) = (target(), Folder::new());
    let whole = students(|record| record.as_bytes().to_vec());
    let cut = whole.len() - 600;
    folder.write("Student.xml", &whole[..cut]);
    let text = String::from_utf8_lossy(&whole[..cut]).into_owned();

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!(summary.loaded, text.matches("</Student>").count() as u64);
    assert!(
        rejects.iter().any(|reject| reject["message"].as_str().unwrap().contains("cut off")),
        "{rejects:?}"
    );
}

#[test]
fn each_record_that_repeats_another_is_told_with_both_places() {
    let (target, folder) = (target(), Folder::new());
    let records = student("1") + &student("2") + &student("1") + &student("1");
    folder.write("in/a.xml", interchange("Student", &records));
    let options = LoadOptions {
        paths: vec![folder.path().join("in")],
        results: Some(folder.path().join("r.jsonl")),
        ..LoadOptions::default()
    };

    let summary = homeroom_bulk::load(&target, &options, &mut |_| {}, &|| false).unwrap();

    assert_eq!((summary.repeated, summary.rejected, summary.documents), (2, 0, 4));
    assert_eq!((summary.loaded, summary.unchanged, summary.rows), (2, 2, 4));
    assert_eq!(summary.repeated_unchanged, 2);
    let text = folder.read("r.jsonl");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let places: Vec<_> = lines[..2].iter().map(|l| (&l["line"], &l["repeats"]["line"])).collect();
    assert_eq!(places, [(&5.into(), &3.into()), (&6.into(), &5.into())], "{text}");
    assert_eq!((summary.causes[0].count, summary.causes[0].releases), (2, 0));
}

#[test]
fn a_damaged_document_of_an_array_is_rejected_in_its_place_and_all_others_are_loaded() {
    let document = |n: usize| {
        format!(
            "{{\"studentUniqueId\": \"{n}\", \"firstName\": \"A\", \"lastSurname\": \"B\", \
             \"birthDate\": \"2010-01-01\"}}"
        )
    };
    for (what, from, to) in [
        ("a brace", "}", ""),
        ("a quote", "\"firstName", "firstName"),
        ("another quote", "\"A\"", "\"A"),
        ("a comma", ", \"last", " \"last"),
        ("a type", "\"2010-01-01\"", "[]"),
    ] {
        let (target, folder) = (target(), Folder::new());
        let items: Vec<String> = (0..STUDENTS)
            .map(|n| {
                let whole = document(n);
                if is_damaged(n) { whole.replacen(from, to, 1) } else { whole }
            })
            .collect();
        let text = format!("[\n{}\n]\n", items.join(",\n"));
        folder.write("students.json", &text[..text.len() - 2]);

        let (summary, rejects) = load_all(&target, &[folder.path()]);

        let damaged = (0..STUDENTS).filter(|n| is_damaged(*n)).count();
        assert_eq!(summary.loaded, (STUDENTS - damaged) as u64, "{what}: {rejects:#?}");
        let cut = rejects.iter().filter(|r| r["message"].as_str().unwrap().contains("cut off"));
        assert_eq!((cut.count(), summary.rejected), (1, damaged as u64 + 1), "{rejects:#?}");
    }
}

#[test]
fn a_damaged_document_with_a_collection_is_one_reject_and_one_that_is_too_deep_is_told_in_place() {
    let document = |n: usize| {
        let grades = [1, 2, 3].map(|grade| {
            format!("{{\"gradeLevelDescriptor\": \"uri://x/GradeLevelDescriptor#{grade}\"}}")
        });
        format!(
            "{{\"schoolId\": {n}, \"nameOfInstitution\": \"B\", \"gradeLevels\": [{}], \
             \"educationOrganizationCategories\": \
             [{{\"educationOrganizationCategoryDescriptor\": \"{CATEGORY}\"}}]}}",
            grades.join(", ")
        )
    };
    let grades = ["1", "2", "3"].map(|code| descriptor("GradeLevelDescriptor", code)).concat();
    let category = descriptor("EducationOrganizationCategoryDescriptor", "School");
    let descriptors = interchange("Descriptors", &(grades + &category));
    let deep = format!("\"x\": {}{}, \"edu", "[".repeat(500), "]".repeat(500));
    for (what, from, to) in [
        ("a comma", ", \"grade", " \"grade"),
        ("a quote", "\"B\"", "\"B"),
        ("an inner brace", "}, {", ", {"),
        ("a brace too many", "}, {", "}}, {"),
        ("an inner bracket", "}], ", "}, "),
        ("depth", "\"edu", &deep),
    ] {
        let (target, folder) = (target(), Folder::new());
        let (summary, _) = load_all(&target, &[&folder.write("a.xml", &descriptors)]);
        assert_eq!(summary.loaded, 4);
        let damaged = document(1).replacen(from, to, 1);
        let all = [document(9), damaged, document(2), document(3)];
        let path = folder.write("schools.json", format!("[\n{}\n]\n", all.join(",\n")));

        let (summary, rejects) = load_all(&target, &[&path]);

        assert_eq!((summary.documents, summary.rejected), (4, 1), "{what}: {rejects:#?}");
        assert_eq!(rejects[0]["line"], 3, "{what}: {rejects:#?}");
        assert!(rejects[0]["column"].as_u64() > Some(1), "{what}: {rejects:#?}");
        let message = rejects[0]["message"].as_str().unwrap();
        assert_eq!(message.contains("nested"), what == "depth", "{message}");
        assert_eq!(summary.loaded, 3, "{what}: {rejects:#?}");
    }
}

#[test]
fn documents_over_several_lines_are_loaded() {
    let (target, folder) = (target(), Folder::new());
    let document = |id: &str| {
        let document = serde_json::json!({"studentUniqueId": id, "firstName": "A",
            "lastSurname": "B", "birthDate": "2010-01-01", "otherNames": []});
        serde_json::to_string_pretty(&document).unwrap() + "\n"
    };
    folder.write("a/students.json", document("1"));
    folder.write("b/students.jsonl", document("2") + &document("3").replace('A', "") + "{\n5\n}\n");

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!((summary.loaded, summary.rejected), (2, 2), "{rejects:#?}");
    let lines: Vec<_> = rejects.iter().map(|reject| reject["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [8, 16], "{rejects:#?}");
}

#[test]
fn a_file_in_another_encoding_is_loaded() {
    let (target, folder) = (target(), Folder::new());
    let text = |encoding: &str, id: &str| {
        interchange("Student", &student(id).replace(">A<", ">Zoë<")).replace("UTF-8", encoding)
    };
    let latin: Vec<u8> =
        text("ISO-8859-1", "1").chars().map(|c| u8::try_from(c).unwrap()).collect();
    let wide = text("UTF-16", "2");
    let wide = std::iter::once(0xfeff).chain(wide.encode_utf16());
    folder.write("a.xml", latin);
    folder.write("b.xml", wide.flat_map(u16::to_le_bytes).collect::<Vec<u8>>());

    let (summary, rejects) = load_all(&target, &[folder.path()]);

    assert_eq!(summary.loaded, 2, "{rejects:?}");
    assert!(stored(&target, "students").iter().all(|student| student["firstName"] == "Zoë"));
}

#[test]
fn a_missing_target_and_a_repeated_record_are_told_with_their_places() {
    let (target, folder) = (target(), Folder::new());
    folder.write("a.xml", descriptors());
    folder
        .write("b.xml", interchange("EducationOrganization", &(school(7, "S") + &school(7, "T"))));
    folder.write("c.xml", interchange("Student", &(student("1") + &student("1"))));
    let enrolments: String = [("1", 7), ("2", 7), ("1", 8)]
        .iter()
        .map(|(student, school)| crate::enrolment(student, *school).to_string() + "\n")
        .collect();
    let misspelled = enrolments.replace(GRADE, "uri://x/GradeLevelDescriptor#Nineth grade");
    folder.write("studentSchoolAssociations.jsonl", misspelled);
    let ninth = "{\"namespace\": \"uri://x/GradeLevelDescriptor\", \"codeValue\": \"Ninth grade\", \
                 \"shortDescription\": \"9\"}";
    folder.write("gradeLevelDescriptors.jsonl", ninth);
    let options = LoadOptions { paths: vec![folder.path().to_owned()], ..LoadOptions::default() };

    let (summary, rejects) = load_with(&target, options);

    assert_eq!((summary.rejected, summary.repeated), (3, 2), "{rejects:?}");
    let lines: Vec<_> = rejects.iter().map(|reject| reject["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [1, 2, 3]);
    let missing = &rejects[2]["missing"];
    assert_eq!(missing[0]["key"], "{\"schoolId\":8}", "{missing}");
    let nearest = "uri://x/GradeLevelDescriptor#Ninth grade";
    assert_eq!(missing[1]["nearest"], nearest, "{missing}");
    let message = rejects[0]["message"].as_str().unwrap();
    assert!(message.contains(&format!("The nearest that is: {nearest}")), "{message}");
    let (repeated, others): (Vec<_>, Vec<_>) =
        summary.causes.iter().partition(|cause| cause.r#type == "urn:homeroom:load:duplicate");
    assert_eq!(repeated.iter().map(|cause| cause.line).collect::<Vec<_>>(), [4, 4]);
    assert!(others.iter().all(|cause| cause.releases >= cause.count));
}
