//! A secret, or the place where it is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Most bytes of a secret's file.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// A secret, or `env:NAME` or `file:PATH`. Serializing it, as layers of configuration do, does not hide it;
/// its `Debug` form does.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Returns the secret itself. `variable` finds a variable of the environment.
    ///
    /// # Errors
    ///
    /// What is not there. The message does not contain the secret.
    pub fn reveal(&self, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
        if let Some(name) = self.0.strip_prefix("env:") {
            return variable(name)
                .ok_or_else(|| format!("the environment variable {name} is not set"));
        }
        let Some(path) = self.0.strip_prefix("file:") else { return Ok(self.0.clone()) };
        let cannot = |why: &dyn fmt::Display| format!("the file {path} cannot be read: {why}");
        let about = std::fs::metadata(path).map_err(|error| cannot(&error))?;
        if about.len() > FILE_BYTES_MAX {
            return Err(cannot(&"it is too long"));
        }
        let text = std::fs::read_to_string(path).map_err(|error| cannot(&error))?;
        Ok(text.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// Returns it as `config show` prints it: a place, or stars.
    pub fn shown(&self) -> &str {
        let is_place = self.0.starts_with("env:") || self.0.starts_with("file:");
        if is_place { &self.0 } else { "***" }
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown())
    }
}

#[cfg(test)]
mod tests {
    use homeroom_testkit::Folder;

    use super::*;

    #[test]
    fn a_secret_is_itself_or_elsewhere_and_is_not_shown() {
        let folder = Folder::new();
        let path = folder.write("secret", "from a file\n");
        let in_file = format!("file:{}", path.display());
        let variable = |name: &str| (name == "OURS").then(|| "from the environment".to_owned());
        let reveal = |text: &str| Secret::from(text).reveal(&variable);

        assert_eq!(reveal("hunter2"), Ok("hunter2".into()));
        assert_eq!(reveal("env:OURS"), Ok("from the environment".into()));
        assert_eq!(reveal(&in_file), Ok("from a file".into()));
        assert!(reveal("env:OTHER").unwrap_err().contains("OTHER is not set"));
        assert!(reveal("file:/no/such/file").unwrap_err().contains("cannot be read"));
        assert_eq!(format!("{:?}", Secret::from("hunter2")), "***");
        assert_eq!(Secret::from("env:OURS").shown(), "env:OURS");
    }
}
