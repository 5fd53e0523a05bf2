//! Calendars, their dates, grading periods and sessions.

use std::ops::Range;

use super::organization::grade_levels;
use crate::batch::Batch;
use crate::layout::District;
use crate::refer;

/// Writes a school's calendar.
pub(super) fn calendar(district: &District, at: usize, batch: &mut Batch) {
    let school = &district.schools[at];
    batch.add("Calendar", |o| {
        o.text("calendarCode", refer::CALENDAR);
        refer::school(o, school);
        refer::school_year(o, district);
        o.descriptor("calendarTypeDescriptor", "CalendarTypeDescriptor", "School");
        grade_levels(o, "gradeLevels", school);
    });
}

/// Writes every weekday of a school's calendar.
pub(super) fn calendar_dates(district: &District, at: usize, batch: &mut Batch) {
    let school = &district.schools[at];
    for day in &district.year.days {
        batch.add("CalendarDate", |o| {
            refer::calendar(o, district, school);
            o.text("date", day.date);
            o.descriptors(
                "calendarEvents",
                "calendarEventDescriptor",
                "CalendarEventDescriptor",
                &[day.event],
            );
        });
    }
}

/// Writes a school's grading periods.
pub(super) fn grading_periods(district: &District, at: usize, batch: &mut Batch) {
    for (sequence, period) in (1..).zip(&district.year.periods) {
        batch.add("GradingPeriod", |o| {
            o.descriptor("gradingPeriodDescriptor", "GradingPeriodDescriptor", period.code);
            o.text("gradingPeriodName", period.code);
            o.number("periodSequence", sequence);
            refer::school(o, &district.schools[at]);
            refer::school_year(o, district);
            days(o, district, &period.days);
        });
    }
}

/// Writes a school's sessions.
pub(super) fn sessions(district: &District, at: usize, batch: &mut Batch) {
    let school = &district.schools[at];
    for (term_at, term) in district.year.terms.iter().enumerate() {
        batch.add("Session", |o| {
            o.text("sessionName", &term.session);
            refer::school(o, school);
            refer::school_year(o, district);
            o.descriptor("termDescriptor", "TermDescriptor", term.code);
            days(o, district, &term.days);
            o.list("gradingPeriods", district.year.periods_of(term_at), |item, (at, _)| {
                refer::grading_period(item, district, school, at);
            });
        });
    }
}

fn days(o: &mut crate::json::Object<'_>, district: &District, days: &Range<usize>) {
    let (first, last) = district.year.span(days);
    o.text("beginDate", first);
    o.text("endDate", last);
    o.number("totalInstructionalDays", days.len());
}
