//! Names of resource claims, in their published forms.

use std::fmt;

/// The root of all claims; a set can grant everything through it.
pub(crate) const ROOT: &str = "*";

const WRITTEN_AS: &str = "http://ed-fi.org/identity/claims/";

/// A resource claim: `ed-fi/student`, `domains/people`, `services/identity`, `*`.
///
/// Both published forms are read, in any case: `http://ed-fi.org/identity/claims/…` and the older
/// `http://ed-fi.org/ods/identity/claims/…`, which omits the schema of core resources. The first
/// form is written.
#[derive(Debug, Clone)]
pub struct ClaimName(String);

impl ClaimName {
    /// Reads a URI of either form, or the path after it.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim().trim_end_matches('/');
        let path = match text.split_once("://") {
            Some((scheme, rest)) if is_http(scheme) => {
                let rest = strip_ignoring_case(rest, "ed-fi.org/")?;
                let rest = strip_ignoring_case(rest, "ods/").unwrap_or(rest);
                let path = strip_ignoring_case(rest, "identity/claims/")?;
                if path.contains('/') { path.to_owned() } else { format!("ed-fi/{path}") }
            }
            None if text == ROOT => return Some(Self(ROOT.into())),
            None if text.contains('/') => text.to_owned(),
            Some(_) | None => return None,
        };
        let well_formed = path.split('/').all(|segment| {
            !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        });
        (well_formed && path.contains('/')).then_some(Self(path))
    }

    /// Builds the claim of a resource from its schema and its name with a lower-case first letter.
    pub fn of_resource(schema: &str, name: &str) -> Self {
        let mut letters = name.chars();
        let first = letters.next().map(|letter| letter.to_ascii_lowercase());
        Self(format!(
            "{schema}/{}{}",
            first.map(String::from).unwrap_or_default(),
            letters.as_str()
        ))
    }

    /// Returns the path as it was first written.
    pub fn path(&self) -> &str {
        &self.0
    }

    /// Returns the key by which claims compare: the path in lower case.
    pub(crate) fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// Returns the name of the service, where the claim is for one.
    pub(crate) fn service(&self) -> Option<&str> {
        self.0.strip_prefix("services/")
    }
}

/// Writes the URI, or `*` for the root.
impl fmt::Display for ClaimName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == ROOT { f.write_str(ROOT) } else { write!(f, "{WRITTEN_AS}{}", self.0) }
    }
}

fn is_http(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

fn strip_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_published_forms_are_read_and_the_first_is_written() {
        for (given, path) in [
            ("http://ed-fi.org/identity/claims/ed-fi/student", "ed-fi/student"),
            ("http://ed-fi.org/ods/identity/claims/student", "ed-fi/student"),
            (
                "http://ed-fi.org/ods/identity/claims/gradeLevelDescriptor",
                "ed-fi/gradeLevelDescriptor",
            ),
            ("http://ed-fi.org/ods/identity/claims/tpdm/candidate", "tpdm/candidate"),
            ("http://ed-fi.org/ods/identity/claims/domains/people", "domains/people"),
            ("http://ed-fi.org/ods/identity/claims/services/identity", "services/identity"),
            ("HTTPS://Ed-Fi.org/identity/claims/domains/finance/locals/", "domains/finance/locals"),
            ("ed-fi/student", "ed-fi/student"),
            ("*", "*"),
        ] {
            let name = ClaimName::read(given).unwrap();

            assert_eq!(name.path(), path, "{given}");
            assert_eq!(ClaimName::read(&name.to_string()).unwrap().path(), path, "{given}");
        }
    }

    #[test]
    fn an_invalid_claim_name_is_rejected() {
        for given in [
            "",
            "student",
            "http://example.org/identity/claims/ed-fi/student",
            "http://ed-fi.org/ods/actions/read",
            "http://ed-fi.org/identity/claims/",
            "ftp://ed-fi.org/identity/claims/ed-fi/student",
            "ed-fi//student",
            "ed-fi/stu dent",
        ] {
            assert!(ClaimName::read(given).is_none(), "{given}");
        }
    }

    #[test]
    fn the_claim_of_a_resource_is_its_name_with_a_lower_case_first_letter() {
        let name = ClaimName::of_resource("ed-fi", "StudentSchoolAssociation");

        assert_eq!(
            name.to_string(),
            "http://ed-fi.org/identity/claims/ed-fi/studentSchoolAssociation"
        );
    }
}
