//! What a write to a document has done.

use homeroom_store::Uuid;

/// Effect of an upsert or a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// A new document was created.
    Created,
    /// A stored document got a new text.
    Updated,
    /// The document was already stored with the same text; nothing was written.
    Unchanged,
}

/// Outcome of a write to a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// What the write did.
    pub effect: Effect,
    /// Public id of the document.
    pub uuid: Uuid,
    /// Its version before the write; the new version comes with the plan's outcome.
    pub version_before: i64,
}
