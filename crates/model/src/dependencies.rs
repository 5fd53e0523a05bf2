//! In which order documents can be created: what refers comes after what it refers to.
//!
//! The rule, as the published orders have it: every reference is an edge, and so is every
//! descriptor outside of references; an abstract base stands for its subclasses; a resource's edges
//! to itself do not count. A person can be created by a client that cannot yet see the person:
//! access comes through an association ([`Resource::access_through`]). Such a person has two
//! places, Create before the association and Update after it, and everything else that refers to
//! the person or to the association comes after Update. Resources that the store itself provides take no part.

use std::collections::BTreeSet;

use crate::resource::{Model, Property, PropertyKind, Resource, ResourceId, Scalar, Target};
use crate::source::{Presence, ResourceKind};

/// Which operations a place in the order is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operations {
    /// Updates of a person: the associations that give access come before it.
    Update,
    /// Creation of a person.
    Create,
    /// Creation and updates alike.
    CreateAndUpdate,
}

impl Operations {
    /// The operations as the dependencies endpoint names them.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::CreateAndUpdate => &["Create", "Update"],
            Self::Create => &["Create"],
            Self::Update => &["Update"],
        }
    }
}

/// A resource's place in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependency {
    /// The resource.
    pub resource: ResourceId,
    /// Its level, from 1: what has the same level does not depend on each other.
    pub order: u16,
    /// The operations the place is for.
    pub operations: Operations,
}

impl Dependency {
    /// The resource as the dependencies endpoint names it, `/ed-fi/sections`.
    pub fn path(&self, model: &Model) -> String {
        model.resource(self.resource).path()
    }
}

/// A node of the graph: a resource for some operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node {
    /// The resource.
    pub resource: ResourceId,
    /// The operations.
    pub operations: Operations,
}

/// What must be there before what.
#[derive(Debug, Clone, Default)]
pub struct DependencyGraph {
    /// Every resource once, persons twice; by index into the model.
    pub nodes: Vec<Node>,
    /// Indices into the nodes: the first comes before the second.
    pub edges: BTreeSet<(usize, usize)>,
    /// Edges that stand for references which may be absent, given up because they closed a circle.
    pub given_up: BTreeSet<(usize, usize)>,
}

/// The order in which a store can be filled, level by level; by path within a level.
pub fn dependency_order(model: &Model) -> Vec<Dependency> {
    let graph = dependency_graph(model);
    let levels = levels(&graph);
    let mut order: Vec<Dependency> = graph
        .nodes
        .iter()
        .zip(levels)
        .map(|(node, order)| Dependency {
            resource: node.resource,
            order,
            operations: node.operations,
        })
        .collect();
    order.sort_by_cached_key(|place| {
        let later = place.operations != Operations::Update;
        (place.order, later, place.path(model).to_ascii_lowercase())
    });
    order
}

/// The graph behind [`dependency_order`], without circles.
pub fn dependency_graph(model: &Model) -> DependencyGraph {
    let mut graph = DependencyGraph::default();
    let mut first = vec![None; model.resources.len()];
    let mut last = vec![None; model.resources.len()];
    let ordered = || model.resources.iter().filter(|r| r.kind != ResourceKind::Enumeration);
    let mut add = |resource: ResourceId, operations| {
        graph.nodes.push(Node { resource, operations });
        Some(graph.nodes.len() - 1)
    };
    for resource in ordered() {
        let at = usize::from(resource.id.0);
        if resource.access_through.is_empty() {
            first[at] = add(resource.id, Operations::CreateAndUpdate);
            last[at] = first[at];
        } else {
            first[at] = add(resource.id, Operations::Create);
            last[at] = add(resource.id, Operations::Update);
        }
    }
    let persons: Vec<&Resource> = ordered().filter(|r| !r.access_through.is_empty()).collect();
    let mut optional = BTreeSet::new();
    let at = |nodes: &[Option<usize>], id: ResourceId| nodes[usize::from(id.0)];
    for resource in ordered() {
        let mut needs = vec![];
        collect(&resource.properties, true, &mut needs);
        for (target, required) in needs {
            for needed in documents(model, target).into_iter().filter(|n| n.id != resource.id) {
                let gives_access = needed.access_through.contains(&resource.id);
                // What needs an association that gives access can wait for the person's Update.
                let person = persons.iter().find(|person| {
                    person.access_through.contains(&needed.id)
                        && !person.access_through.contains(&resource.id)
                });
                let before = match person {
                    Some(person) => at(&last, person.id),
                    None if gives_access => at(&first, needed.id),
                    None => at(&last, needed.id),
                };
                let (Some(from), Some(to)) = (before, at(&first, resource.id)) else { continue };
                let new = graph.edges.insert((from, to));
                if required {
                    optional.remove(&(from, to));
                } else if new {
                    optional.insert((from, to));
                }
                if let (true, Some(update)) = (gives_access, at(&last, needed.id)) {
                    graph.edges.insert((to, update));
                }
            }
        }
    }
    break_circles(&mut graph, &optional);
    graph
}

/// The targets of an object's references and descriptors, and whether they must be there.
fn collect(properties: &[Property], inside_required: bool, needs: &mut Vec<(Target, bool)>) {
    for property in properties {
        let required = inside_required && property.presence != Presence::Optional;
        match &property.kind {
            PropertyKind::Scalar(Scalar::Descriptor(id)) => {
                needs.push((Target::Resource(*id), required));
            }
            PropertyKind::Scalar(_) => {}
            PropertyKind::Reference(reference) => needs.push((reference.target, required)),
            PropertyKind::Object(inner) | PropertyKind::List(inner) => {
                collect(inner, required, needs);
            }
        }
    }
}

/// The resources whose documents a target can be.
fn documents(model: &Model, target: Target) -> Vec<&Resource> {
    match target {
        Target::Resource(id) => vec![model.resource(id)],
        Target::Abstract(id) => {
            model.base(id).subclasses.iter().map(|id| model.resource(*id)).collect()
        }
    }
}

/// Gives up edges until none closes a circle: those of optional references first, then any.
fn break_circles(graph: &mut DependencyGraph, optional: &BTreeSet<(usize, usize)>) {
    loop {
        let closing: Vec<(usize, usize)> =
            graph.edges.iter().copied().filter(|&(from, to)| reaches(graph, to, from)).collect();
        let dispensable = closing.iter().find(|edge| optional.contains(edge));
        let Some(edge) = dispensable.or(closing.first()) else { return };
        graph.edges.remove(edge);
        graph.given_up.insert(*edge);
    }
}

/// Whether a path of edges leads from one node to another.
fn reaches(graph: &DependencyGraph, from: usize, to: usize) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        let next = graph.edges.range((at, 0)..=(at, usize::MAX)).map(|(_, next)| *next);
        open.extend(next.filter(|next| seen.insert(*next)));
    }
    false
}

/// The level of each node: one more than the highest that comes before it.
fn levels(graph: &DependencyGraph) -> Vec<u16> {
    let mut levels = vec![1u16; graph.nodes.len()];
    loop {
        let mut changed = false;
        for &(from, to) in &graph.edges {
            if levels[to] <= levels[from] {
                levels[to] = levels[from] + 1;
                changed = true;
            }
        }
        if !changed {
            return levels;
        }
    }
}
