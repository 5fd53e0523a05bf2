//! Writes references, in the form that all documents share.

use std::fmt::Display;

use crate::courses::Course;
use crate::json::Object;
use crate::layout::{AGENCY, District};
use crate::people::{Student, staff_id, student_id};
use crate::school::{School, Section};

/// Writes a reference to a school under its usual name.
pub(crate) fn school(o: &mut Object<'_>, school: &School) {
    o.object("schoolReference", |r| r.number("schoolId", school.id));
}

/// Writes a reference to an education organization.
pub(crate) fn education_organization(o: &mut Object<'_>, id: usize) {
    o.object("educationOrganizationReference", |r| r.number("educationOrganizationId", id));
}

/// Writes a reference to the school year.
pub(crate) fn school_year(o: &mut Object<'_>, district: &District) {
    o.object("schoolYearTypeReference", |r| r.number("schoolYear", district.year.ends));
}

/// Writes a reference to a student.
pub(crate) fn student(o: &mut Object<'_>, number: usize) {
    o.object("studentReference", |r| r.text("studentUniqueId", student_id(number)));
}

/// Writes a reference to a staff member.
pub(crate) fn staff(o: &mut Object<'_>, number: usize) {
    o.object("staffReference", |r| r.text("staffUniqueId", staff_id(number)));
}

/// Writes a reference to a school's calendar.
pub(crate) fn calendar(o: &mut Object<'_>, district: &District, school: &School) {
    o.object("calendarReference", |r| {
        r.text("calendarCode", CALENDAR);
        r.number("schoolId", school.id);
        r.number("schoolYear", district.year.ends);
    });
}

/// Code of every school's calendar.
pub(crate) const CALENDAR: &str = "Regular";

/// Writes a reference to a school's session.
pub(crate) fn session(o: &mut Object<'_>, district: &District, school: &School, term: usize) {
    o.object("sessionReference", |r| session_key(r, district, school, term));
}

fn session_key(r: &mut Object<'_>, district: &District, school: &School, term: usize) {
    r.number("schoolId", school.id);
    r.number("schoolYear", district.year.ends);
    r.text("sessionName", &district.year.terms[term].session);
}

/// Writes a reference to a school's grading period.
pub(crate) fn grading_period(o: &mut Object<'_>, district: &District, school: &School, at: usize) {
    o.object("gradingPeriodReference", |r| {
        let code = district.year.periods[at].code;
        r.descriptor("gradingPeriodDescriptor", "GradingPeriodDescriptor", code);
        r.text("gradingPeriodName", code);
        r.number("schoolId", school.id);
        r.number("schoolYear", district.year.ends);
    });
}

/// Writes a reference to a school's class period.
pub(crate) fn class_period(o: &mut Object<'_>, school: &School, name: impl Display) {
    o.object("classPeriodReference", |r| {
        r.text("classPeriodName", name);
        r.number("schoolId", school.id);
    });
}

/// Writes a reference to a course of the district.
pub(crate) fn course(o: &mut Object<'_>, course: Course) {
    o.object("courseReference", |r| {
        r.text("courseCode", course.code());
        r.number("educationOrganizationId", AGENCY);
    });
}

/// Writes a reference to a school's course offering in a term.
pub(crate) fn course_offering(o: &mut Object<'_>, district: &District, section: &Section<'_>) {
    o.object("courseOfferingReference", |r| {
        r.text("localCourseCode", section.course().code());
        session_key(r, district, section.school, section.term);
    });
}

/// Writes a reference to a section.
pub(crate) fn section(o: &mut Object<'_>, district: &District, section: &Section<'_>) {
    o.object("sectionReference", |r| section_key(r, district, section));
}

fn section_key(r: &mut Object<'_>, district: &District, section: &Section<'_>) {
    r.text("localCourseCode", section.course().code());
    session_key(r, district, section.school, section.term);
    section_identifier(r, "sectionIdentifier", district, section);
}

/// Writes a section's identifier, under the name that its owner uses.
pub(crate) fn section_identifier(
    o: &mut Object<'_>,
    name: &str,
    district: &District,
    section: &Section<'_>,
) {
    let letter = district.year.terms[section.term].letter;
    o.text(name, format_args!("{}-{:02}{letter}", section.course().code(), section.class + 1));
}

/// Writes the key of a student's section association, as members of a reference.
pub(crate) fn student_section_key(
    r: &mut Object<'_>,
    district: &District,
    student: &Student<'_>,
    section: &Section<'_>,
) {
    let there = student.days_in(&district.year.terms[section.term].days);
    r.text("beginDate", district.year.instruction[there.start]);
    section_key(r, district, section);
    r.text("studentUniqueId", student_id(student.number));
}
