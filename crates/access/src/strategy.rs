//! How a granted action is narrowed to the client's own data.

use std::fmt;

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

            /// The name in claim sets.
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
    NamespaceBased: "What has a namespace that begins with one of the client's prefixes.";
    OwnershipBased: "What the client itself created.";
    RelationshipsWithEdOrgsAndPeople: "What belongs to the client's organizations or to people there.";
    RelationshipsWithEdOrgsOnly: "What belongs to the client's organizations.";
    RelationshipsWithPeopleOnly: "What belongs to people at the client's organizations.";
    RelationshipsWithStudentsOnly: "What belongs to students enrolled at the client's organizations.";
    RelationshipsWithStudentsOnlyThroughResponsibility: "What belongs to students that the client's organizations are responsible for.";
    RelationshipsWithEdOrgsOnlyInverted: "What belongs to organizations above the client's.";
    RelationshipsWithEdOrgsAndPeopleInverted: "What belongs to organizations above the client's, or to people below.";
    RelationshipsWithEdOrgsAndPeopleIncludingDeletes: "As without the ending, people whose associations were deleted included.";
    RelationshipsWithStudentsOnlyIncludingDeletes: "As without the ending, deleted enrolments included.";
    RelationshipsWithStudentsOnlyThroughResponsibilityIncludingDeletes: "As without the ending, deleted responsibilities included.";
}

impl Strategy {
    /// Reads a name: a published one in any case, or `{Basis}With{Text}` where `is_basis` knows the
    /// basis as a resource.
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
