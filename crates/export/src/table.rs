//! The flat tables of a resource, with the names of the ODS.
//!
//! As in the ODS, a resource has one table for its documents, and one for each collection and each
//! embedded object. The differences are: a person's `…USI` is the `…UniqueId` that clients know; a
//! `…DescriptorId` is the descriptor's URI with its code value beside it; the table of a base is
//! part of each subclass's table; and every table has the document's `Id`, `ChangeVersion` and
//! `LastModifiedDate`.
//!
//! Exports and views are both derived from these tables alone, so they cannot disagree.

mod build;
mod column;
mod names;

pub use self::build::tables;
pub use self::column::{Column, ColumnType, ColumnValue, Level, Source, Table};
pub use self::names::{postgres_name, schema_name};
