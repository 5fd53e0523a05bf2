//! Measures a thousand schools: lists for callers who may see a part of them, and a change of the
//! hierarchy.

use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use super::figures::row;
use super::files::text;
use super::options::Options;
use super::server::homeroom;
use super::server::{Build, Client, Server};
use super::work::{RELATIONSHIPS, claim_set, first};
use crate::house::Done;

const SCHOOLS: usize = 1_000;
const STUDENTS: usize = 100_000;
/// The attendance events of each student.
const EVENTS: usize = 5;
/// The number of the topmost agency; the agencies below it and then the schools follow.
const TOP: usize = 9_000_000;
const AGENCIES: usize = 10;
const FIRST_SCHOOL: usize = 9_100_000;
/// The number of an agency that has no schools at first.
const NEWCOMER: usize = 9_200_000;

/// Measures the lists and the change.
pub fn run(options: &Options, district: &Path, table: &mut String) -> Done {
    let data = options.folder.join("rights");
    homeroom(&["load", text(district), "--data-dir", text(&data)])?;
    let files = options.folder.join("thousand");
    write_all(district, &files)?;
    homeroom(&["load", text(&files), "--data-dir", text(&data)])?;
    let server = Server::start(&Build::present(), &data, &options.environment)?;
    let resources = ["student", "studentSchoolAssociation", "studentSchoolAttendanceEvent"];
    claim_set(&options.folder, &server, "Related", RELATIONSHIPS, &resources)?;
    let everybody = server.client(&["--claim-set", "FullAccess"])?;
    for (who, from, to) in [("1 of 1,000 schools", 500, 501), ("100 of 1,000 schools", 300, 400)] {
        let ids: Vec<String> = (from..to).map(|at| (FIRST_SCHOOL + at).to_string()).collect();
        let ids = ids.join(",");
        let arguments = ["--claim-set", "Related", "--education-organizations", &ids];
        let caller = server.client(&arguments)?;
        for endpoint in ["students", "studentSchoolAssociations", "studentSchoolAttendanceEvents"] {
            lists(options, &everybody, &caller, (who, endpoint), table)?;
        }
    }
    hierarchy(options, &server, &everybody, district, table)
}

fn lists(
    options: &Options,
    everybody: &Client,
    caller: &Client,
    (who, endpoint): (&str, &str),
    table: &mut String,
) -> Done {
    let path = format!("/data/v3/ed-fi/{endpoint}");
    let partitions: Value =
        serde_json::from_str(&everybody.get(&format!("{path}/partitions?number=5"))?)
            .map_err(|e| e.to_string())?;
    let deep = partitions["pageTokens"][4].as_str().ok_or("there is no fifth partition")?;
    for (where_from, path) in [
        ("start", format!("{path}?limit=500")),
        ("80 % depth by cursor", format!("{path}?pageToken={deep}&pageSize=500")),
    ] {
        let found = caller.ids(&path)?.len();
        let mut times = vec![];
        for _ in 0..options.rounds * 10 {
            let begun = Instant::now();
            caller.get(&path)?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        let what = format!("list of 500 {endpoint} ({found} found) for {who}, {where_from}, ms");
        row(table, &what, &times, 2);
    }
    Ok(())
}

/// Moves the topmost agency below one without schools, and times that with the first list after it.
fn hierarchy(
    options: &Options,
    server: &Server,
    everybody: &Client,
    district: &Path,
    table: &mut String,
) -> Done {
    let id = NEWCOMER.to_string();
    let caller =
        server.client(&["--claim-set", "Related", "--education-organizations", id.as_str()])?;
    let agencies = "/data/v3/ed-fi/localEducationAgencies";
    everybody.post(agencies, &agency(district, NEWCOMER, None)?.to_string())?;
    let mut times = vec![];
    for _ in 0..options.rounds {
        everybody.post(agencies, &agency(district, TOP, None)?.to_string())?;
        let students = "/data/v3/ed-fi/students?limit=500";
        if !caller.ids(students)?.is_empty() {
            return Err("a caller without students sees some".into());
        }
        let moved = agency(district, TOP, Some(NEWCOMER))?.to_string();
        let begun = Instant::now();
        everybody.post(agencies, &moved)?;
        let seen = caller.ids(students)?.len();
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        if seen != 500 {
            return Err(format!("{seen} of 500 students are seen after the change"));
        }
    }
    let what = "a change above 100,000 students and the first list that shows it, ms";
    row(table, what, &times, 1);
    Ok(())
}

fn agency(district: &Path, id: usize, parent: Option<usize>) -> Result<Value, String> {
    let mut agency = first(district, "localEducationAgencies")?;
    for member in ["stateEducationAgencyReference", "educationServiceCenterReference"] {
        agency.as_object_mut().ok_or("an agency is no object")?.remove(member);
    }
    agency["localEducationAgencyId"] = id.into();
    agency["nameOfInstitution"] = format!("Agency {id}").into();
    if let Some(parent) = parent {
        agency["parentLocalEducationAgencyReference"] = json!({"localEducationAgencyId": parent});
    }
    Ok(agency)
}

/// Writes agencies, schools, sessions, students, enrolments and attendance as JSON lines.
fn write_all(district: &Path, files: &Path) -> Done {
    std::fs::create_dir_all(files).map_err(|e| e.to_string())?;
    let lines = |endpoint: &str, documents: &mut dyn Iterator<Item = Value>| -> Done {
        let file = files.join(format!("{endpoint}.jsonl"));
        let mut out = BufWriter::new(std::fs::File::create(file).map_err(|e| e.to_string())?);
        for document in documents {
            writeln!(out, "{document}").map_err(|e| e.to_string())?;
        }
        out.flush().map_err(|e| e.to_string())
    };
    let mut agencies = vec![agency(district, TOP, None)?];
    for at in 1..=AGENCIES {
        agencies.push(agency(district, TOP + at, Some(TOP))?);
    }
    lines("localEducationAgencies", &mut agencies.into_iter())?;
    let template = |endpoint: &str| first(district, endpoint);
    let (school, session) = (template("schools")?, template("sessions")?);
    lines(
        "schools",
        &mut (0..SCHOOLS).map(|at| {
            let mut school = school.clone();
            school["schoolId"] = (FIRST_SCHOOL + at).into();
            school["nameOfInstitution"] = format!("School {at}").into();
            let agency = TOP + 1 + at / (SCHOOLS / AGENCIES);
            school["localEducationAgencyReference"] = json!({"localEducationAgencyId": agency});
            school
        }),
    )?;
    let of_school = |mut document: Value, at: usize| {
        document["schoolReference"] = json!({"schoolId": FIRST_SCHOOL + at});
        document
    };
    let mut plain = session.clone();
    for member in ["academicWeeks", "gradingPeriods"] {
        plain.as_object_mut().ok_or("a session is no object")?.remove(member);
    }
    lines("sessions", &mut (0..SCHOOLS).map(|at| of_school(plain.clone(), at)))?;
    let student = template("students")?;
    lines(
        "students",
        &mut (0..STUDENTS).map(|at| {
            let mut student = student.clone();
            student["studentUniqueId"] = format!("r{at}").into();
            student
        }),
    )?;
    let enrolment = template("studentSchoolAssociations")?;
    let (grade, entry) = (&enrolment["entryGradeLevelDescriptor"], &enrolment["entryDate"]);
    lines(
        "studentSchoolAssociations",
        &mut (0..STUDENTS).map(|at| {
            json!({
                "schoolReference": {"schoolId": FIRST_SCHOOL + at % SCHOOLS},
                "studentReference": {"studentUniqueId": format!("r{at}")},
                "entryDate": entry,
                "entryGradeLevelDescriptor": grade,
            })
        }),
    )?;
    let event = template("studentSchoolAttendanceEvents")?;
    let category = &event["attendanceEventCategoryDescriptor"];
    lines(
        "studentSchoolAttendanceEvents",
        &mut (0..STUDENTS * EVENTS).map(|at| {
            let (student, day) = (at % STUDENTS, at / STUDENTS);
            let school = FIRST_SCHOOL + student % SCHOOLS;
            json!({
                "schoolReference": {"schoolId": school},
                "studentReference": {"studentUniqueId": format!("r{student}")},
                "sessionReference": {
                    "schoolId": school,
                    "schoolYear": session["schoolYearTypeReference"]["schoolYear"],
                    "sessionName": session["sessionName"],
                },
                "attendanceEventCategoryDescriptor": category,
                "eventDate": format!("2026-01-{:02}", day + 1),
            })
        }),
    )
}
