//! The order in which a district is written: a table of stages.
//!
//! A stage writes one kind of document (or a few that belong together), unit by unit; a unit is for
//! example a student or a school. All documents that a stage refers to are written by earlier
//! stages.

mod assessment;
mod attendance;
mod calendar;
mod cohort;
mod contact;
mod course;
mod discipline;
mod enrolment;
mod gradebook;
mod grading;
mod organization;
mod program;
mod schedule;
mod staff;
mod student;

use crate::batch::Batch;
use crate::layout::District;
use crate::vocabulary::vocabularies;

/// A kind of document: the number of units, and how one is written.
pub(crate) struct Stage {
    /// Returns the number of units.
    pub(crate) units: fn(&District) -> usize,
    /// Writes the documents of one unit.
    pub(crate) write: fn(&District, usize, &mut Batch),
}

const fn stage(units: fn(&District) -> usize, write: fn(&District, usize, &mut Batch)) -> Stage {
    Stage { units, write }
}

/// All stages, each after those that it refers to.
pub(crate) const STAGES: &[Stage] = &[
    stage(once, descriptors),
    stage(once, organization::agencies),
    stage(schools, organization::school),
    stage(once, program::programs),
    stage(schools, calendar::calendar),
    stage(schools, calendar::calendar_dates),
    stage(schools, calendar::grading_periods),
    stage(schools, calendar::sessions),
    stage(schools, schedule::class_periods),
    stage(schools, schedule::bell_schedules),
    stage(schools, schedule::locations),
    stage(once, course::courses),
    stage(schools, course::offerings),
    stage(schools, course::sections),
    stage(once, assessment::assessments),
    stage(once, assessment::objectives),
    stage(once, enrolment::graduation_plans),
    stage(workplaces, staff::staff),
    stage(workplaces, staff::employments),
    stage(workplaces, staff::assignments),
    stage(workplaces, staff::at_schools),
    stage(schools, staff::of_sections),
    stage(students, student::student),
    stage(students, student::at_agency),
    stage(students, enrolment::at_school),
    stage(students, student::contacts),
    stage(students, student::of_contacts),
    stage(students, program::of_student),
    stage(schools, cohort::cohorts),
    stage(schools, cohort::of_staff),
    stage(students, cohort::of_student),
    stage(students, enrolment::in_sections),
    stage(students, attendance::at_school),
    stage(students, attendance::in_sections),
    stage(students, grading::grades),
    stage(students, grading::report_cards),
    stage(students, grading::academic_records),
    stage(students, grading::transcripts),
    stage(students, discipline::incidents),
    stage(students, discipline::behaviors),
    stage(students, discipline::others),
    stage(students, discipline::actions),
    stage(students, assessment::results),
    stage(schools, gradebook::entries),
    stage(students, gradebook::of_student),
];

fn once(_: &District) -> usize {
    1
}

fn schools(district: &District) -> usize {
    district.schools.len()
}

/// Returns the number of workplaces: the district's office and the schools.
fn workplaces(district: &District) -> usize {
    1 + district.schools.len()
}

fn students(district: &District) -> usize {
    district.plan.students()
}

fn descriptors(_: &District, _: usize, batch: &mut Batch) {
    for vocabulary in vocabularies() {
        let descriptor = vocabulary.descriptor;
        for (code, short) in vocabulary.values {
            batch.add(descriptor, |o| {
                o.text("codeValue", code);
                o.text("description", short);
                o.text("namespace", format_args!("uri://ed-fi.org/{descriptor}"));
                o.text("shortDescription", short);
            });
        }
    }
}
