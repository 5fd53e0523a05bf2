//! Plans that were submitted and whose outcomes are awaited.

use std::sync::mpsc::Receiver;

use crate::error::StoreError;
use crate::plan::{Decide, Refused};
use crate::store::job::Outcome;

/// Plans in a writer's queue. They are run whether or not somebody waits for them.
#[derive(Debug)]
pub struct Submitted<D: Decide> {
    /// Number of plans.
    pub(super) count: usize,
    /// Where the outcomes arrive, unless the writer took no more plans.
    pub(super) answer: Result<Receiver<Vec<Outcome<D>>>, StoreError>,
}

impl<D: Decide> Submitted<D> {
    /// Waits for the outcomes, which are in the order of the plans. Those of plans that were run
    /// are on disk.
    pub fn wait(self) -> Vec<Outcome<D>> {
        let answered = self.answer.and_then(|answer| answer.recv().map_err(|_| StoreError::Closed));
        answered.unwrap_or_else(|error| {
            (0..self.count).map(|_| Err(Refused::Store(error.clone()))).collect()
        })
    }
}
