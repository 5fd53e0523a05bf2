//! Who may see a document: what of it decides, and how that stands to the caller.
//!
//! A document's *marks* are the numbers of those it is about (an organization's id, the document of
//! a person), one a subject of its resource, and its owner's token. *Ties* are what makes an
//! organization belong to another and a person to an organization. Both are the store's; which
//! document has which comes from the model.

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
