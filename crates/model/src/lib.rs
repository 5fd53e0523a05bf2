//! Homeroom's model of a data standard.
//!
//! A model holds everything that differs between resources: names, properties, types, lengths,
//! keys, references, key unification, collections, abstract bases, securable subjects, interchanges
//! and element names. It is a text file ([`mod@format`]) that a person can read and diff;
//! [`link()`] turns its content ([`Source`]) into a [`Model`] in which every name is resolved.
//!
//! This crate does no I/O and knows neither HTTP nor SQL.
//!
//! ```
//! use homeroom_model::{Target, format, link, shipped};
//!
//! let text = shipped("5.2.0").expect("this version is shipped");
//! let model = link(&[format::read(text)?])?;
//!
//! let Some(Target::Resource(student)) = model.by_name("Student") else { panic!("no students") };
//! assert_eq!(model.resource(student).endpoint, "students");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod check;
mod dependencies;
pub mod format;
pub mod import;
mod link;
mod resource;
mod shipped;
mod source;
mod words;
pub mod xml;

pub use dependencies::{
    Dependency, DependencyGraph, Node, Operations, dependency_graph, dependency_order,
};
pub use format::FormatError;
pub use link::{LinkError, link};
pub use resource::{
    Abstract, AbstractId, Base, ColumnSource, EXTENSIONS, KeyColumn, Model, Place, Project,
    Property, PropertyKind, QueryField, QuerySource, Reference, ReferencePart, Resource,
    ResourceId, Scalar, Subject, SubjectOf, Target,
};
pub use shipped::{
    EXTENSIONS_SHIPPED, VERSIONS, shipped, shipped_examples, shipped_exceptions, shipped_extension,
    shipped_seed,
};
pub use source::{
    ExtensionPart, ExtensionSource, KeyMap, PartSource, Presence, PropertySource, ResourceKind,
    ResourceSource, Source, SubjectSource, Type,
};
pub use words::{capitalized, singulars};
