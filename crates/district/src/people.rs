//! Students, their households and the staff, all as functions of the seed and a number.

use std::ops::Range;

use jiff::civil::Date;

use crate::courses::{HOMEROOM_GRADES, slots};
use crate::layout::{District, OFFICE_POSTS};
use crate::names::{self, Compound, Street, Telephone};
use crate::random::Topic;
use crate::school::{Cohort, SCHOOL_POSTS, School, Section, Teacher};
use crate::year::{date, plus};

/// The first unique id of each kind of person; ids are this plus the person's number.
const FIRST_STUDENT: usize = 100_000_000;
const FIRST_STAFF: usize = 200_000_000;
const FIRST_CONTACT: usize = 300_000_000;

/// Returns a student's `studentUniqueId`.
pub(crate) fn student_id(number: usize) -> usize {
    FIRST_STUDENT + number
}

/// Returns a staff member's `staffUniqueId`.
pub(crate) fn staff_id(number: usize) -> usize {
    FIRST_STAFF + number
}

const DISABILITIES: [&str; 4] = [
    "Specific Learning Disability",
    "Speech or Language Impairment",
    "Other Health Impairment",
    "Autism Spectrum Disorders",
];
/// Probability, in thousandths, that two neighbouring numbers are siblings.
const SIBLINGS: usize = 400;
/// Minimum days of an enrolment, and minimum enrolled days for a mark in a period.
const DAYS_MIN: usize = 10;

/// A student.
pub(crate) struct Student<'a> {
    /// Number in the district, from 0.
    pub(crate) number: usize,
    /// The student's school.
    pub(crate) school: &'a School,
    /// The student's cohort.
    pub(crate) cohort: &'a Cohort,
    /// Index of the student's class in the cohort.
    pub(crate) class: usize,
    /// Place in the cohort.
    pub(crate) place: usize,
    /// The student's household.
    pub(crate) household: Household,
    /// First name.
    pub(crate) first_name: &'static str,
    /// Middle name.
    pub(crate) middle_name: &'static str,
    /// Whether the student is female.
    pub(crate) female: bool,
    /// Day of birth.
    pub(crate) birth_date: Date,
    /// Days of instruction while enrolled.
    pub(crate) enrolled: Range<usize>,
    /// Academic ability, 0 to 100.
    pub(crate) ability: usize,
    /// Code value of the disability, for those in special education.
    pub(crate) disability: Option<&'static str>,
    /// Whether the student is in the program for the gifted.
    pub(crate) gifted: bool,
    /// Whether the student is learning English.
    pub(crate) english_learner: bool,
}

/// The people at one address.
#[derive(Debug, Clone)]
pub(crate) struct Household {
    /// Surname of all members.
    pub(crate) surname: Compound,
    /// Street and number.
    pub(crate) street: Street,
    /// The household's telephone.
    pub(crate) telephone: Telephone,
    /// Code value of the language spoken at home.
    pub(crate) language: &'static str,
    /// Code value of the race.
    pub(crate) race: &'static str,
    /// Whether the household is of Hispanic or Latino ethnicity.
    pub(crate) hispanic: bool,
    /// Whether the household's income is low.
    pub(crate) low_income: bool,
    /// One or two adults.
    pub(crate) adults: Vec<Adult>,
}

/// An adult of a household.
#[derive(Debug, Clone)]
pub(crate) struct Adult {
    /// The adult's `contactUniqueId`.
    pub(crate) id: usize,
    /// First name.
    pub(crate) first_name: &'static str,
    /// Whether the adult is female.
    pub(crate) female: bool,
    /// Code value of the adult's relation to the children.
    pub(crate) relation: &'static str,
    /// The adult's own telephone.
    pub(crate) telephone: Telephone,
    /// Code value of the level of education.
    pub(crate) education: &'static str,
}

impl District {
    /// Returns a student's household, identified by the number of its first child.
    fn household_of(&self, student: usize) -> usize {
        let first = student & !1;
        let siblings = self.draw(Topic::Household, first).chance(SIBLINGS);
        if siblings { first } else { student }
    }

    /// Returns the household of which this student is the first child, if there is one.
    pub(crate) fn household_headed(&self, student: usize) -> Option<Household> {
        (self.household_of(student) == student).then(|| self.household(student))
    }

    fn household(&self, number: usize) -> Household {
        let mut draw = self.draw(Topic::Contact, number);
        let surname = names::surname(&mut draw);
        let language =
            draw.weighted(&[(780, "eng"), (160, "spa"), (20, "vie"), (20, "ara"), (20, "chi")]);
        let hispanic = draw.chance(if language == "spa" { 950 } else { 120 });
        let race = match language {
            "vie" | "chi" => "Asian",
            _ => draw.weighted(&[
                (600, "White"),
                (200, "Black or African American"),
                (80, "Asian"),
                (80, "Other"),
                (30, "American Indian or Alaska Native"),
                (10, "Native Hawaiian or Pacific Islander"),
            ]),
        };
        let street = names::street(&mut draw);
        let telephone = names::telephone(&mut draw);
        let low_income = draw.chance(430);
        let shape = draw.weighted(&[(680, 2), (280, 1), (40, 0)]);
        let adults = (0..shape.max(1))
            .map(|at| {
                let female = if shape == 2 { at == 0 } else { draw.chance(800) };
                let relation = match (shape, female) {
                    (0, _) => "Grandparent",
                    (_, true) => "Mother",
                    (_, false) => "Father",
                };
                Adult {
                    id: FIRST_CONTACT + 2 * number + at,
                    first_name: names::first_name(&mut draw, female),
                    female,
                    relation,
                    telephone: names::telephone(&mut draw),
                    education: draw.weighted(&[
                        (330, "High School Diploma"),
                        (200, "Some College No Degree"),
                        (100, "Associate's Degree (two years or more)"),
                        (240, "Bachelor's"),
                        (110, "Master's"),
                        (20, "Doctorate"),
                    ]),
                }
            })
            .collect();
        Household { surname, street, telephone, language, race, hispanic, low_income, adults }
    }

    /// Returns the student with this number.
    pub(crate) fn student(&self, number: usize) -> Student<'_> {
        let (school, cohort, place) = self.seat(number);
        let household = self.household(self.household_of(number));
        let mut draw = self.draw(Topic::Student, number);
        let female = draw.chance(490);
        let first_name = names::first_name(&mut draw, female);
        let middle_name = names::first_name(&mut draw, female);
        let oldest = date(self.year.ends - 7 - school_years(cohort.grade), 9, 2);
        let birth_date = plus(oldest, days(draw.below(365)));
        let ability = draw.bell();
        let disability = draw.chance(130).then(|| draw.pick(&DISABILITIES));
        let gifted = draw.chance(if ability > 60 { 250 } else { 0 });
        let english_learner = household.language != "eng" && draw.chance(600);
        Student {
            number,
            school,
            cohort,
            class: place % cohort.classes,
            place,
            household,
            first_name,
            middle_name,
            female,
            birth_date,
            enrolled: self.enrolment(number),
            ability,
            disability,
            gifted,
            english_learner,
        }
    }

    /// Returns a student's days of instruction. Most are enrolled all year; some come late or leave
    /// early.
    fn enrolment(&self, number: usize) -> Range<usize> {
        let mut draw = self.draw(Topic::Enrolment, number);
        let all = self.year.instruction.len();
        let first = if draw.chance(40) { draw.between(5, all - 3 * DAYS_MIN) } else { 0 };
        let end = if draw.chance(30) { draw.between(first + DAYS_MIN, all - 1) } else { all };
        first..end
    }

    /// Iterates over the staff of one workplace: 0 is the district's office, the schools follow.
    pub(crate) fn staff(&self, workplace: usize) -> impl Iterator<Item = Staff<'_>> {
        let school = workplace.checked_sub(1).map(|at| &self.schools[at]);
        let posts = if school.is_some() { &SCHOOL_POSTS[..] } else { &OFFICE_POSTS[..] };
        let first = school.map_or(0, |school| school.first_staff);
        let fixed = posts.iter().enumerate().map(move |(at, post)| Staff {
            number: first + at,
            school,
            classification: post.0,
            title: post.1,
            teacher: None,
        });
        let teachers = school.into_iter().flat_map(move |school| {
            school.teachers().map(move |teacher| Staff {
                number: school.teacher_number(teacher.ordinal),
                school: Some(school),
                classification: match teacher.grade {
                    0 => "Kindergarten Teacher",
                    grade if HOMEROOM_GRADES.contains(&grade) => "Elementary Teacher",
                    _ => "Secondary Teacher",
                },
                title: "Teacher",
                teacher: Some(teacher),
            })
        });
        fixed.chain(teachers)
    }
}

impl Student<'_> {
    /// Returns the part of `days` in which the student is enrolled.
    pub(crate) fn days_in(&self, days: &Range<usize>) -> Range<usize> {
        let start = self.enrolled.start.max(days.start);
        start..self.enrolled.end.min(days.end).max(start)
    }

    /// Whether the student is enrolled long enough to get a mark, and is still enrolled at the end.
    pub(crate) fn is_marked_in(&self, days: &Range<usize>) -> bool {
        let there = self.days_in(days);
        there.len() >= DAYS_MIN && there.end == days.end
    }

    /// Returns the section of a slot in a term.
    pub(crate) fn section(&self, term: usize, slot: usize) -> Section<'_> {
        Section { school: self.school, cohort: self.cohort, class: self.class, slot, term }
    }

    /// Iterates over the student's sections, term by term.
    pub(crate) fn sections<'a>(
        &'a self,
        district: &'a District,
    ) -> impl Iterator<Item = Section<'a>> {
        let terms = district.year.terms.iter().enumerate();
        terms.filter(|(_, term)| !self.days_in(&term.days).is_empty()).flat_map(move |(term, _)| {
            (0..slots(self.cohort.grade)).map(move |slot| self.section(term, slot))
        })
    }
}

/// A staff member.
pub(crate) struct Staff<'a> {
    /// Number in the district, from 0.
    pub(crate) number: usize,
    /// The school; [`None`] for the district's office.
    pub(crate) school: Option<&'a School>,
    /// Code value of the staff classification.
    pub(crate) classification: &'static str,
    /// Title of the position.
    pub(crate) title: &'static str,
    /// The teaching assignment, for teachers.
    pub(crate) teacher: Option<Teacher>,
}

/// Converts a number of grades to years.
pub(crate) fn school_years(grade: usize) -> i16 {
    i16::try_from(grade).expect("grades end at twelve")
}

/// Converts a number of days to the calendar library's type.
pub(crate) fn days(count: usize) -> i64 {
    i64::try_from(count).expect("a school year has few days")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::DistrictPlan;

    #[test]
    fn siblings_share_a_home_and_each_household_is_headed_once() {
        let district = District::new(&DistrictPlan::new(1000, 7, 2026).unwrap());
        let students: Vec<_> = (0..1000).map(|n| district.student(n)).collect();

        let headed = (0..1000).filter(|n| district.household_headed(*n).is_some()).count();
        let siblings = students
            .iter()
            .filter(|student| district.household_of(student.number) != student.number)
            .inspect(|student| {
                let first = &students[district.household_of(student.number)];
                assert_eq!(first.household.surname, student.household.surname);
            })
            .count();

        assert_eq!(headed + siblings, 1000);
        assert!((150..250).contains(&siblings), "{siblings}");
    }

    #[test]
    fn a_student_is_as_old_as_the_grade_says() {
        let district = District::new(&DistrictPlan::new(1300, 7, 2026).unwrap());

        for student in (0..1300).map(|n| district.student(n)) {
            let first_of_september = date(2025, 9, 1);
            let birthday = student.birth_date.year() + 5 + school_years(student.cohort.grade);
            let turned = Date::new(birthday, student.birth_date.month(), 1).unwrap();
            assert!(turned <= first_of_september, "{}", student.birth_date);
        }
    }

    #[test]
    fn staff_numbers_run_without_gaps() {
        let district = District::new(&DistrictPlan::new(2000, 7, 2026).unwrap());

        let numbers: Vec<usize> = (0..=district.schools.len())
            .flat_map(|workplace| district.staff(workplace).map(|staff| staff.number))
            .collect();

        assert_eq!(numbers, (0..numbers.len()).collect::<Vec<_>>());
    }
}
