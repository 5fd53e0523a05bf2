//! Courses, course offerings and sections.

use super::schedule::room;
use crate::batch::Batch;
use crate::courses::{CREDIT_GRADES, Course, GRADES};
use crate::json::Object;
use crate::layout::{AGENCY, District};
use crate::refer;

/// Credits of one course for one term, in hundredths.
pub(super) const CREDITS: usize = 50;

/// Writes the district's courses.
pub(super) fn courses(_: &District, _: usize, batch: &mut Batch) {
    for course in (0..GRADES.len()).flat_map(Course::of_grade) {
        batch.add("Course", |o| {
            o.text("courseCode", course.code());
            refer::education_organization(o, AGENCY);
            o.text("courseTitle", course.title());
            o.number("numberOfParts", 1);
            o.descriptors(
                "academicSubjects",
                "academicSubjectDescriptor",
                "AcademicSubjectDescriptor",
                &[course.subject()],
            );
            o.descriptor("courseDefinedByDescriptor", "CourseDefinedByDescriptor", "LEA");
            o.list("identificationCodes", [()], |code, ()| {
                code.descriptor(
                    "courseIdentificationSystemDescriptor",
                    "CourseIdentificationSystemDescriptor",
                    "LEA course code",
                );
                code.text("identificationCode", course.code());
            });
            o.descriptors(
                "levelCharacteristics",
                "courseLevelCharacteristicDescriptor",
                "CourseLevelCharacteristicDescriptor",
                &[if course.is_core() { "Core Subject" } else { "General" }],
            );
            grade(o, course.grade);
            if CREDIT_GRADES.contains(&course.grade) {
                o.flag("highSchoolCourseRequirement", course.is_core());
                o.hundredths("maximumAvailableCredits", 2 * CREDITS);
                o.hundredths("minimumAvailableCredits", CREDITS);
                let applicable = "CourseGPAApplicabilityDescriptor";
                o.descriptor("courseGPAApplicabilityDescriptor", applicable, "Applicable");
            }
        });
    }
}

/// Writes a school's course offerings.
pub(super) fn offerings(district: &District, at: usize, batch: &mut Batch) {
    let school = &district.schools[at];
    for term in 0..district.year.terms.len() {
        for course in school.level.grades().flat_map(Course::of_grade) {
            batch.add("CourseOffering", |o| {
                o.text("localCourseCode", course.code());
                o.text("localCourseTitle", course.title());
                refer::course(o, course);
                refer::school(o, school);
                refer::session(o, district, school, term);
                grade(o, course.grade);
            });
        }
    }
}

/// Writes a school's sections.
pub(super) fn sections(district: &District, at: usize, batch: &mut Batch) {
    let school = &district.schools[at];
    for section in school.sections() {
        let course = section.course();
        batch.add("Section", |o| {
            refer::section_identifier(o, "sectionIdentifier", district, &section);
            refer::course_offering(o, district, &section);
            o.text("sectionName", format_args!("{} {}", course.title(), section.class + 1));
            o.list("classPeriods", [section.class_period()], |item, period| {
                refer::class_period(item, school, period);
            });
            o.object("locationReference", |r| {
                room(r, section.teacher());
                r.number("schoolId", school.id);
            });
            o.object("locationSchoolReference", |r| r.number("schoolId", school.id));
            o.descriptor(
                "educationalEnvironmentDescriptor",
                "EducationalEnvironmentDescriptor",
                "Classroom",
            );
            o.descriptor(
                "mediumOfInstructionDescriptor",
                "MediumOfInstructionDescriptor",
                "Face-to-face instruction",
            );
            o.descriptor("instructionLanguageDescriptor", "LanguageDescriptor", "eng");
            o.descriptor(
                "populationServedDescriptor",
                "PopulationServedDescriptor",
                "Regular Students",
            );
            o.descriptor("sectionTypeDescriptor", "SectionTypeDescriptor", "Attendance and Credit");
            o.flag("officialAttendancePeriod", section.class_period().at == 0);
            o.number("sequenceOfCourse", 1);
            grade(o, course.grade);
            if CREDIT_GRADES.contains(&course.grade) {
                o.hundredths("availableCredits", CREDITS);
                let kind = "CreditTypeDescriptor";
                o.descriptor("availableCreditTypeDescriptor", kind, "Semester hour credit");
            }
        });
    }
}

fn grade(o: &mut Object<'_>, grade: usize) {
    o.descriptors(
        "offeredGradeLevels",
        "gradeLevelDescriptor",
        "GradeLevelDescriptor",
        &[GRADES[grade]],
    );
}
