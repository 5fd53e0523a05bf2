//! Rows of a data file for what follows no rule.

use serde::Deserialize;

/// The rows of an importer's data file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Subjects of authorization chosen by hand.
    pub subject: Vec<SubjectRule>,
    /// Persons that clients gain access to through associations.
    pub access: Vec<AccessRule>,
    /// Elements whose property has a name that the rules do not give.
    pub element: Vec<ElementRule>,
    /// Elements that become no property.
    pub ignored: Vec<IgnoredRule>,
    /// Properties that have no element.
    pub bare: Vec<BareRule>,
}

/// A resource whose subjects do not follow from its key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubjectRule {
    /// The resource.
    pub resource: String,
    /// Subjects as `KIND column`, in order.
    pub subjects: Vec<String>,
    /// Why the row is needed.
    pub reason: String,
}

/// A person that clients gain access to through associations.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessRule {
    /// The person.
    pub resource: String,
    /// The associations.
    pub through: Vec<String>,
    /// Name of this access path, for the strategies that ask for it; [`None`] for the default path.
    #[serde(default)]
    pub by: Option<String>,
    /// Why the row is needed.
    pub reason: String,
}

/// An element whose property has a name that the rules do not give.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ElementRule {
    /// Path of elements from the record, `StudentHealth/Immunization`.
    pub element: String,
    /// The property's name in its object.
    pub property: String,
    /// Why the row is needed.
    pub reason: String,
}

/// An element that becomes no property.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IgnoredRule {
    /// Path of elements; begins with the complex type of its first element.
    pub element: String,
    /// Why the row is needed.
    pub reason: String,
}

/// A property that has no element.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BareRule {
    /// The property, `Section.programs`.
    pub property: String,
    /// Why the row is needed.
    pub reason: String,
}

impl Rules {
    /// Names each row, for messages.
    pub fn rows(&self) -> Vec<String> {
        let subjects = self.subject.iter().map(|rule| format!("subject of {}", rule.resource));
        let access = self.access.iter().map(|rule| format!("access to {}", rule.resource));
        let elements = self.element.iter().map(|rule| format!("element {}", rule.element));
        let ignored = self.ignored.iter().map(|rule| format!("ignored {}", rule.element));
        let bare = self.bare.iter().map(|rule| format!("bare {}", rule.property));
        subjects.chain(access).chain(elements).chain(ignored).chain(bare).collect()
    }

    /// Reads a data file.
    ///
    /// # Errors
    ///
    /// Returns a message if the file is not valid TOML or a row has an unknown or missing field.
    pub fn read(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }
}
