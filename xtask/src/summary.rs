//! Totals from the output of test programs.

use std::fmt;

/// How many tests passed, failed and were skipped, with the reasons for the last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Tests that ran and passed.
    pub passed: usize,
    /// Tests that failed or could not be run to the end.
    pub failed: usize,
    /// Tests that could not run here, with the reason.
    pub skipped: Vec<(String, String)>,
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
        if self.section == Section::Successes {
            self.success(line);
            return false;
        }
        true
    }

    fn success(&mut self, line: &str) {
        let test = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----"));
        if let Some(test) = test {
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
        } else if line.starts_with("failed: ") {
            self.failed += 1;
        } else if let Some((what, why)) =
            line.strip_prefix("skipped: ").and_then(|line| line.split_once(": "))
        {
            self.skipped.push((what.to_owned(), why.to_owned()));
        }
    }

    /// Does the same as [`Summary::take_check`] and shows the line.
    pub fn take_check_shown(&mut self, line: &str) {
        println!("{line}");
        self.take_check(line);
    }

    /// Records that a program ended with an error; if it named no failed test, that counts as one.
    pub fn ended_badly(&mut self, failed_before: usize) {
        self.failed = self.failed.max(failed_before + 1);
    }
}

/// Writes the last line of the output.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped, .. } = self;
        write!(f, "{passed} passed, {failed} failed, {} skipped", skipped.len())
    }
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
    fn a_program_that_crashes_without_naming_a_test_is_one_failure() {
        let mut summary = Summary { failed: 2, ..Summary::default() };

        summary.ended_badly(2);
        summary.ended_badly(2);

        assert_eq!(summary.failed, 3);
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
