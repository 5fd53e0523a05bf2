//! How descriptors are spelled by their own documents, and whether others spell them so.

use std::collections::HashMap;

use homeroom_store::{NaturalKey, Snapshot, Span, StoreError};

use crate::catalog::{Catalog, is_descriptor};
use crate::spelling::uri_text;
use crate::validate::Document;

/// Most descriptors whose spelling is remembered: some forty megabytes.
pub(super) const DESCRIPTORS_MAX: usize = 200_000;

/// Spellings of descriptors, by identity.
pub(super) struct Descriptors {
    spellings: HashMap<NaturalKey, Box<str>>,
    /// Whether the store has no more of them.
    pub(super) are_all: bool,
}

impl Descriptors {
    /// Reads every descriptor's document.
    ///
    /// # Errors
    ///
    /// The snapshot's own.
    pub(super) fn read(catalog: &Catalog, snapshot: &Snapshot) -> Result<Self, StoreError> {
        let mut spellings = HashMap::new();
        for (_, kind) in snapshot.kinds()? {
            if !catalog.resource(kind).is_some_and(is_descriptor) {
                continue;
            }
            let mut last = None;
            loop {
                let mut page = snapshot.documents(kind, Span::Whole, last.as_ref())?;
                for row in &page {
                    if spellings.len() >= DESCRIPTORS_MAX {
                        return Ok(Self { spellings, are_all: false });
                    }
                    spellings.extend(uri_text(&row.body).map(|text| (row.key, text.into())));
                }
                last = page.pop();
                if last.is_none() {
                    break;
                }
            }
        }
        Ok(Self { spellings, are_all: true })
    }

    /// Whether a document spells every descriptor as its own document does, as far as that is known.
    pub(super) fn are_spelled_in(&self, document: &Document) -> bool {
        document.spelled.iter().all(|at| {
            let own = self.spellings.get(&at.key);
            own.is_none_or(|own| **own == *at.text(&document.body))
        })
    }
}
