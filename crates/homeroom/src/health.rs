//! Checks a store: its tables against each other, and against the content of its documents.
#![expect(clippy::disallowed_methods, reason = "doctor has a time limit")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use homeroom_blobs::{BlobPlace, Checked};
use homeroom_document::AuditProgress;
use homeroom_store::{Snapshot, SnapshotOptions, Store, StoreError, StoreUrl};
use serde::{Deserialize, Serialize};

use crate::command::terminal::{ProgressLine, grouped};
use crate::standard::Standard;

/// The results of a check.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Looked {
    /// Descriptions of damage.
    pub problems: Vec<String>,
    /// Descriptions of documents that this version would not have stored in this form.
    pub misfits: Vec<String>,
    /// Descriptions of what was not checked.
    pub left_out: Vec<String>,
    /// The number of documents whose content was checked.
    pub documents: u64,
}

/// The longest time that a check may take.
const TIME_MAX: Duration = Duration::from_hours(24 * 20);

/// The part of the check that `--quick` skips.
const QUICK: &str = "identities, base identities, references, edges, marks and ties against the \
     documents' texts, tombstones against their key values, and the states of courses' activities (--quick)";

/// Checks a store, whether or not it is open: with `--quick` only the tables, otherwise also the
/// documents as far as time allows.
///
/// # Errors
///
/// Says why it cannot be checked.
pub fn look(
    url: &StoreUrl,
    standard: &Standard,
    time_max: Duration,
    is_quick: bool,
    tell: &mut dyn FnMut(AuditProgress),
) -> Result<Looked, StoreError> {
    let time_max = time_max.min(TIME_MAX);
    let end = Instant::now() + time_max;
    let health = Store::check_within(url, time_max)?;
    let mut looked =
        Looked { problems: health.problems, left_out: health.left_out, ..Looked::default() };
    if is_quick {
        looked.left_out.push(QUICK.into());
        return Ok(looked);
    }
    match look_at_documents(url, standard, end, &mut looked, tell) {
        Ok(()) => {}
        // The store may be too damaged to be read further.
        Err(error) if !looked.problems.is_empty() => {
            looked.left_out.push(format!("the documents' texts: {error}"));
        }
        Err(error) => return Err(error),
    }
    Ok(looked)
}

/// Checks that the bytes of every blob are there, as far as time allows.
///
/// # Errors
///
/// The store's own.
pub fn look_at_blobs(
    place: &BlobPlace,
    url: &StoreUrl,
    time_max: Duration,
    is_quick: bool,
) -> Result<Checked, StoreError> {
    let time_max = time_max.min(TIME_MAX);
    let end = Instant::now() + time_max;
    let options = SnapshotOptions { time_max, ..SnapshotOptions::default() };
    let snapshot = Snapshot::open(url, &options)?;
    homeroom_blobs::check(place, &snapshot, is_quick, &|| Instant::now() >= end)
}

/// Checks that the states of all activities of courses can be read, as far as time allows.
///
/// # Errors
///
/// The store's own.
pub fn look_at_courses(
    url: &StoreUrl,
    time_max: Duration,
) -> Result<homeroom_course::Checked, StoreError> {
    let time_max = time_max.min(TIME_MAX);
    let end = Instant::now() + time_max;
    let options = SnapshotOptions { time_max, ..SnapshotOptions::default() };
    let snapshot = Snapshot::open(url, &options)?;
    homeroom_course::check(&snapshot, &|| Instant::now() >= end)
}

fn look_at_documents(
    url: &StoreUrl,
    standard: &Standard,
    end: Instant,
    looked: &mut Looked,
    tell: &mut dyn FnMut(AuditProgress),
) -> Result<(), StoreError> {
    let time_max = end.saturating_duration_since(Instant::now());
    let options = SnapshotOptions { time_max, ..SnapshotOptions::default() };
    let opened = Snapshot::open(url, &options).and_then(|snapshot| {
        let theirs = snapshot.standard()?;
        Ok((snapshot, theirs))
    });
    let (snapshot, theirs) = match opened {
        Err(StoreError::Deadline(_)) => {
            looked.left_out.push("the documents' texts: the time limit was reached".into());
            return Ok(());
        }
        opened => opened?,
    };
    let ours = standard.name();
    if let Some(theirs) = theirs.filter(|theirs| *theirs != ours) {
        looked.left_out.push(format!(
            "the documents' texts: they are of {theirs}, and standard.version is {ours}"
        ));
        return Ok(());
    }
    let audit = homeroom_document::audit(&Arc::clone(&standard.model), &snapshot, tell)?;
    looked.problems.extend(audit.problems);
    looked.misfits = audit.misfits;
    looked.left_out.extend(audit.left_out);
    looked.documents = audit.documents;
    Ok(())
}

/// Shows how many rows are copied as a line on stderr.
pub fn copied(line: &mut ProgressLine, rows: u64) {
    line.show(|| format!("copied {} rows", grouped(rows)));
}

/// Shows the progress of a check as a line on stderr.
pub fn shown(line: &mut ProgressLine) -> impl FnMut(AuditProgress) + '_ {
    move |now| {
        line.show(|| {
            let (done, all) = (grouped(now.documents), grouped(now.in_all));
            format!("checked {done} of {all} documents")
        });
    }
}
