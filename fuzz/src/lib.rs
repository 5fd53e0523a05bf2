//! Properties that hold for any bytes: one function per fuzz target, called with the fuzzer's input
//! up. A function that returns is content; one that panics has found something.

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

/// Two bytes that choose among `count`, and the rest.
fn choice(bytes: &[u8], count: usize) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_at_checked(2)?;
    Some((usize::from(u16::from_le_bytes([number[0], number[1]])) % count, rest))
}
