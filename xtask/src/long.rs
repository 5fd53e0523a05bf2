//! `cargo xtask long`: runs everything that `test` runs, and what takes too long for every change.

use crate::house::Done;
use crate::test::LONG;

/// Runs the tests, including the long ones.
///
/// # Errors
///
/// As for [`crate::test::run`].
pub fn run(arguments: &[String]) -> Done {
    crate::test::run_with(arguments, &[(LONG, "1")])
}
