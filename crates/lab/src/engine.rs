//! The engine: sends on schedule, whether or not answers come, and measures from the moment that
//! was intended.

mod source;

pub use source::{Answer, Header, Request, Source, StepFacts, Verdict};
