//! The documents on the target that may be referred to: one of each resource, and more where more
//! are needed.

use std::collections::HashMap;

use super::document::{Anchors, Made, Missing};
use super::shape::{Reference, Shapes};

/// The state of a resource in the set-up.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// No document of it is needed.
    Unwanted,
    /// It was not tried yet, or something that it refers to is missing.
    Waiting(String),
    /// The target refused it for this reason.
    Refused(String),
    /// A document exists.
    There {
        /// The document.
        made: Made,
        /// Whether the set-up created it; otherwise it was found.
        is_own: bool,
    },
}

/// The state of all resources, by number.
#[derive(Debug)]
pub struct World<'s> {
    /// The target's resources.
    pub shapes: &'s Shapes,
    /// The resources' states.
    pub states: Vec<State>,
    /// More documents of a resource, which differ from its first in one of its own members.
    pub more: HashMap<usize, Vec<Made>>,
    /// Whether a reference may point to a less likely resource while the likelier ones are waiting.
    pub takes_any: bool,
}

impl<'s> World<'s> {
    /// Returns a world in which only these resources are wanted and no document exists yet.
    pub fn new(shapes: &'s Shapes, wanted: &[bool]) -> Self {
        let states = wanted.iter().map(|wanted| match wanted {
            true => State::Waiting("not tried".into()),
            false => State::Unwanted,
        });
        Self { shapes, states: states.collect(), more: HashMap::new(), takes_any: false }
    }

    /// Returns whether the set-up created the document that stands for a resource.
    pub fn is_own(&self, resource: usize) -> bool {
        matches!(self.states[resource], State::There { is_own: true, .. })
    }
}

impl Anchors for World<'_> {
    fn anchor(&self, resource: usize) -> Option<&Made> {
        match &self.states[resource] {
            State::There { made, .. } => Some(made),
            _ => None,
        }
    }

    fn target(&self, reference: &Reference) -> Result<usize, Missing> {
        let name = |resource: usize| self.shapes.resources[resource].name.clone();
        let mut first = None;
        for resource in &reference.targets {
            match &self.states[*resource] {
                State::There { .. } => return Ok(*resource),
                State::Waiting(_) if !self.takes_any => {
                    return Err(Missing { what: name(*resource) });
                }
                _ => first = first.or(Some(*resource)),
            }
        }
        Err(Missing { what: first.map_or_else(|| reference.to.clone(), name) })
    }
}
