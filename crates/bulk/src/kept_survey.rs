//! The survey of a load's files, kept beside its checkpoint, so that a load that is continued does not look
//! for the places of all records again.
//!
//! The first line names the load; each further line is the survey of one file. It is written before the first checkpoint and
//! stays as it is. What cannot be read is not used: then the files are surveyed again.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use homeroom_model::ResourceId;
use serde::{Deserialize, Serialize};

use crate::checkpoint::{Terms, sum};
use crate::error::LoadError;
use crate::place::{At, Spot};
use crate::survey::{Run, Survey, Unknown};
use crate::xml::{Ids, RootTag};

/// What a survey is of.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    /// The program that made it: another one may look for records in another way.
    program: String,
    /// A sum of the load's terms, with the marks of its files.
    terms: u64,
    files: u64,
}

/// What a load needs of the survey of a file.
#[derive(Debug, Serialize, Deserialize)]
struct KeptSurvey {
    /// Level, start (offset, line, start of the line) and end of each run.
    runs: Vec<(u16, [u64; 3], u64)>,
    counts: Vec<(u16, u64)>,
    unknown: Vec<(String, u64, At)>,
    ids: Vec<(u64, u64)>,
    /// Offsets and name of the root's tag, and whether it is empty.
    root: ([u64; 2], Vec<u8>, bool),
}

impl Head {
    /// Fails where a path of the terms is no text.
    fn of(terms: &Terms, files: usize) -> serde_json::Result<Self> {
        let terms = sum(&serde_json::to_vec(terms)?);
        Ok(Self { program: env!("CARGO_PKG_VERSION").to_owned(), terms, files: files as u64 })
    }
}

impl KeptSurvey {
    fn of(survey: &Survey) -> Self {
        let Survey { runs, counts, unknown, ids, root, .. } = survey;
        Self {
            runs: runs.iter().map(|run| (run.level, run.start.parts(), run.end)).collect(),
            counts: counts.iter().map(|(resource, count)| (resource.0, *count)).collect(),
            unknown: unknown
                .iter()
                .map(|(name, Unknown { count, first })| (name.clone(), *count, *first))
                .collect(),
            ids: ids.places().to_vec(),
            root: ([root.start, root.end], root.name.clone(), root.is_empty),
        }
    }

    fn survey(self) -> Survey {
        let Self { runs, counts, unknown, ids, root: ([start, end], name, is_empty) } = self;
        let run = |(level, start, end)| Run { level, start: Spot::of_parts(start), end };
        let mut survey = Survey::of_root(RootTag { start, end, name, is_empty });
        survey.runs = runs.into_iter().map(run).collect();
        survey.counts = counts.into_iter().map(|(id, count)| (ResourceId(id), count)).collect();
        survey.unknown = unknown
            .into_iter()
            .map(|(name, count, first)| (name, Unknown { count, first }))
            .collect();
        survey.ids = Ids::of_places(ids);
        survey
    }
}

/// Keeps the surveys of a load beside its checkpoint.
///
/// # Errors
///
/// [`LoadError::Output`].
pub(crate) fn keep(checkpoint: &Path, terms: &Terms, surveys: &[Survey]) -> Result<(), LoadError> {
    let path = path_of(checkpoint);
    let write = || {
        remove(checkpoint);
        let out = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        let mut out = BufWriter::new(out);
        let mut line = |text: serde_json::Result<Vec<u8>>| {
            out.write_all(&text?)?;
            out.write_all(b"\n")
        };
        line(Head::of(terms, surveys.len()).and_then(|head| serde_json::to_vec(&head)))?;
        for survey in surveys {
            line(serde_json::to_vec(&KeptSurvey::of(survey)))?;
        }
        out.flush()
    };
    write().map_err(|source: io::Error| LoadError::Output { path: path.clone(), source })
}

/// Returns the surveys that a load has kept; [`None`] if they are not there, not whole, or of another load or
/// program.
pub(crate) fn kept(checkpoint: &Path, terms: &Terms, files: usize) -> Option<Vec<Survey>> {
    let mut lines = BufReader::new(File::open(path_of(checkpoint)).ok()?).lines();
    let head: Head = serde_json::from_str(&lines.next()?.ok()?).ok()?;
    if head != Head::of(terms, files).ok()? {
        return None;
    }
    let surveys: Option<Vec<Survey>> = lines
        .map(|line| Some(serde_json::from_str::<KeptSurvey>(&line.ok()?).ok()?.survey()))
        .collect();
    surveys.filter(|surveys| surveys.len() == files)
}

/// Removes what was kept.
pub(crate) fn remove(checkpoint: &Path) {
    _ = std::fs::remove_file(path_of(checkpoint));
}

fn path_of(checkpoint: &Path) -> PathBuf {
    checkpoint.with_added_extension("survey")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use homeroom_testkit::Folder;

    use super::*;

    #[test]
    fn terms_that_cannot_be_written_match_no_others() {
        let (model, folder) = (crate::tests::model(), Folder::new());
        let checkpoint = folder.path().join("checkpoint");
        let terms = |results: &[u8]| {
            let results = Path::new(OsStr::from_bytes(results));
            Terms::of(&model, &[], (&[], false), (Some(results), None, None))
        };

        let usual = keep(&checkpoint, &terms(b"/a"), &[]);
        let again = kept(&checkpoint, &terms(b"/a"), 0).map(|surveys| surveys.len());
        let other = kept(&checkpoint, &terms(b"/b\xff"), 0);
        let unfit = keep(&checkpoint, &terms(b"/a\xff"), &[]);
        let another = kept(&checkpoint, &terms(b"/b\xff"), 0);

        assert!(usual.is_ok() && unfit.is_err());
        assert_eq!(again, Some(0));
        assert!(other.is_none() && another.is_none());
    }
}
