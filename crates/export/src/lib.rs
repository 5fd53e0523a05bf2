//! Exports and reporting views of documents, for people who count, join and chart them.
//!
//! An [`export()`] writes the content of a snapshot of the store: whole documents as JSON lines, or
//! the flat tables that [`mod@table`] derives from the model, as CSV or Parquet. The [`mod@views`]
//! show the same tables in the store itself.
//!
//! ```
//! use homeroom_export::table::tables;
//! use homeroom_model::{format, link, shipped};
//!
//! let model = link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap();
//! let tables = tables(&model);
//!
//! assert!(tables.iter().any(|table| table.name == "StudentSchoolAssociation"));
//! ```

mod error;
mod export;
pub mod flatten;
pub mod table;
pub mod views;

pub use error::ExportError;
pub use export::{
    ExportOptions, ExportProgress, ExportedFile, ExportedProject, FORMAT_VERSION, Format, Formulas,
    MANIFEST, Manifest, export, unescaped,
};
