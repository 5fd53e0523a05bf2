//! Loads files of documents, as interchange XML, JSON or CSV, packed or not, in dependency order and through the
//! data API's own stages.
//!
//! [`load`] first surveys every file: it reads each from end to end and keeps only where the
//! records of each level of the dependency order stand. It then works level by level across all
//! files and reads only the parts that hold the level's records. A record becomes a JSON tree (for
//! XML by the element tree that the model gives), which is validated, planned and written like a
//! request's body; only the batching differs. A record waits for a missing document that the load
//! may still bring; if the document cannot come, the record is rejected with the name of what is
//! missing. [`Summary`] and the rejects report the outcome.
//!
//! Memory does not grow with the files: only places and identities are kept, never documents.
//!
//! ```
//! use std::sync::Arc;
//!
//! use homeroom_document::{Catalog, Documents};
//! use homeroom_model::{format, link, shipped};
//! use homeroom_store::Store;
//!
//! let model = link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap();
//! let store = Store::temporary(&[]).unwrap();
//! let catalog = Arc::new(Catalog::bind(Arc::new(model), &store).unwrap());
//! let target = Documents { catalog, store };
//!
//! let ninth = r#"{"codeValue": "9", "namespace": "uri://a.org/x", "shortDescription": "Ninth"}"#;
//! let grades = [("gradeLevelDescriptors", ninth.to_owned()), ("gradeLevelDescriptors", "{}".into())];
//! let summary = homeroom_bulk::load_documents(&target, grades).unwrap();
//!
//! assert_eq!((summary.loaded, summary.rejected), (1, 1));
//! ```

mod causes;
mod checked;
mod checkpoint;
mod csv_file;
mod csv_map;
mod csv_rows;
mod deleting;
mod encoding;
mod error;
mod existing;
mod exported;
mod fault;
mod find;
mod flaw;
#[cfg(fuzzing)]
pub mod fuzz;

mod identity;
mod intake;
mod json_file;
mod json_items;
mod json_layout;
mod kept_survey;
mod levels;
mod load;
mod manifest;
mod not_taken;
mod packed;
mod place;
mod plain;
mod reading;
mod record;
mod refused_paths;
mod reject;
mod reject_files;
mod report;
mod rights;
mod source;
mod sources;
mod spool;
mod survey;
mod target;
mod terminal;
mod waiting;
mod writing;
mod xml;

pub use error::LoadError;
pub use find::STDIN_BYTES_MAX;
pub use load::{LoadOptions, Phase, Prepared, Progress, load, load_as, load_documents, prepare};
pub use not_taken::{NotTaken, NotTakenPart, rejects_of};
pub use plain::{PlainFile, plain_files};
pub use reject::{
    Cause, Duplicate, FileCounts, Lacking, Missing, Reject, RejectedAt, Repeats, Summary, Tally,
    Warning,
};
pub use report::RESULTS;
pub use rights::Rights;
pub use terminal::{escaped, escaped_line};

#[cfg(test)]
mod tests;
