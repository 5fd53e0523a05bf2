//! Builds `xtask/shims/disk.c`: a disk and a wall clock that misbehave on demand, for a program that
//! is started with `LD_PRELOAD`. The file's head says what it can be told.

mod build;

use std::path::PathBuf;

use crate::house::{self, Done};

/// Builds the shim and prints its path, to be used by hand.
///
/// # Errors
///
/// As [`disk`].
pub fn run(_: &[String]) -> Done {
    println!("{}", disk()?.display());
    Ok(())
}

/// Compiles the shim, if it does not stand there already, and gives its path.
///
/// # Errors
///
/// When there is no C compiler, or it does not like the file.
pub fn disk() -> Result<PathBuf, String> {
    build::disk(house::root())
}
