//! `cargo xtask long`: runs everything that `test` runs, and what takes too long for every change.

use crate::house::Done;

/// The environment variable of long runs; without it, long tests report themselves as skipped.
pub const LONG: &str = "HOMEROOM_LONG";

/// Runs the tests, including the long ones.
///
/// # Errors
///
/// As for [`crate::test::run`].
pub fn run(arguments: &[String]) -> Done {
    crate::test::run_with(arguments, &[(LONG, "1")])
}
