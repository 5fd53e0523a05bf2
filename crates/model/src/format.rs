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
//! with a word. `descriptors` states once what all descriptors of the file share. In a reference,
//! `name=key` makes the member `name` the target's key column `key`; `as column` gives the owner's
//! flat column. `<A/B>` is the path of XML elements. A `#` at the start of a line begins a comment.
//!
//! An extension of a standard is a file beside it:
//!
//! ```text
//! standard Sample sample 1.0.0
//! extends ed-fi 5.2.0
//!
//! resource Bus buses
//!   @ busId text(1..60)
//!
//! extension Contact
//!   ! isSportsFan boolean
//!   ? favouriteBusReference -> Bus(busId as favouriteBusId)
//!   in addresses
//!     ! onBusRoute boolean
//! ```
//! A name in it is looked up first in the file itself, then in the standard; `ed-fi/School` names
//! the schema explicitly. `extension` adds properties to a resource of the standard, and `in` to an
//! object or to the items of a collection within it; in documents they stand under `_ext` and the
//! schema's name. `required` makes every document without them invalid.

mod error;
mod read;
mod write;

pub use self::error::FormatError;
pub use read::read;
pub use write::{write, write_extension, write_resource};

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

    const EXTENSION: &str = "\
standard Sample sample 1.0.0
extends ed-fi 5.2.0

resource Bus buses
  @ busId text(1..60)

extension Contact
  required
  unified _ext.sample.busReference.busId addresses._ext.sample.busReference.busId
  ! busReference -> Bus(busId)
  in addresses
    ! busReference -> Bus(busId)
    ? stops []
      @ stop int32
";

    #[test]
    fn an_extension_survives_reading_and_writing() {
        let source = read(EXTENSION).unwrap();

        assert_eq!(write(&source), EXTENSION);
        let [extension] = source.extensions.as_slice() else { panic!("{source:?}") };
        let within: Vec<&str> = extension.parts.iter().map(|p| p.within.as_str()).collect();
        assert_eq!(within, ["", "addresses"]);
    }

    #[test]
    fn an_error_names_the_line() {
        for (text, line) in [
            ("standard Ed-Fi ed-fi 5\nresource X\n", 2),
            ("standard Ed-Fi ed-fi 5\nresource X xs\n   @ a boolean\n", 3),
            ("standard Ed-Fi ed-fi 5\nresource X xs\n  @ a colour\n", 3),
            ("standard Ed-Fi ed-fi 5\nresource X xs\n  @ a decimal(39,2)\n", 3),
            ("standard Ed-Fi ed-fi 5\nresource X xs\n  @ a decimal(5,6)\n", 3),
            ("resource X xs\n", 1),
            ("standard A a 1\nextends ed-fi\n", 2),
            ("standard A a 1\nextension\n", 2),
            ("standard A a 1\nextension X\n", 2),
            ("standard A a 1\nextension X\n  base Y\n", 3),
            ("standard A a 1\nextension X\n  in\n", 3),
        ] {
            assert_eq!(read(text).unwrap_err().line, line, "{text}");
        }
    }
}
