//! Runs the queries of the guide on a generated district and compares them with answers worked out
//! from the documents.

mod support;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use homeroom_document::Documents;
use homeroom_export::Format;
use homeroom_export::views::{Dialect, apply, views};
use homeroom_model::Resource;
use homeroom_store::{Sql, StoreUrl, Value};
use homeroom_testkit::trial;
use serde_json::Value as Json;
use support::{Folder, district, options, qualified, run};

const GUIDE: &str = include_str!("../../../docs/guides/reporting.md");

/// Returns the query under a heading of the guide.
fn query(heading: &str) -> &'static str {
    let (_, after) = GUIDE.split_once(heading).unwrap();
    let (_, block) = after.split_once("```sql\n").unwrap();
    block.split_once("```").unwrap().0
}

/// Runs a query of the guide; returns each value as text.
fn answer(data: &Documents, heading: &str) -> Vec<Vec<String>> {
    let (store, url) = (&data.store, data.store.url());
    let kind = |resource: &Resource| Some(data.catalog.kind(resource.id));
    apply(url, &views(&data.catalog.model, Dialect::of(url), &[], &kind), &[]).unwrap();
    let text = query(heading).replace("edfi_", &qualified(store, "edfi", ""));
    let rows = store.query_blocking(Sql::new(text.leak(), vec![])).unwrap();
    let text = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        other => panic!("{other:?}"),
    };
    let mut found: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(text).collect()).collect();
    if Dialect::of(url) == Dialect::Postgres {
        // Text is sorted by the database's collation.
        found.sort();
    }
    apply(url, &[], &[]).unwrap();
    found
}

/// Returns the documents of a resource, as an export has them.
fn documents(data: &Documents, endpoint: &str) -> Vec<Json> {
    let folder = Folder::unmade();
    let mut options = options(Format::Jsonl, &folder);
    options.resources = vec![endpoint.into()];
    run(data, &options).unwrap();
    let lines = folder.read(&format!("ed-fi/{endpoint}.jsonl"));
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn code(uri: &Json) -> String {
    uri.as_str().unwrap().split_once('#').unwrap().1.to_owned()
}

fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[test]
fn enrolments_are_counted_by_school_and_grade() {
    let data = district(60);
    let names: HashMap<String, String> = documents(&data, "schools")
        .iter()
        .map(|school| (text(&school["schoolId"]), text(&school["nameOfInstitution"])))
        .collect();
    let mut wanted = BTreeMap::new();
    for enrolment in documents(&data, "studentSchoolAssociations") {
        let has_come = text(&enrolment["entryDate"]).as_str() <= "2026-10-01";
        let has_gone = enrolment["exitWithdrawDate"].as_str().is_some_and(|day| day < "2026-10-01");
        if has_come && !has_gone {
            let school = names[&text(&enrolment["schoolReference"]["schoolId"])].clone();
            let grade = code(&enrolment["entryGradeLevelDescriptor"]);
            *wanted.entry((school, grade)).or_insert(0) += 1;
        }
    }

    let found = answer(&data, "### How many students are enrolled");

    let wanted: Vec<Vec<String>> = wanted
        .into_iter()
        .map(|((school, grade), count)| vec![school, grade, count.to_string()])
        .collect();
    assert_eq!(found, wanted);
    assert!(found.len() > 5, "{found:?}");
}

#[test]
fn students_who_missed_a_tenth_of_the_days_are_found() {
    let data = district(60);
    let mut days: HashMap<String, BTreeSet<String>> = HashMap::new();
    for date in documents(&data, "calendarDates") {
        let events = date["calendarEvents"].as_array().unwrap();
        if events.iter().any(|e| code(&e["calendarEventDescriptor"]) == "Instructional day") {
            let school = text(&date["calendarReference"]["schoolId"]);
            days.entry(school).or_default().insert(text(&date["date"]));
        }
    }
    let mut missed: HashMap<(String, String), usize> = HashMap::new();
    for event in documents(&data, "studentSchoolAttendanceEvents") {
        if code(&event["attendanceEventCategoryDescriptor"]).contains("Absence") {
            let student = text(&event["studentReference"]["studentUniqueId"]);
            let school = text(&event["schoolReference"]["schoolId"]);
            *missed.entry((student, school)).or_default() += 1;
        }
    }
    let mut wanted = vec![];
    for enrolment in documents(&data, "studentSchoolAssociations") {
        let student = text(&enrolment["studentReference"]["studentUniqueId"]);
        let school = text(&enrolment["schoolReference"]["schoolId"]);
        let first = text(&enrolment["entryDate"]);
        let last = enrolment["exitWithdrawDate"].as_str().unwrap_or("9999").to_owned();
        let count = days[&school].iter().filter(|day| **day >= first && **day <= last).count();
        let missed = missed.get(&(student.clone(), school.clone())).copied().unwrap_or(0);
        if missed > 0 && missed * 10 >= count {
            wanted.push(vec![student, school, missed.to_string(), count.to_string()]);
        }
    }
    wanted.sort();

    let found = answer(&data, "### Who missed a tenth");

    assert_eq!(found, wanted);
    assert!(!found.is_empty());
}

#[test]
fn students_with_few_contacts_are_found() {
    let data = district(60);
    let mut people: HashMap<String, usize> = HashMap::new();
    for contact in documents(&data, "studentContactAssociations") {
        if contact["emergencyContactStatus"] == true {
            *people.entry(text(&contact["studentReference"]["studentUniqueId"])).or_default() += 1;
        }
    }
    let mut wanted: Vec<Vec<String>> = documents(&data, "students")
        .iter()
        .map(|student| {
            let id = text(&student["studentUniqueId"]);
            let count = people.get(&id).copied().unwrap_or(0).to_string();
            vec![id, text(&student["firstName"]), text(&student["lastSurname"]), count]
        })
        .filter(|row| row[3] == "0" || row[3] == "1")
        .collect();
    wanted.sort();

    let found = answer(&data, "### Which students have fewer");

    assert_eq!(found, wanted);
    assert!(!found.is_empty());
}

/// Returns the number of steps that SQLite takes for each query of the guide; none if the store is
/// in another database.
fn steps(students: usize) -> Option<[i32; 3]> {
    let data = district(students);
    let StoreUrl::Sqlite(file) = data.store.url() else { return None };
    let kind = |resource: &Resource| Some(data.catalog.kind(resource.id));
    let made = views(&data.catalog.model, Dialect::Sqlite, &[], &kind);
    apply(data.store.url(), &made, &[]).unwrap();
    let connection = rusqlite::Connection::open(file).unwrap();
    let headings =
        ["### How many students are enrolled", "### Who missed a tenth", "### Which students have"];
    Some(headings.map(|heading| {
        let mut statement = connection.prepare(query(heading)).unwrap();
        let rows = statement.query_map([], |_| Ok(())).unwrap().count();
        assert!(rows > 0, "{heading}");
        statement.get_status(rusqlite::StatementStatus::VmStep)
    }))
}

#[test]
fn queries_grow_with_the_students_and_not_with_their_square() {
    let Some(few) = steps(60) else {
        println!("skipped: PostgreSQL plans by statistics, and does not count its steps");
        return;
    };
    let many = steps(240).unwrap();

    for (few, many) in few.into_iter().zip(many) {
        assert!(few > 1_000 && many / few < 6, "{few} steps, with four times the students {many}");
    }
}

#[test]
fn all_of_this_holds_on_postgresql() {
    trial::again_on_postgres("all_of_this_holds_on_postgresql");
}
