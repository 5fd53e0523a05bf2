//! What was written down about attendance; nothing refers to it.

use super::schedule::minutes;
use crate::courses::HOMEROOM_GRADES;
use crate::documents::Batch;
use crate::layout::District;
use crate::marks::Attendance;
use crate::random::Topic;
use crate::refer;

/// Chance in a thousand that on a day a class period is missed by a student who is there.
const PERIOD_MISSED: usize = 7;

/// Days missed, and late.
pub(super) fn at_school(district: &District, number: usize, batch: &mut Batch) {
    let student = district.student(number);
    for (day, event) in district.attendance(&student) {
        batch.add("StudentSchoolAttendanceEvent", |o| {
            refer::school(o, student.school);
            refer::session(o, district, student.school, district.year.term_of(day));
            refer::student(o, number);
            o.text("eventDate", district.year.instruction[day]);
            let kind = "AttendanceEventCategoryDescriptor";
            o.descriptor("attendanceEventCategoryDescriptor", kind, event.code());
            match event {
                Attendance::Excused => o.text("attendanceEventReason", "Excused by a parent"),
                Attendance::Unexcused => {}
                Attendance::Tardy => minutes(o, "arrivalTime", 490 + day % 45),
                Attendance::EarlyDeparture => minutes(o, "departureTime", 780 + day % 60),
            }
            if event.is_absence() {
                o.number("eventDuration", 1);
            }
        });
    }
}

/// Class periods missed, where each subject has its own teacher.
pub(super) fn in_sections(district: &District, number: usize, batch: &mut Batch) {
    let student = district.student(number);
    if HOMEROOM_GRADES.contains(&student.cohort.grade) {
        return;
    }
    let away = district.attendance(&student);
    let mut draw = district.draw(Topic::SectionAttendance, number);
    for day in student.enrolled.clone() {
        let missed = draw.chance(PERIOD_MISSED);
        if !missed || away.iter().any(|(missed, _)| *missed == day) {
            continue;
        }
        let term = district.year.term_of(day);
        let slot = draw.below(crate::courses::slots(student.cohort.grade));
        let section = student.section(term, slot);
        batch.add("StudentSectionAttendanceEvent", |o| {
            refer::section(o, district, &section);
            refer::student(o, number);
            o.text("eventDate", district.year.instruction[day]);
            let code = if draw.chance(600) { Attendance::Tardy } else { Attendance::Unexcused };
            let kind = "AttendanceEventCategoryDescriptor";
            o.descriptor("attendanceEventCategoryDescriptor", kind, code.code());
            let kind = "EducationalEnvironmentDescriptor";
            o.descriptor("educationalEnvironmentDescriptor", kind, "Classroom");
        });
    }
}
