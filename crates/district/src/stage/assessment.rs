//! Assessments, their objectives and the students' results.

use std::fmt::{self, Display};
use std::ops::Range;

use crate::batch::Batch;
use crate::courses::{GRADES, GradeMark};
use crate::json::Object;
use crate::layout::District;
use crate::people::{Student, student_id};
use crate::random::Topic;
use crate::refer;

/// Namespace of the assessments.
const NAMESPACE: &str = "uri://homeroom.example/Assessment";

/// A row of the testing calendar: one assessment for each grade.
struct Test {
    mark: &'static str,
    title: &'static str,
    subject: &'static str,
    category: &'static str,
    grades: Range<usize>,
    /// Code value of each testing period, and the day of instruction of the test.
    windows: &'static [(&'static str, usize)],
    objectives: [&'static str; 3],
}

const SUMMATIVE: &str = "State summative assessment 3-8 general";
const END_OF_COURSE: &str = "State high school course assessment";
const SPRING: &[(&str, usize)] = &[("Spring", 150)];

const TESTS: [Test; 7] = [
    Test {
        mark: "ERS",
        title: "Early Reading Screener",
        subject: "Reading",
        category: "Benchmark test",
        grades: 0..3,
        windows: &[("Beginning of Year", 15), ("End of Year", 160)],
        objectives: ["Letters and Sounds", "Vocabulary", "Listening"],
    },
    Test {
        mark: "SSA-ELA",
        title: "State Summative Assessment in English Language Arts",
        subject: "English Language Arts",
        category: SUMMATIVE,
        grades: 3..9,
        windows: SPRING,
        objectives: ["Reading Literature", "Reading for Information", "Writing"],
    },
    Test {
        mark: "SSA-MATH",
        title: "State Summative Assessment in Mathematics",
        subject: "Mathematics",
        category: SUMMATIVE,
        grades: 3..9,
        windows: SPRING,
        objectives: ["Number and Operations", "Algebraic Thinking", "Measurement and Data"],
    },
    Test {
        mark: "EOC-ALG",
        title: "End of Course Assessment in Algebra",
        subject: "Mathematics",
        category: END_OF_COURSE,
        grades: 9..10,
        windows: SPRING,
        objectives: ["Expressions", "Equations", "Functions"],
    },
    Test {
        mark: "EOC-BIO",
        title: "End of Course Assessment in Biology",
        subject: "Science",
        category: END_OF_COURSE,
        grades: 9..10,
        windows: SPRING,
        objectives: ["Cells", "Heredity", "Ecosystems"],
    },
    Test {
        mark: "EOC-ENG",
        title: "End of Course Assessment in English",
        subject: "English Language Arts",
        category: END_OF_COURSE,
        grades: 10..11,
        windows: SPRING,
        objectives: ["Reading", "Writing", "Language"],
    },
    Test {
        mark: "EOC-HIST",
        title: "End of Course Assessment in United States History",
        subject: "Social Studies",
        category: END_OF_COURSE,
        grades: 11..12,
        windows: SPRING,
        objectives: ["History", "Geography", "Civics"],
    },
];

/// Names of the performance levels and their ranges of scale scores.
const LEVELS: [(&str, Range<usize>); 4] = [
    ("Below Basic", 300..440),
    ("Basic", 440..500),
    ("Proficient", 500..580),
    ("Advanced", 580..701),
];
/// Most raw points in an assessment; the next constant is for one objective.
const RAW_MAX: usize = 60;
const OBJECTIVE_RAW_MAX: usize = RAW_MAX / 3;

/// An assessment's identifier, `SSA-ELA-03`.
#[derive(Clone, Copy)]
struct Identifier(&'static str, usize);

impl Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.0, GradeMark(self.1))
    }
}

fn all() -> impl Iterator<Item = (&'static Test, Identifier)> {
    const { &TESTS }
        .iter()
        .flat_map(|test| test.grades.clone().map(move |grade| (test, Identifier(test.mark, grade))))
}

/// Writes the assessments.
pub(super) fn assessments(district: &District, _: usize, batch: &mut Batch) {
    for (test, identifier) in all() {
        let grade = identifier.1;
        batch.add("Assessment", |o| {
            key(o, identifier);
            match grade {
                0 => o.text("assessmentTitle", format_args!("{}, Kindergarten", test.title)),
                _ => o.text("assessmentTitle", format_args!("{}, Grade {grade}", test.title)),
            }
            o.text("assessmentFamily", test.title);
            o.number("assessmentVersion", district.year.ends);
            o.descriptor(
                "assessmentCategoryDescriptor",
                "AssessmentCategoryDescriptor",
                test.category,
            );
            o.descriptors(
                "academicSubjects",
                "academicSubjectDescriptor",
                "AcademicSubjectDescriptor",
                &[test.subject],
            );
            o.descriptors(
                "assessedGradeLevels",
                "gradeLevelDescriptor",
                "GradeLevelDescriptor",
                &[GRADES[grade]],
            );
            o.descriptors("languages", "languageDescriptor", "LanguageDescriptor", &["eng"]);
            o.flag("adaptiveAssessment", false);
            o.number("maxRawScore", RAW_MAX);
            o.list("performanceLevels", LEVELS, |item, (level, scores)| {
                performance_level(item, level);
                item.text("minimumScore", scores.start);
                item.text("maximumScore", scores.end - 1);
                datatype(item, "Integer");
            });
            o.list(
                "scores",
                [("Scale score", 300, 700), ("Raw score", 0, RAW_MAX)],
                |item, score| {
                    let (method, least, most) = score;
                    reporting_method(item, method);
                    item.text("minimumScore", least);
                    item.text("maximumScore", most);
                    datatype(item, "Integer");
                },
            );
        });
    }
}

/// Writes the objectives of the assessments.
pub(super) fn objectives(_: &District, _: usize, batch: &mut Batch) {
    for (test, identifier) in all() {
        for (at, objective) in (1..).zip(test.objectives) {
            batch.add("ObjectiveAssessment", |o| {
                o.object("assessmentReference", |r| key(r, identifier));
                o.text("identificationCode", format_args!("{identifier}-{at}"));
                o.text("description", objective);
                o.descriptor(
                    "academicSubjectDescriptor",
                    "AcademicSubjectDescriptor",
                    test.subject,
                );
                o.number("maxRawScore", OBJECTIVE_RAW_MAX);
            });
        }
    }
}

/// Writes a student's results in all assessments taken.
pub(super) fn results(district: &District, number: usize, batch: &mut Batch) {
    let student = district.student(number);
    let grade = student.cohort.grade;
    for (at, test) in TESTS.iter().enumerate().filter(|(_, test)| test.grades.contains(&grade)) {
        for (window, (period, day)) in test.windows.iter().enumerate() {
            if student.enrolled.contains(day) {
                batch.add("StudentAssessment", |o| {
                    result(o, district, &student, (at, window), period, *day);
                });
            }
        }
    }
}

fn result(
    o: &mut Object<'_>,
    district: &District,
    student: &Student<'_>,
    (test, window): (usize, usize),
    period: &str,
    day: usize,
) {
    let grade = student.cohort.grade;
    let identifier = Identifier(TESTS[test].mark, grade);
    let mut draw = district.draw(Topic::Assessment, student.number * 32 + test * 2 + window);
    // 0 to 100, from the student's ability and a random form of the day.
    let form = (student.ability * 4 / 5 + draw.below(21) + 10 * window).min(100);
    let scale = 300 + 4 * form;
    o.text(
        "studentAssessmentIdentifier",
        format_args!("{identifier}-{}-{}", student_id(student.number), window + 1),
    );
    o.object("assessmentReference", |r| key(r, identifier));
    refer::student(o, student.number);
    refer::school_year(o, district);
    let date = district.year.instruction[day];
    o.text("administrationDate", format_args!("{date}T14:00:00Z"));
    o.text("administrationEndDate", format_args!("{date}T16:00:00Z"));
    let kind = "AdministrationEnvironmentDescriptor";
    o.descriptor("administrationEnvironmentDescriptor", kind, "Classroom");
    o.descriptor("administrationLanguageDescriptor", "LanguageDescriptor", "eng");
    o.descriptor("platformTypeDescriptor", "PlatformTypeDescriptor", "Computer-based");
    o.object("period", |o| {
        o.descriptor("assessmentPeriodDescriptor", "AssessmentPeriodDescriptor", period);
    });
    o.object("reportedSchoolReference", |r| r.number("schoolId", student.school.id));
    o.descriptor("whenAssessedGradeLevelDescriptor", "GradeLevelDescriptor", GRADES[grade]);
    o.list("performanceLevels", [level(scale)], performance_level);
    let raw = form * RAW_MAX / 100;
    o.list("scoreResults", [("Scale score", scale), ("Raw score", raw)], score);
    o.list("studentObjectiveAssessments", 1..=3, |item, objective| {
        item.object("objectiveAssessmentReference", |r| {
            key(r, identifier);
            r.text("identificationCode", format_args!("{identifier}-{objective}"));
        });
        let raw = (form * OBJECTIVE_RAW_MAX / 100 + draw.below(3)).min(OBJECTIVE_RAW_MAX);
        item.list("scoreResults", [("Raw score", raw)], score);
    });
}

fn level(scale: usize) -> &'static str {
    let found = LEVELS.into_iter().find(|(_, scores)| scores.contains(&scale));
    found.map_or("Advanced", |(level, _)| level)
}

fn key(o: &mut Object<'_>, identifier: Identifier) {
    o.text("assessmentIdentifier", identifier);
    o.text("namespace", NAMESPACE);
}

fn performance_level(o: &mut Object<'_>, level: &str) {
    reporting_method(o, "Proficiency level");
    o.descriptor("performanceLevelDescriptor", "PerformanceLevelDescriptor", level);
}

fn score(o: &mut Object<'_>, (method, result): (&str, usize)) {
    reporting_method(o, method);
    o.text("result", result);
    datatype(o, "Integer");
}

fn reporting_method(o: &mut Object<'_>, method: &str) {
    let kind = "AssessmentReportingMethodDescriptor";
    o.descriptor("assessmentReportingMethodDescriptor", kind, method);
}

fn datatype(o: &mut Object<'_>, code: &str) {
    o.descriptor("resultDatatypeTypeDescriptor", "ResultDatatypeTypeDescriptor", code);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scale_score_has_its_level() {
        assert_eq!(level(300), "Below Basic");
        assert_eq!(level(499), "Basic");
        assert_eq!(level(500), "Proficient");
        assert_eq!(level(700), "Advanced");
        assert!(LEVELS.windows(2).all(|pair| pair[0].1.end == pair[1].1.start));
    }
}
