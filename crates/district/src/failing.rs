//! A few records that cannot be loaded, to see what rejects look like.

/// Small files, name and text, that go with any district of the default school year that has a
/// student: five records are wrong, each in one way, and the sixth is right.
///
/// A name that is too long, a birth date that is missing, a grade level that no descriptor holds, a
/// student who does not exist, a session that does not exist.
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
