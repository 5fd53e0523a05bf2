//! Marks, report cards, academic records and transcripts.

use super::course::CREDITS;
use crate::batch::Batch;
use crate::courses::{CREDIT_GRADES, GRADES, PERIODS, slots};
use crate::json::Object;
use crate::layout::{AGENCY, District};
use crate::marks::{Attendance, PASS, grade_point_average, letter};
use crate::people::{Student, student_id};
use crate::refer;
use crate::school::Section;

/// Writes a student's marks in each grading period.
pub(super) fn grades(district: &District, number: usize, batch: &mut Batch) {
    let student = district.student(number);
    for section in student.sections(district) {
        for (at, period) in district.year.periods_of(section.term) {
            if !student.is_marked_in(&period.days) {
                continue;
            }
            let mark = district.mark(&student, at, section.slot);
            batch.add("Grade", |o| {
                o.descriptor("gradeTypeDescriptor", "GradeTypeDescriptor", GRADE_TYPE);
                refer::grading_period(o, district, student.school, at);
                o.object("studentSectionAssociationReference", |r| {
                    refer::student_section_key(r, district, &student, &section);
                });
                o.text("letterGradeEarned", letter(mark));
                o.number("numericGradeEarned", mark);
            });
        }
    }
}

const GRADE_TYPE: &str = "Grading Period";

/// Writes a report card at the end of each term.
pub(super) fn report_cards(district: &District, number: usize, batch: &mut Batch) {
    let student = district.student(number);
    let attendance = district.attendance(&student);
    for term in 0..district.year.terms.len() {
        let Some((at, period)) = district.year.periods_of(term).last() else { continue };
        if !student.is_marked_in(&period.days) {
            continue;
        }
        let days = student.days_in(&period.days);
        let count = |is: fn(Attendance) -> bool| {
            attendance.iter().filter(|(day, event)| days.contains(day) && is(*event)).count()
        };
        let absent = count(Attendance::is_absence);
        batch.add("ReportCard", |o| {
            refer::education_organization(o, student.school.id);
            refer::grading_period(o, district, student.school, at);
            refer::student(o, number);
            o.list("grades", 0..slots(student.cohort.grade), |item, slot| {
                let section = student.section(term, slot);
                item.object("gradeReference", |r| grade_key(r, district, &student, &section, at));
            });
            let marks =
                (0..slots(student.cohort.grade)).map(|slot| district.mark(&student, at, slot));
            average(o, grade_point_average(marks), false);
            o.number("numberOfDaysAbsent", absent);
            o.number("numberOfDaysInAttendance", days.len() - absent);
            o.number("numberOfDaysTardy", count(|event| event == Attendance::Tardy));
        });
    }
}

fn grade_key(
    r: &mut Object<'_>,
    district: &District,
    student: &Student<'_>,
    section: &Section<'_>,
    period: usize,
) {
    let code = district.year.periods[period].code;
    r.descriptor("gradeTypeDescriptor", "GradeTypeDescriptor", GRADE_TYPE);
    r.descriptor("gradingPeriodDescriptor", "GradingPeriodDescriptor", code);
    r.text("gradingPeriodName", code);
    r.number("gradingPeriodSchoolYear", district.year.ends);
    refer::student_section_key(r, district, student, section);
}

fn average(o: &mut Object<'_>, value: usize, cumulative: bool) {
    o.list("gradePointAverages", [()], |item, ()| {
        let kind = "GradePointAverageTypeDescriptor";
        item.descriptor("gradePointAverageTypeDescriptor", kind, "Unweighted");
        item.hundredths("gradePointAverageValue", value);
        item.flag("isCumulative", cumulative);
        item.number("maxGradePointAverageValue", 4);
    });
}

/// Returns the terms for which a student has a record: completed terms in grades that earn credits.
fn recorded_terms(district: &District, student: &Student<'_>) -> Vec<usize> {
    if !CREDIT_GRADES.contains(&student.cohort.grade) {
        return vec![];
    }
    let finished = |term: &usize| {
        district.year.periods_of(*term).last().is_some_and(|(_, p)| student.is_marked_in(&p.days))
    };
    (0..district.year.terms.len()).filter(finished).collect()
}

/// Writes academic records of the terms in grades that earn credits.
pub(super) fn academic_records(district: &District, number: usize, batch: &mut Batch) {
    let student = district.student(number);
    for term in recorded_terms(district, &student) {
        let marks: Vec<usize> =
            (0..PERIODS).map(|slot| district.term_mark(&student, term, slot)).collect();
        let earned = CREDITS * marks.iter().filter(|mark| **mark >= PASS).count();
        let attempted = CREDITS * PERIODS;
        let terms_before = 2 * (student.cohort.grade - CREDIT_GRADES.start) + term;
        batch.add("StudentAcademicRecord", |o| {
            refer::education_organization(o, student.school.id);
            refer::school_year(o, district);
            refer::student(o, number);
            o.descriptor("termDescriptor", "TermDescriptor", district.year.terms[term].code);
            o.hundredths("sessionAttemptedCredits", attempted);
            o.hundredths("sessionEarnedCredits", earned);
            o.hundredths("cumulativeAttemptedCredits", attempted * (terms_before + 1));
            o.hundredths("cumulativeEarnedCredits", attempted * terms_before + earned);
            average(o, grade_point_average(marks.iter().copied()), true);
        });
    }
}

/// Writes the courses of those terms.
pub(super) fn transcripts(district: &District, number: usize, batch: &mut Batch) {
    let student = district.student(number);
    for term in recorded_terms(district, &student) {
        for slot in 0..PERIODS {
            let section = student.section(term, slot);
            let mark = district.term_mark(&student, term, slot);
            let passed = mark >= PASS;
            batch.add("CourseTranscript", |o| {
                let result = if passed { "Pass" } else { "Fail" };
                let kind = "CourseAttemptResultDescriptor";
                o.descriptor("courseAttemptResultDescriptor", kind, result);
                refer::course(o, section.course());
                o.object("studentAcademicRecordReference", |r| {
                    r.number("educationOrganizationId", student.school.id);
                    r.number("schoolYear", district.year.ends);
                    r.text("studentUniqueId", student_id(number));
                    r.descriptor(
                        "termDescriptor",
                        "TermDescriptor",
                        district.year.terms[term].code,
                    );
                });
                o.text("courseTitle", section.course().title());
                o.hundredths("attemptedCredits", CREDITS);
                o.hundredths("earnedCredits", if passed { CREDITS } else { 0 });
                o.text("finalLetterGradeEarned", letter(mark));
                o.number("finalNumericGradeEarned", mark);
                let level = GRADES[student.cohort.grade];
                o.descriptor("whenTakenGradeLevelDescriptor", "GradeLevelDescriptor", level);
                let kind = "CreditCategoryDescriptor";
                o.descriptors("creditCategories", "creditCategoryDescriptor", kind, &["General"]);
                o.text("assigningOrganizationIdentificationCode", AGENCY);
            });
        }
    }
}
