//! Whether a store is whole: its tables against each other, and against what its documents say.

use std::sync::Arc;
use std::time::{Duration, Instant};

use homeroom_data::AuditProgress;
use homeroom_store::{Snapshot, SnapshotOptions, Sql, StandardName, Store, StoreError, StoreUrl};
use serde::{Deserialize, Serialize};

use crate::command::terminal::{ProgressLine, grouped};
use crate::standard::Standard;

/// What was found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Looked {
    /// Damage, in words.
    pub problems: Vec<String>,
    /// Documents whose texts this Homeroom would not have stored so, in words.
    pub misfits: Vec<String>,
    /// What was not looked at, in words.
    pub left_out: Vec<String>,
    /// Documents whose texts were looked at.
    pub documents: u64,
}

/// Longest time of a look.
const TIME_MAX: Duration = Duration::from_hours(24 * 20);

/// What `--quick` leaves out.
const QUICK: &str = "identities, base identities, references, edges, marks and ties against the \
     documents' texts, and tombstones against their key values (--quick)";

/// Looks a store through, whether or not it is open: quickly the tables alone, else the documents,
/// too, as far as there is time.
///
/// # Errors
///
/// Why it cannot be looked at.
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
        // What is damaged already may be so damaged that it cannot be read.
        Err(error) if !looked.problems.is_empty() => {
            looked.left_out.push(format!("the documents' texts: {error}"));
        }
        Err(error) => return Err(error),
    }
    Ok(looked)
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
        let theirs = standard_of(&snapshot)?;
        Ok((snapshot, theirs))
    });
    let (snapshot, theirs) = match opened {
        Err(StoreError::Deadline(_)) => {
            looked.left_out.push("the documents' texts: the time was over".into());
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
    let audit = homeroom_data::audit(&Arc::clone(&standard.model), &snapshot, tell)?;
    looked.problems.extend(audit.problems);
    looked.misfits = audit.misfits;
    looked.left_out.extend(audit.left_out);
    looked.documents = audit.documents;
    Ok(())
}

/// The standard that a store's documents are of, if it says so.
fn standard_of(snapshot: &Snapshot) -> Result<Option<StandardName>, StoreError> {
    let text = "SELECT schema_name, version FROM standard WHERE id = 1";
    let rows = snapshot.rows(Sql::new(text, vec![]))?;
    Ok(rows.first().and_then(|row| {
        let text = |at: usize| Some(row.get(at)?.as_text()?.to_owned());
        Some(StandardName { schema: text(0)?, version: text(1)? })
    }))
}

/// How far a look is, as a line on stderr.
pub fn shown(line: &mut ProgressLine) -> impl FnMut(AuditProgress) + '_ {
    move |now| {
        line.show(|| {
            let (done, all) = (grouped(now.documents), grouped(now.in_all));
            format!("looked through {done} of {all} documents")
        });
    }
}
