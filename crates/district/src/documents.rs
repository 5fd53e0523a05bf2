//! Streams the documents of a district.

use std::collections::VecDeque;

use crate::json::{self, Object};
use crate::layout::District;
use crate::plan::DistrictPlan;
use crate::stage::{STAGES, Stage};

/// A document of the district.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Name of its resource, `Student`.
    pub resource: &'static str,
    /// Its JSON text, on one line.
    pub json: String,
}

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
            if let Some(document) = self.batch.documents.pop_front() {
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

/// The documents of one unit of a stage.
#[derive(Default)]
pub(crate) struct Batch {
    documents: VecDeque<Document>,
    /// Length of the longest document so far, reserved for the next one.
    longest: usize,
}

impl Batch {
    /// Adds a document of `resource`.
    pub(crate) fn add(&mut self, resource: &'static str, write: impl FnOnce(&mut Object<'_>)) {
        let mut json = String::with_capacity(self.longest);
        json::object(&mut json, write);
        self.longest = self.longest.max(json.len());
        self.documents.push_back(Document { resource, json });
    }
}
