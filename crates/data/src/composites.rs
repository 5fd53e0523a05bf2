//! Composites: answers that combine several resources, as definitions in XML describe.
//!
//! A definition is read, compiled against the model once, at start, and then run: the base
//! documents are a list like any other, what they refer to and what refers to them is found level
//! by level, all on one state of the store. Nothing here names a resource.
//!
//! Every resource that takes part is read by what the caller may read of it. Without Read on the base
//! resource the answer is 403; other resources that the caller may not read are left out.
//!
//! Source: Ed-Fi ODS/API 7.3, composites and their security.

mod compile;
mod definition;
mod error;
mod expression;
mod fields;
mod filters;
mod handlers;
mod member;
mod names;
mod read;
mod served;
mod shipped;
mod write;

pub use definition::FILE_BYTES_MAX;
pub use error::CompositeError;
pub use handlers::routes;
pub(crate) use member::{Member, Node, Parameter, Step};
pub use served::{Category, Composite, Composites, RouteTemplate, Segment};
