//! Lanes: the tables of a part, which are written beside the documents.
//!
//! A plan of a lane asks for and writes rows of lanes, and nothing else. So it needs no order with
//! documents: in PostgreSQL it takes the lane's row of `lane` and not that of `counter`. Plans of one
//! lane are run as if one after the other, over all nodes.
//!
//! Rows of several parts can be written together, such as a course's and the job that tells of it:
//! the plan then belongs to the lane whose name comes first in the alphabet, and its transaction
//! takes the later ones as it needs them. As all take them in this order, none waits for another in
//! a circle.

use std::hash::{DefaultHasher, Hash, Hasher as _};

/// The tables of a part that are written in order with each other.
///
/// A lane has a row in the table `lane`, which the migration inserts that makes its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(&'static str);

/// The rows of a lane that a statement reads or changes.
///
/// Two plans of a group wait for each other only if one reads what the other changes. Rows that
/// belong together, such as those of one registration, have one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PartRows {
    lane: Lane,
    /// A hash of what distinguishes the rows; [`None`] for any row of the lane.
    key: Option<u64>,
}

impl Lane {
    /// Creates the lane that has this name in the table `lane`.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Returns the rows of one key. A statement that may meet rows of another key needs
    /// [`Lane::all`]: those of several keys may be run as one, which changes no row twice.
    pub fn rows(self, key: impl Hash) -> PartRows {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        PartRows { lane: self, key: Some(hasher.finish()) }
    }

    /// Returns all rows.
    pub const fn all(self) -> PartRows {
        PartRows { lane: self, key: None }
    }
}

impl PartRows {
    /// Returns the lane.
    pub(crate) fn lane(self) -> Lane {
        self.lane
    }

    /// Returns the hash of the key, if it is about one.
    pub(crate) fn key(self) -> Option<u64> {
        self.key
    }
}
