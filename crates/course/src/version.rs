//! Versions of courses.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::package::{Activity, Finding, Standard};
use crate::row::{Columns, Row};
use crate::run_time::is_default;
use crate::settings::Settings;

/// What metadata says about a course.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct About {
    pub(crate) languages: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// How long it takes, as whoever imported it has said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration: Option<String>,
    /// When a file was removed, if one was.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) changed: i64,
}

impl About {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns it with what another says where it says nothing.
    pub(crate) fn or(self, other: Self) -> Self {
        let is_silent = self.languages.is_empty();
        Self {
            languages: if is_silent { other.languages } else { self.languages },
            description: self.description.or(other.description),
            duration: self.duration.or(other.duration),
            changed: self.changed.max(other.changed),
        }
    }
}

/// A version of a course.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_field_names, reason = "it is the number's name in the API")]
pub(crate) struct Version {
    pub(crate) course: String,
    pub(crate) version: i64,
    pub(crate) standard: Standard,
    pub(crate) title: String,
    pub(crate) tree: Activity,
    pub(crate) about: About,
    pub(crate) findings: Vec<Finding>,
    pub(crate) settings: Settings,
    pub(crate) package: Option<String>,
    pub(crate) created: i64,
    pub(crate) updated: i64,
    /// The settings of the course, which hold where the version has none.
    pub(crate) course_settings: Settings,
}

impl Version {
    pub(crate) fn of(row: &Row) -> Result<Self, Error> {
        const WHAT: &str = "a version of a course";
        let mut row = Columns::of(row, WHAT);
        Ok(Self {
            course: row.text()?,
            version: row.number()?,
            standard: Standard::read(&row.text()?).ok_or_else(|| Error::damaged(WHAT))?,
            title: row.text()?,
            tree: row.json()?,
            about: row.json()?,
            findings: row.json()?,
            settings: row.json()?,
            package: row.some_text()?,
            created: row.number()?,
            updated: row.number()?,
            course_settings: row.json()?,
        })
    }

    /// Returns the activity with which a launch begins, if nothing else is said.
    pub(crate) fn first(&self) -> Option<&Activity> {
        self.tree.launchable().first().copied()
    }
}
