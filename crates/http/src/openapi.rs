//! What the parts' OpenAPI documents share.

mod part;

use serde_json::{Value, json};

pub use part::{TAGS_MAX, asked_tags, part, tags_of};

/// An OpenAPI document as the list of all of them names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Its name, `Admin`.
    pub name: &'static str,
    /// The heading under which clients show it.
    pub prefix: &'static str,
    /// Its path, from the root.
    pub path: &'static str,
}

/// Returns the schema of a problem.
pub fn problem_schema() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "description": "What went wrong (RFC 9457).",
        "required": ["detail", "type", "title", "status", "correlationId"],
        "properties": {
            "detail": text("What happened."),
            "type": text("The kind of problem, a URN."),
            "title": text("The kind of problem, for people."),
            "status": { "type": "integer", "description": "The HTTP status." },
            "correlationId": text("The id of this request in the server's log."),
            "validationErrors": {
                "type": "object",
                "description": "Violations of the document by JSON path.",
                "additionalProperties": { "type": "array", "items": { "type": "string" } },
            },
            "errors": {
                "type": "array",
                "description": "Violations that have no place in the document.",
                "items": { "type": "string" },
            },
            "hint": text("How to mend it."),
        },
    })
}
