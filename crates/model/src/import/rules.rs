//! What follows no rule, as rows of a data file.

use serde::Deserialize;

/// The rows of an importer's data file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Subjects of authorization that were chosen by hand.
    pub subject: Vec<SubjectRule>,
    /// Persons that clients gain access to through associations.
    pub access: Vec<AccessRule>,
    /// Elements whose property has another name than the rules give.
    pub element: Vec<ElementRule>,
    /// Elements that no property takes.
    pub ignored: Vec<IgnoredRule>,
    /// Properties that no element goes with.
    pub bare: Vec<BareRule>,
}

/// A resource whose subjects do not follow from its key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubjectRule {
    /// The resource.
    pub resource: String,
    /// `KIND column`, in order.
    pub subjects: Vec<String>,
    /// Why.
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
    /// The name of a way of its own, for the strategies of that name.
    #[serde(default)]
    pub by: Option<String>,
    /// Why.
    pub reason: String,
}

/// An element whose property has another name than the rules give.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ElementRule {
    /// Path of elements from the record, `StudentHealth/Immunization`.
    pub element: String,
    /// The property's name in its object.
    pub property: String,
    /// Why.
    pub reason: String,
}

/// An element that no property takes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IgnoredRule {
    /// Path of elements; begins with the complex type that has the first of them.
    pub element: String,
    /// Why.
    pub reason: String,
}

/// A property that no element goes with.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BareRule {
    /// The property, `Section.programs`.
    pub property: String,
    /// Why.
    pub reason: String,
}

impl Rules {
    /// What each row is about, for messages.
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
    /// What the file says that no row may say.
    pub fn read(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }
}
