//! Collects what a law that loops over all resources finds: every breach, in one message.

use std::fmt::Display;

/// Most breaches that a message shows.
const SHOWN_MAX: usize = 20;
/// Most characters that are shown of one breach.
const LENGTH_MAX: usize = 400;

/// Breaches of one law.
pub struct Failures {
    law: &'static str,
    checked: usize,
    found: Vec<String>,
}

impl Failures {
    /// Begins to check a law.
    pub fn of(law: &'static str) -> Self {
        Self { law, checked: 0, found: vec![] }
    }

    /// Counts one case, and records what is wrong with it.
    pub fn check(&mut self, case: impl Display, outcome: Result<(), String>) {
        self.checked += 1;
        if let Err(what) = outcome {
            self.found.push(format!("{case}: {what}"));
        }
    }

    /// Panics with all breaches, or if fewer than `least` cases were checked.
    #[track_caller]
    pub fn assert_none(self, least: usize) {
        let Self { law, checked, found } = self;
        let shown: Vec<String> = found
            .iter()
            .take(SHOWN_MAX)
            .map(|what| what.chars().take(LENGTH_MAX).collect())
            .collect();
        assert!(
            found.is_empty(),
            "{law}: {} of {checked} cases broke it\n  {}",
            found.len(),
            shown.join("\n  ")
        );
        assert!(checked >= least, "{law}: only {checked} cases were found, expected {least}");
    }
}
