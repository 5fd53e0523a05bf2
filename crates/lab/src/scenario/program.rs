//! A scenario as the engine's threads follow it.

mod compile;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::pool::Entry;
use super::statuses::Statuses;
use super::take::{Check, Take};
use super::template::Template;
use crate::engine::StepFacts;

pub use compile::Setup;

/// A scenario that was checked: nothing in it changes any more but its tallies.
#[derive(Debug)]
pub struct Program {
    /// The scenario's name.
    pub name: String,
    pub(super) facts: Vec<StepFacts>,
    pub(super) steps: Vec<Step>,
    /// The first values of variables, by number: those that have one come first.
    pub(super) initial: Vec<String>,
    pub(super) pools: Vec<PoolFacts>,
    /// Relative frequencies; without, steps are done in order.
    pub(super) weights: Option<Vec<f64>>,
    /// A step that can always be done.
    pub(super) always: usize,
    pub(super) tallies: Vec<Tally>,
}

#[derive(Debug)]
pub(super) struct Step {
    pub(super) path: Template,
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
    /// Variables without which it cannot be done, but for those that it gives itself.
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
    /// By variable; the first changes fastest.
    pub(super) values: Vec<(u16, Vec<String>)>,
    /// How many combinations there are.
    pub(super) combinations: u64,
}

#[derive(Debug)]
pub(super) struct PoolFacts {
    /// The variables that an entry gives, in order.
    pub(super) variables: Vec<u16>,
    /// The steps that need an entry.
    pub(super) steps: Vec<usize>,
    /// What it has from the start, all threads' shares.
    pub(super) entries: Vec<Entry>,
}

/// What all threads count together.
#[derive(Debug, Default)]
pub(super) struct Tally {
    skipped: AtomicU64,
    untaken: AtomicU64,
}

impl Tally {
    pub(super) fn add_skipped(&self) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_untaken(&self) {
        self.untaken.fetch_add(1, Ordering::Relaxed);
    }
}

/// What went wrong with a step besides its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepTrouble {
    /// The step's name.
    pub step: String,
    /// How often it was its turn and it could not be done, as a value, an entry of a pool or a
    /// further combination was missing.
    pub skipped: u64,
    /// Right answers in which a value to be taken or kept was missing.
    pub untaken: u64,
}

impl Each {
    /// Each variable's value in a combination.
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
    /// What is always the same about its steps.
    pub fn facts(&self) -> &[StepFacts] {
        &self.facts
    }

    /// The steps with which something went wrong so far, besides their answers.
    pub fn trouble(&self) -> Vec<StepTrouble> {
        let all = self.facts.iter().zip(&self.tallies).map(|(facts, tally)| StepTrouble {
            step: facts.name.clone(),
            skipped: tally.skipped.load(Ordering::Relaxed),
            untaken: tally.untaken.load(Ordering::Relaxed),
        });
        all.filter(|trouble| trouble.skipped + trouble.untaken > 0).collect()
    }
}
