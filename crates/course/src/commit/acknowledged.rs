//! What a commit has come to.

use std::collections::BTreeMap;

use super::sent::WARNINGS_MAX;

/// What a commit has come to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Acknowledged {
    /// The greatest number of the session up to which all is saved.
    pub(crate) sequence: i64,
    /// When that was saved.
    pub(crate) saved: i64,
    /// What was left out, or is longer than it should be.
    pub(crate) warnings: Vec<String>,
    /// By activity, the elements that stay as a later session has set them.
    pub(crate) superseded: BTreeMap<String, Vec<String>>,
    /// Whether anything of the launch is recorded.
    pub(crate) is_recorded: bool,
}

impl Acknowledged {
    /// Notes elements of an activity that stay as a later session has set them. Of more than can be told, the warnings
    /// say how many there are.
    pub(super) fn supersede(&mut self, activity: &str, elements: Vec<String>) {
        let all = self.superseded.entry(activity.to_owned()).or_default();
        all.extend(elements);
        if all.len() > WARNINGS_MAX {
            let more = all.len() - WARNINGS_MAX;
            all.truncate(WARNINGS_MAX);
            self.warnings.push(format!("{more} more elements stay as a later page has set them"));
        }
    }
}
