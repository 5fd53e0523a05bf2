//! The learning standards.

use serde::{Deserialize, Serialize};

/// The standard that a course was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub enum Standard {
    /// SCORM 1.2.
    #[serde(rename = "SCORM12")]
    Scorm12,
    /// SCORM 2004 2nd edition.
    #[serde(rename = "SCORM20042NDEDITION")]
    Scorm2004Second,
    /// SCORM 2004 3rd edition.
    #[serde(rename = "SCORM20043RDEDITION")]
    Scorm2004Third,
    /// SCORM 2004 4th edition.
    #[serde(rename = "SCORM20044THEDITION")]
    Scorm2004Fourth,
    /// A video, a recording or a document.
    #[serde(rename = "MEDIA")]
    Media,
    /// A page elsewhere.
    #[serde(rename = "WEBLINK")]
    WebLink,
}

impl Standard {
    /// Every standard.
    pub const ALL: [Self; 6] = [
        Self::Scorm12,
        Self::Scorm2004Second,
        Self::Scorm2004Third,
        Self::Scorm2004Fourth,
        Self::Media,
        Self::WebLink,
    ];

    /// Returns its name, as it is stored and shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scorm12 => "SCORM12",
            Self::Scorm2004Second => "SCORM20042NDEDITION",
            Self::Scorm2004Third => "SCORM20043RDEDITION",
            Self::Scorm2004Fourth => "SCORM20044THEDITION",
            Self::Media => "MEDIA",
            Self::WebLink => "WEBLINK",
        }
    }

    /// Returns the standard of this name.
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|standard| standard.name() == name)
    }

    /// Returns its name among those that clients of the Cloud API v2 know.
    pub fn shown(self) -> &'static str {
        match self {
            Self::Media | Self::WebLink => "UNKNOWN",
            other => other.name(),
        }
    }

    /// Returns whether it is an edition of SCORM 2004.
    pub fn is_2004(self) -> bool {
        matches!(self, Self::Scorm2004Second | Self::Scorm2004Third | Self::Scorm2004Fourth)
    }

    /// Returns the standard by the text of `schemaversion`, if that says it.
    pub(crate) fn of_version(text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        Some(if text.contains("4th") {
            Self::Scorm2004Fourth
        } else if text.contains("3rd") {
            Self::Scorm2004Third
        } else if text.contains("2nd") || text.contains("cam 1.3") || text.trim() == "1.3" {
            Self::Scorm2004Second
        } else if text.contains("2004") {
            Self::Scorm2004Third
        } else if text.contains("1.2") || text.contains("1.1") {
            Self::Scorm12
        } else {
            return None;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_version_tells_the_edition() {
        for (text, standard) in [
            ("1.2", Some(Standard::Scorm12)),
            ("CAM 1.3", Some(Standard::Scorm2004Second)),
            ("2004 3rd Edition", Some(Standard::Scorm2004Third)),
            ("2004 4TH edition", Some(Standard::Scorm2004Fourth)),
            ("SCORM 2004", Some(Standard::Scorm2004Third)),
            ("7", None),
        ] {
            assert_eq!(Standard::of_version(text), standard, "{text}");
        }
    }
}
