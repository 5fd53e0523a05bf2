//! A course as the processes see it: its activities, and what they have recorded.

use std::collections::BTreeMap;

use super::definition::Definition;
use crate::package::Activity;

/// What an activity has recorded. [`None`] means that it is not known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tracking {
    /// How many attempts have begun.
    pub(crate) attempts: u32,
    /// Whether an attempt is in progress.
    pub(crate) is_active: bool,
    /// Whether it was suspended.
    pub(crate) is_suspended: bool,
    /// Whether it is completed (attempt progress status, attempt completion status).
    pub(crate) completed: Option<bool>,
    /// How much of it is done, from 0 to 1.
    pub(crate) progress: Option<f64>,
    /// Whether its primary objective is satisfied.
    pub(crate) satisfied: Option<bool>,
    /// The measure of its primary objective, from -1 to 1.
    pub(crate) measure: Option<f64>,
    /// Whether its other objectives are satisfied, and their measures.
    pub(crate) objectives: BTreeMap<String, (Option<bool>, Option<f64>)>,
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
    pub(crate) fn find(&self, id: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.id == id)
    }

    /// Returns the children of an activity that are tracked.
    pub(crate) fn tracked_children(&self, at: usize) -> impl Iterator<Item = &Node> {
        let children = self.nodes[at].children.iter().map(|child| &self.nodes[*child]);
        children.filter(|child| child.definition.is_tracked)
    }
}
