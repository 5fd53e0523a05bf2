//! What a load says about a record that it could not load.

use serde::{Deserialize, Serialize};

/// A reject: one line of the results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reject {
    /// The file, as its path was given.
    pub file: String,
    /// The line that the record begins on, from 1; for a file that cannot be read, that of the fault.
    pub line: u64,
    /// For a file that cannot be read: the column of the fault in bytes, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The record's XML element; null in JSON files.
    pub element: Option<String>,
    /// Its resource, `ed-fi/students`; null where that is not known.
    pub resource: Option<String>,
    /// Its identifying values as JSON text, null for those that are absent.
    pub key: Option<String>,
    /// Type of the problem, `urn:ed-fi:api:…`.
    pub r#type: String,
    /// What is wrong, all of it.
    pub message: String,
    /// How to mend it.
    pub hint: String,
    /// What it refers to and what does not exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// How many records this stands for, where that is not one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// A document that is referred to and does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Its kind: a resource, or the base of several, `EducationOrganization`.
    pub resource: String,
    /// Its identifying values as JSON text; of a descriptor, its URI.
    pub key: String,
    /// JSON path of the reference.
    pub path: String,
    /// Where the record stands that should have brought it and was rejected itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<RejectedAt>,
}

/// Where a rejected record stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RejectedAt {
    /// The file.
    pub file: String,
    /// The line.
    pub line: u64,
}

/// Rejects that have one root cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// Type of the problem.
    pub r#type: String,
    /// What is wrong, in a sentence.
    pub what: String,
    /// How many records are rejected because of it.
    pub count: u64,
    /// How many of them have no fault of their own but refer to a rejected record.
    pub following: u64,
    /// File of the first reject.
    pub file: String,
    /// Its line.
    pub line: u64,
    /// How to mend it.
    pub hint: String,
    /// Up to three of the documents that are missing, as JSON text of their identifying values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

/// Elements inside records that the model does not have; they were passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What was passed over, in a sentence.
    pub what: String,
    /// How often.
    pub count: u64,
    /// File of the first.
    pub file: String,
    /// Its line.
    pub line: u64,
}

/// What a load did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Summary {
    /// Documents created or updated.
    pub loaded: u64,
    /// Documents that were stored already, word for word.
    pub unchanged: u64,
    /// Records that could not be loaded, and files that could not be read.
    pub rejected: u64,
    /// Documents read: loaded, unchanged or rejected.
    pub documents: u64,
    /// Documents and the items of their collections: the rows of a store that has a table for each.
    pub records: u64,
    /// How long it took.
    pub seconds: f64,
    /// Documents whose identity stood in the input before; of each, the last counts.
    pub repeated: u64,
    /// Records that `select` left out.
    pub passed_over: u64,
    /// Files read.
    pub files: u64,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Why records were rejected, the cause of most first.
    pub causes: Vec<Cause>,
    /// What was passed over.
    pub warnings: Vec<Warning>,
}

impl Summary {
    /// Whether everything was loaded.
    pub fn is_clean(&self) -> bool {
        self.rejected == 0
    }
}
