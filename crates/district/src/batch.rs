//! A document, and the batch in which a stage writes it.

use std::collections::VecDeque;

use crate::json::{self, Object};

/// A document of the district.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Name of its resource, `Student`.
    pub resource: &'static str,
    /// Its JSON text, on one line.
    pub json: String,
}

/// The documents of one unit of a stage.
#[derive(Default)]
pub(crate) struct Batch {
    documents: VecDeque<Document>,
    /// Length of the longest document so far, reserved for the next one.
    longest: usize,
}

impl Batch {
    /// Removes the first of the documents that are left.
    pub(crate) fn pop(&mut self) -> Option<Document> {
        self.documents.pop_front()
    }

    /// Adds a document that is written already.
    pub(crate) fn push(&mut self, document: Document) {
        self.documents.push_back(document);
    }

    /// Adds a document of `resource`.
    pub(crate) fn add(&mut self, resource: &'static str, write: impl FnOnce(&mut Object<'_>)) {
        let mut json = String::with_capacity(self.longest);
        json::object(&mut json, write);
        self.longest = self.longest.max(json.len());
        self.documents.push_back(Document { resource, json });
    }
}
