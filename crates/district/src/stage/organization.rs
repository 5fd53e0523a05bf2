//! Agencies and schools.

use crate::batch::Batch;
use crate::courses::GRADES;
use crate::json::Object;
use crate::layout::{AGENCY, District, SERVICE_CENTER, STATE_AGENCY};
use crate::names;
use crate::programs::is_title_i;
use crate::random::{Draw, Topic};
use crate::school::{Level, School};

/// Writes the state's agency, the service center and the district.
pub(super) fn agencies(district: &District, _: usize, batch: &mut Batch) {
    let mut draw = district.draw(Topic::Place, 1);
    batch.add("StateEducationAgency", |o| {
        o.number("stateEducationAgencyId", STATE_AGENCY);
        o.text("nameOfInstitution", "Sample State Education Agency");
        category(o, "categories", "State Education Agency");
        contact_data(o, district, &mut draw);
    });
    batch.add("EducationServiceCenter", |o| {
        o.number("educationServiceCenterId", SERVICE_CENTER);
        o.text("nameOfInstitution", format_args!("{} Sample Service Center", district.place));
        category(o, "categories", "Education Service Center");
        o.object("stateEducationAgencyReference", |r| {
            r.number("stateEducationAgencyId", STATE_AGENCY);
        });
        contact_data(o, district, &mut draw);
    });
    batch.add("LocalEducationAgency", |o| {
        o.number("localEducationAgencyId", AGENCY);
        o.text("nameOfInstitution", format_args!("{} Sample School District", district.place));
        o.text("shortNameOfInstitution", district.place);
        category(o, "categories", "Local Education Agency");
        o.descriptor(
            "localEducationAgencyCategoryDescriptor",
            "LocalEducationAgencyCategoryDescriptor",
            "Regular public school district",
        );
        o.object("educationServiceCenterReference", |r| {
            r.number("educationServiceCenterId", SERVICE_CENTER);
        });
        o.object("stateEducationAgencyReference", |r| {
            r.number("stateEducationAgencyId", STATE_AGENCY);
        });
        contact_data(o, district, &mut draw);
    });
}

/// Writes a school.
pub(super) fn school(district: &District, at: usize, batch: &mut Batch) {
    let school = &district.schools[at];
    let mut draw = district.draw(Topic::Place, 2 + at);
    let (level, category_code) = match school.level {
        Level::Elementary => ("Elementary School", "Elementary School"),
        Level::Middle => ("Middle School", "Middle School"),
        Level::High => ("High School", "High School"),
        Level::Combined => ("School", "Elementary/Secondary School"),
    };
    let ordinal = match school.suffix {
        0 => String::new(),
        more => format!(" {}", more + 1),
    };
    batch.add("School", |o| {
        o.number("schoolId", school.id);
        o.text("nameOfInstitution", format_args!("{} {level}{ordinal}", school.place));
        category(o, "educationOrganizationCategories", "School");
        grade_levels(o, "gradeLevels", school);
        o.descriptors(
            "schoolCategories",
            "schoolCategoryDescriptor",
            "SchoolCategoryDescriptor",
            &[category_code],
        );
        o.descriptor("schoolTypeDescriptor", "SchoolTypeDescriptor", "Regular");
        o.descriptor("internetAccessDescriptor", "InternetAccessDescriptor", "Fiber");
        o.descriptor(
            "titleIPartASchoolDesignationDescriptor",
            "TitleIPartASchoolDesignationDescriptor",
            if is_title_i(school.level) {
                "Title I Schoolwide School"
            } else {
                "Not A Title I School"
            },
        );
        o.object("localEducationAgencyReference", |r| r.number("localEducationAgencyId", AGENCY));
        o.list("identificationCodes", [()], |code, ()| {
            code.descriptor(
                "educationOrganizationIdentificationSystemDescriptor",
                "EducationOrganizationIdentificationSystemDescriptor",
                "SEA",
            );
            code.text("identificationCode", school.id);
        });
        contact_data(o, district, &mut draw);
    });
}

/// Writes the grade levels that a school teaches.
pub(super) fn grade_levels(o: &mut Object<'_>, list: &str, school: &School) {
    let codes = &GRADES[school.level.grades()];
    o.descriptors(list, "gradeLevelDescriptor", "GradeLevelDescriptor", codes);
}

fn category(o: &mut Object<'_>, list: &str, code: &str) {
    o.descriptors(
        list,
        "educationOrganizationCategoryDescriptor",
        "EducationOrganizationCategoryDescriptor",
        &[code],
    );
}

/// Writes address, telephones and status, which every organization has.
fn contact_data(o: &mut Object<'_>, district: &District, draw: &mut Draw) {
    o.descriptor("operationalStatusDescriptor", "OperationalStatusDescriptor", "Active");
    o.list("addresses", ["Physical", "Mailing"], |address, code| {
        super::contact::address(address, district, code, names::street(draw));
    });
    o.list("institutionTelephones", ["Main", "Attendance"], |telephone, code| {
        telephone.descriptor(
            "institutionTelephoneNumberTypeDescriptor",
            "InstitutionTelephoneNumberTypeDescriptor",
            code,
        );
        telephone.text("telephoneNumber", names::telephone(draw));
    });
    o.text("webSite", "https://district.example");
}
