//! Subscriptions: who wants to be told of changes of any registration, or of imports.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::row::{Columns, Row};

/// Most subscriptions of a server.
pub(crate) const SUBSCRIPTIONS_MAX: i64 = 100;

/// A subscription.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Subscription {
    /// Its id.
    pub(crate) id: String,
    /// What it says.
    pub(crate) definition: Definition,
}

/// What a subscription says, as the API sends it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Definition {
    /// What it is about.
    pub(crate) topic: String,
    /// The changes of which it wants to know; none for all.
    #[serde(default)]
    pub(crate) subtopics: Vec<String>,
    /// Whether anything is sent.
    #[serde(default = "yes")]
    pub(crate) enabled: bool,
    /// Where it is sent.
    pub(crate) url: String,
    /// How much is told: `Course`, `Activity` or `Full`.
    #[serde(default = "course")]
    pub(crate) body_format: String,
    /// The name that is sent as Basic authentication, with a password.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) user_name: String,
    /// The password.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) password: String,
    /// The secret of its signatures, instead of the server's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) secret: String,
}

fn yes() -> bool {
    true
}

fn course() -> String {
    "Course".into()
}

impl Subscription {
    pub(crate) fn of(row: &Row) -> Result<Self, Error> {
        let mut row = Columns::of(row, "a subscription");
        Ok(Self { id: row.text()?, definition: row.json()? })
    }

    /// Returns whether it wants to know of changes that have these names.
    pub(crate) fn wants(&self, topic: &str, changes: &[&str]) -> bool {
        let Definition { topic: own, subtopics, enabled, .. } = &self.definition;
        *enabled
            && own == topic
            && (subtopics.is_empty()
                || subtopics.iter().any(|wanted| changes.contains(&wanted.as_str())))
    }
}
