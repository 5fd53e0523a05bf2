//! Secrets that are shown to other servers, and are kept elsewhere: `env:NAME` and `file:PATH`.

use std::fmt;

/// Most bytes of a secret's file.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Returns whether a text says where a secret is, and is not the secret itself.
pub fn is_place(text: &str) -> bool {
    text.starts_with("env:") || text.starts_with("file:")
}

/// Returns the secret that a text means: what a variable of the environment or a file contains, without the end
/// of its last line, or else the text itself. `variable` finds a variable, or says why it cannot.
///
/// # Errors
///
/// What is not there. The message does not contain the secret.
pub fn reveal(
    text: &str,
    variable: impl FnOnce(&str) -> Result<String, String>,
) -> Result<String, String> {
    if let Some(name) = text.strip_prefix("env:") {
        return variable(name);
    }
    let Some(path) = text.strip_prefix("file:") else { return Ok(text.to_owned()) };
    let cannot = |why: &dyn fmt::Display| format!("the file {path} cannot be read: {why}");
    let about = std::fs::metadata(path).map_err(|error| cannot(&error))?;
    if about.len() > FILE_BYTES_MAX {
        return Err(cannot(&"it is too long"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| cannot(&error))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
