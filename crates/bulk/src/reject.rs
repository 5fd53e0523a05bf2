//! What a load reports about records that it could not load.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A reject: one line of the results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reject {
    /// Path of the file, as it was given.
    pub file: String,
    /// Line on which the record begins, from 1; for a file that cannot be read and a document that
    /// is not JSON, the line of the fault.
    pub line: u64,
    /// For a file that cannot be read and a document that is not JSON: column of the fault in
    /// bytes, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The record's XML element; null in JSON files.
    pub element: Option<String>,
    /// Its resource, `ed-fi/students`; null if unknown.
    pub resource: Option<String>,
    /// Its identifying values as JSON text, with null for absent ones.
    pub key: Option<String>,
    /// Type of the problem, `urn:ed-fi:api:…`.
    pub r#type: String,
    /// Everything that is wrong.
    pub message: String,
    /// How to correct it.
    pub hint: String,
    /// Documents that it refers to and that do not exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// Number of records that it stands for.
    pub count: u64,
    /// The status with which the API would have refused it.
    pub status_code: u16,
    /// What found the fault: `json`, `schema`, `descriptors`, `references` or `uniqueness`. For XML
    /// and CSV, `json` means that the record cannot be read.
    pub method: &'static str,
    /// The line again, as lists of other loaders have it.
    pub line_numbers: [u64; 1],
}

/// A record that has the identity of an earlier one: one line of the results. It was loaded, and takes
/// the place of the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Duplicate {
    /// Path of the file, as it was given.
    pub file: String,
    /// Line on which the record begins, from 1.
    pub line: u64,
    /// The record's XML element; null in JSON files.
    pub element: Option<String>,
    /// Its resource, `ed-fi/students`.
    pub resource: String,
    /// `urn:homeroom:load:duplicate`.
    pub r#type: &'static str,
    /// What it repeats.
    pub message: String,
    /// What to do about it.
    pub hint: &'static str,
    /// Place of the last record before it with the same identity; empty if that is too long ago.
    pub repeats: Repeats,
    /// Number of records that it stands for.
    pub count: u64,
    /// The status with which the API would have taken it.
    pub status_code: u16,
    /// The step that found the fault.
    pub method: &'static str,
    /// The line again, as lists of other loaders have it.
    pub line_numbers: [u64; 1],
}

/// Place of a record that another repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Repeats {
    /// Path of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line number, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// The type of causes and results that tell of repeated records.
pub(crate) const DUPLICATE: &str = "urn:homeroom:load:duplicate";

/// A document that a record refers to and that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Its resource, or the base of several resources, `EducationOrganization`.
    pub resource: String,
    /// Its identifying values as JSON text; for a descriptor, its URI.
    pub key: String,
    /// JSON path of the reference.
    pub path: String,
    /// For a descriptor: the stored one that is spelled most alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// Place of the record that should have provided it, but was itself rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<RejectedAt>,
}

impl Missing {
    /// Describes the target of a reference that cannot be resolved.
    pub(crate) fn new(resource: &str, key: String, path: String) -> Self {
        Self { resource: resource.to_owned(), key, path, nearest: None, rejected: None }
    }
}

/// Place of a rejected record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RejectedAt {
    /// Path of the file.
    pub file: String,
    /// Line number, from 1.
    pub line: u64,
}

/// Records of one resource that were rejected for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// Type of the problem.
    pub r#type: String,
    /// What is wrong, in a sentence.
    pub what: String,
    /// The resource of the records; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Number of records rejected for this cause. The numbers of all causes add up to the rejects, but
    /// for causes of the type `urn:homeroom:load:duplicate`, whose records were loaded.
    pub count: u64,
    /// Number of records that have no fault of their own but refer, perhaps through others, to
    /// records rejected for this cause. They are counted by causes of their own, which come next.
    #[serde(default)]
    pub following: u64,
    /// Number of records that can be loaded, as far as is known, when this is mended: `count` and
    /// `following`. A record with several faults is counted for the first.
    #[serde(default)]
    pub releases: u64,
    /// Whether the records have no fault of their own: they follow the nearest cause above that
    /// does not follow another.
    #[serde(default)]
    pub follows: bool,
    /// File of the first reject.
    pub file: String,
    /// Line of the first reject.
    pub line: u64,
    /// How to correct it.
    pub hint: String,
    /// Up to three of the missing documents, as JSON text of their identifying values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// The documents that most of the records lack, at most five, with the numbers of those records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacking: Vec<Lacking>,
}

/// A document that records of one cause lack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lacking {
    /// Its resource, or the base of several resources.
    pub resource: String,
    /// Its identifying values as JSON text; for a descriptor, its URI.
    pub key: String,
    /// Number of records of the cause that lack it.
    pub count: u64,
    /// Number of those that lack nothing else: they can be loaded, as far as is known, when it is there.
    pub releases: u64,
    /// At most so many more records lack it, which were not counted: of documents that few records lack,
    /// not all are remembered. Absent where all were counted.
    #[serde(default, skip_serializing_if = "is_none")]
    pub uncounted: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_none(number: &u64) -> bool {
    *number == 0
}

/// Elements or members inside records that the model does not have and that were skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What was skipped, in a sentence.
    pub what: String,
    /// Number of skipped elements or members.
    pub count: u64,
    /// File of the first skipped element.
    pub file: String,
    /// Line of the first skipped element.
    pub line: u64,
}

/// What became of the records of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Tally {
    /// Number of documents created or updated.
    pub loaded: u64,
    /// Number of documents that were already stored with the same content.
    pub unchanged: u64,
    /// Number of records that could not be loaded.
    pub rejected: u64,
    /// Number of documents deleted.
    pub deleted: u64,
    /// All of them together.
    pub records_processed: u64,
    /// Those that were already stored.
    pub records_skipped: u64,
    /// Those that could not be loaded.
    pub records_failed: u64,
}

impl Tally {
    /// Returns the tally with the sums and the other names of its counts.
    #[must_use]
    pub(crate) fn complete(self) -> Self {
        Self {
            records_processed: self.loaded + self.unchanged + self.rejected + self.deleted,
            records_skipped: self.unchanged,
            records_failed: self.rejected,
            ..self
        }
    }

    /// Yields each outcome with its number.
    pub fn outcomes(self) -> [(&'static str, u64); 4] {
        [
            ("loaded", self.loaded),
            ("unchanged", self.unchanged),
            ("rejected", self.rejected),
            ("deleted", self.deleted),
        ]
    }
}

/// Outcome of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Summary {
    /// Number of documents created or updated.
    pub loaded: u64,
    /// Number of documents that were already stored with the same content, by an earlier record of the
    /// input or before the load.
    pub unchanged: u64,
    /// Number of records that could not be loaded and of files that could not be read.
    pub rejected: u64,
    /// Number of records read, each of which is a document: loaded, unchanged or rejected.
    pub documents: u64,
    /// Number of rows that they are in a normalised schema: each document and each item of a collection
    /// counts one.
    #[serde(default, alias = "records")]
    pub rows: u64,
    /// Number of documents deleted, when files are taken back.
    #[serde(default)]
    pub deleted: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Number of documents whose identity occurred earlier in the input; the last one counts.
    pub repeated: u64,
    /// Those of them that are among the unchanged, because the earlier one had the same content.
    #[serde(default)]
    pub repeated_unchanged: u64,
    /// Number of records that `select` left out.
    pub passed_over: u64,
    /// Number of files read.
    pub files: u64,
    /// Whether it was a dry run, which writes nothing.
    pub dry_run: bool,
    /// What became of the records of each resource, `ed-fi/students`; rejects whose resource is not
    /// known, such as files that cannot be read, stand under `unknown`.
    #[serde(default)]
    pub resources: BTreeMap<String, Tally>,
    /// Causes of the rejects, the most frequent first.
    pub causes: Vec<Cause>,
    /// Elements and members that were skipped.
    pub warnings: Vec<Warning>,
}

/// What has become of the records of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileCounts {
    /// Path of the file, as it was given.
    pub file: String,
    /// Number of its records that are stored: loaded, or unchanged.
    pub stored: u64,
    /// Number of its rejects.
    pub rejected: u64,
}

impl Summary {
    /// Adds the counts, causes and warnings of another load. The time stays.
    pub fn add(&mut self, other: Self) {
        self.loaded += other.loaded;
        self.unchanged += other.unchanged;
        self.rejected += other.rejected;
        self.documents += other.documents;
        self.rows += other.rows;
        self.deleted += other.deleted;
        self.repeated += other.repeated;
        self.repeated_unchanged += other.repeated_unchanged;
        self.passed_over += other.passed_over;
        self.files += other.files;
        for (resource, more) in other.resources {
            let tally = self.resources.entry(resource).or_default();
            tally.loaded += more.loaded;
            tally.unchanged += more.unchanged;
            tally.rejected += more.rejected;
            tally.deleted += more.deleted;
            *tally = tally.complete();
        }
        // Causes stay together with those that follow from them.
        let causes = std::mem::take(&mut self.causes);
        let mut groups: Vec<Vec<Cause>> = vec![];
        for cause in causes.into_iter().chain(other.causes) {
            match groups.last_mut() {
                Some(group) if cause.follows => group.push(cause),
                _ => groups.push(vec![cause]),
            }
        }
        groups.sort_by_key(|group| {
            let first = &group[0];
            (first.r#type == DUPLICATE, Reverse(first.count + first.following))
        });
        self.causes = groups.into_iter().flatten().collect();
        self.warnings.extend(other.warnings);
    }

    /// Whether everything was loaded.
    pub fn is_clean(&self) -> bool {
        self.rejected == 0
    }
}
