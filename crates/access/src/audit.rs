//! The audit log: who has changed keys and rights, and which logins were refused.
//!
//! Entries are events of `tracing` with the target [`AUDIT`]; the program writes them where its
//! configuration says. They have ids and the names that operators give, never a secret, and no text
//! that a caller has sent but its correlation id.

use std::net::IpAddr;

use crate::client::Call;

/// The target of the events that belong in the audit log.
pub const AUDIT: &str = "audit";

/// Who makes a change, and in which request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    by: String,
    from: Option<IpAddr>,
    ids: Option<(String, String)>,
}

impl Default for Author {
    /// The server itself.
    fn default() -> Self {
        Self { by: "server".into(), from: None, ids: None }
    }
}

impl Author {
    /// Returns a user of the system who runs a command, by the name or number of the account.
    pub fn of_command(user: &str) -> Self {
        Self { by: format!("user {user}"), ..Self::default() }
    }

    /// Returns the client that sends a request.
    pub fn of_call(call: &Call) -> Self {
        let by = match &call.client {
            Some(client) => format!("key {}", client.key),
            None => "nobody".into(),
        };
        let ids = Some((call.request_id.clone(), call.correlation_id.clone()));
        Self { by, from: call.from, ids }
    }

    /// Writes an entry about a change of something that is neither a key nor a claim set.
    pub fn note(&self, action: &str, what: &str) {
        self.write(action, &What::Other(what.to_owned()), DONE);
    }

    /// Writes an entry about a change of what a key may do elsewhere than in the registry.
    pub fn note_key(&self, action: &str, key: &str) {
        self.write(action, &What::Key { key: key.to_owned(), claim_set: None }, DONE);
    }

    pub(crate) fn write(&self, action: &str, what: &What, outcome: &str) {
        let (mut key, mut claim_set, mut item) = (None, None, None);
        match what {
            What::Key { key: of, claim_set: set } => {
                key = Some(of.as_str());
                claim_set = set.as_deref();
            }
            What::ClaimSet(name) => claim_set = Some(name.as_str()),
            What::Item(id) => item = Some(id.to_string()),
            What::Other(name) => item = Some(name.clone()),
        }
        tracing::info!(
            target: AUDIT,
            action,
            outcome,
            by = self.by,
            from = self.from.map(display),
            key,
            claim_set,
            item,
            request_id = self.ids.as_ref().map(|(request, _)| request.as_str()),
            correlation_id = self.ids.as_ref().map(|(_, correlation)| correlation.as_str()),
            "audit"
        );
    }
}

/// The outcome of a change that is stored.
pub(crate) const DONE: &str = "done";
/// The outcome of a change of which it is unknown whether it was stored.
pub(crate) const UNKNOWN: &str = "unknown";

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// A key, with its claim set where that matters.
    Key { key: String, claim_set: Option<String> },
    /// A claim set, by its name.
    ClaimSet(String),
    /// Another managed item, by its id.
    Item(i64),
    /// Something of another part.
    Other(String),
}
