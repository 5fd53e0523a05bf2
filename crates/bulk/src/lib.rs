//! Files to documents: interchange XML and JSON lines, in dependency order, through the data API's
//! own stages.
//!
//! [`load`] surveys every file first ([`Summary`] and rejects tell what came of it): it reads it once
//! from end to end, keeping nothing but where the records of each level of the dependency order
//! stand. Then it goes level by level, whatever file a record is in, reading only the parts that
//! hold it. A record becomes a JSON tree (for XML by the element tree that the model gives), which
//! is validated, planned and written as a request's body is; only the batch differs. What refers to
//! a document that the load may still bring waits for it; what refers to nothing is rejected with
//! the name of what is missing.
//!
//! Memory does not grow with the files: places and identities are kept, never documents.

mod causes;
mod error;
mod fault;
mod flaw;
#[cfg(fuzzing)]
pub mod fuzz;
mod identity;
mod intake;
mod json_file;
mod json_items;
mod known;
mod levels;
mod load;
mod place;
mod record;
mod reject;
mod reject_files;
mod report;
mod source;
mod sources;
mod survey;
mod waiting;
mod xml;

pub use error::LoadError;
pub use load::{LoadOptions, Phase, Progress, load, load_documents};
pub use reject::{Cause, Missing, Reject, RejectedAt, Summary, Warning};
pub use source::STDIN_BYTES_MAX;

#[cfg(test)]
mod tests;
