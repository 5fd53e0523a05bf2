//! A resource under construction: its part of the model file, and where each column went.

use crate::source::{ResourceKind, ResourceSource};

/// A resource and the places of its columns.
#[derive(Debug)]
pub struct Draft {
    /// Its part of the model file.
    pub source: ResourceSource,
    /// Every value of a document with the column that holds it.
    pub places: Vec<ColumnPlace>,
}

/// A column of a table. An inherited column is named as in the owner's or base's table, so equal
/// columns hold equal values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Column {
    /// Table, in lower case.
    pub table: String,
    /// Flat name of the column, in lower case.
    pub name: String,
}

/// The place of a column's value in a document.
#[derive(Debug, Clone)]
pub struct ColumnPlace {
    /// The column.
    pub column: Column,
    /// Path in the document, `classPeriods.classPeriodReference.schoolId`.
    pub path: String,
    /// Path of its innermost collection, `classPeriods`; empty at the root.
    pub list: String,
}

/// Returns a resource that has nothing but its name.
pub fn empty(kind: ResourceKind, name: &str, endpoint: &str) -> ResourceSource {
    ResourceSource {
        kind,
        name: name.to_owned(),
        endpoint: endpoint.to_owned(),
        base: None,
        updatable_key: false,
        domains: vec![],
        interchanges: vec![],
        element: None,
        ignored_elements: vec![],
        subjects: vec![],
        access_through: vec![],
        access_by: vec![],
        unified: vec![],
        properties: vec![],
    }
}
