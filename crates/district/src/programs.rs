//! The district's programs and their participants.

use crate::json::Object;
use crate::layout::AGENCY;
use crate::people::Student;
use crate::school::Level;

/// A program; each has its own kind of student association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// Gifted and talented education.
    Gifted,
    /// Special education.
    SpecialEducation,
    /// English for students who are learning it.
    EnglishLearner,
    /// Free or reduced-price meals.
    FoodService,
    /// Title I, Part A.
    TitleI,
}

impl Program {
    /// All programs.
    pub(crate) const ALL: [Self; 5] = [
        Self::Gifted,
        Self::SpecialEducation,
        Self::EnglishLearner,
        Self::FoodService,
        Self::TitleI,
    ];

    /// Returns the program's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gifted => "Gifted and Talented",
            Self::SpecialEducation => "Special Education",
            Self::EnglishLearner => "English as a Second Language",
            Self::FoodService => "School Meals",
            Self::TitleI => "Title I Part A",
        }
    }

    /// Returns the code value of its type.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Gifted => "Gifted and Talented",
            Self::SpecialEducation => "Special Education",
            Self::EnglishLearner => "English as a Second Language (ESL)",
            Self::FoodService => "Student School Food Service",
            Self::TitleI => "Title I Part A",
        }
    }

    /// Returns the code value of its sponsor.
    pub(crate) fn sponsor(self) -> &'static str {
        match self {
            Self::Gifted => "Local Education Agency",
            Self::EnglishLearner => "State Education Agency",
            Self::SpecialEducation | Self::FoodService | Self::TitleI => "Federal government",
        }
    }

    /// Whether a student takes part.
    pub(crate) fn has(self, student: &Student<'_>) -> bool {
        let low_income = student.household.low_income;
        match self {
            Self::Gifted => student.gifted,
            Self::SpecialEducation => student.disability.is_some(),
            Self::EnglishLearner => student.english_learner,
            Self::FoodService => low_income,
            Self::TitleI => low_income && is_title_i(student.school.level),
        }
    }

    /// Writes a reference to it.
    pub(crate) fn refer(self, o: &mut Object<'_>) {
        o.object("programReference", |r| {
            r.number("educationOrganizationId", AGENCY);
            r.text("programName", self.name());
            r.descriptor("programTypeDescriptor", "ProgramTypeDescriptor", self.code());
        });
    }
}

/// Whether schools of this level receive Title I funds.
pub(crate) fn is_title_i(level: Level) -> bool {
    matches!(level, Level::Elementary | Level::Combined)
}
