//! A school: computes its grades, classes, teachers and sections.

use std::fmt;
use std::ops::Range;

use crate::courses::{BLOCKS, Course, HOMEROOM_GRADES, PERIODS, slots};
use crate::names::Compound;

/// Most students in a class that keeps one teacher.
const HOMEROOM_SEATS: usize = 22;
/// Most students in a class with a teacher for each subject.
const CLASS_SEATS: usize = 26;
/// Number of classes per subject teacher: one of the six periods is left for planning.
const CLASSES_PER_TEACHER: usize = PERIODS - 1;

/// A post: code value of its classification, and title.
pub(crate) struct Post(pub(crate) &'static str, pub(crate) &'static str);

/// Posts of every school beside its teachers.
pub(crate) const SCHOOL_POSTS: [Post; 6] = [
    Post("Principal", "Principal"),
    Post("Assistant Principal", "Assistant Principal"),
    Post("School Counselor", "School Counselor"),
    Post("Librarian/Media Specialist", "Librarian"),
    Post("School Administrative Support Staff", "Registrar"),
    Post("Paraprofessional/Instructional Aide", "Special Education Aide"),
];

/// Level of a school.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// Kindergarten to fifth grade.
    Elementary,
    /// Sixth to eighth grade.
    Middle,
    /// Ninth to twelfth grade.
    High,
    /// Kindergarten to eighth grade, in the smallest districts.
    Combined,
}

impl Level {
    /// Returns the grades that it teaches.
    pub(crate) fn grades(self) -> Range<usize> {
        match self {
            Self::Elementary => 0..6,
            Self::Middle => 6..9,
            Self::High => 9..13,
            Self::Combined => 0..9,
        }
    }
}

/// A school.
pub(crate) struct School {
    /// The school's `schoolId`.
    pub(crate) id: usize,
    /// First part of its name; the level is the second.
    pub(crate) place: Compound,
    /// Number added to the name once all place names are used.
    pub(crate) suffix: usize,
    /// Level of the school.
    pub(crate) level: Level,
    /// One cohort per grade, in order.
    pub(crate) cohorts: Vec<Cohort>,
    /// Number of its first staff member.
    pub(crate) first_staff: usize,
}

/// The students of one grade in one school.
pub(crate) struct Cohort {
    /// The cohort's grade.
    pub(crate) grade: usize,
    /// Number of students.
    pub(crate) students: usize,
    /// Number of classes.
    pub(crate) classes: usize,
    /// Ordinal of its first teacher in the school.
    first_teacher: usize,
}

impl Cohort {
    /// Makes the cohorts of a school from the number of students in each of its grades.
    pub(crate) fn of_school(level: Level, sizes: impl Iterator<Item = usize>) -> Vec<Self> {
        let mut first_teacher = 0;
        level
            .grades()
            .zip(sizes)
            .map(|(grade, students)| {
                let homeroom = HOMEROOM_GRADES.contains(&grade);
                let seats = if homeroom { HOMEROOM_SEATS } else { CLASS_SEATS };
                let classes = students.div_ceil(seats);
                let cohort = Self { grade, students, classes, first_teacher };
                first_teacher += cohort.teachers();
                cohort
            })
            .collect()
    }

    /// Returns the number of teachers per subject.
    fn subject_teachers(&self) -> usize {
        self.classes.div_ceil(CLASSES_PER_TEACHER)
    }

    /// Returns the total number of teachers.
    fn teachers(&self) -> usize {
        if HOMEROOM_GRADES.contains(&self.grade) {
            self.classes
        } else {
            PERIODS * self.subject_teachers()
        }
    }
}

/// A teacher of a school.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Teacher {
    /// Ordinal in the school.
    pub(crate) ordinal: usize,
    /// Grade taught.
    pub(crate) grade: usize,
    /// The slot taught, in grades with a teacher for each subject.
    pub(crate) slot: Option<usize>,
}

/// A course taught to a class for a term.
#[derive(Clone, Copy)]
pub(crate) struct Section<'a> {
    /// The section's school.
    pub(crate) school: &'a School,
    /// The cohort that is taught.
    pub(crate) cohort: &'a Cohort,
    /// Index of the class in the cohort.
    pub(crate) class: usize,
    /// Slot of the course.
    pub(crate) slot: usize,
    /// Index of the term.
    pub(crate) term: usize,
}

impl School {
    /// Returns the cohort of a grade that the school teaches.
    pub(crate) fn cohort(&self, grade: usize) -> &Cohort {
        &self.cohorts[grade - self.cohorts[0].grade]
    }

    /// Iterates over its teachers, in order.
    pub(crate) fn teachers(&self) -> impl Iterator<Item = Teacher> {
        self.cohorts.iter().flat_map(|cohort| {
            let homeroom = HOMEROOM_GRADES.contains(&cohort.grade);
            (0..cohort.teachers()).map(move |at| Teacher {
                ordinal: cohort.first_teacher + at,
                grade: cohort.grade,
                slot: (!homeroom).then(|| at / cohort.subject_teachers()),
            })
        })
    }

    /// Returns the staff number of a teacher.
    pub(crate) fn teacher_number(&self, ordinal: usize) -> usize {
        self.first_staff + SCHOOL_POSTS.len() + ordinal
    }

    /// Iterates over all sections of a year.
    pub(crate) fn sections(&self) -> impl Iterator<Item = Section<'_>> {
        (0..2).flat_map(move |term| {
            self.cohorts.iter().flat_map(move |cohort| {
                (0..cohort.classes).flat_map(move |class| {
                    (0..slots(cohort.grade)).map(move |slot| Section {
                        school: self,
                        cohort,
                        class,
                        slot,
                        term,
                    })
                })
            })
        })
    }

    /// Iterates over the names of its class periods; attendance is taken in the first one.
    pub(crate) fn class_periods(&self) -> impl Iterator<Item = ClassPeriod> {
        let grades = self.level.grades();
        let blocks = if HOMEROOM_GRADES.contains(&grades.start) { BLOCKS } else { 0 };
        let periods = if HOMEROOM_GRADES.contains(&(grades.end - 1)) { 0 } else { PERIODS };
        (0..blocks)
            .map(|at| ClassPeriod { block: true, at })
            .chain((0..periods).map(|at| ClassPeriod { block: false, at }))
    }
}

impl Section<'_> {
    /// Returns the course taught.
    pub(crate) fn course(&self) -> Course {
        Course::new(
            self.cohort.grade,
            self.slot,
            self.cohort.grade + self.class / CLASSES_PER_TEACHER,
        )
    }

    /// Returns the ordinal of its teacher, in whose room it meets.
    ///
    /// A subject teacher has five consecutive classes, which meet in five different periods.
    pub(crate) fn teacher(&self) -> usize {
        let cohort = self.cohort;
        cohort.first_teacher
            + if HOMEROOM_GRADES.contains(&cohort.grade) {
                self.class
            } else {
                self.slot * cohort.subject_teachers() + self.class / CLASSES_PER_TEACHER
            }
    }

    /// Returns the period in which it meets.
    pub(crate) fn class_period(&self) -> ClassPeriod {
        if HOMEROOM_GRADES.contains(&self.cohort.grade) {
            ClassPeriod { block: true, at: self.slot }
        } else {
            ClassPeriod { block: false, at: (self.slot + self.class) % PERIODS }
        }
    }
}

/// A part of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ClassPeriod {
    block: bool,
    /// Its index in the day.
    pub(crate) at: usize,
}

impl ClassPeriod {
    /// Returns its start and end in minutes of the day.
    pub(crate) fn minutes(self) -> (usize, usize) {
        let (first, length, step) = if self.block { (495, 80, 95) } else { (480, 55, 60) };
        let start = first + self.at * step;
        (start, start + length)
    }
}

impl fmt::Display for ClassPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.block { "Block" } else { "Period" }, self.at + 1)
    }
}
