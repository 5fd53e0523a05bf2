//! A resource while it is put together: what the file will say, and where each column went.

use crate::source::ResourceSource;

/// A resource and the places of its columns.
#[derive(Debug)]
pub struct Draft {
    /// What the file will say.
    pub source: ResourceSource,
    /// Every value of a document with the column that holds it.
    pub places: Vec<ColumnPlace>,
}

/// A column of one table, as its owner or base calls it: the same column, the same value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Column {
    /// Table, in lower case.
    pub table: String,
    /// Column in its flat spelling, in lower case.
    pub name: String,
}

/// Where the value of a column stands in a document.
#[derive(Debug, Clone)]
pub struct ColumnPlace {
    /// The column.
    pub column: Column,
    /// `classPeriods.classPeriodReference.schoolId`
    pub path: String,
    /// The path of the innermost collection it stands in, `classPeriods`; empty at the root.
    pub list: String,
}
