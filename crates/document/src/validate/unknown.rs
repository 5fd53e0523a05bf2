//! Finds what validation accepts although it may not be what its sender meant: members that the
//! model does not have, which are dropped, and dates that could begin with the month or the day.

use std::fmt::Write as _;

use homeroom_model::{Model, Property, PropertyKind, Resource, Scalar};

use super::extension;
use crate::json::{Json, Members};
use crate::scalar;
use crate::violations::Violations;

/// Members that answers add to a document, so that clients send them back.
const OF_ANSWERS: [&str; 3] = ["id", "_etag", "_lastModifiedDate"];
/// The member that answers add to a reference.
const LINK: &str = "link";

/// Returns the JSON paths of the members that the model does not have, in the order in which they
/// were sent, and at most `max` of them. The members that answers add (`id`, `_etag`,
/// `_lastModifiedDate`, and `link` in references) are known.
pub fn unknown_members(
    model: &Model,
    resource: &Resource,
    json: &Json<'_>,
    max: usize,
) -> Vec<String> {
    let found = search(model, resource, json, max, Doubt::Unknown);
    found.into_iter().filter(|(_, doubt)| *doubt == Doubt::Unknown).map(|(path, _)| path).collect()
}

/// Returns the violations of a document that is read strictly, besides those of validation: unknown
/// members, and dates that could begin with the month or the day.
pub fn doubtful(model: &Model, resource: &Resource, json: &Json<'_>) -> Violations {
    let found = search(model, resource, json, DOUBTS_MAX, Doubt::Date);
    let told = found.into_iter().map(|(path, doubt)| {
        let message = match doubt {
            Doubt::Unknown => "The model has no such member.",
            Doubt::Date => {
                "The date could begin with the month or with the day; write it as 2026-08-31."
            }
        };
        (path, vec![message.to_owned()])
    });
    told.collect()
}

/// Looks for doubts of a kind, and of the kinds before it.
fn search(
    model: &Model,
    resource: &Resource,
    json: &Json<'_>,
    max: usize,
    upto: Doubt,
) -> Vec<(String, Doubt)> {
    let mut search = UnknownMembers { model, path: "$".to_owned(), found: vec![], max, upto };
    if let Json::Object(members) = json {
        search.object(&resource.properties, members, &OF_ANSWERS);
    }
    search.found
}

/// Most doubts about one document that are listed.
const DOUBTS_MAX: usize = 200;

/// What may not be what was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doubt {
    /// A member that the model does not have.
    Unknown,
    /// A date of which nobody can tell whether it begins with the month or the day.
    Date,
}

/// A search, and the path to the object in which it is.
struct UnknownMembers<'m> {
    model: &'m Model,
    path: String,
    found: Vec<(String, Doubt)>,
    max: usize,
    upto: Doubt,
}

impl UnknownMembers<'_> {
    fn object(&mut self, properties: &[Property], members: &Members<'_>, also: &[&str]) {
        for (name, value) in members {
            let known = properties.iter().find(|known| known.name.eq_ignore_ascii_case(name));
            self.within(name, |search| match known {
                Some(property) => search.value(property, value),
                None if also.iter().any(|known| known.eq_ignore_ascii_case(name)) => {}
                None => search.unknown(),
            });
        }
    }

    fn value(&mut self, property: &Property, value: &Json<'_>) {
        match (&property.kind, value) {
            (PropertyKind::Scalar(scalar), value) => self.scalar(*scalar, value),
            (PropertyKind::Object(projects), Json::Object(members)) if property.is_extensions() => {
                self.extensions(projects, members);
            }
            (PropertyKind::Object(inner), Json::Object(members)) => {
                self.object(inner, members, &[]);
            }
            (PropertyKind::List(inner), Json::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    let Json::Object(members) = item else { continue };
                    let length = self.path.len();
                    _ = write!(self.path, "[{at}]");
                    self.object(inner, members, &[]);
                    self.path.truncate(length);
                }
            }
            (PropertyKind::Reference(reference), Json::Object(members)) => {
                for (name, value) in members {
                    let mut parts = reference.parts.iter();
                    let part = parts.find(|part| part.name.eq_ignore_ascii_case(name));
                    self.within(name, |search| match part {
                        Some(part) => search.scalar(part.scalar, value),
                        None if name.eq_ignore_ascii_case(LINK) => {}
                        None => search.unknown(),
                    });
                }
            }
            // A value of the wrong kind is a violation, or says nothing.
            _ => {}
        }
    }

    fn extensions(&mut self, projects: &[Property], members: &Members<'_>) {
        for (name, value) in members {
            let at = extension::named(self.model, projects, name);
            let inner = at.map(|at| &projects[at].kind);
            self.within(name, |search| match (inner, value) {
                (Some(PropertyKind::Object(inner)), Json::Object(members)) => {
                    search.object(inner, members, &[]);
                }
                (Some(_), _) => {}
                (None, _) => search.unknown(),
            });
        }
    }

    fn within(&mut self, name: &str, look: impl FnOnce(&mut Self)) {
        if self.found.len() >= self.max {
            return;
        }
        let length = self.path.len();
        self.path.push('.');
        self.path.extend(name.chars().take(crate::json::STEP_NAME_MAX));
        look(self);
        self.path.truncate(length);
    }

    fn scalar(&mut self, scalar: Scalar, value: &Json<'_>) {
        if self.upto >= Doubt::Date && scalar::is_ambiguous(scalar, value) {
            self.found.push((self.path.clone(), Doubt::Date));
        }
    }

    fn unknown(&mut self) {
        self.found.push((self.path.clone(), Doubt::Unknown));
    }
}

#[cfg(test)]
mod tests {
    use homeroom_model::{EXTENSIONS, format, link, shipped};

    use super::*;

    fn found(max: usize) -> Vec<String> {
        let model = link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap();
        let resource = model.by_endpoint("ed-fi", "studentSchoolAssociations").unwrap();
        let text = r#"{"id": "1", "ENTRYDATE": "2026-08-20", "_etag": "7", "entrydat": "2026-08-20",
            "schoolReference": {"schoolId": 1, "link": {"rel": "School"}, "schoolName": "A"},
            "educationPlans": [{}, {"educationPlanDescriptor": "d", "plan": {"a": {"b": 1}}}],
            "_lastModifiedDate": "2026-08-20T00:00:00Z", "_ext": {"tpdm": {"a": 1}}}"#;
        unknown_members(&model, resource, &Json::read(text.as_bytes()).unwrap(), max)
    }

    #[test]
    fn members_that_the_model_has_not_are_found_wherever_they_are() {
        let all =
            ["$.entrydat", "$.schoolReference.schoolName", "$.educationPlans[1].plan", EXTENSIONS];

        let found = found(10);

        assert_eq!(found.len(), all.len(), "{found:?}");
        for (found, wanted) in found.iter().zip(all) {
            assert!(found.ends_with(wanted), "{found}");
        }
    }

    #[test]
    fn a_date_that_could_begin_with_the_day_is_a_doubt_and_no_unknown_member() {
        let model = link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap();
        let resource = model.by_endpoint("ed-fi", "studentSchoolAssociations").unwrap();
        for (date, is_doubtful) in [
            ("3/4/2026", true),
            ("03/04/2026", true),
            ("2026-03-04", false),
            ("2026/3/4", false),
            ("3/3/2026", false),
            ("3/31/2026", false),
        ] {
            let text = format!(r#"{{"entryDate": "{date}", "x": 1}}"#);
            let json = Json::read(text.as_bytes()).unwrap();

            let found = doubtful(&model, resource, &json);

            assert_eq!(found.contains_key("$.entryDate"), is_doubtful, "{date}");
            assert!(found.contains_key("$.x"));
            assert_eq!(unknown_members(&model, resource, &json, 9), ["$.x"]);
        }
    }

    #[test]
    fn no_more_members_are_listed_than_asked_for() {
        assert_eq!(found(2).len(), 2);
    }
}
