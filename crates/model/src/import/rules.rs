//! What follows no rule, as rows of a data file.

use serde::Deserialize;

/// The rows of an importer's data file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Subjects of authorization that were chosen by hand.
    pub subject: Vec<SubjectRule>,
    /// Persons that clients gain access to through associations.
    pub access: Vec<AccessRule>,
}

/// A resource whose subjects do not follow from its key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubjectRule {
    /// The resource.
    pub resource: String,
    /// `KIND column`, in order.
    pub subjects: Vec<String>,
    /// Why.
    pub reason: String,
}

/// A person that clients gain access to through associations.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessRule {
    /// The person.
    pub resource: String,
    /// The associations.
    pub through: Vec<String>,
    /// Why.
    pub reason: String,
}

impl Rules {
    /// What each row is about, for messages.
    pub fn rows(&self) -> Vec<String> {
        let subjects = self.subject.iter().map(|rule| format!("subject of {}", rule.resource));
        let access = self.access.iter().map(|rule| format!("access to {}", rule.resource));
        subjects.chain(access).collect()
    }

    /// Reads a data file.
    ///
    /// # Errors
    ///
    /// What the file says that no row may say.
    pub fn read(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }
}
