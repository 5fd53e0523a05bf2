//! Homeroom's model of a data standard.
//!
//! A model says all that differs between resources: names, properties, types, lengths, keys,
//! references, key unification, collections, abstract bases, securable subjects, interchanges and
//! element names. It is a text file ([`mod@format`]) that a person can read and diff; [`link()`] turns
//! what the file says ([`Source`]) into a [`Model`] in which every name is resolved.
//!
//! This crate does no I/O and knows neither HTTP nor SQL.

pub mod check;
mod dependencies;
pub mod format;
pub mod import;
mod link;
mod resource;
mod source;
mod words;
pub mod xml;

pub use dependencies::{
    Dependency, DependencyGraph, Node, Operations, dependency_graph, dependency_order,
};
pub use format::FormatError;
pub use link::{LinkError, link};
pub use resource::{
    Abstract, AbstractId, Base, ColumnSource, KeyColumn, Model, Place, Project, Property,
    PropertyKind, QueryField, QuerySource, Reference, ReferencePart, Resource, ResourceId, Scalar,
    Subject, Target,
};
pub use source::{
    KeyMap, PartSource, Presence, PropertySource, ResourceKind, ResourceSource, Source,
    SubjectSource, Type,
};

/// The model file of the core standard that is shipped for a version, `5.2.0`.
pub fn shipped(version: &str) -> Option<&'static str> {
    match version {
        "5.2.0" => Some(include_str!("../../../models/ed-fi/5.2.0/ed-fi.model")),
        _ => None,
    }
}

/// The data file of [`check::Exceptions`] that is shipped for a version.
pub fn shipped_exceptions(version: &str) -> Option<&'static str> {
    match version {
        "5.2.0" => Some(include_str!("../../../models/ed-fi/5.2.0/exceptions.toml")),
        _ => None,
    }
}
