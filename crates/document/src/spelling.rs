//! Spells descriptors as their own documents do, in whatever case other documents name them.
//!
//! A descriptor's identity does not depend on case, so a document may name it in any case. The
//! stored and answered text has the descriptor's own spelling, which never changes while its
//! document exists: a document sent for a stored descriptor in another case changes everything
//! else. A spelling that was looked up once is therefore cached, together with the public id, which
//! no other document ever gets.
//!
//! Source: Ed-Fi ODS/API 7.3, which stores descriptors by number and takes their spelling from
//! their rows.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use homeroom_store::{NaturalKey, Row, Uuid};

use crate::json::member_text;

/// First of the two properties that form a descriptor's URI, `namespace#codeValue`.
pub const NAMESPACE: &str = "namespace";
/// Second of these properties; see [`NAMESPACE`].
pub const CODE_VALUE: &str = "codeValue";

/// Most spellings that are cached, some ten megabytes.
const SPELLINGS_MAX: usize = 50_000;

/// Cached spellings by identity: the document's public id, and the canonical JSON text of its URI.
#[derive(Debug, Default)]
pub(crate) struct Spellings(RwLock<HashMap<NaturalKey, (Uuid, Arc<str>)>>);

impl Spellings {
    /// Returns the cached spelling of a descriptor, if its document has this public id.
    pub(crate) fn get(&self, key: NaturalKey, uuid: Uuid) -> Option<Arc<str>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&key).filter(|(of, _)| *of == uuid).map(|(_, text)| Arc::clone(text))
    }

    /// Whether all texts match the cached spellings of their identities. A cached spelling may be
    /// of a document that has since been deleted and created again.
    pub(crate) fn agree<'t>(&self, mut texts: impl Iterator<Item = (NaturalKey, &'t str)>) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        texts.all(|(key, text)| known.get(&key).is_some_and(|(_, known)| **known == *text))
    }

    /// Reads the spelling from a descriptor's document and caches it.
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

/// Returns the URI of a descriptor's stored document as canonical JSON text. Escapes in its parts
/// stay as they are; blanks around a code value are left out.
pub(crate) fn uri_text(body: &str) -> Option<String> {
    let part = |name| member_text(body, name)?.strip_prefix('"')?.strip_suffix('"');
    Some(format!("\"{}#{}\"", part(NAMESPACE)?, part(CODE_VALUE)?.trim()))
}
