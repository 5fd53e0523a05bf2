//! What a run of the bench measures, and how long.

use std::path::PathBuf;

/// The options of a run, from the command line.
pub struct Options {
    pub rounds: usize,
    pub seconds: u32,
    pub documents: usize,
    /// The sizes of the stores whose reads are compared.
    pub sizes: Vec<usize>,
    /// How long documents are created, where that is what is measured.
    pub minutes: usize,
    /// The size of the district that loads are measured with.
    pub students: usize,
    pub folder: PathBuf,
    /// Another build, which the small rounds compare with this one.
    pub against: Option<PathBuf>,
    /// The environment of the small district's server.
    pub environment: Vec<(String, String)>,
    /// A part of the name of the only cases of overload that are measured.
    pub case: Option<String>,
    /// Whether other work disturbs the run.
    pub is_noisy: bool,
}
