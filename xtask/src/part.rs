//! A part of a run, and the lanes in which parts run side by side.

use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::program::each_line;
use crate::summary::Summary;

/// What a part has printed, and its totals. The lines are kept until the part has ended, so that
/// those of parts that run side by side do not mix.
#[derive(Debug, Default)]
pub struct Part {
    /// The totals.
    pub summary: Summary,
    lines: Vec<String>,
}

impl Part {
    /// Shows a line.
    pub fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// Counts a line of a test program, and shows it if it matters.
    pub fn test(&mut self, line: &str) {
        if self.summary.take(line) {
            self.say(line);
        }
    }

    /// Counts and shows a line of a suite; [`Summary::take_check`] has the form.
    pub fn check(&mut self, line: &str) {
        self.summary.take_check(line);
        self.say(line);
    }

    /// Counts something that cannot run here, with the reason.
    pub fn skip(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.summary.skipped.push((what.into(), why.into()));
    }

    /// Runs a program and takes each line that it prints, as a test's or as a check's. If it cannot
    /// be run, or ends badly without naming a failure, that counts as one.
    pub fn run(&mut self, name: &str, command: &mut Command, take: fn(&mut Self, &str)) {
        let failed_before = self.summary.failed;
        let problem = match each_line(command, |line| take(self, line)) {
            Ok(status) if status.success() || self.summary.failed > failed_before => return,
            Ok(status) => status.to_string(),
            Err(problem) => problem,
        };
        self.check(&format!("failed: {name}: {problem}"));
    }

    /// Prints the lines and returns the totals.
    pub fn end(self) -> Summary {
        for line in self.lines {
            println!("{line}");
        }
        self.summary
    }
}

/// A part that is to run, under the name by which its time is listed.
pub struct Job<'a> {
    name: String,
    run: Box<dyn FnOnce(&mut Part) + Send + 'a>,
}

impl<'a> Job<'a> {
    /// Returns a job that has not begun.
    pub fn new(name: impl Into<String>, run: impl FnOnce(&mut Part) + Send + 'a) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }
}

/// How long the parts of a run took, by name.
pub type Times = Vec<(String, Duration)>;

/// Begins jobs in their order, as many at a time as there are lanes, and prints what each has to
/// say when it has ended. Returns the totals and the time of each job.
pub fn side_by_side(jobs: Vec<Job<'_>>, lanes: usize) -> (Summary, Times) {
    let waiting = Mutex::new(jobs.into_iter());
    let ended = Mutex::new((Summary::default(), Times::new()));
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(job) = next(&waiting) {
                    let (mut part, begun) = (Part::default(), Instant::now());
                    (job.run)(&mut part);
                    let time = begun.elapsed();
                    let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
                    ended.0.add(part.end());
                    ended.1.push((job.name, time));
                }
            });
        }
    });
    ended.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn next<T>(waiting: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_run_and_counted_once() {
        let jobs = (0..5).map(|number| {
            Job::new(format!("job {number}"), |part: &mut Part| {
                part.check("passed: this");
                part.check("failed: that");
            })
        });

        let (summary, times) = side_by_side(jobs.collect(), 2);

        assert_eq!(summary.to_string(), "5 passed, 5 failed, 0 skipped");
        let mut names: Vec<&str> = times.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["job 0", "job 1", "job 2", "job 3", "job 4"]);
    }

    #[test]
    fn jobs_of_two_lanes_run_side_by_side() {
        let both = std::sync::Barrier::new(2);
        let meet = || {
            Job::new("meets the other", |_: &mut Part| {
                both.wait();
            })
        };

        let (_, times) = side_by_side(vec![meet(), meet()], 2);

        assert_eq!(times.len(), 2);
    }

    #[test]
    fn a_program_that_crashes_without_naming_a_test_is_one_failure() {
        let mut part = Part::default();
        let mut shell = |script: &str| {
            let mut command = Command::new("sh");
            part.run("a shell", command.args(["-c", script]), Part::check);
            part.summary.failed
        };

        assert_eq!(shell("echo passed: it"), 0);
        assert_eq!(shell("exit 1"), 1);
        assert_eq!(shell("echo failed: this; echo failed: that; exit 1"), 3);
        assert_eq!(part.summary.passed, 1);
    }
}
