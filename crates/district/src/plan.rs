//! What decides a district: how many students, which seed, which school year.

/// Everything that a generated district depends on. Equal plans give equal bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DistrictPlan {
    students: usize,
    seed: u64,
    school_year: i16,
}

/// A plan that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// More students than the identifiers have room for.
    #[error("{given} students are too many; a district has at most {STUDENTS_MAX}")]
    TooManyStudents {
        /// What was asked for.
        given: usize,
    },
    /// A year that the standard's school years do not hold, or whose graduates' years they do not.
    #[error(
        "the school year {given} is not between {SCHOOL_YEAR_MIN} and {SCHOOL_YEAR_MAX}; \
         2026 is the year that begins in 2025"
    )]
    SchoolYear {
        /// What was asked for.
        given: u16,
    },
}

/// Most students of one district.
pub const STUDENTS_MAX: usize = 10_000_000;
/// Earliest school year, by its second calendar year.
pub const SCHOOL_YEAR_MIN: u16 = 1991;
/// Latest school year: the graduation plans name years up to three later.
pub const SCHOOL_YEAR_MAX: u16 = 2047;
/// School year when none is given, by its second calendar year.
pub const SCHOOL_YEAR_DEFAULT: u16 = 2026;

impl DistrictPlan {
    /// A district of `students` students in the school year that ends in `school_year`.
    ///
    /// # Errors
    ///
    /// More than [`STUDENTS_MAX`] students, or a school year that the standard does not hold.
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

    /// How many students.
    pub fn students(&self) -> usize {
        self.students
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The school year by its second calendar year.
    pub fn school_year(&self) -> i16 {
        self.school_year
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_beyond_the_limits_is_refused_with_its_number() {
        let many = DistrictPlan::new(STUDENTS_MAX + 1, 1, 2026).unwrap_err();
        let late = DistrictPlan::new(1, 1, 2048).unwrap_err();

        assert_eq!(many, PlanError::TooManyStudents { given: STUDENTS_MAX + 1 });
        assert!(late.to_string().contains("2048"), "{late}");
        assert!(DistrictPlan::new(STUDENTS_MAX, 1, SCHOOL_YEAR_MIN).is_ok());
    }
}
