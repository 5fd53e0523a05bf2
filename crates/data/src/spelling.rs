//! How descriptors are spelled: as their own document has it, in whatever case others name them.
//!
//! A descriptor's identity does not depend on case, so a document may name it in any. What is stored
//! and answered is the descriptor's own spelling, which stays for as long as its document does: a
//! document sent for a stored descriptor in another case changes everything but that. So what was
//! looked up once need not be looked up again, and is remembered with the public id, which no other
//! document ever gets.
//!
//! Source: Ed-Fi ODS/API 7.3, which stores descriptors by number and spells them from their rows.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use homeroom_store::{NaturalKey, Row, Uuid};

use crate::json::member_text;

/// The properties that make up a descriptor's URI, `namespace#codeValue`.
pub(crate) const NAMESPACE: &str = "namespace";
/// See [`NAMESPACE`].
pub(crate) const CODE_VALUE: &str = "codeValue";

/// Most spellings that are remembered: some ten megabytes.
const SPELLINGS_MAX: usize = 50_000;

/// Spellings that were looked up before, by identity: the document's public id, and the canonical
/// JSON text of its URI.
#[derive(Debug, Default)]
pub(crate) struct Spellings(RwLock<HashMap<NaturalKey, (Uuid, Arc<str>)>>);

impl Spellings {
    /// The spelling of the descriptor of an identity whose document has this public id, if it is
    /// remembered.
    pub(crate) fn get(&self, key: NaturalKey, uuid: Uuid) -> Option<Arc<str>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&key).filter(|(of, _)| *of == uuid).map(|(_, text)| Arc::clone(text))
    }

    /// Whether these texts are all spelled as is remembered of their identities. What is remembered
    /// may be of a document that was deleted since, and another made in its place.
    pub(crate) fn agree<'t>(&self, mut texts: impl Iterator<Item = (NaturalKey, &'t str)>) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        texts.all(|(key, text)| known.get(&key).is_some_and(|(_, known)| **known == *text))
    }

    /// Reads the spelling from a descriptor's document and remembers it.
    pub(crate) fn learn(&self, row: &Row) -> Option<Arc<str>> {
        let spelling: Arc<str> = uri_text(&row.body)?.into();
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= SPELLINGS_MAX {
            known.clear();
        }
        known.insert(row.key, (row.uuid, Arc::clone(&spelling)));
        Some(spelling)
    }
}

/// The URI of a descriptor's stored document, as canonical JSON text. What is escaped in its parts is
/// escaped the same way in the whole; blanks around a code value identify nothing and stay out.
pub(crate) fn uri_text(body: &str) -> Option<String> {
    let part = |name| member_text(body, name)?.strip_prefix('"')?.strip_suffix('"');
    Some(format!("\"{}#{}\"", part(NAMESPACE)?, part(CODE_VALUE)?.trim()))
}
