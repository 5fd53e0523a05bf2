//! Builds `xtask/shims/disk.c`: a disk and a wall clock that misbehave on demand, for programs
//! started with `LD_PRELOAD`. The head of that file lists the orders.

mod build;

use std::path::PathBuf;

use crate::house::{self, Done};

/// Builds the shim and prints its path, for use by hand.
///
/// # Errors
///
/// As for [`disk`].
pub fn run(_: &[String]) -> Done {
    println!("{}", disk()?.display());
    Ok(())
}

/// Compiles the shim unless it exists already, and returns its path.
///
/// # Errors
///
/// If there is no C compiler, or it rejects the file.
pub fn disk() -> Result<PathBuf, String> {
    build::disk(house::root())
}
