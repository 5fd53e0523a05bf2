//! The flat tables of a resource, in the names of the ODS.
//!
//! A resource has one table for its documents, one for each collection and one for each embedded
//! object, as the ODS has. What differs: a person's `…USI` is the `…UniqueId` that clients know, a
//! `…DescriptorId` is the descriptor's URI with its code value beside it, the tables of a base and
//! of what extends it are one, and every table has `Id`, `ChangeVersion` and `LastModifiedDate` of
//! the document.
//!
//! Exports and views are made from these tables and from nothing else, so they cannot disagree.

mod build;
mod names;

pub use self::build::tables;
pub use self::names::{postgres_name, schema_name};

use homeroom_model::ResourceId;

/// A flat table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The resource whose documents it shows.
    pub resource: ResourceId,
    /// Schema of the resource's project, `edfi`.
    pub schema: String,
    /// `StudentSchoolAssociation`, `StudentEducationOrganizationAssociationAddress`
    pub name: String,
    /// From the document to what is a row: none for the document's own table.
    pub levels: Vec<Level>,
    /// The key first, then the rest in the order of the model, then the document's own.
    pub columns: Vec<Column>,
    /// How many of the columns are the key.
    pub key_columns: usize,
}

/// A step from an object to what stands in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// Name of the member.
    pub member: String,
    /// Whether it is a collection: every item is a row of its own.
    pub is_list: bool,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// `EntryGradeLevelDescriptor`
    pub name: String,
    /// Its type.
    pub kind: ColumnType,
    /// Where its value comes from.
    pub value: ColumnValue,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Text.
    Text,
    /// A whole number of 32 bits.
    Integer,
    /// A whole number of 64 bits.
    BigInteger,
    /// A decimal number.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// true or false.
    Boolean,
    /// A date.
    Date,
    /// A time of day.
    Time,
    /// A moment, UTC.
    Timestamp,
}

/// Where a column's value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnValue {
    /// The first of these that is there; several are one column of the ODS and agree.
    Member(Vec<Source>),
    /// What follows the `#` of a descriptor's URI, found likewise.
    CodeValue(Vec<Source>),
    /// The URI of a descriptor, from its namespace and its code value.
    Uri {
        /// The namespace.
        namespace: Source,
        /// The code value.
        code_value: Source,
    },
    /// The document's public id.
    Id,
    /// The document's change version.
    ChangeVersion,
    /// The moment of the document's last change.
    LastModified,
}

/// A place of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// 0: the document; otherwise what the table's level before it leads to.
    pub level: usize,
    /// Names of members from there, one or two.
    pub path: Vec<String>,
}
