//! Scenarios: what modelled clients send.
//!
//! A [`ScenarioFile`] is read or built, checked and compiled once into a [`Program`], which all
//! threads share. Each thread has its own [`ScenarioSource`], with its own pools, random numbers
//! and serial numbers.

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
mod token;

pub use calendar::write_moment;
pub use error::Error;
pub use file::{EdfiFile, Expect, Keep, Pick, ScenarioFile, StepFile};
pub use program::{Program, Setup};
pub use shipped::{SHIPPED, Shipped};
pub use source::{Client, ScenarioSource, ThreadShare};
