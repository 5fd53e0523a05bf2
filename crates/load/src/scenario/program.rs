//! A scenario in the form that the engine's threads execute.

mod compile;
mod setup;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::pool::Entry;
use super::statuses::Statuses;
use super::take::{Check, Take};
use super::template::Template;
use crate::engine::StepFacts;
use crate::run::RunFile;

pub use setup::Setup;

/// A checked scenario; only its tallies change from now on.
#[derive(Debug)]
pub struct Program {
    /// The scenario's name.
    pub name: String,
    pub(super) facts: Vec<StepFacts>,
    pub(super) steps: Vec<Step>,
    /// The initial values of variables, by number; variables that have one come first.
    pub(super) initial: Vec<String>,
    pub(super) pools: Vec<PoolFacts>,
    /// The weights of the steps; without them, steps are done in order.
    pub(super) weights: Option<Vec<f64>>,
    /// The path of the target, with which whole paths from answers begin.
    pub(super) prefix: String,
    /// The number of a step that can always be done.
    pub(super) always: usize,
    pub(super) tallies: Vec<Tally>,
}

#[derive(Debug)]
pub(super) struct Step {
    pub(super) path: Template,
    /// Whether one of its texts contains the serial number.
    pub(super) has_serial: bool,
    /// Whether its path begins with a value that is a whole path.
    pub(super) has_whole_path: bool,
    pub(super) headers: Template,
    pub(super) body: Template,
    pub(super) auth: bool,
    pub(super) expect: Statuses,
    pub(super) pause: (Duration, Duration),
    pub(super) takes: Vec<(u16, Take)>,
    pub(super) checks: Vec<Check>,
    pub(super) from: Option<From>,
    pub(super) keep: Option<Keeping>,
    pub(super) each: Option<Each>,
    /// The variables that it needs, except those that it sets itself.
    pub(super) needs: Vec<u16>,
}

#[derive(Debug)]
pub(super) struct From {
    pub(super) pool: usize,
    pub(super) remove: bool,
}

#[derive(Debug)]
pub(super) struct Keeping {
    pub(super) pool: usize,
    pub(super) values: Vec<Template>,
}

/// Values of which each request has another combination.
#[derive(Debug)]
pub(super) struct Each {
    /// The values by variable; the first variable changes fastest.
    pub(super) values: Vec<(u16, Vec<String>)>,
    /// The number of combinations.
    pub(super) combinations: u64,
}

#[derive(Debug)]
pub(super) struct PoolFacts {
    /// The variables that an entry sets, in order.
    pub(super) variables: Vec<u16>,
    /// The steps that need an entry.
    pub(super) steps: Vec<usize>,
    /// Whether some step removes entries.
    pub(super) is_used_up: bool,
    /// Its initial entries, for all threads.
    pub(super) entries: Vec<Entry>,
}

impl PoolFacts {
    /// Returns whether each thread always has an entry.
    pub(super) fn is_never_empty(&self) -> bool {
        !self.entries.is_empty() && !self.is_used_up
    }
}

/// Counts that all threads share.
#[derive(Debug, Default)]
pub(super) struct Tally {
    skipped: AtomicU64,
    untaken: AtomicU64,
    is_used_up: AtomicBool,
}

/// Problems of a step other than its answers' statuses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) skipped: u64,
    pub(super) untaken: u64,
    pub(super) is_used_up: bool,
}

impl Tally {
    pub(super) fn add_skipped(&self) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_untaken(&self) {
        self.untaken.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that some thread has no further combination for the step.
    pub(super) fn use_up(&self) {
        self.is_used_up.store(true, Ordering::Relaxed);
    }
}

impl Each {
    /// Returns each variable's value in a combination.
    pub(super) fn combination(&self, mut number: u64) -> impl Iterator<Item = (u16, &str)> {
        self.values.iter().map(move |(variable, values)| {
            let many = values.len() as u64;
            let at = usize::try_from(number % many).expect("it is less than the values' number");
            number /= many;
            (*variable, &*values[at])
        })
    }
}

impl Program {
    /// Returns the constant properties of its steps.
    pub fn facts(&self) -> &[StepFacts] {
        &self.facts
    }

    /// Adds the problems of steps so far to the rows of a run.
    pub fn put_into(&self, run: &mut RunFile) {
        for (step, trouble) in run.steps.iter_mut().zip(self.trouble()) {
            step.skipped = trouble.skipped;
            step.untaken = trouble.untaken;
            step.is_used_up = trouble.is_used_up;
        }
    }

    /// Resets the counts after a warm-up. Combinations that were used stay used.
    pub fn forget_trouble(&self) {
        for tally in &self.tallies {
            tally.skipped.store(0, Ordering::Relaxed);
            tally.untaken.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the problems by step.
    pub(super) fn trouble(&self) -> impl Iterator<Item = Trouble> {
        self.tallies.iter().map(|tally| Trouble {
            skipped: tally.skipped.load(Ordering::Relaxed),
            untaken: tally.untaken.load(Ordering::Relaxed),
            is_used_up: tally.is_used_up.load(Ordering::Relaxed),
        })
    }
}
