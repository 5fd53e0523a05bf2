//! How far a load has come, kept in a file so that an interrupted load can be continued.
//!
//! A checkpoint names the first record that was not decided yet; those after it that were decided
//! already, because a fault is found before an earlier batch is written; and those that wait. The
//! records before it are not read again. Two files are written in turns, so that one is always
//! whole. Beside them is a list of all rejects so far, which only grows.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use homeroom_model::Model;
use homeroom_store::NaturalKey;
use serde::{Deserialize, Serialize};

use crate::error::LoadError;
use crate::place::At;
use crate::reject::{Cause, Lacking, Summary, Tally};
use crate::reject_files::Copied;
use crate::source::SourceFile;

/// Version of the file's form.
const FORM: u32 = 3;
/// Share of the documents after which another checkpoint is due.
const SHARE: u64 = 500;
/// Fewest documents between two checkpoints.
const DOCUMENTS_MIN: u64 = 250;

/// The place of a record in the order of the load: level, file, offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Position {
    /// Level of its resource.
    pub level: u16,
    /// Index of its file.
    pub file: u32,
    /// Offset in the file.
    pub offset: u64,
}

impl Position {
    /// The place before the first record.
    pub(crate) const START: Self = Self { level: 0, file: 0, offset: 0 };
}

/// What must be the same when a load is continued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    model: String,
    select: Vec<String>,
    is_strict: bool,
    results: Option<PathBuf>,
    rejects: Option<PathBuf>,
    /// A sum of the mapping that was given.
    map: Option<String>,
    files: Vec<FileMark>,
}

/// What is remembered of a file, by which a change is noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileMark {
    name: String,
    bytes: u64,
    /// Moment of its last change in nanoseconds; 0 for a copy, which is as new as the load.
    changed: i64,
}

/// How far a load has come.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    form: u32,
    /// Which checkpoint of the load it is, from 1.
    number: u64,
    /// What must be the same.
    pub terms: Terms,
    /// The first record that was not decided; records before it were.
    pub position: Position,
    /// Records at or after the position that were decided, or wait.
    pub decided: Vec<Position>,
    /// Records that wait, or were about to be tried again, with their resources.
    pub waiting: Vec<(At, u16)>,
    /// Number of records per resource that are not stored, rejected or waiting.
    pub undecided: Vec<(u16, u64)>,
    /// Newest version in the store when the load began.
    pub version_before: i64,
    /// Newest version that a document got before the checkpoint.
    pub version: i64,
    /// Documents that a load which this one continues had written after its own checkpoint, and whose
    /// records stand at or after the position: their keys in hexadecimal digits.
    unknown: Vec<String>,
    /// Seconds that the load has taken.
    pub seconds: f64,
    /// The report.
    pub report: ReportState,
}

/// What a report has counted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ReportState {
    /// Counts.
    pub counts: Summary,
    /// Counts by resource.
    pub tallies: Vec<(Option<u16>, Tally)>,
    /// Warnings, with the number and place of each.
    pub warnings: Vec<(u16, String, u64, At)>,
    /// Causes of rejects.
    pub causes: Vec<(Cause, Option<u32>)>,
    /// For each cause by its index: the documents that its records lack, with the numbers of records
    /// that lack them, and lack nothing else.
    pub lacking: Vec<(u32, Lacking)>,
    /// The cause of each group of rejects.
    pub groups: Vec<(String, String, Option<u32>, u32)>,
    /// Number of bytes of results.
    pub results_bytes: u64,
    /// Number of bytes of the list of rejects.
    pub rejected_bytes: u64,
    /// What was copied to the folder of rejects; [`None`] if it has to be copied again.
    pub copied: Option<Vec<Copied>>,
}

/// A rejected record: what later rejects and the folder of rejects need of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RejectedRecord {
    /// Its place.
    pub at: At,
    /// Index of its cause.
    pub cause: u32,
    /// Its identity, and the one under its base.
    pub keys: Option<([u8; 16], Option<[u8; 16]>)>,
}

/// The file of checkpoints of a load.
pub(crate) struct Keeper {
    path: PathBuf,
    list: BufWriter<File>,
    terms: Terms,
    /// Number of bytes in the list of rejects.
    list_bytes: u64,
    due: u64,
    step: u64,
    /// Number of the last checkpoint.
    number: u64,
}

impl Terms {
    /// Returns the terms of a load.
    pub(crate) fn of(
        model: &Model,
        files: &[SourceFile],
        (select, is_strict): (&[String], bool),
        (results, rejects, map): (Option<&Path>, Option<&Path>, Option<&Path>),
    ) -> Self {
        let projects: Vec<String> =
            model.projects.iter().map(|p| format!("{} {}", p.name, p.version)).collect();
        let mark = |file: &SourceFile| {
            let about = std::fs::metadata(&file.path).ok();
            let is_copy = file.spool.is_some();
            let changed = |about: &std::fs::Metadata| {
                about.mtime().wrapping_mul(1_000_000_000).wrapping_add(about.mtime_nsec())
            };
            FileMark {
                name: whole(Path::new(&file.name)).display().to_string(),
                bytes: about.as_ref().map_or(0, std::fs::Metadata::len),
                changed: about.as_ref().filter(|_| !is_copy).map_or(0, changed),
            }
        };
        Self {
            model: format!("{}; {} resources", projects.join(", "), model.resources.len()),
            select: select.to_vec(),
            is_strict,
            results: results.map(whole),
            rejects: rejects.map(whole),
            map: map
                .and_then(|map| std::fs::read(map).ok())
                .map(|text| format!("{:016x}", sum(&text))),
            files: files.iter().map(mark).collect(),
        }
    }

    /// Says in which way these terms differ from those of the load to be continued.
    fn differs(&self, then: &Self) -> Option<String> {
        if self.model != then.model {
            return Some("the data standard is another one".into());
        }
        if (&self.select, self.is_strict) != (&then.select, then.is_strict) {
            return Some("--select or --strict differ".into());
        }
        if self.results != then.results || self.rejects != then.rejects {
            return Some("--results or --rejects differ".into());
        }
        if self.map != then.map {
            return Some("--map or what it says differs".into());
        }
        let changed = self.files.iter().find(|file| !then.files.contains(file));
        let changed = changed.or_else(|| then.files.iter().find(|file| !self.files.contains(file)));
        match changed {
            Some(file) => Some(format!("{} was added, changed or removed", file.name)),
            None => (self.files != then.files).then(|| "the files have another order".into()),
        }
    }
}

impl Checkpoint {
    /// Reads the checkpoint at a path; [`None`] if there is none.
    ///
    /// # Errors
    ///
    /// [`LoadError::CannotResume`] when it is of another load.
    pub(crate) fn read(path: &Path, terms: &Terms) -> Result<Option<Self>, LoadError> {
        let refused = |problem: String| LoadError::CannotResume { path: path.to_owned(), problem };
        let mut newest: Option<Self> = None;
        for slot in slots(path) {
            let text = match std::fs::read(&slot) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(refused(error.to_string())),
            };
            match serde_json::from_slice::<Self>(&text) {
                Ok(found) if newest.as_ref().is_some_and(|n| n.number > found.number) => {}
                Ok(found) => newest = Some(found),
                // The load was interrupted while it was written.
                Err(error) if error.is_eof() => {}
                Err(error) => {
                    return Err(refused(format!("it is no checkpoint of a load: {error}")));
                }
            }
        }
        let Some(found) = newest else { return Ok(None) };
        if found.form != FORM {
            return Err(refused("another version of Homeroom wrote it".into()));
        }
        match terms.differs(&found.terms) {
            Some(problem) => Err(refused(problem)),
            None => Ok(Some(found)),
        }
    }

    /// Returns the documents that were written after the checkpoint of an earlier part of the load.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = NaturalKey> + '_ {
        let key = |text: &String| u128::from_str_radix(text, 16).ok();
        self.unknown.iter().filter_map(key).map(|key| NaturalKey(key.to_be_bytes()))
    }

    /// Replaces the keys of those documents.
    pub(crate) fn keep_unknown(&mut self, keys: impl Iterator<Item = NaturalKey>) {
        self.unknown = keys.map(|key| format!("{:x}", u128::from_be_bytes(key.0))).collect();
    }

    /// Returns what was decided at or after the position.
    pub(crate) fn decided(&self) -> HashSet<Position> {
        self.decided.iter().copied().collect()
    }
}

impl Keeper {
    /// Begins to keep checkpoints at a path. `from` is the checkpoint that the load continues.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(crate) fn new(
        path: &Path,
        terms: Terms,
        from: Option<&Checkpoint>,
        documents: u64,
    ) -> Result<Self, LoadError> {
        let wrong = |source| LoadError::Output { path: path.to_owned(), source };
        if from.is_none() {
            remove(path);
        }
        let list_bytes = from.map_or(0, |from| from.report.rejected_bytes);
        let mut options = File::options();
        let opened =
            options.write(true).create(true).truncate(false).mode(0o600).open(list_of(path));
        let list = opened
            .and_then(|mut list| {
                list.set_len(list_bytes)?;
                list.seek(SeekFrom::End(0))?;
                Ok(list)
            })
            .map_err(wrong)?;
        let step = (documents / SHARE).max(DOCUMENTS_MIN);
        let list = BufWriter::new(list);
        let number = from.map_or(0, |from| from.number);
        Ok(Self { path: path.to_owned(), list, terms, list_bytes, due: step, step, number })
    }

    /// Whether another checkpoint is due; `waiting` records make it rarer, because it holds them.
    pub(crate) fn is_due(&self, documents: u64, waiting: u64) -> bool {
        documents >= self.due + waiting
    }

    /// Adds a reject to the list.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(crate) fn rejected(&mut self, record: &RejectedRecord) -> Result<(), LoadError> {
        let mut line = serde_json::to_vec(record).unwrap_or_default();
        line.push(b'\n');
        self.list_bytes += line.len() as u64;
        self.list.write_all(&line).map_err(|source| self.wrong(source))
    }

    /// Writes a checkpoint after `taken` documents; its own count leaves out those on their way.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(crate) fn write(&mut self, mut now: Checkpoint, taken: u64) -> Result<(), LoadError> {
        self.due = taken + self.step;
        now.terms = self.terms.clone();
        now.report.rejected_bytes = self.list_bytes;
        self.number += 1;
        now.number = self.number;
        let [even, odd] = slots(&self.path);
        let slot = if self.number.is_multiple_of(2) { even } else { odd };
        // The other slot has the checkpoint before this one. A file that takes the place of another, or
        // is emptied, would be synced by some file systems when it is closed.
        _ = std::fs::remove_file(&slot);
        let written = self.list.flush().and_then(|()| {
            let out = File::options().write(true).create_new(true).mode(0o600).open(&slot)?;
            let mut out = BufWriter::new(out);
            serde_json::to_writer(&mut out, &now)?;
            out.flush()
        });
        written.map_err(|source| self.wrong(source))
    }

    /// Removes the checkpoint, because the load has ended.
    pub(crate) fn end(self) {
        remove(&self.path);
        _ = std::fs::remove_file(list_of(&self.path));
    }

    /// Returns a checkpoint whose terms and list are filled in when it is written.
    pub(crate) fn blank(&self, position: Position, report: ReportState) -> Checkpoint {
        Checkpoint {
            form: FORM,
            number: self.number,
            terms: self.terms.clone(),
            position,
            decided: vec![],
            waiting: vec![],
            undecided: vec![],
            version_before: 0,
            version: 0,
            unknown: vec![],
            seconds: 0.0,
            report,
        }
    }

    fn wrong(&self, source: std::io::Error) -> LoadError {
        LoadError::Output { path: self.path.clone(), source }
    }
}

/// Calls `take` with each reject before a checkpoint.
///
/// # Errors
///
/// [`LoadError::CannotResume`] when the list cannot be read, and the error of `take`.
pub(crate) fn each_rejected(
    path: &Path,
    from: &Checkpoint,
    take: &mut dyn FnMut(RejectedRecord) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let refused = |problem: String| LoadError::CannotResume { path: list_of(path), problem };
    if from.report.rejected_bytes == 0 {
        return Ok(());
    }
    let list = File::open(list_of(path)).map_err(|error| refused(error.to_string()))?;
    let mut bytes = 0;
    for line in BufReader::new(list).lines() {
        let line = line.map_err(|error| refused(error.to_string()))?;
        bytes += line.len() as u64 + 1;
        let record = serde_json::from_str(&line).map_err(|error| refused(error.to_string()))?;
        take(record)?;
        if bytes >= from.report.rejected_bytes {
            return Ok(());
        }
    }
    Err(refused("it is shorter than its checkpoint says".into()))
}

/// Returns the two files that are written in turns.
fn slots(path: &Path) -> [PathBuf; 2] {
    [path.to_owned(), path.with_added_extension("2")]
}

/// Returns a path as it is from everywhere: a server is given whole paths, a command those of its user.
fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns a sum by which a change of a text is noticed (FNV-1a).
pub(crate) fn sum(text: &[u8]) -> u64 {
    let add = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    text.iter().fold(0xcbf2_9ce4_8422_2325, add)
}

fn remove(path: &Path) {
    for slot in slots(path) {
        _ = std::fs::remove_file(slot);
    }
}

fn list_of(path: &Path) -> PathBuf {
    path.with_added_extension("rejected")
}

impl RejectedRecord {
    /// Describes a rejected record.
    pub(crate) fn new(at: At, cause: u32, keys: Option<(NaturalKey, Option<NaturalKey>)>) -> Self {
        Self { at, cause, keys: keys.map(|(own, base)| (own.0, base.map(|base| base.0))) }
    }

    /// Returns its identity, and the one under its base.
    pub(crate) fn keys(&self) -> impl Iterator<Item = NaturalKey> {
        let (own, base) = self.keys.map_or((None, None), |(own, base)| (Some(own), base));
        own.into_iter().chain(base).map(NaturalKey)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_checkpoint_is_due_a_step_after_what_was_taken() {
        let folder = std::env::temp_dir().join(format!("homeroom-keeper-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let terms = Terms {
            model: String::new(),
            select: vec![],
            is_strict: false,
            results: None,
            rejects: None,
            map: None,
            files: vec![],
        };
        let mut keeper = Keeper::new(&folder.join("checkpoint"), terms, None, 1_000_000).unwrap();
        let position = Position { level: 0, file: 0, offset: 0 };
        let mut now = keeper.blank(position, ReportState::default());
        // Of 5,000 documents 4,500 are on their way.
        now.report.counts.documents = 500;

        keeper.write(now, 5_000).unwrap();

        assert!(!keeper.is_due(6_999, 0));
        assert!(keeper.is_due(7_000, 0));
        assert!(!keeper.is_due(7_000, 1));
        keeper.end();
        std::fs::remove_dir(&folder).unwrap();
    }
}
