//! A secret, or the place where it is.

use std::fmt;

use serde::{Deserialize, Serialize};

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
        homeroom_client::reveal(&self.0, |name| {
            variable(name).ok_or_else(|| format!("the environment variable {name} is not set"))
        })
    }

    /// Returns it as `config show` prints it: a place, or stars.
    pub fn shown(&self) -> &str {
        if homeroom_client::is_place(&self.0) { &self.0 } else { "***" }
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
