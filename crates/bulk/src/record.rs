//! One record of a file, read but not yet checked as a document.

use homeroom_data::json::Json;
use homeroom_model::ResourceId;

use crate::flaw::Flaw;
use crate::place::At;

/// A record.
#[derive(Debug)]
pub(crate) struct Record<'j> {
    /// Where it stands.
    pub at: At,
    /// Its resource; [`None`] where the record does not say one that the model has.
    pub resource: Option<ResourceId>,
    /// What could be read of it.
    pub json: Json<'j>,
    /// What is wrong with it; nothing, when it can be checked.
    pub flaws: Vec<Flaw>,
    /// Ways to elements that the model does not have.
    pub strays: Vec<String>,
}
