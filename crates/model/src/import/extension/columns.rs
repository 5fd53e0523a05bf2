//! Flat names: a value's name as a query parameter and in the keys of other resources.

use std::collections::HashMap;

use super::facts::{ReferenceFacts, ResourceFacts};
use crate::import::outcome::Problem;
use crate::words::capitalized;

/// The flat names of a resource's identity and of the members of its references.
pub(super) struct Columns {
    by_path: HashMap<String, String>,
}

impl Columns {
    /// Works out the names.
    ///
    /// A value takes the name of its query parameter, if the file has one for the path. Otherwise
    /// it takes the member's name with the reference's role in front; the role is left out where
    /// the member begins with it, or where the value must equal that of a reference without a role.
    /// If two values that need not agree would share a name, the second takes its reference's
    /// name in front instead.
    pub(super) fn of(facts: &ResourceFacts<'_>, problems: &mut Vec<Problem>) -> Self {
        let mut by_path = HashMap::new();
        let mut objects: Vec<(&String, &ReferenceFacts<'_>)> = facts.references.iter().collect();
        objects.sort_by_key(|(object, _)| (object.contains("[*]"), *object));
        for (object, reference) in objects {
            for (member, _) in &reference.parts {
                let path = format!("{object}.{member}");
                by_path.insert(path.clone(), name(facts, object, reference, member, &path));
            }
        }
        let mut columns = Self { by_path };
        columns.part_alike(facts);
        for identity in &facts.identity {
            if columns.of_path(&identity.path).is_none() {
                problems.push(identity.at.wrong(format!(
                    "`{}` is neither a value of the document itself nor a member of one of its \
                     references in documentPathsMapping; a key can contain nothing else",
                    identity.path
                )));
            }
        }
        columns
    }

    /// Returns the flat name of a path: a value of the document itself, or a reference's member.
    pub(super) fn of_path(&self, path: &str) -> Option<String> {
        let plain = path.strip_prefix("$.")?;
        if plain.contains(['.', '[']) {
            self.by_path.get(path).cloned()
        } else {
            Some(plain.into())
        }
    }

    /// Renames columns that share a name although their values need not agree.
    fn part_alike(&mut self, facts: &ResourceFacts<'_>) {
        let mut paths: Vec<String> =
            self.by_path.keys().filter(|path| !path.contains("[*]")).cloned().collect();
        paths.sort();
        for (at, path) in paths.iter().enumerate() {
            let is_alike = paths[..at].iter().any(|other| {
                self.by_path[other] == self.by_path[path] && !facts.are_equal(other, path)
            });
            if !is_alike {
                continue;
            }
            let mut steps = path.rsplit('.');
            let member = steps.next().unwrap_or_default();
            let reference = steps.next().unwrap_or_default();
            let stem = reference.strip_suffix("Reference").unwrap_or(reference);
            self.by_path.insert(path.clone(), format!("{stem}{}", capitalized(member)));
        }
    }
}

fn name(
    facts: &ResourceFacts<'_>,
    object: &str,
    reference: &ReferenceFacts<'_>,
    member: &str,
    path: &str,
) -> String {
    if let Some(name) = facts.queries.get(path) {
        return name.clone();
    }
    let role = role(object, &reference.name);
    let is_one_with_a_plain_value = facts.equal.iter().any(|group| {
        group.iter().any(|other| other == path)
            && group.iter().any(|other| {
                let (object, _) = other.rsplit_once('.').unwrap_or_default();
                !other.contains("[*]")
                    && facts
                        .references
                        .get(object)
                        .is_some_and(|found| self::role(object, &found.name).is_empty())
            })
    });
    let has_role = member.to_ascii_lowercase().starts_with(&role.to_ascii_lowercase());
    if role.is_empty() || has_role || is_one_with_a_plain_value {
        return member.to_owned();
    }
    format!("{role}{}", capitalized(member))
}

/// Returns the text in front of the target's name: `location` of `locationSchoolReference`.
fn role<'a>(object: &'a str, target: &str) -> &'a str {
    let member = object.rsplit(['.', '*', ']']).next().unwrap_or(object);
    let stem = member.strip_suffix("Reference").unwrap_or(member);
    let cut = stem.len().checked_sub(target.len()).unwrap_or(stem.len());
    match stem.get(cut..) {
        Some(end) if end.eq_ignore_ascii_case(target) => &stem[..cut],
        _ => "",
    }
}
