//! Properties that hold for any bytes: one function per fuzz target, called with the fuzzer's
//! input. A panic is a finding.

mod choice;
mod definition;
mod foreign;
mod json;
mod openapi;
mod query;
mod seeds;
mod token;
mod transform;
mod world;
mod xml;

pub use definition::definition;
pub use foreign::foreign;
pub use json::json;
pub use openapi::openapi;
pub use query::query;
pub use seeds::begin;
pub use token::token;
pub use transform::transform;
pub use world::World;
pub use xml::xml;
