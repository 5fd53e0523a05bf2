//! Who is where, by arithmetic: schools, classes, sections, teachers. Nothing is looked up.

use std::fmt;
use std::ops::Range;

use crate::courses::{Course, GRADES, HOMEROOM_GRADES, PERIODS};
use crate::names::{self, Compound, PLACES};
use crate::plan::DistrictPlan;
use crate::random::{Draw, Topic};
use crate::year::Year;

/// Ids of the agencies; a school's follow the district's.
pub(crate) const STATE_AGENCY: usize = 99;
/// The service center's id.
pub(crate) const SERVICE_CENTER: usize = 9_990;
/// The district's id.
pub(crate) const AGENCY: usize = 999_001;
const FIRST_SCHOOL: usize = 999_001_001;

/// Students that one school is planned for.
const SCHOOL_STUDENTS: usize = 450;
/// Students in a class that stays with one teacher, at most.
const HOMEROOM_SEATS: usize = 22;
/// Students in a class where each subject has its own teacher, at most.
const CLASS_SEATS: usize = 26;
/// Classes that a teacher of one subject teaches: one period of six is left for planning.
const CLASSES_PER_TEACHER: usize = PERIODS - 1;

/// A post: code value of its classification, and title.
pub(crate) struct Post(pub(crate) &'static str, pub(crate) &'static str);

/// Posts of the district's office.
pub(crate) const OFFICE_POSTS: [Post; 4] = [
    Post("Superintendent", "Superintendent"),
    Post("LEA Administrator", "Director of Curriculum"),
    Post("LEA Administrator", "Director of Finance"),
    Post("LEA Administrative Support Staff", "District Registrar"),
];

/// Posts of every school beside its teachers.
pub(crate) const SCHOOL_POSTS: [Post; 6] = [
    Post("Principal", "Principal"),
    Post("Assistant Principal", "Assistant Principal"),
    Post("School Counselor", "School Counselor"),
    Post("Librarian/Media Specialist", "Librarian"),
    Post("School Administrative Support Staff", "Registrar"),
    Post("Paraprofessional/Instructional Aide", "Special Education Aide"),
];

/// A plan carried out as far as it is the same for every document.
pub(crate) struct District {
    /// The plan.
    pub(crate) plan: DistrictPlan,
    /// The school year.
    pub(crate) year: Year,
    /// Where the district lies.
    pub(crate) place: Compound,
    /// Elementary schools first, then middle and high schools.
    pub(crate) schools: Vec<School>,
    /// The schools that teach a grade.
    by_grade: [Range<usize>; GRADES.len()],
}

/// What kind of school.
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
    /// The grades that it teaches.
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
    /// `schoolId`.
    pub(crate) id: usize,
    /// Its name is this and its level.
    pub(crate) place: Compound,
    /// Number behind the name where places are used up.
    pub(crate) suffix: usize,
    /// What kind of school.
    pub(crate) level: Level,
    /// One for each grade, in order.
    pub(crate) cohorts: Vec<Cohort>,
    /// Number of its first member of staff.
    pub(crate) first_staff: usize,
}

/// The students of one grade in one school.
pub(crate) struct Cohort {
    /// Which grade.
    pub(crate) grade: usize,
    /// How many students.
    pub(crate) students: usize,
    /// How many classes they are divided into.
    pub(crate) classes: usize,
    /// Ordinal of the first of its teachers in the school.
    first_teacher: usize,
}

impl Cohort {
    fn new(grade: usize, students: usize, first_teacher: usize) -> Self {
        let seats = if HOMEROOM_GRADES.contains(&grade) { HOMEROOM_SEATS } else { CLASS_SEATS };
        Self { grade, students, classes: students.div_ceil(seats), first_teacher }
    }

    /// Teachers of one subject.
    fn subject_teachers(&self) -> usize {
        self.classes.div_ceil(CLASSES_PER_TEACHER)
    }

    /// Teachers in all.
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
    /// The slot taught, where each subject has its own teacher.
    pub(crate) slot: Option<usize>,
}

/// A course taught to a class for a term.
#[derive(Clone, Copy)]
pub(crate) struct Section<'a> {
    /// Where.
    pub(crate) school: &'a School,
    /// To whom.
    pub(crate) cohort: &'a Cohort,
    /// Which of the cohort's classes.
    pub(crate) class: usize,
    /// Which of its courses.
    pub(crate) slot: usize,
    /// Index of the term.
    pub(crate) term: usize,
}

impl District {
    /// Works out schools and classes; the cost grows with the number of schools only.
    pub(crate) fn new(plan: &DistrictPlan) -> Self {
        let first_place = Draw::new(plan.seed(), Topic::Place, 0).below(PLACES);
        let levels = levels(plan.students());
        let by_grade = std::array::from_fn(|grade| {
            let teaches = |level: &Level| level.grades().contains(&grade);
            let start = levels.iter().position(teaches).unwrap_or_default();
            start..start + levels.iter().filter(|level| teaches(level)).count()
        });
        let mut first_staff = OFFICE_POSTS.len();
        let mut schools: Vec<School> = vec![];
        for (at, level) in levels.into_iter().enumerate() {
            let mut cohorts: Vec<Cohort> = vec![];
            for grade in level.grades() {
                let range: &Range<usize> = &by_grade[grade];
                let in_grade = (plan.students() + GRADES.len() - 1 - grade) / GRADES.len();
                let here = (in_grade + range.len() - 1 - (at - range.start)) / range.len();
                let first = cohorts.last().map_or(0, |last| last.first_teacher + last.teachers());
                cohorts.push(Cohort::new(grade, here, first));
            }
            let place = names::place((first_place + 1 + at) % PLACES);
            let school = School {
                id: FIRST_SCHOOL + at,
                place,
                suffix: at / PLACES,
                level,
                cohorts,
                first_staff,
            };
            first_staff += SCHOOL_POSTS.len() + school.teachers().count();
            schools.push(school);
        }
        Self {
            plan: *plan,
            year: Year::new(plan.school_year(), plan.seed()),
            place: names::place(first_place),
            schools,
            by_grade,
        }
    }

    /// The draws of a topic for the thing with this index.
    pub(crate) fn draw(&self, topic: Topic, index: usize) -> Draw {
        Draw::new(self.plan.seed(), topic, index)
    }

    /// Where the student with this index stands: school, cohort, place in the cohort.
    pub(crate) fn seat(&self, student: usize) -> (&School, &Cohort, usize) {
        let grade = student % GRADES.len();
        let schools = &self.by_grade[grade];
        let in_grade = student / GRADES.len();
        let school = &self.schools[schools.start + in_grade % schools.len()];
        (school, school.cohort(grade), in_grade / schools.len())
    }

    /// The student at this place of a cohort: the inverse of [`District::seat`].
    pub(crate) fn student_at(&self, school: &School, grade: usize, place: usize) -> usize {
        let schools = &self.by_grade[grade];
        let ordinal = school.id - FIRST_SCHOOL - schools.start;
        (place * schools.len() + ordinal) * GRADES.len() + grade
    }
}

/// The schools' levels: in proportion to the students, at least two schools.
fn levels(students: usize) -> Vec<Level> {
    let total = students.div_ceil(SCHOOL_STUDENTS);
    if total <= 2 {
        return vec![Level::Combined, Level::High];
    }
    let share = |level: Level| (total * level.grades().len() / GRADES.len()).max(1);
    let (middle, high) = (share(Level::Middle), share(Level::High));
    let level = |level, count| std::iter::repeat_n(level, count);
    level(Level::Elementary, total - middle - high)
        .chain(level(Level::Middle, middle))
        .chain(level(Level::High, high))
        .collect()
}

impl School {
    /// The students of a grade that the school teaches.
    pub(crate) fn cohort(&self, grade: usize) -> &Cohort {
        &self.cohorts[grade - self.cohorts[0].grade]
    }

    /// Its teachers, in order.
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

    /// Number of the member of staff who is this teacher.
    pub(crate) fn teacher_number(&self, ordinal: usize) -> usize {
        self.first_staff + SCHOOL_POSTS.len() + ordinal
    }

    /// Every section of a year.
    pub(crate) fn sections(&self) -> impl Iterator<Item = Section<'_>> {
        (0..2).flat_map(move |term| {
            self.cohorts.iter().flat_map(move |cohort| {
                (0..cohort.classes).flat_map(move |class| {
                    (0..crate::courses::slots(cohort.grade)).map(move |slot| Section {
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

    /// Names of its class periods; the first one is where attendance counts.
    pub(crate) fn class_periods(&self) -> impl Iterator<Item = ClassPeriod> {
        let grades = self.level.grades();
        let blocks =
            if HOMEROOM_GRADES.contains(&grades.start) { crate::courses::BLOCKS } else { 0 };
        let periods = if HOMEROOM_GRADES.contains(&(grades.end - 1)) { 0 } else { PERIODS };
        (0..blocks)
            .map(|at| ClassPeriod { block: true, at })
            .chain((0..periods).map(|at| ClassPeriod { block: false, at }))
    }
}

impl Section<'_> {
    /// The course taught.
    pub(crate) fn course(&self) -> Course {
        Course::new(
            self.cohort.grade,
            self.slot,
            self.cohort.grade + self.class / CLASSES_PER_TEACHER,
        )
    }

    /// Ordinal of its teacher, whose room it meets in.
    ///
    /// A teacher of one subject has five classes in a row, which meet in five different periods.
    pub(crate) fn teacher(&self) -> usize {
        let cohort = self.cohort;
        cohort.first_teacher
            + if HOMEROOM_GRADES.contains(&cohort.grade) {
                self.class
            } else {
                self.slot * cohort.subject_teachers() + self.class / CLASSES_PER_TEACHER
            }
    }

    /// When it meets.
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
    /// Its place in the day.
    pub(crate) at: usize,
}

impl ClassPeriod {
    /// Start and end in minutes of the day.
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn district(students: usize) -> District {
        District::new(&DistrictPlan::new(students, 1, 2026).unwrap())
    }

    #[test]
    fn every_student_has_a_seat_and_every_seat_its_student() {
        for students in [0, 1, 12, 13, 500, 999, 4321] {
            let district = district(students);

            for student in 0..students {
                let (school, cohort, place) = district.seat(student);
                assert!(place < cohort.students, "{student} of {students}");
                assert_eq!(district.student_at(school, cohort.grade, place), student);
            }

            let seats: usize = district
                .schools
                .iter()
                .flat_map(|school| &school.cohorts)
                .map(|cohort| cohort.students)
                .sum();
            assert_eq!(seats, students);
        }
    }

    #[test]
    fn a_district_has_two_schools_and_then_one_for_450_students() {
        for (students, schools) in [(0, 2), (1, 2), (900, 2), (901, 3), (1000, 3), (100_000, 223)] {
            assert_eq!(district(students).schools.len(), schools, "{students}");
        }
    }

    #[test]
    fn no_teacher_and_no_room_is_needed_twice_in_a_period() {
        for school in district(3000).schools {
            let sections: Vec<_> = school.sections().collect();

            let used: HashSet<_> = sections
                .iter()
                .map(|section| (section.term, section.teacher(), section.class_period()))
                .collect();

            assert_eq!(used.len(), sections.len());
            let teachers: HashSet<_> = sections.iter().map(Section::teacher).collect();
            assert_eq!(teachers.len(), school.teachers().count());
        }
    }
}
