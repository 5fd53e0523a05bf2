//! The model file: line by line, indented by two spaces a level.
//!
//! ```text
//! standard Ed-Fi ed-fi 5.2.0
//! school-years 1991..2051
//!
//! descriptors
//!   interchanges Descriptors
//!   subject Namespace namespace
//!   @ codeValue text(1..50)
//!   @ namespace text(1..255)
//!
//! abstract EducationOrganization
//!   @ educationOrganizationId int64
//!
//! descriptor AbsenceEventCategoryDescriptor absenceEventCategoryDescriptors
//!
//! resource Section sections
//!   interchanges MasterSchedule
//!   subject EducationOrganization schoolId
//!   unified locationReference.schoolId locationSchoolReference.schoolId
//!   key-updatable
//!   @ courseOfferingReference -> CourseOffering(localCourseCode, schoolId, schoolYear, sessionName)
//!   @ sectionIdentifier text(1..255)
//!   ? availableCredits decimal(9,3; 0..)
//!   ? characteristics [] <Characteristic>
//!     @ sectionCharacteristicDescriptor descriptor SectionCharacteristicDescriptor
//!   ? locationSchoolReference -> School(schoolId as locationSchoolId)
//! ```
//! A property line begins with `@` (key), `!` (required) or `?` (optional); all other lines begin
//! with a word. `descriptors` says once what every descriptor of the file has. `name=key` in a reference says that the member `name` is the target's key column
//! `key`; `as column` names the owner's flat column. `<A/B>` is the path of XML elements. A `#`
//! begins a comment at the start of a line.

mod read;
mod write;

pub use read::read;
pub use write::{write, write_resource};

/// A model file that cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct FormatError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "\
standard Ed-Fi ed-fi 5.2.0
school-years 2024..2026

descriptors
  interchanges Descriptors
  @ codeValue text(1..50)

abstract EducationOrganization
  @ educationOrganizationId int64

descriptor SectionCharacteristicDescriptor sectionCharacteristicDescriptors

resource Section sections
  key-updatable
  domains Enrollment SectionDomain
  interchanges MasterSchedule
  subject EducationOrganization schoolId
  unified locationReference.schoolId locationSchoolReference.schoolId
  @ courseOfferingReference -> CourseOffering(localCourseCode, schoolId)
  @ sectionIdentifier text(1..255)
  ? availableCredits decimal(9,3; 0..)
  ? characteristics [] <Characteristic>
    @ sectionCharacteristicDescriptor descriptor SectionCharacteristicDescriptor <.>
  ? locationSchoolReference -> School(schoolId=schoolId as locationSchoolId)
  ? sequenceOfCourse int32(1..8)
";

    #[test]
    fn a_file_survives_reading_and_writing() {
        let source = read(SAMPLE).unwrap();

        assert_eq!(write(&source), SAMPLE);
        assert_eq!(source.school_years, [2024, 2025, 2026]);
        assert!(source.resources[2].updatable_key);
    }

    #[test]
    fn an_error_names_the_line() {
        for (text, line) in [
            ("standard Ed-Fi ed-fi 5\nresource X\n", 2),
            ("standard Ed-Fi ed-fi 5\nresource X xs\n   @ a boolean\n", 3),
            ("standard Ed-Fi ed-fi 5\nresource X xs\n  @ a colour\n", 3),
            ("resource X xs\n", 1),
        ] {
            assert_eq!(read(text).unwrap_err().line, line, "{text}");
        }
    }
}
