//! Properties that hold for any bytes: one function per fuzz target, called with the fuzzer's
//! input. A panic is a finding.

mod choice;
mod json;
mod query;
mod seeds;
mod token;
mod world;
mod xml;

pub use json::json;
pub use query::query;
pub use seeds::begin;
pub use token::token;
pub use world::World;
pub use xml::xml;
