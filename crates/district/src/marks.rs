//! A student's year: missed days and marks.

use crate::layout::District;
use crate::people::Student;
use crate::random::Topic;

/// An attendance event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attendance {
    /// Absent, with an excuse.
    Excused,
    /// Absent, without an excuse.
    Unexcused,
    /// Arrived late.
    Tardy,
    /// Left before the end of the day.
    EarlyDeparture,
}

impl Attendance {
    /// Returns the code value of the event's category.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Excused => "Excused Absence",
            Self::Unexcused => "Unexcused Absence",
            Self::Tardy => "Tardy",
            Self::EarlyDeparture => "Early departure",
        }
    }

    /// Whether the whole day was missed.
    pub(crate) fn is_absence(self) -> bool {
        matches!(self, Self::Excused | Self::Unexcused)
    }
}

/// Mean length of an absence, in hundredths of a day; see the weights in [`District::attendance`].
const ABSENCE_LENGTH: usize = 165;

impl District {
    /// Returns the days of instruction that have an attendance event for a student.
    ///
    /// About one day in twenty is missed. Most students miss few days, one in twelve misses many,
    /// and an absence may last several days.
    pub(crate) fn attendance(&self, student: &Student<'_>) -> Vec<(usize, Attendance)> {
        let mut draw = self.draw(Topic::Attendance, student.number);
        let often = draw.chance(80);
        let per_mille = if often { draw.between(110, 200) } else { 15 + draw.bell() / 2 };
        let mut events = vec![];
        let (mut left, mut kind) = (0, Attendance::Excused);
        for day in student.enrolled.clone() {
            if left == 0 && draw.chance(per_mille * 100 / ABSENCE_LENGTH) {
                left = draw.weighted(&[(60, 1), (25, 2), (10, 3), (5, 5)]);
                kind = if draw.chance(650) { Attendance::Excused } else { Attendance::Unexcused };
            }
            if left > 0 {
                left -= 1;
                events.push((day, kind));
            } else if draw.chance(5) {
                let late = draw.chance(750);
                events
                    .push((day, if late { Attendance::Tardy } else { Attendance::EarlyDeparture }));
            }
        }
        events
    }

    /// Returns a student's mark in the course of a slot for a grading period, 50 to 100.
    pub(crate) fn mark(&self, student: &Student<'_>, period: usize, slot: usize) -> usize {
        let mut draw = self.draw(Topic::Grade, student.number * 32 + period * 8 + slot);
        (58 + student.ability * 2 / 5 + draw.below(16)).clamp(50, 100)
    }

    /// Returns a student's mean mark in the course of a slot over the grading periods of a term; 0
    /// if there is none.
    pub(crate) fn term_mark(&self, student: &Student<'_>, term: usize, slot: usize) -> usize {
        let marks = self
            .year
            .periods_of(term)
            .filter(|(_, period)| student.is_marked_in(&period.days))
            .map(|(at, _)| self.mark(student, at, slot));
        let (count, sum) = marks.fold((0, 0), |(count, sum), mark| (count + 1, sum + mark));
        usize::checked_div(sum, count).unwrap_or_default()
    }
}

/// Returns the letter grade of a mark.
pub(crate) fn letter(mark: usize) -> &'static str {
    match mark {
        90.. => "A",
        80.. => "B",
        70.. => "C",
        60.. => "D",
        _ => "F",
    }
}

/// Returns the grade points of a mark.
fn points(mark: usize) -> usize {
    match mark {
        90.. => 4,
        80.. => 3,
        70.. => 2,
        60.. => 1,
        _ => 0,
    }
}

/// Returns the grade point average of some marks, in hundredths.
pub(crate) fn grade_point_average(marks: impl Iterator<Item = usize>) -> usize {
    let (count, sum) = marks.fold((0, 0), |(count, sum), mark| (count + 1, sum + points(mark)));
    usize::checked_div(sum * 100, count).unwrap_or_default()
}

/// Lowest passing mark.
pub(crate) const PASS: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::DistrictPlan;

    #[test]
    fn about_one_day_in_twenty_is_missed() {
        let district = District::new(&DistrictPlan::new(2000, 3, 2026).unwrap());

        let (mut missed, mut days) = (0, 0);
        for student in (0..2000).map(|n| district.student(n)) {
            let events = district.attendance(&student);
            assert!(events.windows(2).all(|pair| pair[0].0 < pair[1].0));
            missed += events.iter().filter(|(_, event)| event.is_absence()).count();
            days += student.enrolled.len();
        }

        let per_mille = missed * 1000 / days;
        assert!((40..60).contains(&per_mille), "{per_mille}");
    }

    #[test]
    fn marks_cover_all_letters_and_most_pass() {
        let district = District::new(&DistrictPlan::new(1000, 3, 2026).unwrap());

        let marks: Vec<usize> = (0..1000)
            .map(|n| district.student(n))
            .map(|student| district.mark(&student, 0, 1))
            .collect();

        let failed = marks.iter().filter(|mark| **mark < PASS).count();
        let best = marks.iter().filter(|mark| letter(**mark) == "A").count();
        assert!(failed < 50, "{failed}");
        assert!((100..500).contains(&best), "{best}");
    }
}
