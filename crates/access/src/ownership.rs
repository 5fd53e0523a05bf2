//! Ownership tokens of documents, which the keys of an application share.

use crate::registry::Registry;

/// Applications get tokens above this value; those below are for operators to choose.
pub(crate) const OF_APPLICATIONS: i64 = 1_000_000_000_000;

/// The ownership tokens of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ownership {
    /// Tokens whose documents the key may access.
    pub(crate) tokens: Vec<i64>,
    /// The token given to documents that the key creates.
    pub(crate) creator: Option<i64>,
}

impl Ownership {
    /// Returns the ownership of another key of an application: the tokens of the application's
    /// first key that marks what it creates, or else a token that no other application has.
    pub(crate) fn in_application(registry: &Registry, application: i64) -> Self {
        let mut clients = registry.clients_of(application).map(|client| client.client);
        let marking = clients.find(|client| client.creator_token.is_some());
        marking.map_or_else(
            || {
                let own = OF_APPLICATIONS + application;
                Self { tokens: vec![own], creator: Some(own) }
            },
            |client| Self {
                tokens: client.ownership_tokens.to_vec(),
                creator: client.creator_token,
            },
        )
    }
}
