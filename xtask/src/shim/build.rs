//! Builds the shim; the tests of the real binary use this file too.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the shim below `target` unless it exists already, and returns its path. `root` is the
/// folder of the workspace.
///
/// Several threads and programs may call this at the same time.
///
/// # Errors
///
/// If there is no C compiler, or it rejects the file.
pub fn disk(root: &Path) -> Result<PathBuf, String> {
    let source = root.join("xtask/shims/disk.c");
    let folder = root.join("target/shims");
    let built = folder.join("disk.so");
    let modified = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    if modified(&built).is_some_and(|built| modified(&source).is_some_and(|source| source < built))
    {
        return Ok(built);
    }
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let one = (std::process::id(), std::thread::current().id());
    let fresh = folder.join(format!("disk-{}-{:?}.so", one.0, one.1));
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
