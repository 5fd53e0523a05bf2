//! Damage of each kind in lines of JSON and rows of CSV, as far as there is such a kind, is reported in its
//! place, and everything that is whole is loaded.

use homeroom_bulk::{LoadOptions, Summary};
use serde_json::{Value, json};

use crate::support::{Folder, load_with, stored, target};
use crate::{GRADE, descriptors, interchange, school, student};

/// Number of records, of which one in a hundred is damaged in one way.
const RECORDS: usize = 500;

/// A format whose records are lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lines {
    Json,
    Csv,
}

/// The columns of the rows, and their map.
const HEADER: &str = "student,school,grade,day\n";
const MAP: &str = "[[map]]\nfile = \"studentSchoolAssociations.csv\"\n\
    resource = \"studentSchoolAssociations\"\ncolumns = { student = \"$.studentReference.studentUniqueId\", \
    school = \"$.schoolReference.schoolId\", grade = \"$.entryGradeLevelDescriptor\", day = \"$.entryDate\" }\n";

fn is_damaged(number: usize) -> bool {
    number % 100 == 37
}

impl Lines {
    fn name(self) -> &'static str {
        match self {
            Self::Json => "studentSchoolAssociations.jsonl",
            Self::Csv => "studentSchoolAssociations.csv",
        }
    }

    /// Number of the line on which the first record stands.
    fn first(self) -> usize {
        match self {
            Self::Json => 1,
            Self::Csv => 2,
        }
    }

    /// The record of a number.
    fn record(self, number: usize) -> String {
        // A day of its own for each of 500 enrolments.
        let day = format!(
            "20{:02}-{:02}-{:02}",
            10 + number / 300,
            1 + number / 25 % 12,
            1 + number % 25
        );
        match self {
            Self::Json => json!({
                "studentReference": {"studentUniqueId": "1"},
                "schoolReference": {"schoolId": 7},
                "entryGradeLevelDescriptor": GRADE,
                "entryDate": day,
            })
            .to_string(),
            Self::Csv => format!("1,7,{GRADE},{day}"),
        }
    }

    /// All records; `damage` changes some.
    fn file(self, damage: impl Fn(String) -> Vec<u8>) -> Vec<u8> {
        let mut out = match self {
            Self::Json => vec![],
            Self::Csv => HEADER.as_bytes().to_vec(),
        };
        for number in 0..RECORDS {
            let record = self.record(number);
            out.extend(if is_damaged(number) { damage(record) } else { record.into_bytes() });
            out.push(b'\n');
        }
        out
    }

    /// Loads a file into a store that has what its records refer to.
    fn load(self, file: Vec<u8>) -> (Summary, Vec<Value>, usize) {
        let (target, folder) = (target(), Folder::new());
        folder.write("first/a.xml", descriptors());
        folder.write("first/b.xml", interchange("EducationOrganization", &school(7, "S")));
        folder.write("first/c.xml", interchange("Student", &student("1")));
        folder.write("map.toml", MAP);
        let options = |name: &str| LoadOptions {
            paths: vec![folder.path().join(name)],
            map: Some(folder.path().join("map.toml")),
            ..LoadOptions::default()
        };
        let (before, rejects) = load_with(&target, options("first"));
        assert_eq!(before.rejected, 0, "{rejects:?}");
        folder.write(&format!("in/{}", self.name()), file);

        let (summary, rejects) = load_with(&target, options("in"));

        let all = stored(&target, "studentSchoolAssociations").len();
        (summary, rejects, all)
    }

    /// Loads records that are damaged in one way. Checks that the damaged are rejected in place and the
    /// others loaded.
    fn assert_in_place(self, what: &str, damage: impl Fn(String) -> Vec<u8>) -> Vec<Value> {
        let (summary, rejects, all) = self.load(self.file(damage));

        let damaged: Vec<usize> = (0..RECORDS).filter(|number| is_damaged(*number)).collect();
        let what = format!("{what}, {self:?}");
        let lines: Vec<u64> =
            rejects.iter().map(|reject| reject["line"].as_u64().unwrap()).collect();
        let expected: Vec<u64> =
            damaged.iter().map(|number| (number + self.first()) as u64).collect();
        assert_eq!(lines, expected, "{what}: {rejects:#?}");
        assert_eq!(summary.loaded, (RECORDS - damaged.len()) as u64, "{what}: {rejects:#?}");
        assert_eq!(all, RECORDS - damaged.len(), "{what}");
        rejects
    }
}

fn replaced(from: &str, to: &str) -> impl Fn(String) -> Vec<u8> {
    let (from, to) = (from.to_owned(), to.to_owned());
    move |record| {
        assert!(record.contains(&from), "{record} lacks {from}");
        record.replacen(&from, &to, 1).into_bytes()
    }
}

#[test]
fn each_damaged_line_is_rejected_in_its_place_and_all_others_are_loaded() {
    let nineth = "uri://x/GradeLevelDescriptor#Nineth";
    let long = format!("\"{}\"", "x".repeat(80));
    // What is wrong, how to make it of lines of JSON and of rows of CSV, and a part of the problem's type.
    for (what, json, csv, kind) in [
        ("a broken element", Some(("}", "")), Some((",7,", ",7,,")), ""),
        ("another one", Some(("\"schoolId", "schoolId")), Some(("1,7", "1")), ""),
        ("a quote that is not closed", Some(("\"1\"", "\"1")), Some(("1,", "\"1,")), ""),
        (
            "a bad descriptor",
            Some((GRADE, nineth)),
            Some((GRADE, nineth)),
            "data-validation-failed",
        ),
        ("a missing reference", Some((":7}", ":8}")), Some((",7,", ",8,")), "unresolved-reference"),
        ("a wrong type", Some((":7}", ":\"S\"}")), Some((",7,", ",S,")), "data-validation-failed"),
        ("another wrong type", Some((":7}", ":[7]}")), None, "data-validation-failed"),
        (
            "a value that is too long",
            Some(("\"1\"", &long)),
            Some(("1,", &format!("{long},"))),
            "data-validation-failed",
        ),
        (
            "a value that is missing",
            Some((":7}", ":null}")),
            Some((",7,", ",,")),
            "data-validation-failed",
        ),
    ] {
        for (lines, change) in [(Lines::Json, json), (Lines::Csv, csv)] {
            let Some((from, to)) = change else { continue };
            let rejects = lines.assert_in_place(what, replaced(from, to));
            for reject in rejects {
                assert!(reject["type"].as_str().unwrap().contains(kind), "{what}: {reject}");
            }
        }
    }
    for lines in [Lines::Json, Lines::Csv] {
        let latin = |record: String| {
            let record = record.replacen('1', "\u{1}", 1).into_bytes();
            record.into_iter().map(|byte| if byte == 1 { 0xe9 } else { byte }).collect()
        };
        lines.assert_in_place("bytes of another encoding", latin);
    }
    // The bomb of JSON is its depth.
    let bomb = format!("{{\"x\":{}{},", "[".repeat(100_000), "]".repeat(100_000));
    let rejects = Lines::Json.assert_in_place("a bomb", replaced("{", &bomb));
    assert!(
        rejects[0]["message"].as_str().unwrap().contains("nested"),
        "{}",
        rejects[0]["message"]
    );
}

#[test]
fn each_line_that_repeats_another_is_told_and_stored_in_its_place() {
    for lines in [Lines::Json, Lines::Csv] {
        let first = lines.record(0);

        let (summary, rejects, all) = lines.load(lines.file(|_| first.clone().into_bytes()));

        let damaged = (0..RECORDS).filter(|number| is_damaged(*number)).count();
        assert_eq!(rejects, Vec::<Value>::new(), "{lines:?}");
        assert_eq!(summary.repeated, damaged as u64, "{lines:?} {summary:?}");
        assert_eq!(summary.repeated_unchanged, damaged as u64, "{lines:?}");
        assert_eq!(all, RECORDS - damaged, "{lines:?}");
        let cause = &summary.causes[0];
        assert_eq!((cause.count, cause.line), (damaged as u64, (37 + lines.first()) as u64));
    }
}

#[test]
fn a_line_of_a_hundred_megabytes_is_rejected_alone() {
    for lines in [Lines::Json, Lines::Csv] {
        let huge = "x".repeat(100 << 20);
        let mut file = lines.file(String::into_bytes);
        let whole = lines.record(0);
        let (from, to) = match lines {
            Lines::Json => ("\"1\"", format!("\"{huge}\"")),
            Lines::Csv => ("1,", format!("{huge},")),
        };
        file.extend(whole.replacen(from, &to, 1).into_bytes());
        file.push(b'\n');
        file.extend(whole.into_bytes());

        let (summary, rejects, all) = lines.load(file);

        assert_eq!((summary.loaded, summary.unchanged, all), (500, 1, 500), "{lines:?}");
        assert_eq!(rejects.len(), 1, "{lines:?} {rejects:?}");
        assert_eq!(rejects[0]["line"], RECORDS + lines.first(), "{lines:?}");
    }
}

#[test]
fn lines_that_were_cut_off_are_loaded_up_to_the_last_whole_one() {
    for lines in [Lines::Json, Lines::Csv] {
        let mut file = lines.file(String::into_bytes);
        // In the middle of the last record's grade.
        file.truncate(file.len() - 30);

        let (summary, rejects, all) = lines.load(file);

        assert_eq!((summary.loaded, all), (499, 499), "{lines:?}: {rejects:?}");
        let places: Vec<&Value> = rejects.iter().map(|reject| &reject["line"]).collect();
        let last = json!(RECORDS - 1 + lines.first());
        assert_eq!(places, [&last], "{lines:?}: {rejects:?}");
    }
}
