//! JSON schemas of OpenAPI documents, compiled when an API is published.
//!
//! Source: OpenAPI 3.0.4 (schema object, JSON Schema draft 5 with `nullable`), OpenAPI 3.1.1 (JSON Schema
//! 2020-12, core and validation).

mod compile;
mod format;
mod node;
mod run;

pub(crate) use compile::{Compiler, resolve};
pub(crate) use node::{At, Schemas, Types};
pub(crate) use run::Faults;

#[cfg(test)]
mod tests;
