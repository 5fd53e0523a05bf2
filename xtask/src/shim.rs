//! Builds `xtask/shims/disk.c`: a disk and a wall clock that misbehave on demand, for a program that
//! is started with `LD_PRELOAD`. The file's head says what it can be told.

use std::path::{Path, PathBuf};
use std::process::Command;

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

/// Compiles the shim below `target`, if it does not stand there already, and gives its path.
///
/// Several programs may ask at the same time.
///
/// # Errors
///
/// When there is no C compiler, or it does not like the file.
pub fn disk() -> Result<PathBuf, String> {
    let source = house::root().join("xtask/shims/disk.c");
    let folder = house::root().join("target/shims");
    let built = folder.join("disk.so");
    let modified = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    if modified(&built).is_some_and(|built| modified(&source).is_some_and(|source| source < built))
    {
        return Ok(built);
    }
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let fresh = folder.join(format!("disk-{}.so", std::process::id()));
    let said = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-o"])
        .args([&fresh, &source])
        .arg("-ldl")
        .output()
        .map_err(|error| format!("there is no C compiler: {error}"))?;
    if !said.status.success() {
        return Err(String::from_utf8_lossy(&said.stderr).into_owned());
    }
    std::fs::rename(&fresh, &built).map_err(failed)?;
    Ok(built)
}
