//! Programs and their participants; each program has its own kind of association.

use crate::batch::Batch;
use crate::json::Object;
use crate::layout::{AGENCY, District};
use crate::people::Student;
use crate::programs::Program;
use crate::random::Topic;
use crate::refer;

/// Writes the district's programs.
pub(super) fn programs(_: &District, _: usize, batch: &mut Batch) {
    for program in Program::ALL {
        batch.add("Program", |o| {
            refer::education_organization(o, AGENCY);
            o.text("programName", program.name());
            o.descriptor("programTypeDescriptor", "ProgramTypeDescriptor", program.code());
            o.descriptors(
                "sponsors",
                "programSponsorDescriptor",
                "ProgramSponsorDescriptor",
                &[program.sponsor()],
            );
        });
    }
}

/// Writes a student's program associations.
pub(super) fn of_student(district: &District, number: usize, batch: &mut Batch) {
    let student = district.student(number);
    for program in Program::ALL.into_iter().filter(|program| program.has(&student)) {
        batch.add(resource(program), |o| {
            o.text("beginDate", district.year.instruction[student.enrolled.start]);
            refer::education_organization(o, AGENCY);
            program.refer(o);
            refer::student(o, number);
            o.flag("servedOutsideOfRegularSession", false);
            own(o, program, district, &student);
        });
    }
}

/// Returns the resource of a program's association.
fn resource(program: Program) -> &'static str {
    match program {
        Program::Gifted => "StudentProgramAssociation",
        Program::SpecialEducation => "StudentSpecialEducationProgramAssociation",
        Program::EnglishLearner => "StudentLanguageInstructionProgramAssociation",
        Program::FoodService => "StudentSchoolFoodServiceProgramAssociation",
        Program::TitleI => "StudentTitleIPartAProgramAssociation",
    }
}

/// Writes the members that only this kind of association has.
fn own(o: &mut Object<'_>, program: Program, district: &District, student: &Student<'_>) {
    let mut draw = district.draw(Topic::Program, student.number);
    match program {
        Program::Gifted => {}
        Program::SpecialEducation => {
            let setting = draw.weighted(&[
                (800, "Inside regular class 80% or more of the day"),
                (200, "Separate class"),
            ]);
            o.flag("ideaEligibility", true);
            o.hundredths("schoolHoursPerWeek", 3250);
            o.number("specialEducationHoursPerWeek", draw.between(1, 12));
            o.descriptor(
                "specialEducationSettingDescriptor",
                "SpecialEducationSettingDescriptor",
                setting,
            );
            o.list("disabilities", student.disability, |item, code| {
                item.descriptor("disabilityDescriptor", "DisabilityDescriptor", code);
                item.number("orderOfDisability", 1);
            });
            let services = [
                "Speech-Language And Audiology Services",
                "Counseling Services",
                "Occupational And Physical Therapy",
            ];
            o.descriptors(
                "specialEducationProgramServices",
                "specialEducationProgramServiceDescriptor",
                "SpecialEducationProgramServiceDescriptor",
                &[draw.pick(&services)],
            );
        }
        Program::EnglishLearner => {
            o.flag("englishLearnerParticipation", true);
            o.number("dosage", draw.between(1, 5));
            let services = ["Content-Based ESL", "Sheltered English Instruction"];
            o.descriptors(
                "languageInstructionProgramServices",
                "languageInstructionProgramServiceDescriptor",
                "LanguageInstructionProgramServiceDescriptor",
                &[draw.pick(&services)],
            );
        }
        Program::FoodService => {
            o.flag("directCertification", draw.chance(400));
            let free: &[&str] = &["Free Breakfast", "Free Lunch"];
            o.descriptors(
                "schoolFoodServiceProgramServices",
                "schoolFoodServiceProgramServiceDescriptor",
                "SchoolFoodServiceProgramServiceDescriptor",
                if draw.chance(800) { free } else { &["Reduced Price Lunch"] },
            );
        }
        Program::TitleI => o.descriptor(
            "titleIPartAParticipantDescriptor",
            "TitleIPartAParticipantDescriptor",
            "Public Schoolwide Program",
        ),
    }
}
