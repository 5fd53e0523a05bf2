//! Graduation plans and enrolments.

use crate::batch::Batch;
use crate::courses::{CREDIT_GRADES, GRADES};
use crate::json::Object;
use crate::layout::{AGENCY, District};
use crate::people::{Student, school_years};
use crate::random::Topic;
use crate::refer;
use crate::school::Section;

/// Each plan's type, total credits, and share of students in thousandths.
const PLANS: [(&str, usize, usize); 3] =
    [("Standard", 22, 300), ("Recommended", 24, 550), ("Distinguished", 26, 150)];

/// Credits by subject, which every plan requires.
const SUBJECT_CREDITS: [(&str, usize); 4] =
    [("English Language Arts", 4), ("Mathematics", 4), ("Science", 4), ("Social Studies", 4)];

/// Writes the plans for the next four graduation years.
pub(super) fn graduation_plans(district: &District, _: usize, batch: &mut Batch) {
    for year in district.year.ends..district.year.ends + 4 {
        for (code, credits, _) in PLANS {
            batch.add("GraduationPlan", |o| {
                refer::education_organization(o, AGENCY);
                o.descriptor("graduationPlanTypeDescriptor", "GraduationPlanTypeDescriptor", code);
                o.object("graduationSchoolYearTypeReference", |r| r.number("schoolYear", year));
                o.number("totalRequiredCredits", credits);
                o.list("creditsBySubjects", SUBJECT_CREDITS, |item, (subject, credits)| {
                    item.descriptor(
                        "academicSubjectDescriptor",
                        "AcademicSubjectDescriptor",
                        subject,
                    );
                    item.number("credits", credits);
                });
            });
        }
    }
}

/// Writes a student's enrolment in a school.
pub(super) fn at_school(district: &District, number: usize, batch: &mut Batch) {
    let student = district.student(number);
    let year = &district.year;
    let grade = student.cohort.grade;
    let mut draw = district.draw(Topic::Enrolment, 1_000_000_000 + number);
    batch.add("StudentSchoolAssociation", |o| {
        refer::school(o, student.school);
        refer::student(o, number);
        o.text("entryDate", year.instruction[student.enrolled.start]);
        refer::school_year(o, district);
        refer::calendar(o, district, student.school);
        let level = GRADES[grade];
        o.descriptor("entryGradeLevelDescriptor", "GradeLevelDescriptor", level);
        let entry = match (student.enrolled.start, grade) {
            (1.., _) => "Transfer",
            (0, 0) => "New to education system",
            (0, _) => "Next year school",
        };
        o.descriptor("entryTypeDescriptor", "EntryTypeDescriptor", entry);
        o.descriptor("enrollmentTypeDescriptor", "EnrollmentTypeDescriptor", "Current");
        if student.enrolled.end < year.instruction.len() {
            o.text("exitWithdrawDate", year.instruction[student.enrolled.end - 1]);
            let exit = if draw.chance(800) { "Transferred" } else { "Withdrawn" };
            o.descriptor("exitWithdrawTypeDescriptor", "ExitWithdrawTypeDescriptor", exit);
        }
        o.flag("primarySchool", true);
        o.flag("repeatGradeIndicator", draw.chance(15));
        let residency = if draw.chance(950) {
            "Resident of admin unit and school area"
        } else {
            "Resident of admin unit, but other school area"
        };
        o.descriptor("residencyStatusDescriptor", "ResidencyStatusDescriptor", residency);
        if CREDIT_GRADES.contains(&grade) {
            let class_of = year.ends + school_years(GRADES.len() - 1 - grade);
            o.object("classOfSchoolYearTypeReference", |r| r.number("schoolYear", class_of));
            o.object("graduationPlanReference", |r| {
                r.number("educationOrganizationId", AGENCY);
                let code = draw.weighted(&PLANS.map(|(code, _, share)| (share, code)));
                r.descriptor("graduationPlanTypeDescriptor", "GraduationPlanTypeDescriptor", code);
                r.number("graduationSchoolYear", class_of);
            });
        }
    });
}

/// Writes a student's section associations.
pub(super) fn in_sections(district: &District, number: usize, batch: &mut Batch) {
    let student = district.student(number);
    for section in student.sections(district) {
        batch.add("StudentSectionAssociation", |o| section_days(o, district, &student, &section));
    }
}

fn section_days(
    o: &mut Object<'_>,
    district: &District,
    student: &Student<'_>,
    section: &Section<'_>,
) {
    let (first, last) =
        district.year.span(&student.days_in(&district.year.terms[section.term].days));
    refer::section(o, district, section);
    refer::student(o, student.number);
    o.text("beginDate", first);
    o.text("endDate", last);
    o.flag("homeroomIndicator", section.class_period().at == 0);
}
