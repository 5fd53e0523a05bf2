//! Class periods, bell schedules and classrooms.

use crate::batch::Batch;
use crate::json::Object;
use crate::layout::District;
use crate::refer;
use crate::school::ClassPeriod;

/// Writes a school's class periods.
pub(super) fn class_periods(district: &District, at: usize, batch: &mut Batch) {
    let school = &district.schools[at];
    for period in school.class_periods() {
        let (start, end) = period.minutes();
        batch.add("ClassPeriod", |o| {
            o.text("classPeriodName", period);
            refer::school(o, school);
            o.flag("officialAttendancePeriod", period.at == 0);
            o.list("meetingTimes", [()], |time, ()| {
                minutes(time, "startTime", start);
                minutes(time, "endTime", end);
            });
        });
    }
}

/// Writes a school's bell schedule.
pub(super) fn bell_schedules(district: &District, at: usize, batch: &mut Batch) {
    let school = &district.schools[at];
    let times = || school.class_periods().map(ClassPeriod::minutes);
    batch.add("BellSchedule", |o| {
        o.text("bellScheduleName", "Regular Schedule");
        refer::school(o, school);
        o.list("classPeriods", school.class_periods(), |item, period| {
            refer::class_period(item, school, period);
        });
        minutes(o, "startTime", times().map(|(start, _)| start).min().unwrap_or_default());
        minutes(o, "endTime", times().map(|(_, end)| end).max().unwrap_or_default());
        o.number("totalInstructionalTime", 330);
    });
}

/// Writes a school's classrooms, one for each teacher.
pub(super) fn locations(district: &District, at: usize, batch: &mut Batch) {
    let school = &district.schools[at];
    for teacher in school.teachers() {
        batch.add("Location", |o| {
            room(o, teacher.ordinal);
            refer::school(o, school);
            o.number("maximumNumberOfSeats", 30);
            o.number("optimalNumberOfSeats", 24);
        });
    }
}

/// Writes the code of a teacher's room.
pub(super) fn room(o: &mut Object<'_>, teacher: usize) {
    o.text("classroomIdentificationCode", format_args!("R{}", 101 + teacher));
}

/// Writes a time of day.
pub(super) fn minutes(o: &mut Object<'_>, name: &str, of_day: usize) {
    o.text(name, format_args!("{:02}:{:02}:00", of_day / 60, of_day % 60));
}
