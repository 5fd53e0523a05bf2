//! Turns a sent body into a document with canonical text, identity and references, or lists every
//! violation.
//!
//! A single walk over the model's properties finds each member regardless of case, converts and
//! checks its value, writes it in canonical order, and notes the places of references and
//! descriptors. Members that the model does not have are dropped; [`unknown_members`] lists them. Nulls, empty collections, and
//! blank texts where a value is expected count as absent.

mod absent;
mod document;
mod extension;
mod key;
mod path;
mod unify;
mod unknown;
mod walk;

use homeroom_model::{ColumnSource, Resource, Target};
use homeroom_store::NaturalKey;

use crate::catalog::{Catalog, is_descriptor};
use crate::empties::Noting;
use crate::json::Json;
use crate::violations::Violations;

pub use document::{DescriptorText, Document, FoundDescriptor, FoundReference, Invalid};
pub(crate) use key::column_text;
pub use key::{descriptor_uri, key_bytes, key_values};
pub use path::{Path, json_path};
pub use unknown::{doubtful, unknown_members};
use walk::Walk;

/// Checks a document against its resource.
///
/// # Errors
///
/// Returns every violation, by JSON path.
pub fn validate(
    catalog: &Catalog,
    resource: &Resource,
    json: &Json<'_>,
) -> Result<Document, Violations> {
    examine(catalog, resource, json).map_err(|invalid| invalid.violations)
}

/// Does the same as [`validate`], and on failure also returns the descriptors found, so that those
/// that do not exist can be named in the same answer.
///
/// # Errors
///
/// Returns [`Invalid`].
pub fn examine(
    catalog: &Catalog,
    resource: &Resource,
    json: &Json<'_>,
) -> Result<Document, Invalid> {
    let Json::Object(members) = json else {
        let message = "The document must be a JSON object.".to_owned();
        let violations = [("$".to_owned(), vec![message])].into();
        return Err(Invalid { violations, descriptors: vec![] });
    };
    let mut walk = Walk {
        catalog,
        resource,
        body: String::with_capacity(512),
        references: vec![],
        descriptors: vec![],
        parts: vec![],
        spelled: vec![],
        noting: Noting::default(),
        violations: Violations::new(),
        count: 0,
    };
    let node = catalog.empties(resource.id).root();
    let spans = walk.object(&resource.properties, members, node, Path::default(), 0);
    unify::check(&catalog.model, resource, json, |path, message| walk.note_text(path, message));
    if is_descriptor(resource) {
        walk.check_uri(members);
    }
    if walk.count > 0 {
        let descriptors = [walk.descriptors, walk.parts].concat();
        return Err(Invalid { violations: walk.violations, descriptors });
    }
    let texts: Vec<&str> = resource
        .key
        .iter()
        .map(|column| {
            let (start, end) = match column.source {
                ColumnSource::Scalar(at) => spans[at].own,
                ColumnSource::Part(at, part) => {
                    spans[at].parts.get(part).copied().unwrap_or((0, 0))
                }
            };
            &walk.body[start..end]
        })
        .collect();
    let (key, alias) = identity(catalog, resource, &texts);
    Ok(Document {
        resource: resource.id,
        body: walk.body,
        key,
        alias,
        references: walk.references,
        descriptors: walk.descriptors,
        parts: walk.parts,
        spelled: walk.spelled,
        gaps: walk.noting.gaps,
    })
}

/// Returns the identity that a key's canonical JSON texts give, and the one under the abstract
/// base.
pub(crate) fn identity(
    catalog: &Catalog,
    resource: &Resource,
    texts: &[&str],
) -> (NaturalKey, Option<NaturalKey>) {
    let columns: Vec<_> = resource
        .key
        .iter()
        .zip(texts)
        .map(|(column, text)| key_bytes(column.scalar, text))
        .collect();
    let key = if is_descriptor(resource) {
        catalog.descriptor_key(resource.id, &descriptor_uri(resource, texts))
    } else {
        catalog.key(Target::Resource(resource.id), columns.iter().map(AsRef::as_ref))
    };
    let alias = resource.base.as_ref().map(|base| {
        catalog.key(
            Target::Abstract(base.id),
            base.columns.iter().map(|column| columns[*column].as_ref()),
        )
    });
    (key, alias)
}
