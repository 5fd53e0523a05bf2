//! The store's location, as people write it.

use std::fmt;

use homeroom_store::{StoreError, StoreUrl};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A store's URL. Displaying it hides the password; serializing it, as layers of configuration do,
/// does not.
#[derive(Clone, PartialEq)]
pub struct StorePlace {
    given: String,
    url: StoreUrl,
}

impl StorePlace {
    /// Parses a URL.
    ///
    /// # Errors
    ///
    /// Says what a store's URL looks like.
    pub fn read(text: &str) -> Result<Self, StoreError> {
        Ok(Self { given: text.to_owned(), url: text.parse()? })
    }

    /// Gives the URL of a database that has no password this one.
    pub fn add_password(&mut self, password: &str) {
        if let StoreUrl::Postgres(url) = &mut self.url {
            *url = url.with_password(password);
        }
    }

    /// Returns the URL.
    pub fn url(&self) -> &StoreUrl {
        &self.url
    }
}

impl fmt::Debug for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.url, f)
    }
}

impl Serialize for StorePlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.given)
    }
}

impl<'de> Deserialize<'de> for StorePlace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = String::deserialize(deserializer)?;
        Self::read(&given).map_err(D::Error::custom)
    }
}
