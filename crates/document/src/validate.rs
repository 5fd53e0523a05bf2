//! Turns a sent body into a document with canonical text, identity and references, or lists every
//! violation.
//!
//! A single walk over the model's properties finds each member regardless of case, converts and
//! checks its value, writes it in canonical order, and notes the places of references and
//! descriptors. Members that the model does not have are dropped. Nulls, empty collections, and
//! blank texts where a value is expected count as absent.

mod extension;
mod key;
mod path;
mod unify;
mod walk;

use homeroom_http::Violations;
use homeroom_model::{ColumnSource, Resource, ResourceId, Target};
use homeroom_store::NaturalKey;

use crate::catalog::{Catalog, is_descriptor};
use crate::json::Json;

pub(crate) use key::{column_text, descriptor_uri};
pub use key::{key_bytes, key_values};
pub use path::{Path, json_path};
use walk::Walk;

/// A document that satisfies all rules that can be checked without the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its resource.
    pub resource: ResourceId,
    /// Canonical JSON text.
    pub body: String,
    /// Its identity.
    pub key: NaturalKey,
    /// Its identity under its abstract base, if it has one.
    pub alias: Option<NaturalKey>,
    /// References, in the order of the text.
    pub references: Vec<FoundReference>,
    /// Descriptors used.
    pub descriptors: Vec<FoundDescriptor>,
    /// Descriptors that are parts of references.
    pub parts: Vec<FoundDescriptor>,
    /// Places of spelled-out descriptors, in the order of the text: descriptors used, and those
    /// that are parts of references.
    pub spelled: Vec<DescriptorText>,
}

/// A place in the body that holds a descriptor's URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescriptorText {
    /// The descriptor's identity.
    pub key: NaturalKey,
    /// Byte offset of its opening quote in the body.
    pub start: u32,
    /// Byte offset after its closing quote.
    pub end: u32,
}

impl DescriptorText {
    /// Returns the text at this place in the document's body, with its quotes.
    pub fn text(self, body: &str) -> &str {
        &body[self.start as usize..self.end as usize]
    }
}

/// A reference in a document.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundReference {
    /// Its place in the document.
    pub path: Path,
    /// Byte offset of its closing `}` in the body.
    pub offset: u32,
    /// The resource or base that it points to.
    pub target: Target,
    /// The identity that it names.
    pub key: NaturalKey,
}

/// A descriptor's use in a document.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundDescriptor {
    /// Its place in the document.
    pub path: Path,
    /// The descriptor's resource.
    pub descriptor: ResourceId,
    /// Its identity.
    pub key: NaturalKey,
}

/// The violations of an invalid document.
#[derive(Debug, Clone, PartialEq)]
pub struct Invalid {
    /// Every violation, by JSON path.
    pub violations: Violations,
    /// Descriptors at valid places; only the store can tell whether they exist.
    pub descriptors: Vec<FoundDescriptor>,
}

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
        violations: Violations::new(),
        count: 0,
    };
    let spans = walk.object(&resource.properties, members, Path::default(), 0);
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
