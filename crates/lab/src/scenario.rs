//! What modelled clients send: a scenario from a file.
//!
//! A [`ScenarioFile`] is read or made, checked and compiled once into a [`Program`], which all
//! threads share; each thread has a [`ScenarioSource`] of its own, with its own pools, random
//! numbers and serial numbers.

mod calendar;
mod choice;
mod error;
mod file;
mod find;
mod pool;
mod program;
mod read;
mod shipped;
mod source;
mod statuses;
mod take;
mod template;

pub use calendar::write_moment;
pub use error::Error;
pub use file::{EdfiFile, Expect, Keep, Pick, ScenarioFile, StepFile};
pub use program::{Program, Setup};
pub use shipped::{SHIPPED, Shipped};
pub use source::{Client, ScenarioSource, Share};

/// Whether a text is a token of HTTP: the name of a header, a method (RFC 9110 §5.6.2).
fn is_token(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_allowed)
}
