//! The version of this program.

/// Returns the version, and the commit if the build was given one (`HOMEROOM_COMMIT`), as `./demo`
/// does.
pub fn version() -> String {
    let commit = option_env!("HOMEROOM_COMMIT").filter(|commit| !commit.is_empty());
    let commit = commit.map_or_else(String::new, |commit| format!(" ({commit})"));
    format!("{}{commit}", env!("CARGO_PKG_VERSION"))
}
