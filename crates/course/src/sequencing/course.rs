//! A course as the processes see it: its activities, and what they have recorded.

use std::collections::BTreeMap;

use super::definition::Definition;
use crate::package::Activity;

/// What is known of an objective. [`None`] means that it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Status {
    /// Whether it is satisfied.
    pub(crate) satisfied: Option<bool>,
    /// Its measure, from -1 to 1.
    pub(crate) measure: Option<f64>,
    /// Whether it is completed.
    pub(crate) completed: Option<bool>,
    /// How much of it is done, from 0 to 1.
    pub(crate) progress: Option<f64>,
}

impl Status {
    /// Returns this, and of what is not known of it what another knows.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            satisfied: self.satisfied.or(other.satisfied),
            measure: self.measure.or(other.measure),
            completed: self.completed.or(other.completed),
            progress: self.progress.or(other.progress),
        }
    }

    /// Returns whether anything is known.
    pub(crate) fn is_known(self) -> bool {
        self != Self::default()
    }
}

/// What an activity has recorded. [`None`] means that it is not known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tracking {
    /// How many attempts have begun.
    pub(crate) attempts: u32,
    /// Whether an attempt is in progress.
    pub(crate) is_active: bool,
    /// Whether it was suspended.
    pub(crate) is_suspended: bool,
    /// Its latest session, and when that began.
    pub(crate) begun: (u32, i64),
    /// The activity itself (attempt progress and completion) and its primary objective.
    pub(crate) own: Status,
    /// Its other objectives.
    pub(crate) objectives: BTreeMap<String, Status>,
    /// What earlier attempts have come to; the activity's own is at the empty name.
    pub(crate) earlier: BTreeMap<String, Status>,
    /// Whether it writes nothing into global objectives.
    pub(crate) is_withheld: bool,
}

/// An activity of a course.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) parent: Option<usize>,
    pub(crate) children: Vec<usize>,
    pub(crate) definition: Definition,
    pub(crate) tracking: Tracking,
}

/// A course; its first activity is the root, and parents come before their children.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Course {
    pub(crate) nodes: Vec<Node>,
}

impl Course {
    /// Returns a course in which nothing is recorded.
    pub(crate) fn of(tree: &Activity) -> Self {
        let mut course = Self { nodes: vec![] };
        course.add(tree, None);
        course
    }

    fn add(&mut self, activity: &Activity, parent: Option<usize>) {
        let at = self.nodes.len();
        let definition = Definition::of(activity);
        let (id, tracking) = (activity.id.clone(), Tracking::default());
        self.nodes.push(Node { id, parent, children: vec![], definition, tracking });
        if let Some(parent) = parent {
            self.nodes[parent].children.push(at);
        }
        for child in &activity.children {
            self.add(child, Some(at));
        }
    }

    /// Returns the place of an activity.
    #[cfg(test)]
    pub(crate) fn find(&self, id: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.id == id)
    }

    /// Returns the children of an activity that are tracked.
    pub(crate) fn tracked_children(&self, at: usize) -> impl Iterator<Item = &Node> {
        let children = self.nodes[at].children.iter().map(|child| &self.nodes[*child]);
        children.filter(|child| child.definition.is_tracked)
    }
}
