//! Totals from the output of test programs.

use std::fmt;
use std::time::Duration;

/// How many tests passed, failed and were skipped, with the reasons for the last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Tests that ran and passed.
    pub passed: usize,
    /// Tests that failed or could not be run to the end.
    pub failed: usize,
    /// Tests that could not run here, with the reason.
    pub skipped: Vec<(String, String)>,
    /// The tests that failed by name, each with the first lines of what it said.
    pub failures: Vec<(String, Vec<String>)>,
    section: Section,
    test: Option<String>,
    results: usize,
}

/// The current section of a test program's output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Running,
    Successes,
    Failures,
}

impl Summary {
    /// Reads a line of `cargo test -- --show-output`. Returns whether it should be shown.
    ///
    /// A test that cannot run here prints `skipped: REASON` on a line of its own and returns; the
    /// test program counts it as passed and shows the line among the successes.
    pub fn take(&mut self, line: &str) -> bool {
        match line {
            "successes:" => self.section = Section::Successes,
            "failures:" => self.section = Section::Failures,
            _ if line.starts_with("test result: ") => {
                self.result(line);
                return true;
            }
            _ => {}
        }
        match self.section {
            Section::Running => {}
            Section::Successes => {
                self.success(line);
                return false;
            }
            Section::Failures => self.failure(line),
        }
        true
    }

    /// Reads a line among the failures: the beginning of a test's output, or a part of it.
    fn failure(&mut self, line: &str) {
        if let Some(test) = heading(line) {
            self.test = Some(test.to_owned());
            self.failures.push((test.to_owned(), Vec::new()));
        } else if line == "failures:" {
            self.test = None;
        } else if let (Some(_), Some((_, lines))) = (&self.test, self.failures.last_mut())
            && lines.len() < FAILURE_LINES
            && !line.is_empty()
        {
            lines.push(line.to_owned());
        }
    }

    fn success(&mut self, line: &str) {
        if let Some(test) = heading(line) {
            self.test = Some(test.to_owned());
        } else if let Some(reason) = line.strip_prefix("skipped: ")
            && let Some(test) = self.test.take()
        {
            self.skipped.push((test, reason.to_owned()));
        }
    }

    /// Reads `test result: ok. 3 passed; 0 failed; 0 ignored; …`.
    fn result(&mut self, line: &str) {
        let count = |what: &str| -> usize {
            let words: Vec<&str> = line.split([' ', ';']).collect();
            let at = words.iter().position(|word| *word == what);
            at.and_then(|at| words[at - 1].parse().ok()).unwrap_or(0)
        };
        let skipped_here = self.skipped.len() - self.results;
        self.passed += count("passed").saturating_sub(skipped_here);
        self.failed += count("failed");
        for _ in 0..count("ignored") {
            self.skipped.push(("a test".into(), "it is marked `ignore`".into()));
        }
        self.results = self.skipped.len();
        self.section = Section::Running;
        self.test = None;
    }

    /// Reads a line of a client suite: `passed: WHAT`, `failed: WHAT`, `skipped: WHAT: WHY`.
    pub fn take_check(&mut self, line: &str) {
        if line.starts_with("passed: ") {
            self.passed += 1;
        } else if let Some(what) = line.strip_prefix("failed: ") {
            self.failed += 1;
            self.failures.push((what.to_owned(), Vec::new()));
        } else if let Some((what, why)) =
            line.strip_prefix("skipped: ").and_then(|line| line.split_once(": "))
        {
            self.skipped.push((what.to_owned(), why.to_owned()));
        }
    }

    /// Adds the totals of another part of the run.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend(other.skipped);
        self.failures.extend(other.failures);
    }

    /// Lists the tests that failed, each with the first lines of what it said, for the end of the
    /// output: whoever has only that must see what to mend.
    pub fn told_failures(&self) -> String {
        let mut told = String::new();
        for (test, lines) in &self.failures {
            told.extend(["failed ", test, "\n"]);
            for line in lines {
                told.extend(["    ", line, "\n"]);
            }
        }
        told
    }
}

/// How many lines of a failed test's output are repeated at the end.
const FAILURE_LINES: usize = 12;

/// Returns the test whose output begins with a line, if one does.
fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----"))
}

/// Writes the last line of the output.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped, .. } = self;
        write!(f, "{passed} passed, {failed} failed, {} skipped", skipped.len())
    }
}

/// How many parts [`slowest`] lists.
const SLOWEST: usize = 10;

/// Returns a table of what took longest: a title, then seconds and name, the longest first.
pub fn slowest(what: &str, mut times: Vec<(String, Duration)>) -> String {
    times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    times.truncate(SLOWEST);
    let line =
        |(name, time): &(String, Duration)| format!("\n{:6.1} s  {name}", time.as_secs_f64());
    let lines: String = times.iter().map(line).collect();
    format!("the slowest {what}:{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_PROGRAMS: &str = "\
running 3 tests
test a ... ok
test b ... ok
test c ... ok

successes:

---- b stdout ----
it had something to say
skipped: there is no PostgreSQL
skipped: really not

---- c stdout ----
all went well

successes:
    a
    b
    c

test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s

running 2 tests
test d ... FAILED

failures:

---- d stdout ----
skipped: not at all, it failed

failures:
    d

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.01s
";

    #[test]
    fn a_test_that_says_it_was_skipped_did_not_pass() {
        let mut summary = Summary::default();

        for line in TWO_PROGRAMS.lines() {
            summary.take(line);
        }

        assert_eq!(summary.to_string(), "3 passed, 1 failed, 1 skipped");
        assert_eq!(summary.skipped, [("b".to_owned(), "there is no PostgreSQL".to_owned())]);
    }

    #[test]
    fn output_of_successful_tests_is_hidden() {
        let mut summary = Summary::default();

        let shown: Vec<&str> = TWO_PROGRAMS.lines().filter(|line| summary.take(line)).collect();

        assert!(!shown.contains(&"all went well"));
        assert!(shown.contains(&"test d ... FAILED"));
        assert!(shown.contains(&"skipped: not at all, it failed"));
    }

    #[test]
    fn failures_are_listed_with_what_they_said() {
        let mut summary = Summary::default();

        TWO_PROGRAMS.lines().for_each(|line| {
            summary.take(line);
        });
        summary.take_check("failed: a suite: no answer");

        let told = "failed d\n    skipped: not at all, it failed\nfailed a suite: no answer\n";
        assert_eq!(summary.told_failures(), told);
    }

    #[test]
    fn the_slowest_are_listed_with_the_longest_first() {
        let times = (0..12).map(|n| (format!("part {n}"), Duration::from_millis(n * 500)));

        let table = slowest("parts", times.collect());

        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 11);
        assert_eq!(lines[..3], ["the slowest parts:", "   5.5 s  part 11", "   5.0 s  part 10"]);
    }

    #[test]
    fn the_totals_of_parts_are_added() {
        let skipped = vec![("fuzz".to_owned(), "no compiler".to_owned())];
        let mut summary = Summary { passed: 1, failed: 2, skipped, ..Summary::default() };

        summary.add(summary.clone());

        assert_eq!(summary.to_string(), "2 passed, 4 failed, 2 skipped");
    }

    #[test]
    fn checks_of_a_client_suite_count_as_tests() {
        let mut summary = Summary::default();

        for line in ["passed: a token", "failed: b: 500", "skipped: c: no network", "starting"] {
            summary.take_check(line);
        }

        assert_eq!(summary.to_string(), "1 passed, 1 failed, 1 skipped");
    }
}
