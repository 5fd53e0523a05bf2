//! Packages: what a file that somebody hands in is, and the course that it holds.
//!
//! [`read`] takes a file and returns a [`Package`]: the tree of activities, and [`Finding`]s that
//! explain what was found well, tolerated or wrong. It trusts nothing in the file.

mod about;
mod archive;
mod encoding;
mod finding;
mod item;
mod lexical;
mod limits;
mod manifest;
mod media;
mod recognize;
mod resources;
mod sequencing;
mod standard;
mod tree;
mod unpacking;
mod xml;

pub use finding::{Finding, Level};
pub use limits::PackageLimits;
pub use media::{known_type, media_type};
pub use recognize::{Package, read, web_link};
pub use standard::Standard;
pub use tree::{Activity, ActivityType};
pub use unpacking::{Taking, Unpacking};
