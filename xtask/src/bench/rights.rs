//! Measures a thousand schools: lists for callers who may see a part of them, and a change of the
//! hierarchy.

use std::path::Path;
use std::time::Instant;

use super::figures::row;
use super::files::text;
use super::options::Options;
use super::population::{Population, TOP, agency};
use super::server::homeroom;
use super::server::{Build, Client, Server};
use super::work::{RELATIONSHIPS, claim_set};
use crate::house::Done;

/// Who is measured.
const POPULATION: Population = Population { schools: 1_000, students: 100_000, events: 5 };
/// The number of an agency that has no schools at first.
const NEWCOMER: usize = 9_200_000;

/// Measures the lists and the change.
pub fn run(options: &Options, district: &Path, table: &mut String) -> Done {
    let data = options.folder.join("rights");
    homeroom(&["load", text(district), "--data-dir", text(&data)])?;
    let files = options.folder.join("thousand");
    POPULATION.write(district, &files)?;
    homeroom(&["load", text(&files), "--data-dir", text(&data)])?;
    let server = Server::start(&Build::present(), &data, &options.environment)?;
    let resources = ["student", "studentSchoolAssociation", "studentSchoolAttendanceEvent"];
    claim_set(&options.folder, &server, "Related", RELATIONSHIPS, &resources)?;
    let everybody = server.client(&["--claim-set", "FullAccess"])?;
    for (who, from, to) in [("1 of 1,000 schools", 500, 501), ("100 of 1,000 schools", 300, 400)] {
        let ids = Population::schools(from, to);
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
    let deep = everybody.last_fifth(&path)?.ok_or("there is no fifth partition")?;
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
