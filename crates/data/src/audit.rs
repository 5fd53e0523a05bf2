//! Whether all that is derived from documents is what their texts say.
//!
//! The text is the document: identity, base identity, references with their places, whom it is
//! about, edges, ties and what is remembered of a deletion are derived from it. Here all of it is
//! derived anew, document by document, and held against what is stored. What stands in tables by
//! itself (edges, ties, base identities) is compared as counts and sums that do not depend on the
//! order, so that memory does not grow with the store.

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

/// What came of looking a store through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audit {
    /// What is wrong, in words, with numbers of documents and nothing else of them.
    pub problems: Vec<String>,
    /// Documents whose texts this Homeroom would not have stored so: damaged, or of another one,
    /// whose model or rules were others.
    pub misfits: Vec<String>,
    /// What could not be looked at, in words.
    pub left_out: Vec<String>,
    /// Documents that were looked at.
    pub documents: u64,
}

/// How far a look is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditProgress {
    /// Documents that were looked at.
    pub documents: u64,
    /// How many there are.
    pub in_all: u64,
}

/// Looks a snapshot through: derives everything anew from each document's text and compares. Where
/// the snapshot's time ends, what was found until then comes with a word on what was left out.
///
/// # Errors
///
/// The snapshot's own, but not [`StoreError::Deadline`].
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
                "all but the first {all} document(s), and edges, ties, base identities and \
                 tombstones as wholes: the time of {} s was over",
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
            "how descriptors beyond the first {} are spelled",
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
    // A document of an unknown kind may have a base identity that nobody here can derive.
    let all_known = kinds.iter().all(|(name, kind)| {
        catalog.resource(*kind).is_some() || labels.contains(name) || !looker.has_any(*kind)
    });
    if all_known {
        out.problems.extend(sums::wrong_aliases(&expected, &found));
    } else {
        out.left_out.push("base identities as a whole".into());
    }
    Ok(())
}

/// Whether the key values of what was deleted make its identity.
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

/// The identity that key values make, if they can be read.
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
