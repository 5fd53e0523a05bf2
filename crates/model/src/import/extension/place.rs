//! A value in the file together with its JSON path, for messages.

use serde_json::Value;

use crate::import::outcome::Problem;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct At<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> At<'a> {
    /// The whole file.
    pub(super) fn root(value: &'a Value) -> Self {
        Self { value, path: "$".to_owned() }
    }

    /// Returns the member with this name; null where there is none.
    pub(super) fn at(&self, name: &str) -> Self {
        Self { value: &self.value[name], path: format!("{}.{name}", self.path) }
    }

    /// Returns the member with this name, if it is present and not null.
    pub(super) fn get(&self, name: &str) -> Option<Self> {
        let found = self.at(name);
        (!found.value.is_null()).then_some(found)
    }

    /// Iterates over the members, with their names.
    pub(super) fn members(&self) -> impl Iterator<Item = (String, Self)> {
        self.value.as_object().into_iter().flatten().map(|(name, value)| {
            (name.clone(), Self { value, path: format!("{}.{name}", self.path) })
        })
    }

    /// Iterates over the items.
    pub(super) fn items(&self) -> impl Iterator<Item = Self> {
        self.value
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(at, value)| Self { value, path: format!("{}[{at}]", self.path) })
    }

    pub(super) fn text(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    pub(super) fn number(&self) -> Option<u64> {
        self.value.as_u64()
    }

    /// Returns a number exactly as it is written.
    pub(super) fn digits(&self) -> Option<String> {
        self.value.is_number().then(|| self.value.to_string())
    }

    pub(super) fn is_true(&self) -> bool {
        self.value == &Value::Bool(true)
    }

    pub(super) fn is_object(&self) -> bool {
        self.value.is_object()
    }

    /// Returns the texts in a list.
    pub(super) fn texts(&self) -> Vec<&'a str> {
        self.value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Makes a problem at this place.
    pub(super) fn wrong(&self, message: impl Into<String>) -> Problem {
        Problem::new(&self.path, message)
    }
}
