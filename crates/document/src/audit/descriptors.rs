//! Checks that documents spell descriptors as the descriptors' own documents do.

use std::collections::HashMap;

use homeroom_store::{NaturalKey, Snapshot, Span, StoreError};

use crate::catalog::{Catalog, is_descriptor};
use crate::spelling::uri_text;
use crate::validate::Document;

/// Most descriptors whose spelling is kept in memory, some forty megabytes.
pub(super) const DESCRIPTORS_MAX: usize = 200_000;

/// Spellings of descriptors, by identity.
pub(super) struct Descriptors {
    spellings: HashMap<NaturalKey, Box<str>>,
    /// Whether the store has no further descriptors.
    pub(super) are_all: bool,
}

impl Descriptors {
    /// Reads every descriptor's document.
    ///
    /// # Errors
    ///
    /// Returns errors of the snapshot.
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

    /// Whether a document spells every known descriptor as the descriptor's own document does.
    pub(super) fn are_spelled_in(&self, document: &Document) -> bool {
        document.spelled.iter().all(|at| {
            let own = self.spellings.get(&at.key);
            own.is_none_or(|own| **own == *at.text(&document.body))
        })
    }
}
