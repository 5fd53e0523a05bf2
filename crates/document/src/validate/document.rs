//! A document that was checked, and what was found in it.

use homeroom_model::{ResourceId, Target};
use homeroom_store::{Gap, NaturalKey};

use super::path::Path;
use crate::violations::Violations;

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
    /// Places where an answer has empty collections, in the order of the text.
    pub gaps: Vec<Gap>,
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
