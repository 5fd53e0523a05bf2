//! The parameters of compilation.

use std::collections::BTreeMap;

/// The parameters of compilation.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Variables from the command line; they override the file's.
    pub set: BTreeMap<String, String>,
    /// The target's path, which precedes all its paths; whole paths from answers contain it.
    pub prefix: String,
}
