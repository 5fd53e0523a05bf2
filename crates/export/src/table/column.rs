//! Tables and their columns.

use homeroom_model::ResourceId;

/// A flat table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The resource whose documents it shows.
    pub resource: ResourceId,
    /// Schema of the resource's project, `edfi`.
    pub schema: String,
    /// Name of the table: `StudentSchoolAssociation`,
    /// `StudentEducationOrganizationAssociationAddress`.
    pub name: String,
    /// Steps from the document to the object of a row; empty for the document's own table.
    pub levels: Vec<Level>,
    /// The key columns first, then the others in the model's order, then those every table has.
    pub columns: Vec<Column>,
    /// Number of key columns.
    pub key_columns: usize,
}

/// A step from an object to an object or collection inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// Name of the member.
    pub member: String,
    /// Whether it is a collection, so that every item is a row.
    pub is_list: bool,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name of the column, `EntryGradeLevelDescriptor`.
    pub name: String,
    /// Its type.
    pub kind: ColumnType,
    /// Source of its value.
    pub value: ColumnValue,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// A text.
    Text,
    /// A whole number of 32 bits.
    Integer,
    /// A whole number of 64 bits.
    BigInteger,
    /// A decimal number.
    Decimal {
        /// Total number of digits.
        precision: u8,
        /// Number of digits after the point.
        scale: u8,
    },
    /// A boolean.
    Boolean,
    /// A date.
    Date,
    /// A time of day.
    Time,
    /// A timestamp in UTC.
    Timestamp,
}

/// Source of a column's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnValue {
    /// The first of these sources that has a value; several sources are one column of the ODS, so
    /// they agree.
    Member(Vec<Source>),
    /// The code value in a descriptor's URI, after its `#`; the URI is found in the same way.
    CodeValue(Vec<Source>),
    /// The URI of a descriptor, made of its namespace and its code value.
    Uri {
        /// Source of the namespace.
        namespace: Source,
        /// Source of the code value.
        code_value: Source,
    },
    /// The document's public id.
    Id,
    /// The document's change version.
    ChangeVersion,
    /// The time of the document's last change.
    LastModified,
}

/// The place of a value in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// 0 for the document; otherwise the number of the table's level that leads to the object.
    pub level: usize,
    /// Names of one or two members, from the object at the level.
    pub path: Vec<String>,
}
