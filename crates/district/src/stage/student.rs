//! Students and their contacts.

use crate::batch::Batch;

use crate::layout::{AGENCY, District};

use super::contact::{address, telephone};
use crate::people::student_id;
use crate::refer;

/// Writes a student.
pub(super) fn student(district: &District, number: usize, batch: &mut Batch) {
    let student = district.student(number);
    batch.add("Student", |o| {
        o.text("studentUniqueId", student_id(number));
        o.text("firstName", student.first_name);
        o.text("middleName", student.middle_name);
        o.text("lastSurname", student.household.surname);
        o.text("birthDate", student.birth_date);
        o.text("birthCity", district.place);
        o.descriptor("birthSexDescriptor", "SexDescriptor", sex_code(student.female));
    });
}

/// Writes a student's association with the district.
pub(super) fn at_agency(district: &District, number: usize, batch: &mut Batch) {
    let student = district.student(number);
    let home = &student.household;
    batch.add("StudentEducationOrganizationAssociation", |o| {
        refer::education_organization(o, AGENCY);
        refer::student(o, number);
        o.descriptor("sexDescriptor", "SexDescriptor", sex_code(student.female));
        o.flag("hispanicLatinoEthnicity", home.hispanic);
        o.descriptors("races", "raceDescriptor", "RaceDescriptor", &[home.race]);
        o.list("addresses", [()], |item, ()| address(item, district, "Home", home.street));
        o.list("telephones", [()], |item, ()| telephone(item, "Home", home.telephone));
        o.list("electronicMails", [()], |item, ()| {
            let kind = "ElectronicMailTypeDescriptor";
            item.descriptor("electronicMailTypeDescriptor", kind, "Organization");
            let id = student_id(number);
            item.text("electronicMailAddress", format_args!("{id}@students.example"));
        });
        o.list("languages", [()], |item, ()| {
            item.descriptor("languageDescriptor", "LanguageDescriptor", home.language);
            let (name, kind) = ("languageUseDescriptor", "LanguageUseDescriptor");
            item.descriptors("uses", name, kind, &["Home language"]);
        });
        let proficiency = if student.english_learner { "Limited" } else { "NotLimited" };
        o.descriptor(
            "limitedEnglishProficiencyDescriptor",
            "LimitedEnglishProficiencyDescriptor",
            proficiency,
        );
        let economy: &[&str] = if home.low_income { &["Economic Disadvantaged"] } else { &[] };
        o.list("studentCharacteristics", economy, |item, code| {
            let kind = "StudentCharacteristicDescriptor";
            item.descriptor("studentCharacteristicDescriptor", kind, code);
        });
        o.list("disabilities", student.disability, |item, code| {
            item.descriptor("disabilityDescriptor", "DisabilityDescriptor", code);
            item.number("orderOfDisability", 1);
        });
        o.list("studentIdentificationCodes", ["District", "State"], |item, code| {
            item.text("assigningOrganizationIdentificationCode", code);
            item.text("identificationCode", student_id(number));
            let kind = "StudentIdentificationSystemDescriptor";
            item.descriptor("studentIdentificationSystemDescriptor", kind, code);
        });
        o.flag("internetAccessInResidence", true);
        o.text("loginId", student_id(number));
    });
}

/// Writes the adults of a household, together with its first child.
pub(super) fn contacts(district: &District, number: usize, batch: &mut Batch) {
    let Some(home) = district.household_headed(number) else { return };
    for adult in &home.adults {
        batch.add("Contact", |o| {
            o.text("contactUniqueId", adult.id);
            o.text("firstName", adult.first_name);
            o.text("lastSurname", home.surname);
            o.descriptor("sexDescriptor", "SexDescriptor", sex_code(adult.female));
            o.descriptor(
                "highestCompletedLevelOfEducationDescriptor",
                "LevelOfEducationDescriptor",
                adult.education,
            );
            o.list("addresses", [()], |item, ()| address(item, district, "Home", home.street));
            o.list("telephones", [()], |item, ()| telephone(item, "Mobile", adult.telephone));
            o.list("electronicMails", [()], |item, ()| {
                let kind = "ElectronicMailTypeDescriptor";
                item.descriptor("electronicMailTypeDescriptor", kind, "Home/Personal");
                item.text("electronicMailAddress", format_args!("{}@families.example", adult.id));
            });
        });
    }
}

/// Writes a student's associations with adults.
pub(super) fn of_contacts(district: &District, number: usize, batch: &mut Batch) {
    let student = district.student(number);
    for (priority, adult) in (1..).zip(&student.household.adults) {
        batch.add("StudentContactAssociation", |o| {
            o.object("contactReference", |r| r.text("contactUniqueId", adult.id));
            refer::student(o, number);
            o.number("contactPriority", priority);
            o.flag("emergencyContactStatus", true);
            o.flag("legalGuardian", true);
            o.flag("livesWith", true);
            o.flag("primaryContactStatus", priority == 1);
            o.descriptor("relationDescriptor", "RelationDescriptor", adult.relation);
        });
    }
}

/// Returns the code value of a sex.
pub(super) fn sex_code(female: bool) -> &'static str {
    if female { "Female" } else { "Male" }
}
