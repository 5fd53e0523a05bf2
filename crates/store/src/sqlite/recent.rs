//! Identities and edges that are not in their tables yet.
//!
//! An identity is a hash and an edge lies beside those of the same target, so those of a new document
//! would each change a page of their own. They are kept in memory instead, and move to their tables
//! in order, many to a page ([`sweep`]). A document's row has its identity and its references, so
//! nothing is lost with the memory: it is filled again from the documents behind the sweeps.
//!
//! Readers see exactly the state of their transaction: the row of the table `recent` has the number of
//! the last commit that changed one of these, and what is in memory is known by such numbers
//! ([`memory`]). Other processes see by the same row what is missing in the tables ([`positions`]).

mod edge;
mod functions;
mod memory;
mod positions;
mod shared;
mod sweep;

#[cfg(test)]
pub(crate) use edge::NUMBER_MAX;
pub(crate) use edge::{Edge, Key, pack, unpack};
pub(crate) use functions::{commit_seen, number_of_key, provide};
pub(crate) use memory::{Change, Memory};
pub(crate) use positions::{
    ADD_EDGE, ADD_IDENTITY, FIRST_EDGE, FIRST_KEY, Missing, Positions, complete, fill_identities,
    next_key, note_all_moved,
};
pub(crate) use shared::{Reading, Recent, Rows};
pub(crate) use sweep::Sweep;
