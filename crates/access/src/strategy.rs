//! Strategies: how a granted action is limited to the client's own data.

use std::fmt;

use crate::relation::By;

macro_rules! strategies {
    ($($strategy:ident: $what:literal;)*) => {
        /// An authorization strategy.
        ///
        /// Source: the strategies that Ed-Fi ODS/API 7.3 publishes, and its convention for custom
        /// views.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum Strategy {
            $(#[doc = $what] $strategy,)*
            /// A custom view, named `{Basis}With{Text}` after the resource whose key it lists.
            Custom(String),
        }

        impl Strategy {
            /// Every published strategy.
            pub const PUBLISHED: &'static [Self] = &[$(Self::$strategy,)*];

            /// Returns the name used in claim sets.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$strategy => stringify!($strategy),)*
                    Self::Custom(name) => name,
                }
            }
        }
    };
}

strategies! {
    NoFurtherAuthorizationRequired: "Everything that the claim covers.";
    NamespaceBased: "Documents whose namespace begins with one of the client's prefixes.";
    OwnershipBased: "Documents that the client itself created.";
    RelationshipsWithEdOrgsAndPeople: "Documents that belong to the client's organizations or to people there.";
    RelationshipsWithEdOrgsOnly: "Documents that belong to the client's organizations.";
    RelationshipsWithPeopleOnly: "Documents that belong to people at the client's organizations.";
    RelationshipsWithStudentsOnly: "Documents that belong to students enrolled at the client's organizations.";
    RelationshipsWithStudentsOnlyThroughResponsibility: "Documents that belong to students that \
                                                         the client's organizations are \
                                                         responsible for.";
    RelationshipsWithEdOrgsOnlyInverted: "Documents that belong to organizations above the client's.";
    RelationshipsWithEdOrgsAndPeopleInverted: "Documents that belong to organizations above the client's, or to people below.";
    RelationshipsWithEdOrgsAndPeopleIncludingDeletes: "The same as without the ending, including people whose associations were deleted.";
    RelationshipsWithStudentsOnlyIncludingDeletes: "The same as without the ending, including deleted enrolments.";
    RelationshipsWithStudentsOnlyThroughResponsibilityIncludingDeletes: "The same as without the \
                                                                         ending, including \
                                                                         deleted responsibilities.";
}

/// Most characters of a custom view's name.
pub(crate) const NAME_MAX: usize = 200;

/// How a relationship strategy selects subjects and relates them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Relationship {
    /// How education organizations must be related; [`None`] where they do not count.
    pub(crate) organizations: Option<By>,
    /// Which people count; people are always looked up below the client's organizations.
    pub(crate) people: People,
    /// The name of the path to them, where it is not the usual one.
    pub(crate) way: Option<&'static str>,
    /// Whether deleted associations count.
    pub(crate) past: bool,
}

/// Which people count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum People {
    None,
    All,
    /// Only the subjects whose kind appears in the strategy's name: `RelationshipsWithStudents…`.
    Named,
}

/// The path that the strategies `…ThroughResponsibility` use, as the model names it.
const RESPONSIBILITY: Option<&str> = Some("Responsibility");
/// Prefix of the names of relationship strategies.
const RELATIONSHIPS: &str = "RelationshipsWith";

impl Strategy {
    /// Returns how it relates subjects, if it is a relationship strategy.
    ///
    /// Source: Ed-Fi ODS/API 7.3, relationship-based authorization strategies.
    pub(crate) fn relationship(&self) -> Option<Relationship> {
        use People::{All, Named, None as Nobody};
        let (organizations, people, way, past) = match self {
            Self::RelationshipsWithEdOrgsAndPeople => (Some(By::Below), All, None, false),
            Self::RelationshipsWithEdOrgsOnly => (Some(By::Below), Nobody, None, false),
            Self::RelationshipsWithPeopleOnly => (None, All, None, false),
            Self::RelationshipsWithStudentsOnly => (None, Named, None, false),
            Self::RelationshipsWithStudentsOnlyThroughResponsibility => {
                (None, Named, RESPONSIBILITY, false)
            }
            Self::RelationshipsWithEdOrgsOnlyInverted => (Some(By::Above), Nobody, None, false),
            Self::RelationshipsWithEdOrgsAndPeopleInverted => (Some(By::Above), All, None, false),
            Self::RelationshipsWithEdOrgsAndPeopleIncludingDeletes => {
                (Some(By::Below), All, None, true)
            }
            Self::RelationshipsWithStudentsOnlyIncludingDeletes => (None, Named, None, true),
            Self::RelationshipsWithStudentsOnlyThroughResponsibilityIncludingDeletes => {
                (None, Named, RESPONSIBILITY, true)
            }
            Self::NoFurtherAuthorizationRequired
            | Self::NamespaceBased
            | Self::OwnershipBased
            | Self::Custom(_) => return None,
        };
        Some(Relationship { organizations, people, way, past })
    }

    /// Returns whether its name contains a kind of people in the plural: `Students`.
    pub(crate) fn names(&self, kind: &str) -> bool {
        let rest = self.name().strip_prefix(RELATIONSHIPS);
        rest.and_then(|rest| rest.strip_prefix(kind)).is_some_and(|rest| rest.starts_with('s'))
    }

    /// Reads a name: a published one in any case, or `{Basis}With{Text}` where `is_basis` accepts
    /// the basis.
    pub fn read(name: &str, is_basis: impl Fn(&str) -> bool) -> Option<Self> {
        let published = Self::PUBLISHED.iter().find(|s| s.name().eq_ignore_ascii_case(name));
        if let Some(published) = published {
            return Some(published.clone());
        }
        let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let custom = letters
            && name
                .match_indices("With")
                .any(|(at, with)| at + with.len() < name.len() && is_basis(&name[..at]));
        custom.then(|| Self::Custom(name.to_owned()))
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_names_and_custom_views_are_read_and_nothing_else() {
        let is_basis = |name: &str| name == "Student";

        for strategy in Strategy::PUBLISHED {
            assert_eq!(Strategy::read(strategy.name(), is_basis).as_ref(), Some(strategy));
        }
        assert_eq!(
            Strategy::read("StudentWithCteAssociations", is_basis),
            Some(Strategy::Custom("StudentWithCteAssociations".into()))
        );
        for unknown in ["", "Namespace", "StudentWith", "TeacherWithStudents", "StudentWith Views"]
        {
            assert_eq!(Strategy::read(unknown, is_basis), None, "{unknown}");
        }
    }
}
