//! Decides who may see a document: what it concerns, and how that relates to the caller.
//!
//! A document's *marks* are numbers of its subjects, one per subject of its resource (an
//! organization's id, the number of a person's document), followed by its owner's token. A *tie*
//! states that an organization belongs to another, or a person to an organization. The store keeps
//! both; the model says which document has which.

mod about;
mod bounds;
mod marks;
mod namespace;
mod routes;
mod standing;
mod text;
mod views;

pub(crate) use about::{About, about, proposed, targets};
pub use bounds::bounds;
pub(crate) use marks::{marks, ties, ties_of};
pub use marks::{owner, stored, stored_starts};
pub use namespace::namespace_of;
pub(crate) use routes::label_names;
pub use routes::{Routes, Slot};
pub use standing::{Asked, paths, questions, way};
pub use views::{AskedViews, past_start, start, test, through};
