//! One record of a file, read but not yet checked as a document.

use homeroom_document::json::Json;
use homeroom_model::ResourceId;

use crate::flaw::Flaw;
use crate::place::At;

/// A record that has been read.
#[derive(Debug)]
pub(crate) struct Record<'j> {
    /// Its position.
    pub at: At,
    /// Its resource; [`None`] if it names none that the model has.
    pub resource: Option<ResourceId>,
    /// The part that could be read.
    pub json: Json<'j>,
    /// Faults found; if empty, it can be checked as a document.
    pub flaws: Vec<Flaw>,
    /// Paths of elements or members that the model does not have.
    pub strays: Vec<String>,
}
