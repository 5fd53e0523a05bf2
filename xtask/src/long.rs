//! `cargo xtask long`: everything that `test` runs, and what takes too long for every change.

use crate::house::Done;

/// A long run looks for this variable and reports itself as skipped where it is not set.
pub const LONG: &str = "HOMEROOM_LONG";

/// Runs the tests with the long ones.
///
/// # Errors
///
/// As [`crate::test::run`].
pub fn run(arguments: &[String]) -> Done {
    crate::test::run_with(arguments, &[(LONG, "1")])
}
