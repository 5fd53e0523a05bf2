//! What a caller demands of the stored version.

use homeroom_store::Row;

use crate::refusal::Refusal;

/// Versions that a caller names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Versions {
    /// Every version that is stored.
    Any,
    /// One of these change versions; none at all if the list is empty.
    Of(Vec<i64>),
}

impl Versions {
    fn name(&self, version: i64) -> bool {
        match self {
            Self::Any => true,
            Self::Of(versions) => versions.contains(&version),
        }
    }
}

/// The caller's condition on the stored version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Precondition {
    /// The document must be stored in one of these versions.
    pub is: Option<Versions>,
    /// The document must not be stored in one of these versions.
    pub is_not: Option<Versions>,
}

impl Precondition {
    /// Requires that the document does not exist yet.
    pub fn is_new() -> Self {
        Self { is: None, is_not: Some(Versions::Any) }
    }

    /// Checks that the stored version is one that the caller expects.
    ///
    /// # Errors
    ///
    /// [`Refusal::OtherVersion`], or [`Refusal::NoVersion`] where nothing is stored.
    pub fn check_is(&self, version: Option<i64>) -> Result<(), Refusal> {
        match (&self.is, version) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(Refusal::NoVersion),
            (Some(versions), Some(version)) if versions.name(version) => Ok(()),
            (Some(_), Some(_)) => Err(Refusal::OtherVersion),
        }
    }

    /// Whether the caller excludes the stored version.
    pub fn is_known(&self, version: i64) -> bool {
        self.is_not.as_ref().is_some_and(|versions| versions.name(version))
    }

    /// Checks both conditions, the expected versions first.
    ///
    /// # Errors
    ///
    /// [`Refusal::OtherVersion`], [`Refusal::NoVersion`] or [`Refusal::KnownVersion`].
    pub(super) fn check(&self, row: Option<&Row>) -> Result<(), Refusal> {
        let version = row.map(|row| row.change_version);
        self.check_is(version)?;
        if version.is_some_and(|version| self.is_known(version)) {
            return Err(Refusal::KnownVersion);
        }
        Ok(())
    }
}
