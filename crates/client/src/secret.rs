//! Secrets that are shown to other servers, and are kept elsewhere: `env:NAME` and `file:PATH`.

use std::fmt;
use std::io::Read as _;

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
    // A device has no length, and may have no end.
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| cannot(&error))?;
    let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
    if read.map_err(|error| cannot(&error))? as u64 > FILE_BYTES_MAX {
        return Err(cannot(&"it is too long"));
    }
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_an_end() {
        let path = std::env::temp_dir().join(format!("homeroom-secret-{}", std::process::id()));
        let most = usize::try_from(FILE_BYTES_MAX).unwrap();
        let of = |path: &str| reveal(&format!("file:{path}"), |_| unreachable!());
        let of_bytes = |bytes: usize| {
            std::fs::write(&path, "x".repeat(bytes)).unwrap();
            of(path.to_str().unwrap()).map(|text| text.len())
        };

        assert_eq!(of_bytes(most), Ok(most));
        assert!(of_bytes(most + 1).unwrap_err().contains("it is too long"));
        assert!(of("/dev/zero").unwrap_err().contains("it is too long"));
        std::fs::remove_file(&path).unwrap();
        assert!(of(path.to_str().unwrap()).unwrap_err().contains("cannot be read"));
    }
}
