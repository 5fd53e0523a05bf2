//! What the search asks of the program that sends its trials.

use super::result::{Phase, Tried};
use crate::trial::{Trial, TrialPlan};

/// Sends the load of the trials.
pub trait Driver {
    /// Why a trial could not be made; it ends the search.
    type Error;

    /// Makes a trial against an idle server, and waits until its answers have come or the drain's
    /// limit is reached. `phase` is for the records. Returns `None` if it was told to stop: the
    /// search then ends with what is known.
    ///
    /// # Errors
    ///
    /// Any error after which further trials make no sense.
    fn trial(&mut self, phase: Phase, plan: TrialPlan) -> Result<Option<Trial>, Self::Error>;

    /// Reports the progress of the search, for people who wait.
    fn tell(&mut self, event: &Event<'_>) {
        let _ = event;
    }
}

/// The progress of the search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event<'a> {
    /// A trial begins.
    Trying {
        /// The phase that it belongs to.
        phase: Phase,
        /// The requested load.
        plan: TrialPlan,
        /// The seconds spent so far.
        spent_s: f64,
    },
    /// A trial was judged.
    Tried(&'a Tried),
    /// A new result, in words.
    Found(&'a str),
}
