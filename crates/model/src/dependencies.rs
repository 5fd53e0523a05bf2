//! The order in which documents can be created: a document comes after those it refers to.
//!
//! The rule matches the published orders. Every reference is an edge, and so is every descriptor
//! outside a reference. An abstract base stands for its subclasses; edges from a resource to itself
//! do not count. A client can create a person before it can read that person: access is granted by
//! an association ([`Resource::access_through`]). Such a person has two places, Create before the
//! association and Update after it, and all other resources that refer to the person come after the
//! association. Resources whose documents the store itself provides take no part.

use std::collections::BTreeSet;

use crate::resource::{Model, Property, PropertyKind, Resource, ResourceId, Scalar, Target};
use crate::source::{Presence, ResourceKind};

/// The operations that a place in the order applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operations {
    /// Updates of a person, after the associations that grant access to it.
    Update,
    /// Creation of a person.
    Create,
    /// Both creation and updates.
    CreateAndUpdate,
}

impl Operations {
    /// Returns the operations as the dependencies endpoint names them.
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
    /// Its level, from 1; resources on the same level do not depend on each other.
    pub order: u16,
    /// The operations that the place applies to.
    pub operations: Operations,
}

impl Dependency {
    /// Returns the resource as the dependencies endpoint names it, `/ed-fi/sections`.
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

/// The dependencies as they are drawn: everything that needs a person, or an association that
/// grants access to one, waits for the person's Update.
#[derive(Debug, Clone, Default)]
pub struct DependencyGraph {
    /// Every resource once, but each person twice; in the model's order.
    pub nodes: Vec<Node>,
    /// Indices into the nodes: the first comes before the second.
    pub edges: BTreeSet<(usize, usize)>,
    /// Edges that were removed because they closed a circle; edges of optional references are
    /// removed first.
    pub given_up: BTreeSet<(usize, usize)>,
}

/// Returns the order in which a store can be filled, by level, then by path.
pub fn dependency_order(model: &Model) -> Vec<Dependency> {
    let mut needs = Needs::of(model);
    break_circles(&mut needs.edges, &needs.optional);
    let mut order: Vec<Dependency> = needs
        .nodes
        .iter()
        .zip(levels(needs.nodes.len(), &needs.edges))
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

/// Returns the graph behind [`dependency_order`], without circles.
pub fn dependency_graph(model: &Model) -> DependencyGraph {
    let needs = Needs::of(model);
    let mut edges = needs.drawn;
    let given_up = break_circles(&mut edges, &needs.optional);
    DependencyGraph { nodes: needs.nodes, edges, given_up }
}

/// The dependencies between resources, before circles are broken.
struct Needs {
    nodes: Vec<Node>,
    /// Edges for the order of levels; an association that grants access comes directly before what
    /// needs the person.
    edges: BTreeSet<(usize, usize)>,
    /// Edges as they are drawn, with the person's Update between the two.
    drawn: BTreeSet<(usize, usize)>,
    /// Edges that stand only for optional references.
    optional: BTreeSet<(usize, usize)>,
}

impl Needs {
    fn of(model: &Model) -> Self {
        let mut nodes = vec![];
        // For each resource its node, and for a person also the node of its updates.
        let mut places: Vec<Option<(usize, Option<usize>)>> = vec![None; model.resources.len()];
        let ordered = || model.resources.iter().filter(|r| r.kind != ResourceKind::Enumeration);
        let mut add = |resource: ResourceId, operations| {
            nodes.push(Node { resource, operations });
            nodes.len() - 1
        };
        for resource in ordered() {
            places[usize::from(resource.id.0)] = Some(if resource.access_through.is_empty() {
                (add(resource.id, Operations::CreateAndUpdate), None)
            } else {
                let create = add(resource.id, Operations::Create);
                (create, Some(add(resource.id, Operations::Update)))
            });
        }
        let place = |id: ResourceId| places[usize::from(id.0)];
        let mut needs = Self {
            nodes,
            edges: BTreeSet::new(),
            drawn: BTreeSet::new(),
            optional: BTreeSet::new(),
        };
        let persons: Vec<&Resource> = ordered().filter(|r| !r.access_through.is_empty()).collect();
        for resource in ordered() {
            let Some((to, _)) = place(resource.id) else { continue };
            let mut found = vec![];
            collect(&resource.properties, true, &mut found);
            for (target, required) in found {
                for needed in documents(model, target).into_iter().filter(|n| n.id != resource.id) {
                    let Some((from, update)) = place(needed.id) else { continue };
                    let gives_access = needed.access_through.contains(&resource.id);
                    if let (false, Some(update)) = (gives_access, update) {
                        for association in &needed.access_through {
                            let from = place(*association).map(|(from, _)| from);
                            needs.add(from, to, required);
                        }
                        needs.draw(Some(update), to, required);
                        continue;
                    }
                    needs.add(Some(from), to, required);
                    if gives_access {
                        needs.add(Some(to), update.unwrap_or(to), true);
                        needs.draw(Some(to), update.unwrap_or(to), true);
                    }
                    match persons.iter().find(|p| p.access_through.contains(&needed.id)) {
                        None => needs.draw(Some(from), to, required),
                        Some(person) if person.access_through.contains(&resource.id) => {}
                        Some(person) => {
                            let update = place(person.id).and_then(|(_, update)| update);
                            needs.draw(update, to, required);
                        }
                    }
                }
            }
        }
        needs
    }

    fn add(&mut self, from: Option<usize>, to: usize, required: bool) {
        let Some(from) = from else { return };
        let new = self.edges.insert((from, to)) && !self.drawn.contains(&(from, to));
        self.weigh((from, to), new, required);
    }

    fn draw(&mut self, from: Option<usize>, to: usize, required: bool) {
        let Some(from) = from else { return };
        let new = self.drawn.insert((from, to)) && !self.edges.contains(&(from, to));
        self.weigh((from, to), new, required);
    }

    fn weigh(&mut self, edge: (usize, usize), new: bool, required: bool) {
        if required {
            self.optional.remove(&edge);
        } else if new {
            self.optional.insert(edge);
        }
    }
}

/// Collects the targets of an object's references and descriptors, and whether each is required.
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

/// Returns the resources whose documents a target can be.
fn documents(model: &Model, target: Target) -> Vec<&Resource> {
    match target {
        Target::Resource(id) => vec![model.resource(id)],
        Target::Abstract(id) => {
            model.base(id).subclasses.iter().map(|id| model.resource(*id)).collect()
        }
    }
}

/// Removes edges until none closes a circle: edges of optional references first, then any.
fn break_circles(
    edges: &mut BTreeSet<(usize, usize)>,
    optional: &BTreeSet<(usize, usize)>,
) -> BTreeSet<(usize, usize)> {
    let mut given_up = BTreeSet::new();
    if !has_circle(edges) {
        return given_up;
    }
    loop {
        let closing: Vec<(usize, usize)> =
            edges.iter().copied().filter(|&(from, to)| reaches(edges, to, from)).collect();
        let dispensable = closing.iter().find(|edge| optional.contains(edge));
        let Some(edge) = dispensable.or(closing.first()) else { return given_up };
        edges.remove(edge);
        given_up.insert(*edge);
    }
}

/// Whether edges are left after those out of nodes without predecessors are removed repeatedly.
fn has_circle(edges: &BTreeSet<(usize, usize)>) -> bool {
    let mut left = edges.clone();
    loop {
        let later: BTreeSet<usize> = left.iter().map(|(_, to)| *to).collect();
        let before = left.len();
        left.retain(|(from, _)| later.contains(from));
        if left.is_empty() || left.len() == before {
            return !left.is_empty();
        }
    }
}

/// Whether a path of edges leads from one node to another.
fn reaches(edges: &BTreeSet<(usize, usize)>, from: usize, to: usize) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        let next = edges.range((at, 0)..=(at, usize::MAX)).map(|(_, next)| *next);
        open.extend(next.filter(|next| seen.insert(*next)));
    }
    false
}

/// Returns the level of each node: one more than the highest level among its predecessors.
fn levels(nodes: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<u16> {
    let mut levels = vec![1u16; nodes];
    loop {
        let mut changed = false;
        for &(from, to) in edges {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{format, link};

    #[test]
    fn a_dependency_circle_is_broken_at_an_optional_reference() {
        let text = "\
standard Ed-Fi ed-fi 1.0
resource Course courses
  @ courseCode text(1..9)
  ? mainSectionReference -> Section(courseCode, sectionIdentifier)
resource Section sections
  @ courseReference -> Course(courseCode)
  @ sectionIdentifier text(1..9)
";
        let model = link(&[format::read(text).unwrap()]).unwrap();

        let order: Vec<(String, u16)> =
            dependency_order(&model).iter().map(|d| (d.path(&model), d.order)).collect();

        assert_eq!(order, [("/ed-fi/courses".into(), 1), ("/ed-fi/sections".into(), 2)]);
        assert_eq!(dependency_graph(&model).given_up, BTreeSet::from([(1, 0)]));
    }

    #[test]
    fn an_update_of_a_person_waits_for_the_association_that_gives_access() {
        let text = "\
standard Ed-Fi ed-fi 1.0
resource Student students
  access-through Enrolment
  @ studentUniqueId text(1..9)
resource Enrolment enrolments
  @ studentReference -> Student(studentUniqueId)
resource Award awards
  @ studentReference -> Student(studentUniqueId)
";
        let model = link(&[format::read(text).unwrap()]).unwrap();

        let order: Vec<(String, u16, Operations)> = dependency_order(&model)
            .iter()
            .map(|d| (model.resource(d.resource).name.clone(), d.order, d.operations))
            .collect();

        assert_eq!(
            order,
            [
                ("Student".into(), 1, Operations::Create),
                ("Enrolment".into(), 2, Operations::CreateAndUpdate),
                ("Student".into(), 3, Operations::Update),
                ("Award".into(), 3, Operations::CreateAndUpdate),
            ]
        );
    }
}
