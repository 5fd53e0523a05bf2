//! How a subject of a document is related to a client's education organizations.

/// How a subject is related to a client's education organizations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The subject is an education organization that is one of them or below one.
    Below,
    /// The subject is an education organization that is one of them or above one.
    Above,
    /// The subject is a person at one of them or at one below.
    Person {
        /// The name of the path to the person, one of [`Resource::access_by`](homeroom_model::Resource::access_by); [`None`] means
        /// [`Resource::access_through`](homeroom_model::Resource::access_through).
        way: Option<&'static str>,
        /// Whether deleted associations count.
        past: bool,
    },
}
