//! The tree of activities that a course consists of.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an activity is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ActivityType {
    /// It talks to the run-time.
    Sco,
    /// A page that does not.
    Asset,
    /// A video, a recording or a document, which the player shows.
    Media,
    /// A page elsewhere.
    Link,
    /// It consists of other activities.
    Aggregation,
}

/// How much must be done until an activity counts as completed.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletionThreshold {
    /// Whether completion follows from the measure of progress.
    pub completed_by_measure: bool,
    /// The least measure, from 0 to 1.
    pub min_progress_measure: f64,
    /// The weight in the progress of its parent, from 0 to 1.
    pub progress_weight: f64,
}

/// An activity with those that it consists of.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Activity {
    /// Its identifier, unique in the course.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Whether it is shown in the list of contents.
    pub visible: bool,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: ActivityType,
    /// The file to launch with its query, relative to the content; the address of a link.
    pub href: Option<String>,
    /// The identifier of its resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The media type, of a medium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<String>,
    /// `cmi.launch_data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_data: Option<String>,
    /// The mastery score of SCORM 1.2, from 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mastery_score: Option<String>,
    /// The longest time of an attempt, in the standard's form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time_allowed: Option<String>,
    /// What happens when it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_action: Option<String>,
    /// The prerequisites of SCORM 1.2, in AICC's form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prerequisites: Option<String>,
    /// How much must be done, in SCORM 2004.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_threshold: Option<CompletionThreshold>,
    /// Controls of the player that it does not want.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "hideUI")]
    pub hide_ui: Vec<String>,
    /// Buckets of shared data: `target`, `read`, `write`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_maps: Vec<Value>,
    /// The sequencing of SCORM 2004, as the manifest has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequencing: Option<Value>,
    /// What it consists of, in order.
    #[serde(default)]
    pub children: Vec<Activity>,
}

impl Activity {
    /// Creates an activity without anything.
    pub fn new(id: &str, title: &str, kind: ActivityType) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            visible: true,
            kind,
            href: None,
            resource: None,
            media: None,
            launch_data: None,
            mastery_score: None,
            max_time_allowed: None,
            time_limit_action: None,
            prerequisites: None,
            completion_threshold: None,
            hide_ui: vec![],
            data_maps: vec![],
            sequencing: None,
            children: vec![],
        }
    }

    /// Calls a function for it and each activity below it, in order.
    pub fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        for child in &self.children {
            child.each(visit);
        }
    }

    /// Returns the activities that can be launched, in order.
    pub fn launchable(&self) -> Vec<&Self> {
        let mut all = vec![];
        self.each(&mut |activity| {
            if activity.href.is_some() && activity.children.is_empty() {
                all.push(activity);
            }
        });
        all
    }

    /// Finds an activity by its identifier.
    pub fn find(&self, id: &str) -> Option<&Self> {
        if self.id == id {
            return Some(self);
        }
        self.children.iter().find_map(|child| child.find(id))
    }
}
