//! Decides who may see a document, by what the document is about.
//!
//! A document's *marks* are numbers: for each subject of its resource the id of an organization or
//! the number of a person's document, and last the token of its owner. A *tie* says that an
//! organization belongs to another one, or a person to an organization. The store keeps both; the
//! model says which document has which.

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
pub(crate) use marks::{marks, stored, ties, ties_of};
pub use marks::{owner, stored_starts};
pub use namespace::namespace_of;
pub(crate) use routes::label_names;
pub use routes::{Routes, Slot};
pub use standing::{Asked, questions, way};
pub use views::{AskedViews, past_start, start, test, through};
