//! Streams the documents of a district.

use crate::batch::{Batch, Document};
use crate::layout::District;
use crate::plan::DistrictPlan;
use crate::stage::{STAGES, Stage};

/// Returns all documents of the district that `plan` describes, each after all documents that it
/// refers to.
///
/// Documents are generated on demand: memory holds a few numbers for each school, and the documents
/// of one student or one school. School years are referred to but not generated, because every
/// store provides them.
pub fn documents(plan: &DistrictPlan) -> Documents {
    Documents { district: District::new(plan), stages: STAGES, unit: 0, batch: Batch::default() }
}

/// The documents of a district; see [`documents`].
pub struct Documents {
    district: District,
    /// Remaining stages; the first one is in progress.
    stages: &'static [Stage],
    unit: usize,
    batch: Batch,
}

impl Iterator for Documents {
    type Item = Document;

    fn next(&mut self) -> Option<Document> {
        loop {
            if let Some(document) = self.batch.pop() {
                return Some(document);
            }
            let (stage, rest) = self.stages.split_first()?;
            if self.unit < (stage.units)(&self.district) {
                (stage.write)(&self.district, self.unit, &mut self.batch);
                self.unit += 1;
            } else {
                self.stages = rest;
                self.unit = 0;
            }
        }
    }
}
