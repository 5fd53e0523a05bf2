//! Computes the schools of a district and each student's seat.

use std::ops::Range;

use crate::courses::GRADES;
use crate::names::{self, Compound, PLACES};
use crate::plan::DistrictPlan;
use crate::random::{Draw, Topic};
use crate::school::{Cohort, Level, Post, SCHOOL_POSTS, School};
use crate::year::Year;

/// Id of the state's agency.
pub(crate) const STATE_AGENCY: usize = 99;
/// Id of the service center.
pub(crate) const SERVICE_CENTER: usize = 9_990;
/// Id of the district; the ids of its schools follow it.
pub(crate) const AGENCY: usize = 999_001;
const FIRST_SCHOOL: usize = 999_001_001;

/// Number of students that one school is planned for.
const SCHOOL_STUDENTS: usize = 450;
/// Posts in the district's office.
pub(crate) const OFFICE_POSTS: [Post; 4] = [
    Post("Superintendent", "Superintendent"),
    Post("LEA Administrator", "Director of Curriculum"),
    Post("LEA Administrator", "Director of Finance"),
    Post("LEA Administrative Support Staff", "District Registrar"),
];

/// The parts of a plan's result that all documents share.
pub(crate) struct District {
    /// The plan.
    pub(crate) plan: DistrictPlan,
    /// The school year.
    pub(crate) year: Year,
    /// Name of the district's place.
    pub(crate) place: Compound,
    /// The schools: elementary first, then middle and high schools.
    pub(crate) schools: Vec<School>,
    /// The schools that teach each grade.
    by_grade: [Range<usize>; GRADES.len()],
}

impl District {
    /// Works out schools and classes; the cost grows only with the number of schools.
    pub(crate) fn new(plan: &DistrictPlan) -> Self {
        let first_place = Draw::new(plan.seed(), Topic::Place, 0).below(PLACES);
        let levels = levels(plan.students());
        let by_grade: [Range<usize>; GRADES.len()] = std::array::from_fn(|grade| {
            let teaches = |level: &Level| level.grades().contains(&grade);
            let start = levels.iter().position(teaches).unwrap_or_default();
            start..start + levels.iter().filter(|level| teaches(level)).count()
        });
        let mut first_staff = OFFICE_POSTS.len();
        let mut schools: Vec<School> = vec![];
        for (at, level) in levels.into_iter().enumerate() {
            let sizes = level.grades().map(|grade| {
                let range = &by_grade[grade];
                let in_grade = (plan.students() + GRADES.len() - 1 - grade) / GRADES.len();
                (in_grade + range.len() - 1 - (at - range.start)) / range.len()
            });
            let school = School {
                id: FIRST_SCHOOL + at,
                place: names::place((first_place + 1 + at) % PLACES),
                suffix: at / PLACES,
                level,
                cohorts: Cohort::of_school(level, sizes),
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

    /// Returns the draws of a topic for the student, school or other item with this index.
    pub(crate) fn draw(&self, topic: Topic, index: usize) -> Draw {
        Draw::new(self.plan.seed(), topic, index)
    }

    /// Returns a student's school, cohort and place in the cohort.
    pub(crate) fn seat(&self, student: usize) -> (&School, &Cohort, usize) {
        let grade = student % GRADES.len();
        let schools = &self.by_grade[grade];
        let in_grade = student / GRADES.len();
        let school = &self.schools[schools.start + in_grade % schools.len()];
        (school, school.cohort(grade), in_grade / schools.len())
    }

    /// Returns the student at this place in a cohort: the inverse of [`District::seat`].
    pub(crate) fn student_at(&self, school: &School, grade: usize, place: usize) -> usize {
        let schools = &self.by_grade[grade];
        let ordinal = school.id - FIRST_SCHOOL - schools.start;
        (place * schools.len() + ordinal) * GRADES.len() + grade
    }
}

/// Returns the levels of the schools in proportion to the students; there are at least two schools.
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::school::Section;

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
