//! Tasks of the house: `cargo xtask check`.
fn main() {}
