//! One document of each kind from a generated district, for the OpenAPI documents.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use homeroom_district::{DistrictPlan, Profile, SCHOOL_YEAR_DEFAULT, profiled};

/// Students of the district: enough that it has a document of every kind.
const STUDENTS: usize = 200;
/// Its seed.
const SEED: u64 = 1;

/// Returns the examples, one JSON object a line, by resource.
pub fn lines() -> String {
    let plan = DistrictPlan::new(STUDENTS, SEED, SCHOOL_YEAR_DEFAULT);
    let plan = plan.expect("a district may have this many students");
    let profile = Profile::named("published").expect("it is shipped");
    let mut found: BTreeMap<&str, String> = BTreeMap::new();
    for document in profiled(&plan, profile) {
        found.entry(document.resource).or_insert(document.json);
    }
    let mut lines = String::new();
    for (name, json) in &found {
        writeln!(lines, "{{\"resource\":\"{name}\",\"document\":{json}}}")
            .expect("a string takes what is written to it");
    }
    lines
}
