//! SQL text and its arguments, kept apart.

/// An argument or a result of a statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value: SQL's NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// A text.
    Text(String),
    /// A sequence of bytes.
    Blob(Vec<u8>),
}

impl Value {
    /// Returns the number, if it is one.
    pub fn as_integer(&self) -> Option<i64> {
        if let Self::Integer(number) = self { Some(*number) } else { None }
    }

    /// Returns the text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the bytes, if they are bytes.
    pub fn as_blob(&self) -> Option<&[u8]> {
        if let Self::Blob(bytes) = self { Some(bytes) } else { None }
    }
}

impl Value {
    /// Returns how many bytes it has, about.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Integer(_) => size_of::<i64>(),
            Self::Text(text) => text.len(),
            Self::Blob(bytes) => bytes.len(),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Blob(bytes)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// One SQL statement: constant text with `?1`, `?2` … and its arguments.
///
/// The text is `'static`, so no argument can become part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sql {
    /// The SQL text.
    pub text: &'static str,
    /// Its arguments.
    pub arguments: Vec<Value>,
}

impl Sql {
    /// Creates a statement with its arguments.
    pub fn new(text: &'static str, arguments: Vec<Value>) -> Self {
        Self { text, arguments }
    }
}
