//! Agencies, schools, students, their enrolments and their attendance, as many as are asked for.

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use super::work::{date, first};
use crate::house::Done;

/// The number of the topmost agency; the agencies below it and then the schools follow.
pub const TOP: usize = 9_000_000;
/// The agencies below the topmost one.
const AGENCIES: usize = 10;
/// The number of the first school.
pub const FIRST_SCHOOL: usize = 9_100_000;

/// How many there are. Students belong to the schools in turn, so those of one school lie all over the store.
#[derive(Clone, Copy)]
pub struct Population {
    pub schools: usize,
    pub students: usize,
    /// The attendance events of each student.
    pub events: usize,
}

impl Population {
    /// Returns the number of its documents.
    pub fn documents(&self) -> usize {
        1 + AGENCIES + 2 * self.schools + self.students * (2 + self.events)
    }

    /// Returns the numbers of some of its schools, as a key's `--education-organizations`.
    pub fn schools(from: usize, upto: usize) -> String {
        let ids: Vec<String> = (from..upto).map(|at| (FIRST_SCHOOL + at).to_string()).collect();
        ids.join(",")
    }

    /// Writes the documents as JSON lines, like those of a generated district.
    pub fn write(&self, district: &Path, files: &Path) -> Done {
        std::fs::create_dir_all(files).map_err(|e| e.to_string())?;
        let mut agencies = vec![agency(district, TOP, None)?];
        for at in 1..=AGENCIES {
            agencies.push(agency(district, TOP + at, Some(TOP))?);
        }
        let values = |endpoint, of: Vec<Value>| {
            lines(files, endpoint, of.len(), |at, out| _ = write!(out, "{}", of[at]))
        };
        values("localEducationAgencies", agencies)?;
        let session = first(district, "sessions")?;
        values("schools", self.made_schools(first(district, "schools")?))?;
        values("sessions", self.made_sessions(session.clone())?)?;
        let student = first(district, "students")?;
        let (before, after) = around(student, "studentUniqueId")?;
        lines(files, "students", self.students, |at, out| {
            _ = write!(out, "{before}\"r{at}\"{after}");
        })?;
        let enrolment = first(district, "studentSchoolAssociations")?;
        let (grade, entry) = (&enrolment["entryGradeLevelDescriptor"], &enrolment["entryDate"]);
        lines(files, "studentSchoolAssociations", self.students, |at, out| {
            let school = FIRST_SCHOOL + at % self.schools;
            _ = write!(
                out,
                "{{\"schoolReference\":{{\"schoolId\":{school}}},\
                 \"studentReference\":{{\"studentUniqueId\":\"r{at}\"}},\
                 \"entryDate\":{entry},\"entryGradeLevelDescriptor\":{grade}}}"
            );
        })?;
        let event = first(district, "studentSchoolAttendanceEvents")?;
        let category = &event["attendanceEventCategoryDescriptor"];
        let (year, name) =
            (&session["schoolYearTypeReference"]["schoolYear"], &session["sessionName"]);
        lines(files, "studentSchoolAttendanceEvents", self.students * self.events, |at, out| {
            let (student, day) = (at % self.students, date(at / self.students));
            let school = FIRST_SCHOOL + student % self.schools;
            _ = write!(
                out,
                "{{\"schoolReference\":{{\"schoolId\":{school}}},\
                 \"studentReference\":{{\"studentUniqueId\":\"r{student}\"}},\
                 \"sessionReference\":{{\"schoolId\":{school},\"schoolYear\":{year},\"sessionName\":{name}}},\
                 \"attendanceEventCategoryDescriptor\":{category},\"eventDate\":\"{day}\"}}"
            );
        })
    }

    fn made_schools(&self, template: Value) -> Vec<Value> {
        let made = (0..self.schools).map(|at| {
            let mut school = template.clone();
            school["schoolId"] = (FIRST_SCHOOL + at).into();
            school["nameOfInstitution"] = format!("School {at}").into();
            let agency = TOP + 1 + at * AGENCIES / self.schools;
            school["localEducationAgencyReference"] = json!({"localEducationAgencyId": agency});
            school
        });
        made.collect()
    }

    /// Returns a session of each school.
    fn made_sessions(&self, mut template: Value) -> Result<Vec<Value>, String> {
        for member in ["academicWeeks", "gradingPeriods"] {
            template.as_object_mut().ok_or("a session is no object")?.remove(member);
        }
        let made = (0..self.schools).map(|at| {
            let mut session = template.clone();
            session["schoolReference"] = json!({"schoolId": FIRST_SCHOOL + at});
            session
        });
        Ok(made.collect())
    }
}

/// Returns an agency with this number, below a parent if there is one.
pub fn agency(district: &Path, id: usize, parent: Option<usize>) -> Result<Value, String> {
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

/// Writes lines to the file of a resource, one after the other.
fn lines(
    files: &Path,
    endpoint: &str,
    count: usize,
    mut write: impl FnMut(usize, &mut String),
) -> Done {
    let file = files.join(format!("{endpoint}.jsonl"));
    let mut out = BufWriter::new(std::fs::File::create(file).map_err(|e| e.to_string())?);
    let mut line = String::new();
    for at in 0..count {
        line.clear();
        write(at, &mut line);
        line.push('\n');
        out.write_all(line.as_bytes()).map_err(|e| e.to_string())?;
    }
    out.flush().map_err(|e| e.to_string())
}

/// Returns a document's text before and after a member's value.
fn around(mut document: Value, member: &str) -> Result<(String, String), String> {
    const HERE: &str = "%here%";
    document[member] = HERE.into();
    let text = document.to_string();
    let (before, after) = text.split_once(&format!("\"{HERE}\"")).ok_or("it has no such member")?;
    Ok((before.to_owned(), after.to_owned()))
}
