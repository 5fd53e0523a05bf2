//! The data standard that a server serves: its model and what a new store holds.

use std::path::Path;
use std::sync::Arc;

use homeroom_model::{Model, format, link};

use crate::exit::Failure;

/// Version that is served where nobody says.
pub const DEFAULT_VERSION: &str = "5.2.0";

/// Documents of a new store, by version of the standard.
const SEEDS: &[(&str, &str)] = &[("5.2.0", include_str!("../../../models/ed-fi/5.2.0/seed.jsonl"))];

/// A linked model and its seed.
#[derive(Debug, Clone)]
pub struct Standard {
    /// The model.
    pub model: Arc<Model>,
    /// JSON lines for a new store; empty where the version has none.
    pub seed: &'static str,
}

impl Standard {
    /// Reads the shipped model of a version, or a file.
    ///
    /// # Errors
    ///
    /// Which version or line is at fault.
    pub fn read(version: &str, file: Option<&Path>) -> Result<Self, Failure> {
        let text = match file {
            Some(path) => std::fs::read_to_string(path)
                .map_err(|error| Failure::because(&format!("reading {}", path.display()), error))?,
            None => homeroom_model::shipped(version)
                .ok_or_else(|| {
                    Failure::Usage(format!("no model of Data Standard {version} is shipped"))
                })?
                .to_owned(),
        };
        let source = format::read(&text).map_err(|e| Failure::because("reading the model", e))?;
        let model = link(&[source]).map_err(|e| Failure::because("linking the model", e))?;
        let seed = SEEDS.iter().find(|(v, _)| *v == version).map_or("", |(_, seed)| seed);
        Ok(Self { model: Arc::new(model), seed })
    }
}
