//! Resolves names of extensions in a document.

use std::borrow::Cow;

use homeroom_model::{Model, Property};

use crate::json::Json;

/// Finds the extension that a member stands for: the one with this schema, regardless of case, else
/// the one whose schema or project has the same letters and digits, as `grandBend` for
/// `grand-bend`.
///
/// Source: Ed-Fi ODS/API 7.3, which names an extension after its project, in camel case.
pub(super) fn named(model: &Model, projects: &[Property], sent: &str) -> Option<usize> {
    let exact = projects.iter().position(|project| project.name.eq_ignore_ascii_case(sent));
    exact.or_else(|| {
        let is_meant = |schema: &str| {
            let mut meant = model.projects.iter().filter(|project| project.schema == schema);
            is_same(schema, sent) || meant.any(|project| is_same(&project.name, sent))
        };
        projects.iter().position(|project| is_meant(&project.name))
    })
}

/// Returns the value that was sent for one of an object's extensions.
pub(super) fn member<'j>(
    model: &Model,
    projects: &[Property],
    at: usize,
    members: &'j [(Cow<'j, str>, Json<'j>)],
) -> Option<&'j Json<'j>> {
    Json::last_of(members, |sent| named(model, projects, sent) == Some(at))
}

/// Whether two names have the same letters and digits, regardless of case.
fn is_same(one: &str, other: &str) -> bool {
    let folded = |name: &str| -> String {
        let letters = name.chars().filter(|letter| letter.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    folded(one) == folded(other)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use homeroom_model::{format, link, shipped};
    use homeroom_store::Store;

    use crate::catalog::Catalog;
    use crate::json::Json;
    use crate::validate::validate;

    const EXTENSION: &str = "\
standard GrandBend grand-bend 1.0.0
extends ed-fi 5.2.0

extension Student
  ? nickname text(1..20)
  ? schoolReference -> ed-fi/School(schoolId)
";

    fn catalog() -> (Store, Catalog) {
        let sources =
            [shipped("5.2.0").unwrap(), EXTENSION].map(|text| format::read(text).unwrap());
        let model = link(&sources).unwrap();
        let store = Store::temporary(&[]).unwrap();
        let catalog = Catalog::bind(Arc::new(model), &store).unwrap();
        (store, catalog)
    }

    #[test]
    fn an_extension_is_found_by_schema_or_project_name_in_any_case() {
        let (_store, catalog) = catalog();
        let student = catalog.model.by_endpoint("ed-fi", "students").unwrap();
        let said = |extensions: &str| {
            let text = format!(
                r#"{{"studentUniqueId":"1","firstName":"A","lastSurname":"B",
                    "birthDate":"2010-12-10","_ext":{extensions}}}"#
            );
            let document = validate(&catalog, student, &Json::read(text.as_bytes()).unwrap());
            document.map(|document| document.body)
        };
        let strict = said(r#"{"grand-bend":{"nickname":"Bo"}}"#).unwrap();
        assert!(strict.contains(r#""_ext":{"grand-bend":{"nickname":"Bo"}}"#), "{strict}");

        for name in ["grandBend", "GrandBend", "GRANDBEND", "grandbend", "Grand-Bend"] {
            let lax = said(&format!(r#"{{"{name}":{{"nickname":"Bo"}}}}"#));
            assert_eq!(lax.as_ref(), Ok(&strict), "{name}");
        }
        let twice =
            r#"{"grand-bend":{"nickname":"Al"},"grandBend":{"nickname":"Bo"},"GrandBend":null}"#;
        assert_eq!(said(twice), Ok(strict));
        let other = said(r#"{"grandBends":{"nickname":"Bo"}}"#).unwrap();
        assert!(!other.contains("_ext"), "{other}");
    }
}
