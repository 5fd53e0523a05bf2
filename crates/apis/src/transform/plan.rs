//! Which operations are done in one walk over a body: a tree of the members that lead to what they change.

use std::ops::Range;

use super::compiled::{Change, Compiled, Name};
use super::edit::nested;
use super::pointer::{Step, index_of};
use super::scan::DEPTH_MAX;

/// Most members of one object in which something is done in a walk.
const MEMBERS_MAX: usize = 128;
/// Most bytes of a value that is added, in all its copies.
const VALUES_MAX: usize = 64 << 10;

/// Operations that follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// Their numbers.
    pub(super) operations: Range<usize>,
    /// How they are done in one walk; [`None`] for one that is done by itself.
    pub(super) together: Option<Node>,
}

impl Group {
    fn of(number: usize, together: Option<Node>) -> Self {
        Self { operations: Range { start: number, end: number + 1 }, together }
    }
}

/// What is done to a value, whose own members and elements are changed before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Node {
    /// Members in which something is done, and what.
    members: Vec<(String, Node)>,
    /// What is done in each element of an array.
    pub(super) each: Option<Box<Node>>,
    /// What is done to the members of an object, one after the other.
    pub(super) actions: Vec<Action>,
}

/// Something that is done to the members of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Gives a member another name, and removes those that have it already.
    Rename { from: String, to: Name },
    /// Gives a member a value, or adds it.
    Put { name: Name, value: Vec<u8> },
    /// Adds an object that has a value within, where the member is missing.
    PutWithin { name: Name, within: Vec<String>, value: Vec<u8>, whole: Vec<u8> },
    /// Removes a member.
    Drop { name: String },
    /// Gives one member the value of another, which is removed.
    Move { from: String, to: Name },
}

impl Action {
    /// Returns whether it changes which value a member of this name has, or whether there is one.
    fn is_about(&self, wanted: &str) -> bool {
        match self {
            Self::Rename { from, to } | Self::Move { from, to } => {
                from == wanted || to.name == wanted
            }
            Self::Put { name, .. } | Self::PutWithin { name, .. } => name.name == wanted,
            Self::Drop { name } => name == wanted,
        }
    }
}

/// Divides operations into groups, each as long as it can be.
pub(super) fn groups(operations: &[Compiled]) -> Vec<Group> {
    let mut groups: Vec<Group> = vec![];
    for (number, operation) in operations.iter().enumerate() {
        let Some(way) = Way::of(operation) else {
            groups.push(Group::of(number, None));
            continue;
        };
        match groups.last_mut() {
            Some(Group { operations, together: Some(root) }) if root.can_take(&way) => {
                root.take(&way);
                operations.end = number + 1;
            }
            _ => {
                let mut root = Node::default();
                root.take(&way);
                groups.push(Group::of(number, Some(root)));
            }
        }
    }
    groups
}

/// An operation that can be done in a walk with others.
struct Way<'a> {
    /// The steps to the object whose members it changes.
    steps: Vec<Step>,
    /// The member that it changes.
    last: &'a str,
    change: &'a Change,
    /// The last name of the place to which a value is moved.
    to: Option<&'a str>,
}

impl<'a> Way<'a> {
    /// Returns the way of an operation; [`None`] for one about elements of arrays themselves, which an index may be,
    /// one that moves a value to another object, and one that may nest a body deeper than is read.
    fn of(operation: &'a Compiled) -> Option<Self> {
        let (last, before) = operation.within.split_last()?;
        let to = match &operation.change {
            Change::Move(to) => {
                let (to_last, to_before) = to.split_last()?;
                if to_before != before {
                    return None;
                }
                Some(to_last.as_str())
            }
            Change::Rename(_) | Change::Add(..) | Change::Drop => None,
        };
        let own = before.iter().cloned().map(Step::Named);
        let steps: Vec<Step> = operation.places.iter().cloned().chain(own).collect();
        let is_element = |name: &str| name == "-" || index_of(name).is_some();
        let is_about_elements = |step: &Step| match step {
            Step::Named(name) => is_element(name),
            Step::Each => false,
        };
        if steps.iter().any(is_about_elements) || is_element(last) || to.is_some_and(is_element) {
            return None;
        }
        // Each step is a level of the tree, and has a copy of a value that is added within it.
        if steps.len() >= DEPTH_MAX {
            return None;
        }
        if let Change::Add(value, depth) = &operation.change
            && (steps.len() + 1 + depth > DEPTH_MAX || steps.len() * value.len() > VALUES_MAX)
        {
            return None;
        }
        Some(Self { steps, last, change: &operation.change, to })
    }

    fn adds(&self) -> bool {
        matches!(self.change, Change::Add(..))
    }
}

impl Node {
    /// Returns whether it changes objects.
    pub(super) fn has_members(&self) -> bool {
        !self.members.is_empty() || !self.actions.is_empty()
    }

    /// Returns the members in which something is done, with what is done there.
    pub(super) fn members(&self) -> &[(String, Node)] {
        &self.members
    }

    /// Returns whether an operation can be done in one walk with those that it has, and behind them: what they do to
    /// members on its way is done behind what is done within these.
    fn can_take(&self, way: &Way<'_>) -> bool {
        let mut node = self;
        for step in &way.steps {
            let next = match step {
                Step::Each => node.each.as_deref(),
                Step::Named(name) => {
                    let is_in_the_way = |action: &Action| match action {
                        Action::PutWithin { .. } if way.adds() => false,
                        _ => action.is_about(name),
                    };
                    if node.actions.iter().any(is_in_the_way) {
                        return false;
                    }
                    node.member(name)
                }
            };
            match next {
                Some(next) => node = next,
                None => return node.members.len() < MEMBERS_MAX,
            }
        }
        !matches!(way.change, Change::Move(_)) || !node.changes_within(way.last)
    }

    /// Returns whether something is done within a member that has this name when all is done. It cannot be moved in
    /// the same walk: a value is moved as it was sent.
    fn changes_within(&self, name: &str) -> bool {
        let mut names = vec![name];
        for action in self.actions.iter().rev() {
            if let Action::Rename { from, to } | Action::Move { from, to } = action
                && names.contains(&to.name.as_str())
            {
                names.push(from);
            }
        }
        names.into_iter().any(|name| self.member(name).is_some())
    }

    fn take(&mut self, way: &Way<'_>) {
        let mut node = self;
        for (number, step) in way.steps.iter().enumerate() {
            node = match step {
                Step::Each => &mut **node.each.get_or_insert_default(),
                Step::Named(name) => {
                    let between = way.steps[number + 1..].iter().map(|step| match step {
                        Step::Named(name) => Some(name.clone()),
                        Step::Each => None,
                    });
                    let last = std::iter::once(Some(way.last.to_owned()));
                    let within: Option<Vec<String>> = between.chain(last).collect();
                    if let (Change::Add(value, _), Some(within)) = (way.change, within) {
                        let whole = nested(&within, value);
                        let (name, value) = (Name::new(name), value.clone());
                        node.actions.push(Action::PutWithin { name, within, value, whole });
                    }
                    node.member_mut(name)
                }
            };
        }
        let from = way.last.to_owned();
        match (way.change, way.to) {
            (Change::Rename(to), _) if to.name == from => {}
            (Change::Rename(to), _) => node.actions.push(Action::Rename { from, to: to.clone() }),
            (Change::Add(value, _), _) => {
                node.actions.push(Action::Put { name: Name::new(&from), value: value.clone() });
            }
            (Change::Drop, _) => node.actions.push(Action::Drop { name: from }),
            (Change::Move(_), Some(to)) => {
                node.actions.push(Action::Move { from, to: Name::new(to) });
            }
            (Change::Move(_), None) => {}
        }
    }

    fn member(&self, wanted: &str) -> Option<&Self> {
        self.members.iter().find(|(name, _)| name == wanted).map(|(_, node)| node)
    }

    fn member_mut(&mut self, wanted: &str) -> &mut Self {
        let found = self.members.iter().position(|(name, _)| name == wanted);
        let at = found.unwrap_or_else(|| {
            self.members.push((wanted.to_owned(), Self::default()));
            self.members.len() - 1
        });
        &mut self.members[at].1
    }
}
