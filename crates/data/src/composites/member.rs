//! What an answer shows, and what filters a list.

use std::collections::BTreeSet;

use homeroom_model::{ResourceId, Scalar};

/// The members that are shown of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Node {
    pub(crate) members: Vec<Member>,
}

impl Node {
    /// Returns the names of the members of an answer's object.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names = vec![];
        for member in &self.members {
            match (member.name(), member.node()) {
                (Some(name), _) => names.push(name),
                (None, Some(node)) => {
                    names.extend(node.names());
                    names.extend(member.subtype());
                }
                (None, None) => {}
            }
        }
        names
    }

    /// Collects the resources that the node reads in addition to its own.
    pub(crate) fn resources(&self, all: &mut BTreeSet<ResourceId>) {
        for member in &self.members {
            match member {
                Member::Reference { to, .. } => _ = all.insert(*to),
                Member::Linked { resource, .. } => _ = all.insert(*resource),
                _ => {}
            }
            if let Some(node) = member.node() {
                node.resources(all);
            }
        }
    }
}

/// A member of an answer. One without a name is flattened: its own members stand in its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Member {
    /// The document's public id.
    Id { name: String },
    /// A value. If it can be found at several places, the first place that has it counts.
    Value { name: String, scalar: Scalar, ways: Vec<Vec<String>> },
    /// The items of a collection.
    Collection { name: String, property: String, node: Node },
    /// An object of the same document.
    Object { name: Option<String>, property: String, node: Node },
    /// The key of a reference to an abstract base, and the kind of its document,
    /// `educationOrganizationType`.
    Base { name: Option<String>, property: String, node: Node, subtype: Option<String> },
    /// The document that a reference leads to.
    Reference {
        name: Option<String>,
        property: String,
        to: ResourceId,
        subtype: Option<String>,
        node: Node,
    },
    /// The documents of a resource that refer to this one by a property.
    Linked { name: String, resource: ResourceId, property: String, node: Node },
}

impl Member {
    /// Returns its name in an answer, or [`None`] if it is flattened.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Id { name }
            | Self::Value { name, .. }
            | Self::Collection { name, .. }
            | Self::Linked { name, .. } => Some(name),
            Self::Object { name, .. } | Self::Base { name, .. } | Self::Reference { name, .. } => {
                name.as_deref()
            }
        }
    }

    /// Returns what is shown inside it, if it is not a single value.
    pub(crate) fn node(&self) -> Option<&Node> {
        match self {
            Self::Id { .. } | Self::Value { .. } => None,
            Self::Collection { node, .. }
            | Self::Object { node, .. }
            | Self::Base { node, .. }
            | Self::Reference { node, .. }
            | Self::Linked { node, .. } => Some(node),
        }
    }

    pub(crate) fn node_mut(&mut self) -> Option<&mut Node> {
        match self {
            Self::Id { .. } | Self::Value { .. } => None,
            Self::Collection { node, .. }
            | Self::Object { node, .. }
            | Self::Base { node, .. }
            | Self::Reference { node, .. }
            | Self::Linked { node, .. } => Some(node),
        }
    }

    /// Returns the name of the member that states the kind of a referenced document.
    pub(crate) fn subtype(&self) -> Option<&str> {
        match self {
            Self::Base { subtype, .. } | Self::Reference { subtype, .. } => subtype.as_deref(),
            _ => None,
        }
    }
}

/// A filter of a list: it keeps the documents from which a path leads to a given value.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    /// `School.Id`
    pub(crate) name: String,
    /// Its description in the definition.
    pub(crate) description: Option<String>,
    /// Whether a query string may contain it; a route template always may.
    pub(crate) is_queryable: bool,
    /// The path, beginning at the base resource.
    pub(crate) steps: Vec<Step>,
    /// The resource that has the value.
    pub(crate) of: ResourceId,
    /// The value's name as a filter of that resource's list.
    pub(crate) field: String,
}

/// A step between two resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// The resource at which it begins.
    pub(crate) from: ResourceId,
    /// The resource to which it leads.
    pub(crate) to: ResourceId,
    /// The reference that is followed, a property of the resource that refers.
    pub(crate) property: String,
    /// Whether it leads from the referring resource to its target, rather than back.
    pub(crate) forward: bool,
}
