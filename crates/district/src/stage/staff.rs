//! Staff members, their employment, posts and sections.

use crate::batch::Batch;
use crate::courses::{Course, GRADES, HOMEROOM_GRADES};
use crate::json::Object;
use crate::layout::{AGENCY, District};
use crate::names;
use crate::people::{Staff, days, staff_id};
use crate::random::{Draw, Topic};
use crate::refer;
use crate::year::{date, plus};

/// Writes the staff members.
pub(super) fn staff(district: &District, workplace: usize, batch: &mut Batch) {
    for person in district.staff(workplace) {
        let mut draw = district.draw(Topic::Staff, person.number);
        let female = draw.chance(720);
        let first_name = names::first_name(&mut draw, female);
        let surname = names::surname(&mut draw);
        let experience = draw.between(0, 30);
        batch.add("Staff", |o| {
            o.text("staffUniqueId", staff_id(person.number));
            o.text("firstName", first_name);
            o.text("lastSurname", surname);
            let age = 23 + experience + draw.below(6);
            let born = date(district.year.ends - 1, 1, 1);
            o.text("birthDate", plus(born, -days(age * 365 + draw.below(365))));
            sex(o, female);
            o.flag("hispanicLatinoEthnicity", draw.chance(150));
            let race = draw.weighted(&[
                (750, "White"),
                (150, "Black or African American"),
                (100, "Asian"),
            ]);
            o.descriptors("races", "raceDescriptor", "RaceDescriptor", &[race]);
            let education =
                draw.weighted(&[(550, "Bachelor's"), (420, "Master's"), (30, "Doctorate")]);
            o.descriptor(
                "highestCompletedLevelOfEducationDescriptor",
                "LevelOfEducationDescriptor",
                education,
            );
            o.number("yearsOfPriorProfessionalExperience", experience);
            if person.teacher.is_some() {
                o.flag("highlyQualifiedTeacher", experience > 0);
                o.number("yearsOfPriorTeachingExperience", experience);
            }
            o.list("electronicMails", [()], |mail, ()| {
                mail.descriptor(
                    "electronicMailTypeDescriptor",
                    "ElectronicMailTypeDescriptor",
                    "Work",
                );
                let address =
                    format_args!("{first_name}.{surname}.{}@district.example", person.number);
                mail.text("electronicMailAddress", address);
            });
            o.list("telephones", [()], |telephone, ()| {
                super::contact::telephone(telephone, "Work", names::telephone(&mut draw));
            });
            o.list("identificationCodes", [()], |code, ()| {
                let system = "StaffIdentificationSystemDescriptor";
                code.descriptor("staffIdentificationSystemDescriptor", system, "District");
                code.text("identificationCode", format_args!("E{:06}", person.number));
            });
        });
    }
}

/// Writes their employment by the district.
pub(super) fn employments(district: &District, workplace: usize, batch: &mut Batch) {
    for person in district.staff(workplace) {
        batch.add("StaffEducationOrganizationEmploymentAssociation", |o| {
            refer::education_organization(o, AGENCY);
            refer::staff(o, person.number);
            let status = employment_key(o, district, &person);
            o.number("fullTimeEquivalency", 1);
            o.text("department", if person.teacher.is_some() { "Instruction" } else { "Support" });
            o.number("annualWage", 41_000 + 1_000 * status);
        });
    }
}

/// Writes the rest of an employment's key; returns the years of service.
fn employment_key(o: &mut Object<'_>, district: &District, person: &Staff<'_>) -> usize {
    let mut draw = employment(district, person);
    let years = draw.between(0, 25);
    let code = match years {
        0..2 => "Probationary",
        2..5 => "Contractual",
        _ => "Tenured or permanent",
    };
    o.descriptor("employmentStatusDescriptor", "EmploymentStatusDescriptor", code);
    let july = date(district.year.ends - 1, 7, 1);
    o.text("hireDate", plus(july, days(draw.below(28)) - days(years * 365)));
    years
}

fn employment(district: &District, person: &Staff<'_>) -> Draw {
    district.draw(Topic::Staff, 1_000_000_000 + person.number)
}

/// Writes their assignments to posts.
pub(super) fn assignments(district: &District, workplace: usize, batch: &mut Batch) {
    for person in district.staff(workplace) {
        batch.add("StaffEducationOrganizationAssignmentAssociation", |o| {
            refer::education_organization(o, person.school.map_or(AGENCY, |school| school.id));
            refer::staff(o, person.number);
            o.text("beginDate", district.year.days[0].date);
            o.descriptor(
                "staffClassificationDescriptor",
                "StaffClassificationDescriptor",
                person.classification,
            );
            o.text("positionTitle", person.title);
            o.number("orderOfAssignment", 1);
            o.object("employmentStaffEducationOrganizationEmploymentAssociationReference", |r| {
                r.number("educationOrganizationId", AGENCY);
                employment_key(r, district, &person);
                r.text("staffUniqueId", staff_id(person.number));
            });
        });
    }
}

/// Writes their associations with schools.
pub(super) fn at_schools(district: &District, workplace: usize, batch: &mut Batch) {
    for person in district.staff(workplace) {
        let Some(school) = person.school else { continue };
        batch.add("StaffSchoolAssociation", |o| {
            refer::school(o, school);
            refer::staff(o, person.number);
            refer::school_year(o, district);
            refer::calendar(o, district, school);
            let code = if person.teacher.is_some() { "Regular Education" } else { "Other" };
            o.descriptor("programAssignmentDescriptor", "ProgramAssignmentDescriptor", code);
            if let Some(teacher) = person.teacher {
                o.descriptors(
                    "gradeLevels",
                    "gradeLevelDescriptor",
                    "GradeLevelDescriptor",
                    &[GRADES[teacher.grade]],
                );
                let slots = match teacher.slot {
                    Some(slot) => slot..slot + 1,
                    None => 0..crate::courses::slots(teacher.grade),
                };
                o.list("academicSubjects", slots, |item, slot| {
                    let subject = Course::new(teacher.grade, slot, 0).subject();
                    item.descriptor(
                        "academicSubjectDescriptor",
                        "AcademicSubjectDescriptor",
                        subject,
                    );
                });
            }
        });
    }
}

/// Writes the sections of a school's teachers.
pub(super) fn of_sections(district: &District, at: usize, batch: &mut Batch) {
    let school = &district.schools[at];
    for section in school.sections() {
        batch.add("StaffSectionAssociation", |o| {
            let (first, last) = district.year.span(&district.year.terms[section.term].days);
            refer::section(o, district, &section);
            refer::staff(o, school.teacher_number(section.teacher()));
            o.text("beginDate", first);
            o.text("endDate", last);
            o.descriptor(
                "classroomPositionDescriptor",
                "ClassroomPositionDescriptor",
                "Teacher of Record",
            );
            o.flag("highlyQualifiedTeacher", HOMEROOM_GRADES.contains(&section.cohort.grade));
        });
    }
}

fn sex(o: &mut Object<'_>, female: bool) {
    o.descriptor("sexDescriptor", "SexDescriptor", super::student::sex_code(female));
}
