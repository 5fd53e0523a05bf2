//! Sample records that cannot be loaded, to show what rejects look like.

/// Returns small files, as name and text, to load with a district that has students and the default
/// school year. Five of their records are wrong, each in one way; the sixth is right.
///
/// The faults are a name that is too long, a missing birth date, an unknown grade level, a student
/// who does not exist, and a session that does not exist.
pub fn failing_sample() -> Vec<(&'static str, &'static str)> {
    vec![
        ("students.jsonl", include_str!("../data/failing/students.jsonl")),
        (
            "studentSchoolAssociations.jsonl",
            include_str!("../data/failing/studentSchoolAssociations.jsonl"),
        ),
        ("StudentAttendance.xml", include_str!("../data/failing/StudentAttendance.xml")),
    ]
}
