//! Writes that make a loaded store like one that has been used.

use std::path::Path;

use serde_json::{Value, json};

use crate::bench::load::Scenario;
use crate::bench::population::{FIRST_SCHOOL, Population};
use crate::bench::work::{ATTENDANCE, date, first};

/// The most students to whom events are added or whose events change.
const STUDENTS_MAX: usize = 50_000;

/// Returns a scenario of 60 % creates, 25 % updates and 15 % deletes of attendance events, each of a random student;
/// the deletes are of these paths. Without any, the scenario only creates, and expects that each event is new.
pub fn scenario(
    district: &Path,
    population: Population,
    gone: Option<&[String]>,
) -> Result<Scenario, String> {
    let mut scenario = Scenario::new("grown");
    let count = population.students.min(STUDENTS_MAX);
    let students = (0..count).map(|at| {
        let student = at * population.students / count;
        let school = FIRST_SCHOOL + student % population.schools;
        let day = date(student % population.events);
        json!({"student": format!("r{student}"), "school": school.to_string(), "day": day})
    });
    scenario.pool("students", students.collect());
    let (event, session) =
        (first(district, "studentSchoolAttendanceEvents")?, first(district, "sessions")?);
    let body = |date: &str| {
        let body: Value = json!({
            "schoolReference": {"schoolId": "%school%"},
            "studentReference": {"studentUniqueId": "${student}"},
            "sessionReference": {
                "schoolId": "%school%",
                "schoolYear": session["schoolYearTypeReference"]["schoolYear"],
                "sessionName": session["sessionName"],
            },
            "attendanceEventCategoryDescriptor": event["attendanceEventCategoryDescriptor"],
            "eventDate": date,
            "attendanceEventReason": "reason ${serial}",
        });
        // The id of a school is a number.
        body.to_string().replace("\"%school%\"", "${school}")
    };
    // Where the day is one of those that were loaded, the event is there already; and what is changed may have
    // been deleted.
    let mut write = |name: &str, date: &str, expect: &[u16], weight: f64| {
        scenario.step(json!({
            "name": name, "method": "POST", "path": ATTENDANCE.path, "body": body(date),
            "from": {"pool": "students"}, "expect": expect, "weight": weight,
        }));
    };
    let Some(gone) = gone else {
        write("create", "${serial:date}", &[201], 1.0);
        return Ok(scenario);
    };
    write("create", "${serial:date}", &[200, 201], 60.0);
    write("update", "${day}", &[200, 201], 25.0);
    if !gone.is_empty() {
        scenario.pool("gone", gone.iter().map(|path| json!({"path": path})).collect());
        scenario.step(json!({
            "name": "delete", "method": "DELETE", "path": "${path}",
            "from": {"pool": "gone", "remove": true}, "expect": 204, "weight": 15.0,
        }));
    }
    Ok(scenario)
}
