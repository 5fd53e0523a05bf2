//! What one resource's schema states beside its members: identity, references, constraints.

use std::collections::HashMap;

use super::place::At;
use crate::import::outcome::Problem;
use crate::words::is_word;

/// What the file states about one resource.
pub(super) struct ResourceFacts<'a> {
    /// The resource's schema in the file.
    pub(super) at: At<'a>,
    pub(super) endpoint: String,
    pub(super) name: String,
    pub(super) is_descriptor: bool,
    /// Whether it extends a resource of the standard.
    pub(super) is_extension: bool,
    pub(super) updatable_key: bool,
    pub(super) domains: Vec<String>,
    pub(super) base: Option<BaseFacts>,
    /// The identity's paths.
    pub(super) identity: Vec<Path<'a>>,
    /// References by the path of their object, `$.busReference`.
    pub(super) references: HashMap<String, ReferenceFacts<'a>>,
    /// Descriptors by the path of the value.
    pub(super) descriptors: HashMap<String, DescriptorFacts<'a>>,
    /// Total digits and digits after the point, by path.
    pub(super) decimals: HashMap<String, (u64, u64)>,
    /// Members that tell the items of a collection apart, by its path, `$.busYears`.
    pub(super) item_keys: HashMap<String, Vec<String>>,
    /// Groups of paths that must agree.
    pub(super) equal: Vec<Vec<String>>,
    /// Subjects of authorization: kind and path.
    pub(super) securable: Vec<(String, String)>,
    /// Names of query parameters, by path.
    pub(super) queries: HashMap<String, String>,
}

/// A path, and where the file states it.
pub(super) struct Path<'a> {
    pub(super) path: String,
    pub(super) at: At<'a>,
}

/// The base of a subclass.
pub(super) struct BaseFacts {
    pub(super) project: String,
    pub(super) name: String,
    /// The path in the base's identity that the subclass renames.
    pub(super) identity: Option<String>,
}

/// A reference's target and members.
pub(super) struct ReferenceFacts<'a> {
    pub(super) at: At<'a>,
    pub(super) project: String,
    pub(super) name: String,
    /// Each member's name and the path of its value in the target, in the file's order.
    pub(super) parts: Vec<(String, String)>,
}

/// The use of a descriptor.
pub(super) struct DescriptorFacts<'a> {
    pub(super) at: At<'a>,
    pub(super) project: String,
    pub(super) name: String,
}

/// Kinds of subjects, in the order of a model file.
const SUBJECTS: [&str; 5] = ["EducationOrganization", "Student", "Contact", "Staff", "Namespace"];

impl<'a> ResourceFacts<'a> {
    /// Reads a resource's schema; [`None`] where it has no name.
    pub(super) fn read(endpoint: &str, at: &At<'a>, problems: &mut Vec<Problem>) -> Option<Self> {
        let Some(name) = at.get("resourceName").and_then(|name| name.text()) else {
            problems.push(at.at("resourceName").wrong("it is missing; a resource needs a name"));
            return None;
        };
        if !is_word(name) {
            let message = format!("`{name}` is not a name: letters and digits, a letter first");
            problems.push(at.at("resourceName").wrong(message));
        }
        if !is_word(endpoint) {
            let message =
                format!("`{endpoint}` is not an endpoint: letters and digits, a letter first");
            problems.push(at.wrong(message));
        }
        let flag = |name: &str| at.get(name).is_some_and(|flag| flag.is_true());
        let base = flag("isSubclass").then(|| BaseFacts {
            project: text(at, "superclassProjectName"),
            name: text(at, "superclassResourceName"),
            identity: at
                .get("superclassIdentityJsonPath")
                .and_then(|path| path.text())
                .map(String::from),
        });
        let (references, descriptors) = mapping(at, problems);
        Some(Self {
            at: at.clone(),
            endpoint: endpoint.to_owned(),
            name: name.to_owned(),
            is_descriptor: flag("isDescriptor"),
            is_extension: flag("isResourceExtension"),
            updatable_key: flag("allowIdentityUpdates"),
            domains: at.at("domains").texts().into_iter().map(String::from).collect(),
            base,
            identity: paths(&at.at("identityJsonPaths")),
            references,
            descriptors,
            decimals: decimals(at),
            item_keys: item_keys(&at.at("arrayUniquenessConstraints")),
            equal: equal(&at.at("equalityConstraints")),
            securable: securable(&at.at("securableElements")),
            queries: queries(&at.at("queryFieldMapping"), problems),
        })
    }

    /// Whether a path, or everything at it, is part of the identity.
    pub(super) fn in_identity(&self, path: &str) -> bool {
        let inside = |found: &str| {
            found.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.identity.iter().any(|found| inside(&found.path))
    }

    /// Whether two paths must agree.
    pub(super) fn are_equal(&self, one: &str, other: &str) -> bool {
        let has = |group: &[String], path: &str| group.iter().any(|found| found == path);
        self.equal.iter().any(|group| has(group, one) && has(group, other))
    }
}

fn text(at: &At<'_>, name: &str) -> String {
    at.get(name).and_then(|found| found.text()).unwrap_or_default().to_owned()
}

fn paths<'a>(at: &At<'a>) -> Vec<Path<'a>> {
    let path = |at: At<'a>| Some(Path { path: at.text()?.to_owned(), at });
    at.items().filter_map(path).collect()
}

fn mapping<'a>(
    at: &At<'a>,
    problems: &mut Vec<Problem>,
) -> (HashMap<String, ReferenceFacts<'a>>, HashMap<String, DescriptorFacts<'a>>) {
    let (mut references, mut descriptors) = (HashMap::new(), HashMap::new());
    for (_, at) in at.at("documentPathsMapping").members() {
        if !at.get("isReference").is_some_and(|flag| flag.is_true()) {
            continue;
        }
        let (project, name) = (text(&at, "projectName"), text(&at, "resourceName"));
        if name.is_empty() {
            problems.push(at.at("resourceName").wrong("it is missing; say what is referred to"));
            continue;
        }
        if let Some(path) = at.get("path").and_then(|path| path.text()) {
            descriptors.insert(path.to_owned(), DescriptorFacts { at, project, name });
            continue;
        }
        let mut parts: HashMap<String, Vec<(String, String)>> = HashMap::new();
        for part in at.at("referenceJsonPaths").items() {
            let reference = text(&part, "referenceJsonPath");
            let Some((object, member)) = reference.rsplit_once('.').filter(|(o, _)| *o != "$")
            else {
                problems.push(
                    part.at("referenceJsonPath").wrong(
                        "it must be a path to a member of a reference, `$.busReference.busId`",
                    ),
                );
                continue;
            };
            if !is_word(member) {
                let message =
                    format!("`{member}` is not a name: letters and digits, a letter first");
                problems.push(part.at("referenceJsonPath").wrong(message));
            }
            let found = (member.to_owned(), text(&part, "identityJsonPath"));
            parts.entry(object.to_owned()).or_default().push(found);
        }
        if parts.is_empty() {
            problems.push(
                at.at("referenceJsonPaths")
                    .wrong("it lists no member; list one for each part of the target's identity"),
            );
        }
        for (object, parts) in parts {
            let (at, project, name) = (at.clone(), project.clone(), name.clone());
            references.insert(object, ReferenceFacts { at, project, name, parts });
        }
    }
    (references, descriptors)
}

fn decimals(at: &At<'_>) -> HashMap<String, (u64, u64)> {
    let infos = at.at("decimalPropertyValidationInfos");
    let read = |info: At<'_>| {
        let digits = |name: &str| info.get(name).and_then(|found| found.number());
        let path = info.get("path").and_then(|path| path.text())?;
        Some((path.to_owned(), (digits("totalDigits")?, digits("decimalPlaces")?)))
    };
    infos.items().filter_map(read).collect()
}

/// Reads the members that tell items apart, by collection; paths of a nested constraint start at an
/// item of its base path.
fn item_keys(at: &At<'_>) -> HashMap<String, Vec<String>> {
    let mut keys: HashMap<String, Vec<String>> = HashMap::new();
    let mut add = |path: &str| {
        if let Some((list, member)) = path.rsplit_once("[*].") {
            let first = member.split('.').next().unwrap_or(member).to_owned();
            let known = keys.entry(list.to_owned()).or_default();
            if !known.contains(&first) {
                known.push(first);
            }
        }
    };
    for constraint in at.items() {
        constraint.at("paths").texts().into_iter().for_each(&mut add);
        for nested in constraint.at("nestedConstraints").items() {
            let base = text(&nested, "basePath");
            for path in nested.at("paths").texts() {
                add(&format!("{base}{}", path.strip_prefix('$').unwrap_or(path)));
            }
        }
    }
    keys
}

/// Joins paths into groups; equality is transitive.
fn equal(at: &At<'_>) -> Vec<Vec<String>> {
    let mut groups: Vec<Vec<String>> = vec![];
    for pair in at.items() {
        let pair = [text(&pair, "sourceJsonPath"), text(&pair, "targetJsonPath")];
        let (touched, mut rest): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| pair.iter().any(|path| group.contains(path)));
        let mut joined: Vec<String> = touched.into_iter().flatten().chain(pair).collect();
        joined.sort();
        joined.dedup();
        rest.push(joined);
        groups = rest;
    }
    groups
}

fn securable(at: &At<'_>) -> Vec<(String, String)> {
    let mut found = vec![];
    for kind in SUBJECTS {
        for item in at.at(kind).items() {
            let path = item
                .text()
                .map(String::from)
                .or_else(|| item.get("jsonPath").and_then(|path| path.text()).map(String::from));
            found.extend(path.map(|path| (kind.to_owned(), path)));
        }
    }
    found
}

fn queries(at: &At<'_>, problems: &mut Vec<Problem>) -> HashMap<String, String> {
    let mut queries = HashMap::new();
    for (name, at) in at.members() {
        if !is_word(&name) {
            let message = format!("`{name}` is not a name: letters and digits, a letter first");
            problems.push(at.wrong(message));
        }
        for path in at.items() {
            queries.insert(text(&path, "path"), name.clone());
        }
    }
    queries
}
