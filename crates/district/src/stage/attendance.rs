//! Attendance events, to which no other document refers.

use super::schedule::minutes;
use crate::batch::Batch;
use crate::courses::HOMEROOM_GRADES;
use crate::layout::District;
use crate::marks::Attendance;
use crate::random::Topic;
use crate::refer;

/// Probability, in thousandths, that a student who is at school misses a class period on a day.
const PERIOD_MISSED: usize = 7;

/// Writes a student's absences, late arrivals and early departures.
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

/// Writes the class periods that a student misses, in grades with a teacher for each subject.
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
