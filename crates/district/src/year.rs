//! The school year: days, terms and grading periods, computed without a clock.

use std::ops::Range;

use jiff::ToSpan as _;
use jiff::civil::{Date, Weekday};

use crate::random::{Draw, Topic};

/// A school year.
pub(crate) struct Year {
    /// Calendar year in which it ends, which is the number of the school year.
    pub(crate) ends: i16,
    /// Weekdays from the first teacher day to the last day of instruction.
    pub(crate) days: Vec<Day>,
    /// The days of instruction.
    pub(crate) instruction: Vec<Date>,
    /// The fall and spring terms.
    pub(crate) terms: [Term; 2],
    /// The grading periods, two per term.
    pub(crate) periods: [Period; 4],
}

/// A weekday of the calendar.
pub(crate) struct Day {
    /// The date.
    pub(crate) date: Date,
    /// Code value of its calendar event.
    pub(crate) event: &'static str,
}

/// A semester.
pub(crate) struct Term {
    /// Name of its sessions, `2025-2026 Fall Semester`.
    pub(crate) session: String,
    /// Code value of its term descriptor.
    pub(crate) code: &'static str,
    /// Letter for section identifiers, `F` or `S`.
    pub(crate) letter: char,
    /// Its days, as indices into [`Year::instruction`].
    pub(crate) days: Range<usize>,
}

/// A grading period.
pub(crate) struct Period {
    /// Code value of its descriptor, which is also its name.
    pub(crate) code: &'static str,
    /// Index of its term.
    pub(crate) term: usize,
    /// Its days, as indices into [`Year::instruction`].
    pub(crate) days: Range<usize>,
}

/// Number of days of instruction in a year.
const INSTRUCTION_DAYS: usize = 176;
/// Number of teacher days before the first day of instruction.
const TEACHER_DAYS: usize = 5;

const INSTRUCTION: &str = "Instructional day";
const TEACHERS: &str = "Teacher only day";
const HOLIDAY: &str = "Holiday";
const BREAK: &str = "Non-instructional day";
const WEATHER: &str = "Weather day";

impl Year {
    /// Makes the year that ends in `school_year`; it begins on the third Monday of August.
    pub(crate) fn new(school_year: i16, seed: u64) -> Self {
        let closed = closed_days(school_year, seed);
        let first = nth(school_year - 1, 8, 3, Weekday::Monday);
        let mut days = vec![];
        let mut instruction = vec![];
        let mut date = plus(first, -7);
        while instruction.len() < INSTRUCTION_DAYS {
            if !matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday) {
                let event = if days.len() < TEACHER_DAYS {
                    TEACHERS
                } else {
                    closed.iter().find(|day| day.date == date).map_or(INSTRUCTION, |day| day.event)
                };
                if event == INSTRUCTION {
                    instruction.push(date);
                }
                days.push(Day { date, event });
            }
            date = plus(date, 1);
        }
        let half = instruction.partition_point(|day| day.year() < school_year);
        let terms =
            [("Fall Semester", 'F', 0..half), ("Spring Semester", 'S', half..instruction.len())]
                .map(|(code, letter, days)| Term {
                    session: format!("{}-{school_year} {code}", school_year - 1),
                    code,
                    letter,
                    days,
                });
        let quarter = |term: usize, second: bool| {
            let Range { start, end } = terms[term].days;
            let middle = usize::midpoint(start, end);
            if second { middle..end } else { start..middle }
        };
        let periods = [
            ("First Nine Weeks", 0, false),
            ("Second Nine Weeks", 0, true),
            ("Third Nine Weeks", 1, false),
            ("Fourth Nine Weeks", 1, true),
        ]
        .map(|(code, term, second)| Period { code, term, days: quarter(term, second) });
        Self { ends: school_year, days, instruction, terms, periods }
    }

    /// Returns the first and last date of a range of days of instruction.
    pub(crate) fn span(&self, days: &Range<usize>) -> (Date, Date) {
        (self.instruction[days.start], self.instruction[days.end - 1])
    }

    /// Iterates over the grading periods of a term, with their index in the year.
    pub(crate) fn periods_of(&self, term: usize) -> impl Iterator<Item = (usize, &Period)> {
        self.periods.iter().enumerate().filter(move |(_, period)| period.term == term)
    }

    /// Returns the term of a day of instruction.
    pub(crate) fn term_of(&self, day: usize) -> usize {
        usize::from(self.terms[1].days.contains(&day))
    }
}

/// Returns the date `days` days after `date`; a negative number goes back.
pub(crate) fn plus(date: Date, days: i64) -> Date {
    date.checked_add(days.days()).expect("school years lie far from the calendar's ends")
}

/// Makes a date that exists in every year.
pub(crate) fn date(year: i16, month: i8, day: i8) -> Date {
    Date::new(year, month, day).expect("no day after the 28th is asked for")
}

fn nth(year: i16, month: i8, nth: i8, weekday: Weekday) -> Date {
    date(year, month, 1)
        .nth_weekday_of_month(nth, weekday)
        .expect("every month has four of each weekday, and a last one")
}

fn closed_days(school_year: i16, seed: u64) -> Vec<Day> {
    let (fall, spring) = (school_year - 1, school_year);
    let mut closed = vec![];
    let mut close = |first: Date, days: i64, event| {
        closed.extend((0..days).map(|day| Day { date: plus(first, day), event }));
    };
    close(nth(fall, 9, 1, Weekday::Monday), 1, HOLIDAY);
    close(nth(fall, 10, 2, Weekday::Monday), 2, BREAK);
    close(plus(nth(fall, 11, 4, Weekday::Thursday), -1), 3, HOLIDAY);
    close(date(fall, 12, 22), 14, BREAK);
    close(nth(spring, 1, 3, Weekday::Monday), 1, HOLIDAY);
    close(nth(spring, 2, 3, Weekday::Monday), 1, HOLIDAY);
    close(nth(spring, 3, 2, Weekday::Monday), 5, BREAK);
    close(nth(spring, 5, -1, Weekday::Monday), 1, HOLIDAY);
    let mut draw = Draw::new(seed, Topic::Weather, 0);
    let storm = plus(date(spring, 1, 25), i64::try_from(draw.below(15)).unwrap_or_default());
    close(storm, 1, WEATHER);
    closed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_school_year_has_its_days_and_keeps_its_weekends() {
        for school_year in 1991..=2047 {
            let year = Year::new(school_year, u64::from(school_year.unsigned_abs()));

            assert_eq!(year.instruction.len(), INSTRUCTION_DAYS, "{school_year}");
            let last = year.instruction[INSTRUCTION_DAYS - 1];
            assert!((5..=6).contains(&last.month()), "{last}");
            assert!(year.days.iter().all(|day| day.date.weekday() != Weekday::Saturday));
            assert!(year.days.iter().all(|day| day.date.weekday() != Weekday::Sunday));
            assert!(year.days.windows(2).all(|pair| pair[0].date < pair[1].date));
        }
    }

    #[test]
    fn terms_and_grading_periods_tile_the_year() {
        let year = Year::new(2026, 1);

        let [fall, spring] = &year.terms;
        assert_eq!(fall.session, "2025-2026 Fall Semester");
        assert_eq!((fall.days.start, fall.days.end), (0, spring.days.start));
        assert_eq!(spring.days.end, INSTRUCTION_DAYS);
        let ends: Vec<usize> = year.periods.iter().map(|period| period.days.end).collect();
        let starts: Vec<usize> = year.periods.iter().map(|period| period.days.start).collect();
        assert_eq!(starts[1..], ends[..3]);
        assert_eq!(year.instruction[0].to_string(), "2025-08-18");
    }
}
