//! Whose documents are: ownership tokens, which the keys of an application share.

use crate::registry::Registry;

/// Tokens of applications begin after this one; those before are for operators to choose.
pub(crate) const OF_APPLICATIONS: i64 = 1_000_000_000_000;

/// The ownership tokens of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ownership {
    /// Tokens whose documents it may touch.
    pub(crate) tokens: Vec<i64>,
    /// The token that its documents get.
    pub(crate) creator: Option<i64>,
}

impl Ownership {
    /// What a further key of an application has: the tokens of the first key that marks what it
    /// creates; where there is none, a token that no other application has.
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
