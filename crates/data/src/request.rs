//! The handlers: each is a short sequence of steps, the same for every resource.

pub(crate) mod body;
pub(crate) mod changes;
mod id;
mod other;
mod precondition;
pub(crate) mod read;
mod tracked;
pub(crate) mod write;

pub(crate) use other::not_allowed;
