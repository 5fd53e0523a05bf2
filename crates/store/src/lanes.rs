//! What waits, by owner: owners take turns, and each keeps its order.
//!
//! Source: Nagle, "On packet switches with infinite storage", RFC 970 (1985): a queue for each sender,
//! served in turn.

use std::collections::{HashMap, VecDeque};

/// Emptied lanes that are kept for the next owners.
const SPARE_MAX: usize = 64;

/// A lane for each owner, with what waits in it.
#[derive(Debug)]
pub struct Lanes<T> {
    of: HashMap<u64, VecDeque<T>>,
    /// The owners that wait, in the order of their turns.
    turns: VecDeque<u64>,
    spare: Vec<VecDeque<T>>,
    count: usize,
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self { of: HashMap::new(), turns: VecDeque::new(), spare: vec![], count: 0 }
    }
}

impl<T> Lanes<T> {
    /// Adds one at the end of its owner's lane.
    pub fn add(&mut self, owner: u64, one: T) {
        let spare = &mut self.spare;
        let lane = self.of.entry(owner).or_insert_with(|| spare.pop().unwrap_or_default());
        if lane.is_empty() {
            self.turns.push_back(owner);
        }
        lane.push_back(one);
        self.count += 1;
    }

    /// Takes the first one of the owner whose turn it is.
    pub fn take(&mut self) -> Option<T> {
        let owner = self.turns.pop_front()?;
        let lane = self.of.get_mut(&owner)?;
        let one = lane.pop_front();
        self.count -= usize::from(one.is_some());
        if !lane.is_empty() {
            self.turns.push_back(owner);
        } else if let Some(lane) = self.of.remove(&owner)
            && self.spare.len() < SPARE_MAX
        {
            self.spare.push(lane);
        }
        one
    }

    /// Returns how many wait.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns how many owners wait.
    pub fn owners(&self) -> usize {
        self.turns.len()
    }

    /// Returns how many of an owner wait.
    pub fn count_of(&self, owner: u64) -> usize {
        self.of.get(&owner).map_or(0, VecDeque::len)
    }
}
