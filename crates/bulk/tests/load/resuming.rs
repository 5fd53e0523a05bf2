//! A load that was interrupted is continued, and ends like one that was not.

use std::cell::Cell;
use std::path::PathBuf;

use homeroom_bulk::{LoadError, LoadOptions, Summary, load};
use homeroom_document::Documents;
use homeroom_store::Sql;
use serde_json::{Value, json};

use crate::support::{Folder, load_with, stored, target};
use crate::{descriptors, enrolment, interchange, lines, school, standard, student};

const STUDENTS: u32 = 2_500;

/// Writes files in which each kind of record occurs: good, wrong, without its target, waiting for it.
fn input(folder: &Folder) -> PathBuf {
    folder.write("in/a.xml", descriptors());
    folder.write("in/b.xml", interchange("EducationOrganization", &school(7, "S")));
    let students: String = (0..STUDENTS).map(|n| student(&n.to_string())).collect();
    folder.write("in/c.xml", interchange("Student", &students));
    let enrolments = (0..STUDENTS).map(|n| match n % 100 {
        0 => enrolment(&n.to_string(), 8),
        1 => json!({"entryDate": "never"}),
        _ => enrolment(&n.to_string(), 7),
    });
    folder.write("in/studentSchoolAssociations.jsonl", lines(enrolments));
    // All but one wait for the last one, or for one that waits.
    let waiting = (0..1_500).map(|n| match n % 500 {
        9 => standard(&n.to_string(), Some("8")),
        _ => standard(&n.to_string(), Some("last")),
    });
    folder.write("in/learningStandards.jsonl", lines(waiting.chain([standard("last", None)])));
    folder.path().join("in")
}

fn options(folder: &Folder, name: &str) -> LoadOptions {
    LoadOptions {
        paths: vec![folder.path().join("in")],
        results: Some(folder.path().join(format!("{name}.jsonl"))),
        rejects: Some(folder.path().join(format!("{name}-rejects"))),
        checkpoint: Some(folder.path().join(format!("{name}.checkpoint"))),
        ..LoadOptions::default()
    }
}

/// Returns the results, sorted, without the time that the load took.
fn results(folder: &Folder, name: &str) -> (Vec<String>, Value) {
    let text = folder.read(&format!("{name}.jsonl"));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut summary: Value = serde_json::from_str(&lines.pop().unwrap()).unwrap();
    summary["summary"]["seconds"] = Value::Null;
    lines.sort();
    (lines, summary)
}

#[test]
fn a_load_that_is_interrupted_often_ends_with_the_same_store_results_and_rejects() {
    let folder = Folder::new();
    input(&folder);
    let whole = target();
    let once = load(&whole, &options(&folder, "once"), &mut |_| {}, &|| false).unwrap();
    assert!(once.rejected > 40 && once.loaded > 6_000, "{once:?}");

    // A part that is too short to get on, and one that ends before the first checkpoint is due, know
    // what those before them have stored.
    for steps in [&[2_600_u32][..], &[4_100], &[20, 2_600, 300, 300], &[3_300, 300, 2_700]] {
        let broken = target();
        let name = format!("by-{steps:?}");
        let mut interruptions = 0;
        let last: Summary = loop {
            let asked = Cell::new(0);
            let step = steps[interruptions % steps.len()];
            // It is asked before each record and at each batch.
            let is_stopped = || {
                asked.set(asked.get() + 1);
                asked.get() > step
            };
            if interruptions % 3 == 2 {
                // Then the files are surveyed again.
                std::fs::remove_file(folder.path().join(format!("{name}.checkpoint.survey")))
                    .unwrap();
            }
            let options = LoadOptions { resume: interruptions > 0, ..options(&folder, &name) };
            match load(&broken, &options, &mut |_| {}, &is_stopped) {
                Ok(summary) => break summary,
                Err(LoadError::Stopped) => interruptions += 1,
                Err(error) => panic!("{error}"),
            }
            assert!(interruptions < 50, "it comes to an end");
        };

        assert!(interruptions > 0, "{interruptions}");
        assert_eq!(Summary { seconds: 0.0, ..last }, Summary { seconds: 0.0, ..once.clone() });
        assert_eq!(results(&folder, &name), results(&folder, "once"));
        let copied = |name: &str| {
            let text = folder.read(&format!("{name}-rejects/studentSchoolAssociations.jsonl"));
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(copied(&name), copied("once"));
        for kind in ["students", "studentSchoolAssociations", "learningStandards"] {
            let sorted = |target| {
                let mut all: Vec<String> =
                    stored(target, kind).iter().map(Value::to_string).collect();
                all.sort();
                all
            };
            assert_eq!(sorted(&broken), sorted(&whole), "{kind}");
        }
        for left in ["", ".2", ".survey", ".rejected"] {
            assert!(!folder.path().join(format!("{name}.checkpoint{left}")).exists(), "{left}");
        }
    }
}

#[test]
fn what_was_decided_before_a_checkpoint_is_not_read_again() {
    let folder = Folder::new();
    input(&folder);
    let target = target();
    let asked = Cell::new(0);
    let is_stopped = || {
        asked.set(asked.get() + 1);
        asked.get() > 6_500
    };
    load(&target, &options(&folder, "r"), &mut |_| {}, &is_stopped).unwrap_err();
    // What is read again and is stored already shows as such.
    let version = "SELECT max(cv) FROM doc";
    let newest = target.store.query_blocking(Sql::new(version, vec![])).unwrap();
    let again = Cell::new(0_u64);
    let count = || {
        again.set(again.get() + 1);
        false
    };

    let options = LoadOptions { resume: true, ..options(&folder, "r") };
    let summary = load(&target, &options, &mut |_| {}, &count).unwrap();

    assert!(newest[0][0].as_integer().unwrap() > 4_000);
    assert!(again.get() < summary.documents - 3_000, "{} {summary:?}", again.get());
}

/// Most documents of a batch. One is on its way to the store while the next is filled.
const BATCH: u64 = 1_000;

#[test]
fn only_what_came_after_the_last_checkpoint_is_read_again_which_is_at_most_a_hundredth() {
    // Of a load of fewer than 340,000 documents, two batches may be more than a hundredth.
    for (all, kills) in [(30_000, &[900, 908, 950][..]), (340_000, &[900])] {
        let folder = Folder::new();
        folder.write("in/students.jsonl", lines((0..all).map(pupil)));
        let asked = Cell::new(0_u64);
        // It is asked before each record, at each batch, after the survey and at the end.
        let in_all = all + all / BATCH + 2;
        let load_to = |target: &Documents, name: &str, resume: bool, last: u64| {
            asked.set(0);
            let is_stopped = || {
                asked.set(asked.get() + 1);
                asked.get() > last
            };
            let options = LoadOptions { resume, ..options(&folder, name) };
            load(target, &options, &mut |_| {}, &is_stopped)
        };
        if all == 30_000 {
            load_to(&target(), "once", false, u64::MAX).unwrap();
            assert_eq!(asked.get(), in_all);
        }
        for kill in kills.iter().map(|share| in_all * share / 1_000) {
            let (target, name) = (target(), format!("at-{kill}"));
            load_to(&target, &name, false, kill).unwrap_err();

            let summary = load_to(&target, &name, true, u64::MAX).unwrap();

            // What is asked more than for the rest of one load is asked for what is read again.
            let again = asked.get() - (in_all - kill);
            let step = (all / 250).max(250);
            assert!(again <= step + 2 * BATCH, "{again} after {kill} of {in_all}");
            if all >= 340_000 {
                assert!(again * 100 <= all, "{again} after {kill} of {in_all}");
            }
            assert_eq!(summary.documents, all, "{summary:?}");
            assert_eq!(stored(&target, "students").len() as u64, all);
        }
    }
}

fn pupil(number: u64) -> Value {
    json!({
        "studentUniqueId": number.to_string(), "firstName": "A", "lastSurname": "B",
        "birthDate": "2010-01-01",
    })
}

#[test]
fn a_load_is_not_continued_with_other_files_or_without_its_results() {
    let folder = Folder::new();
    let input = input(&folder);
    let target = target();
    let asked = Cell::new(0);
    let is_stopped = || {
        asked.set(asked.get() + 1);
        asked.get() > 6_300
    };
    load(&target, &options(&folder, "r"), &mut |_| {}, &is_stopped).unwrap_err();
    let resumed = LoadOptions { resume: true, ..options(&folder, "r") };
    let refused = |options: &LoadOptions| {
        let error = load(&target, options, &mut |_| {}, &|| false).unwrap_err();
        assert!(matches!(error, LoadError::CannotResume { .. }), "{error}");
        error.to_string()
    };

    let without = refused(&LoadOptions { results: None, ..resumed.clone() });
    folder.write("in/students.jsonl", "");
    let more = refused(&resumed);
    std::fs::remove_file(input.join("students.jsonl")).unwrap();
    folder.write("r.jsonl", "");
    let shorter = refused(&resumed);
    folder.write("r.checkpoint", "{}");
    folder.write("r.checkpoint.2", "");
    let none = refused(&resumed);

    assert!(without.contains("--results"), "{without}");
    assert!(more.contains("students.jsonl was added"), "{more}");
    assert!(shorter.contains("shorter"), "{shorter}");
    assert!(none.contains("no checkpoint"), "{none}");
}

#[test]
fn without_a_checkpoint_a_load_begins_at_its_start() {
    let folder = Folder::new();
    folder.write("in/a.xml", descriptors());
    let options = LoadOptions {
        paths: vec![folder.path().join("in")],
        checkpoint: Some(folder.path().join("c")),
        resume: true,
        ..LoadOptions::default()
    };

    let (summary, _) = load_with(&target(), options);

    assert_eq!(summary.loaded, 3);
}
