//! What modelled clients send: a scenario from a file.

mod file;

pub use file::{EdfiFile, Expect, Keep, Pick, ScenarioFile, StepFile};
