//! The parameters of a district: number of students, seed and school year.

/// Everything that a generated district depends on. Equal plans give equal bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DistrictPlan {
    students: usize,
    seed: u64,
    school_year: i16,
}

/// Why a plan is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// There are more students than the identifiers have room for.
    #[error("a district has at most {STUDENTS_MAX} students, and {given} were requested")]
    TooManyStudents {
        /// The requested number of students.
        given: usize,
    },
    /// The school year, or a year in which its students graduate, is not among the standard's
    /// school years.
    #[error(
        "the school year {given} is not between {SCHOOL_YEAR_MIN} and {SCHOOL_YEAR_MAX}; \
         2026 is the year that begins in 2025"
    )]
    SchoolYear {
        /// The requested school year.
        given: u16,
    },
}

/// Most students in one district.
pub const STUDENTS_MAX: usize = 10_000_000;
/// Earliest school year, by its second calendar year.
pub const SCHOOL_YEAR_MIN: u16 = 1991;
/// Latest school year: graduation plans name years up to three later.
pub const SCHOOL_YEAR_MAX: u16 = 2047;
/// Default school year, by its second calendar year.
pub const SCHOOL_YEAR_DEFAULT: u16 = 2026;

impl DistrictPlan {
    /// Makes a plan for `students` students in the school year that ends in `school_year`.
    ///
    /// # Errors
    ///
    /// Returns an error for more than [`STUDENTS_MAX`] students, and for a school year that the
    /// standard does not have.
    pub fn new(students: usize, seed: u64, school_year: u16) -> Result<Self, PlanError> {
        if students > STUDENTS_MAX {
            return Err(PlanError::TooManyStudents { given: students });
        }
        match i16::try_from(school_year) {
            Ok(year) if (SCHOOL_YEAR_MIN..=SCHOOL_YEAR_MAX).contains(&school_year) => {
                Ok(Self { students, seed, school_year: year })
            }
            _ => Err(PlanError::SchoolYear { given: school_year }),
        }
    }

    /// Returns the number of students.
    pub fn students(&self) -> usize {
        self.students
    }

    /// Returns the seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the school year by its second calendar year.
    pub fn school_year(&self) -> i16 {
        self.school_year
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_over_a_limit_is_refused_with_its_number() {
        let many = DistrictPlan::new(STUDENTS_MAX + 1, 1, 2026).unwrap_err();
        let late = DistrictPlan::new(1, 1, 2048).unwrap_err();

        assert_eq!(many, PlanError::TooManyStudents { given: STUDENTS_MAX + 1 });
        assert!(late.to_string().contains("2048"), "{late}");
        assert!(DistrictPlan::new(STUDENTS_MAX, 1, SCHOOL_YEAR_MIN).is_ok());
    }
}
