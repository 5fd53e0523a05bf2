//! One record of a file, read but not yet checked as a document.

use homeroom_document::json::Json;
use homeroom_model::ResourceId;

use crate::flaw::Flaw;
use crate::place::At;
use crate::xml::Question;

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
    /// Lookups that only the store can answer. If there are any, it has to be read again.
    pub lookups: Vec<Question>,
}

impl<'j> Record<'j> {
    /// Makes a record.
    pub(crate) fn new(
        at: At,
        resource: Option<ResourceId>,
        json: Json<'j>,
        flaws: Vec<Flaw>,
        strays: Vec<String>,
    ) -> Self {
        Self { at, resource, json, flaws, strays, lookups: vec![] }
    }

    /// Makes a record of which nothing can be read.
    pub(crate) fn flawed(at: At, resource: Option<ResourceId>, flaw: Flaw) -> Self {
        Self::new(at, resource, Json::Null, vec![flaw], vec![])
    }
}
