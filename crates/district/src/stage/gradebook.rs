//! Homework: one entry per term in the first subject, in grades with a teacher for each subject.

use std::fmt::{self, Display};

use crate::batch::Batch;
use crate::courses::HOMEROOM_GRADES;
use crate::layout::District;
use crate::random::Topic;
use crate::refer;
use crate::school::Section;

const NAMESPACE: &str = "uri://homeroom.example/Gradebook";
const POINTS_MAX: usize = 20;
/// Day of the term on which the homework is due.
const DUE: usize = 12;

struct Identifier<'a>(&'a District, &'a Section<'a>);

impl Display for Identifier<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(district, section) = self;
        let letter = district.year.terms[section.term].letter;
        let course = section.course().code();
        write!(f, "{}-{course}-{:02}{letter}-1", section.school.id, section.class + 1)
    }
}

fn has_entry(section: &Section<'_>) -> bool {
    section.slot == 0 && !HOMEROOM_GRADES.contains(&section.cohort.grade)
}

/// Writes a school's gradebook entries.
pub(super) fn entries(district: &District, at: usize, batch: &mut Batch) {
    for section in district.schools[at].sections().filter(has_entry) {
        let first = district.year.terms[section.term].days.start;
        let Some((period, _)) = district.year.periods_of(section.term).next() else { continue };
        batch.add("GradebookEntry", |o| {
            o.text("gradebookEntryIdentifier", Identifier(district, &section));
            o.text("namespace", NAMESPACE);
            o.text("title", "First homework of the term");
            refer::section_identifier(o, "sourceSectionIdentifier", district, &section);
            refer::section(o, district, &section);
            refer::grading_period(o, district, section.school, period);
            o.text("dateAssigned", district.year.instruction[first + DUE - 5]);
            o.text("dueDate", district.year.instruction[first + DUE]);
            o.number("maxPoints", POINTS_MAX);
            let kind = "GradebookEntryTypeDescriptor";
            o.descriptor("gradebookEntryTypeDescriptor", kind, "Homework");
        });
    }
}

/// Writes a student's results.
pub(super) fn of_student(district: &District, number: usize, batch: &mut Batch) {
    let student = district.student(number);
    for section in student.sections(district).filter(has_entry) {
        let due = district.year.terms[section.term].days.start + DUE;
        if !student.enrolled.contains(&due) {
            continue;
        }
        let mut draw = district.draw(Topic::Gradebook, number * 2 + section.term);
        batch.add("StudentGradebookEntry", |o| {
            o.object("gradebookEntryReference", |r| {
                r.text("gradebookEntryIdentifier", Identifier(district, &section));
                r.text("namespace", NAMESPACE);
            });
            refer::student(o, number);
            let handed_in = draw.chance(940);
            let status = if handed_in { "Graded" } else { "Not Submitted" };
            let kind = "SubmissionStatusDescriptor";
            o.descriptor("submissionStatusDescriptor", kind, status);
            if handed_in {
                let points = POINTS_MAX / 2 + student.ability * POINTS_MAX / 300 + draw.below(4);
                o.text("dateFulfilled", district.year.instruction[due - draw.below(2)]);
                o.number("pointsEarned", points.min(POINTS_MAX));
            }
        });
    }
}
