//! A fact on which the model and an artefact disagree.

use std::fmt;

/// One fact on which the model and an artefact disagree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The artefact: `manifest`, `api-schema`, `openapi` or `dependencies`.
    pub against: &'static str,
    /// Resource and path, such as `Section.classPeriods.classPeriodReference.schoolId`.
    pub place: String,
    /// The property of the place that is compared: `type`, `required`, `key`, …
    pub what: &'static str,
    /// What the model says; empty where it says nothing.
    pub ours: String,
    /// What the artefact says; empty where it says nothing.
    pub theirs: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |value: &str| if value.is_empty() { "-".to_owned() } else { value.to_owned() };
        write!(
            f,
            "{} {} {}: ours {}, theirs {}",
            self.against,
            self.place,
            self.what,
            said(&self.ours),
            said(&self.theirs)
        )
    }
}
