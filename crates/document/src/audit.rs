//! Checks that all data derived from documents matches their texts.
//!
//! The text is the document. Its identity, base identity, references with their places, subjects,
//! edges, ties and tombstones are derived from it. The audit derives all of this again, document by
//! document, and compares it with the stored data. Rows in separate tables (edges, ties, base
//! identities) are compared as counts and order-independent sums, so that memory does not grow with
//! the store.

mod descriptors;
mod document;
mod findings;
mod sums;

use std::sync::Arc;

use homeroom_model::{Model, Resource};
use homeroom_store::{KindId, Row, Snapshot, Span, StoreError};

use crate::catalog::Catalog;
use crate::json::Json;
use crate::rights::label_names;
use crate::scalar;
use crate::validate::identity;
use descriptors::Descriptors;
use document::Looker;
use findings::Findings;
use sums::Sums;

/// Result of an audit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audit {
    /// What is wrong, in sentences that contain no values of documents except their numbers.
    pub problems: Vec<String>,
    /// Documents whose texts this version of Homeroom would not have stored: they are damaged, or
    /// come from a version with another model or other rules.
    pub misfits: Vec<String>,
    /// What could not be checked, in sentences.
    pub left_out: Vec<String>,
    /// Number of documents checked.
    pub documents: u64,
}

/// How far an audit has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditProgress {
    /// Number of documents checked so far.
    pub documents: u64,
    /// Total number of documents.
    pub in_all: u64,
}

/// Checks a snapshot: derives everything again from each document's text and compares it with the
/// stored data. If the snapshot's time runs out, the findings so far are returned with a note on
/// what was left out.
///
/// # Errors
///
/// Returns errors of the snapshot, except [`StoreError::Deadline`].
pub fn audit(
    model: &Arc<Model>,
    snapshot: &Snapshot,
    tell: &mut dyn FnMut(AuditProgress),
) -> Result<Audit, StoreError> {
    let mut out = Audit::default();
    let mut findings = Findings::default();
    match look(model, snapshot, &mut findings, &mut out, tell) {
        Err(StoreError::Deadline(time_max)) => {
            let all = out.documents;
            out.left_out.push(format!(
                "all but the first {all} document(s), and the totals of edges, ties, base \
                 identities and tombstones: the time limit of {} s was reached",
                time_max.as_secs()
            ));
        }
        looked => looked?,
    }
    out.problems.splice(0..0, findings.problems());
    out.misfits = findings.misfits();
    out.left_out.extend(findings.left_out());
    Ok(out)
}

fn look(
    model: &Arc<Model>,
    snapshot: &Snapshot,
    findings: &mut Findings,
    out: &mut Audit,
    tell: &mut dyn FnMut(AuditProgress),
) -> Result<(), StoreError> {
    let catalog = Catalog::of_snapshot(Arc::clone(model), snapshot)?;
    let in_all = snapshot.counts()?.iter().map(|(_, count)| count).sum();
    let kinds = snapshot.kinds()?;
    let descriptors = Descriptors::read(&catalog, snapshot)?;
    if !descriptors.are_all {
        out.left_out.push(format!(
            "the spelling of descriptors beyond the first {}",
            descriptors::DESCRIPTORS_MAX
        ));
    }
    let mut looker = Looker::new(&catalog, snapshot, descriptors);
    let mut expected = Sums::default();
    for (name, kind) in &kinds {
        let resource = catalog.resource(*kind);
        let before = out.documents;
        let mut last: Option<Row> = None;
        loop {
            let mut page = snapshot.documents(*kind, Span::Whole, last.as_ref())?;
            looker.page(resource, &page, &mut expected, findings)?;
            out.documents += page.len() as u64;
            tell(AuditProgress { documents: out.documents, in_all });
            last = page.pop();
            if last.is_none() {
                break;
            }
        }
        let documents = out.documents - before;
        if resource.is_none() && documents > 0 {
            out.left_out.push(format!(
                "the texts of {documents} document(s) of {name}, which the model does not have"
            ));
        }
    }
    tombstones(&catalog, snapshot, findings)?;
    let found = sums::stored(snapshot)?;
    let labels = label_names(model);
    for (name, kind) in &kinds {
        let is_known = catalog.resource(*kind).is_some() || labels.contains(name);
        out.problems.extend(sums::differences(name, *kind, is_known, &expected, &found));
    }
    let known: Vec<KindId> = kinds.iter().map(|(_, kind)| *kind).collect();
    out.problems.extend(sums::strangers(&known, &found));
    // The base identity of a document of an unknown kind cannot be derived here.
    let all_known = kinds.iter().all(|(name, kind)| {
        catalog.resource(*kind).is_some() || labels.contains(name) || !looker.has_any(*kind)
    });
    if all_known {
        out.problems.extend(sums::wrong_aliases(&expected, &found));
    } else {
        out.left_out.push("the total of base identities".into());
    }
    Ok(())
}

/// Checks that the key values of each tombstone give its identity.
fn tombstones(
    catalog: &Catalog,
    snapshot: &Snapshot,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let page = snapshot.deletes(after)?;
        for deleted in &page {
            let Some(resource) = catalog.resource(deleted.kind) else { continue };
            if key_of(catalog, resource, &deleted.key_values) != Some(deleted.key) {
                findings.tombstone(resource, deleted.change_version);
            }
        }
        match page.last() {
            Some(deleted) => after = deleted.change_version,
            None => return Ok(()),
        }
    }
}

/// Returns the identity that key values give, if they can be read.
fn key_of(
    catalog: &Catalog,
    resource: &Resource,
    key_values: &str,
) -> Option<homeroom_store::NaturalKey> {
    let Ok(Json::Object(members)) = Json::read(key_values.as_bytes()) else { return None };
    let mut texts = vec![];
    for column in &resource.key {
        let mut text = String::new();
        let value = Json::member(members.as_slice(), &column.name)?;
        scalar::write(&mut text, column.scalar, value).ok()?;
        texts.push(text);
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Some(identity(catalog, resource, &texts).0)
}
