//! The curriculum: which grade takes which courses.

use std::fmt;
use std::ops::Range;

/// Grade levels from kindergarten up, as code values of their descriptor.
pub(crate) const GRADES: [&str; 13] = [
    "Kindergarten",
    "First grade",
    "Second grade",
    "Third grade",
    "Fourth grade",
    "Fifth grade",
    "Sixth grade",
    "Seventh grade",
    "Eighth grade",
    "Ninth grade",
    "Tenth grade",
    "Eleventh grade",
    "Twelfth grade",
];

/// Grades whose classes keep one teacher.
pub(crate) const HOMEROOM_GRADES: Range<usize> = 0..6;
/// Grades in which credits for a diploma are earned.
pub(crate) const CREDIT_GRADES: Range<usize> = 9..13;
/// Periods of a day in grades with a teacher for each subject.
pub(crate) const PERIODS: usize = 6;
/// Blocks of a day in grades with one teacher.
pub(crate) const BLOCKS: usize = 4;
/// The slot of an elective course.
const ELECTIVE: usize = 5;

/// A row of the curriculum: prefix of course codes, name, subject.
struct Row(&'static str, &'static str, &'static str);

const ROWS: [Row; ELECTIVE] = [
    Row("ELA", "English Language Arts", "English Language Arts"),
    Row("MATH", "Mathematics", "Mathematics"),
    Row("SCI", "Science", "Science"),
    Row("SOC", "Social Studies", "Social Studies"),
    Row("PE", "Physical Education", "Physical, Health, and Safety Education"),
];
const ELECTIVES: [Row; 4] = [
    Row("ART", "Art", "Fine and Performing Arts"),
    Row("MUS", "Music", "Fine and Performing Arts"),
    Row("SPA", "Spanish", "Foreign Language and Literature"),
    Row("TEC", "Computing", "Career and Technical Education"),
];
/// Titles of courses from ninth grade on, by slot.
const HIGH: [[&str; 4]; ELECTIVE] = [
    ["English I", "English II", "English III", "English IV"],
    ["Algebra I", "Geometry", "Algebra II", "Precalculus"],
    ["Biology", "Chemistry", "Physics", "Environmental Science"],
    ["World Geography", "World History", "United States History", "Government and Economics"],
    ["Health and Fitness I", "Health and Fitness II", "Team Sports", "Lifetime Fitness"],
];

/// Returns the number of courses that a student of this grade takes in a term.
pub(crate) fn slots(grade: usize) -> usize {
    if HOMEROOM_GRADES.contains(&grade) { BLOCKS } else { PERIODS }
}

/// A course.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Course {
    /// The grade that takes it.
    pub(crate) grade: usize,
    /// Its place in the week.
    pub(crate) slot: usize,
    /// Index of the elective; 0 for other courses.
    choice: usize,
}

impl Course {
    /// Returns the course of a slot; `choice` matters for an elective only.
    pub(crate) fn new(grade: usize, slot: usize, choice: usize) -> Self {
        let choice = if slot == ELECTIVE { choice % ELECTIVES.len() } else { 0 };
        Self { grade, slot, choice }
    }

    /// Iterates over all courses of a grade.
    pub(crate) fn of_grade(grade: usize) -> impl Iterator<Item = Self> {
        (0..slots(grade)).flat_map(move |slot| {
            let choices = if slot == ELECTIVE { ELECTIVES.len() } else { 1 };
            (0..choices).map(move |choice| Self { grade, slot, choice })
        })
    }

    fn row(self) -> &'static Row {
        if self.slot == ELECTIVE { &ELECTIVES[self.choice] } else { &ROWS[self.slot] }
    }

    /// Returns the code value of its academic subject.
    pub(crate) fn subject(self) -> &'static str {
        self.row().2
    }

    /// Whether it is one of the four core subjects.
    pub(crate) fn is_core(self) -> bool {
        self.slot < BLOCKS
    }

    /// Returns its course code, `MATH-07`.
    pub(crate) fn code(self) -> Code {
        Code(self)
    }

    /// Returns its title, `Geometry`.
    pub(crate) fn title(self) -> Title {
        Title(self)
    }
}

/// A course's code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Code(Course);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.0.row().0, GradeMark(self.0.grade))
    }
}

/// A course's title.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Title(Course);

impl fmt::Display for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Course { grade, slot, .. } = self.0;
        let name = self.0.row().1;
        match (CREDIT_GRADES.contains(&grade), slot) {
            (true, ELECTIVE) => write!(f, "{name} {}", ["I", "II", "III", "IV"][grade - 9]),
            (true, _) => f.write_str(HIGH[slot][grade - 9]),
            (false, _) if grade == 0 => write!(f, "{name}, Kindergarten"),
            (false, _) => write!(f, "{name}, Grade {grade}"),
        }
    }
}

/// A grade as course codes write it: `K`, `03`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GradeMark(pub(crate) usize);

impl fmt::Display for GradeMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("K"),
            grade => write!(f, "{grade:02}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_courses_share_a_code() {
        let courses: Vec<Course> = (0..GRADES.len()).flat_map(Course::of_grade).collect();

        let codes: HashSet<String> = courses.iter().map(|c| c.code().to_string()).collect();

        assert_eq!(codes.len(), courses.len());
        assert!(courses.iter().all(|c| c.title().to_string().len() <= 60));
    }
}
