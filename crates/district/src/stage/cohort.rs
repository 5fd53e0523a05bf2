//! Groups of students with additional support.

use std::fmt::{self, Display};

use crate::batch::Batch;
use crate::json::Object;
use crate::layout::District;
use crate::random::Topic;
use crate::refer;
use crate::school::School;

/// A group: prefix of its identifier, code value of its type, purpose.
const COHORTS: [(&str, &str, &str); 2] = [
    ("READ", "Academic Intervention", "Reading support"),
    ("ATT", "Attendance Intervention", "Attendance support"),
];
/// Share of students who are in a group, in thousandths.
const MEMBERS: usize = 60;
/// Index of the counselor among a school's posts.
const COUNSELOR: usize = 2;

struct Identifier(usize, &'static str);

impl Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.1, self.0)
    }
}

/// Writes a school's groups.
pub(super) fn cohorts(district: &District, at: usize, batch: &mut Batch) {
    let school = &district.schools[at];
    for (mark, code, purpose) in COHORTS {
        batch.add("Cohort", |o| {
            o.text("cohortIdentifier", Identifier(school.id, mark));
            refer::education_organization(o, school.id);
            o.descriptor("cohortTypeDescriptor", "CohortTypeDescriptor", code);
            o.descriptor("cohortScopeDescriptor", "CohortScopeDescriptor", "School");
            o.text("cohortDescription", purpose);
        });
    }
}

/// Writes the staff association of each group: the counselor leads them all.
pub(super) fn of_staff(district: &District, at: usize, batch: &mut Batch) {
    let school = &district.schools[at];
    for (mark, ..) in COHORTS {
        batch.add("StaffCohortAssociation", |o| {
            o.text("beginDate", district.year.instruction[0]);
            cohort(o, school, mark);
            refer::staff(o, school.first_staff + COUNSELOR);
            o.flag("studentRecordAccess", true);
        });
    }
}

/// Writes the group that a student is in, if any.
pub(super) fn of_student(district: &District, number: usize, batch: &mut Batch) {
    let mut draw = district.draw(Topic::Program, 1_000_000_000 + number);
    if !draw.chance(MEMBERS) {
        return;
    }
    let student = district.student(number);
    let (mark, ..) = draw.pick(&COHORTS);
    batch.add("StudentCohortAssociation", |o| {
        o.text("beginDate", district.year.instruction[student.enrolled.start]);
        cohort(o, student.school, mark);
        refer::student(o, number);
    });
}

fn cohort(o: &mut Object<'_>, school: &School, mark: &'static str) {
    o.object("cohortReference", |r| {
        r.text("cohortIdentifier", Identifier(school.id, mark));
        r.number("educationOrganizationId", school.id);
    });
}
