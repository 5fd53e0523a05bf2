//! What a document must say to be in a list.

/// A test of a document's text. Several paths: any may meet it.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// The value at a path, `$.a.b`, is this text; `fold` ignores ASCII case.
    Text {
        /// JSON paths.
        paths: Vec<String>,
        /// The text.
        value: String,
        /// Whether case is ignored.
        fold: bool,
    },
    /// The text at a path, ignoring surrounding white space and ASCII case, is this one.
    Trimmed {
        /// JSON paths.
        paths: Vec<String>,
        /// The text.
        value: String,
    },
    /// The value at a path is this number.
    Number {
        /// JSON paths.
        paths: Vec<String>,
        /// The number.
        value: f64,
    },
    /// The value at a path is this whole number.
    Integer {
        /// JSON paths.
        paths: Vec<String>,
        /// The number.
        value: i64,
    },
    /// The value at a path is this boolean.
    Boolean {
        /// JSON paths.
        paths: Vec<String>,
        /// The value.
        value: bool,
    },
    /// The text at a path begins with one of these.
    StartsWith {
        /// JSON path.
        path: String,
        /// The prefixes; the text must have one of them.
        prefixes: Vec<String>,
    },
    /// The document's public id.
    Uuid(crate::id::Uuid),
    /// The document's identity.
    Key(crate::id::NaturalKey),
    /// No document satisfies it.
    Never,
}
