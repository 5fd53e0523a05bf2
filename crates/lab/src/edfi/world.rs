//! What exists on the target and may be referred to: one document of each resource, and more of
//! those of which more are needed.

use std::collections::HashMap;

use super::document::{Anchors, Made, Missing};
use super::shape::{Reference, Shapes};

/// What became of a resource in the set-up.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Nobody needs it.
    Unwanted,
    /// Nothing was tried, or nothing could be: what it refers to is not there.
    Waiting(String),
    /// The target refused it, and said why.
    Refused(String),
    /// There is a document.
    There {
        /// It.
        made: Made,
        /// Whether the set-up made it; otherwise it was found.
        is_own: bool,
    },
}

/// All of that, by the resources' numbers.
#[derive(Debug)]
pub struct World<'s> {
    /// The target's resources.
    pub shapes: &'s Shapes,
    /// Their states.
    pub states: Vec<State>,
    /// More documents of a resource, which differ from its first in one member of its own.
    pub more: HashMap<usize, Vec<Made>>,
    /// Whether a reference may mean a less likely resource while the likelier ones are waiting.
    pub takes_any: bool,
}

impl<'s> World<'s> {
    /// A world in which only these resources are of interest, and nothing is there yet.
    pub fn new(shapes: &'s Shapes, wanted: &[bool]) -> Self {
        let states = wanted.iter().map(|wanted| match wanted {
            true => State::Waiting("not tried".into()),
            false => State::Unwanted,
        });
        Self { shapes, states: states.collect(), more: HashMap::new(), takes_any: false }
    }

    /// Whether the set-up made the document that stands for a resource.
    pub fn is_own(&self, kind: usize) -> bool {
        matches!(self.states[kind], State::There { is_own: true, .. })
    }
}

impl Anchors for World<'_> {
    fn anchor(&self, kind: usize) -> Option<&Made> {
        match &self.states[kind] {
            State::There { made, .. } => Some(made),
            _ => None,
        }
    }

    fn target(&self, reference: &Reference) -> Result<usize, Missing> {
        let name = |kind: usize| self.shapes.kinds[kind].name.clone();
        let mut first = None;
        for kind in &reference.targets {
            match &self.states[*kind] {
                State::There { .. } => return Ok(*kind),
                State::Waiting(_) if !self.takes_any => {
                    return Err(Missing { what: name(*kind) });
                }
                _ => first = first.or(Some(*kind)),
            }
        }
        Err(Missing { what: first.map_or_else(|| reference.to.clone(), name) })
    }
}
