//! Turns the members of a document's JSON schema into properties.

use std::collections::HashSet;

use super::columns::Columns;
use super::facts::ResourceFacts;
use super::place::At;
use super::targets::Targets;
use super::{EXTENSIONS, ExtensionPart, PartSource, Presence, PropertySource, Type};
use crate::import::outcome::Problem;
use crate::words::is_word;

/// Deepest nesting of objects and collections that a model file may have.
const DEPTH_MAX: usize = 8;

/// The walk over one resource's schema.
pub(super) struct SchemaWalk<'w> {
    pub(super) facts: &'w ResourceFacts<'w>,
    pub(super) targets: &'w Targets<'w>,
    pub(super) columns: &'w Columns,
    pub(super) problems: &'w mut Vec<Problem>,
    /// Paths of the file that belong to a member.
    pub(super) used: HashSet<String>,
}

/// An object whose members are walked.
struct Scope<'s> {
    /// Path of the object, `$.addresses[*]`.
    path: &'s str,
    /// Members that tell the items of the collection apart.
    keys: &'s [String],
    /// Whether it is an item of a collection.
    is_item: bool,
    depth: usize,
}

impl<'w> SchemaWalk<'w> {
    /// Returns the properties of a resource.
    pub(super) fn document(&mut self) -> Vec<PropertySource> {
        let schema = self.facts.at.at("jsonSchemaForInsert");
        if !schema.at("properties").is_object() {
            self.problems.push(schema.at("properties").wrong("it must be an object of members"));
            return vec![];
        }
        let required: Vec<&str> = schema.at("required").texts();
        let scope = Scope { path: "$", keys: &[], is_item: false, depth: 1 };
        let properties = self.members(&schema, &required, &scope);
        self.check_identity(&required);
        self.check_paths();
        properties
    }

    /// Returns what an extension adds to a resource, by the object that it is added to.
    pub(super) fn extension(&mut self, schema: &str) -> Vec<ExtensionPart> {
        let root = self.facts.at.at("jsonSchemaForInsert");
        let mut parts = vec![];
        self.parts(&root, "$", "", schema, &mut parts);
        if let Some(path) = self.facts.identity.first() {
            self.problems.push(path.at.wrong(
                "an extension cannot add to the identity of the resource that it extends; leave \
                 it out",
            ));
        }
        if parts.iter().all(|part| part.properties.is_empty()) {
            self.problems.push(root.at("properties").wrong(format!(
                "it adds nothing; what the extension adds stands under {EXTENSIONS}.{schema}"
            )));
        }
        self.check_paths();
        parts
    }

    fn parts(
        &mut self,
        object: &At<'w>,
        path: &str,
        within: &str,
        schema: &str,
        parts: &mut Vec<ExtensionPart>,
    ) {
        let properties = object.at("properties");
        if let Some(added) = properties.get(EXTENSIONS) {
            let added = added.at("properties");
            for (name, at) in added.members().filter(|(name, _)| name != schema) {
                self.problems.push(at.wrong(format!(
                    "`{name}` is not a name of this extension's; its members stand under `{schema}`"
                )));
            }
            let added = added.at(schema);
            // The document's own list of required members includes those of the extension.
            let mut required: Vec<&str> = added.at("required").texts();
            required.extend(object.at("required").texts());
            let path = format!("{path}.{EXTENSIONS}.{schema}");
            let scope = Scope { path: &path, keys: &[], is_item: false, depth: 1 };
            let properties = self.members(&added, &required, &scope);
            if !properties.is_empty() {
                parts.push(ExtensionPart { within: within.to_owned(), properties });
            }
        }
        for (name, at) in properties.members().filter(|(name, _)| name != EXTENSIONS) {
            let within = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
            if at.get("items").is_some() {
                self.parts(&at.at("items"), &format!("{path}.{name}[*]"), &within, schema, parts);
            } else {
                self.parts(&at, &format!("{path}.{name}"), &within, schema, parts);
            }
        }
    }

    fn members(
        &mut self,
        schema: &At<'w>,
        required: &[&str],
        scope: &Scope<'_>,
    ) -> Vec<PropertySource> {
        let members: Vec<(String, At<'w>)> = schema.at("properties").members().collect();
        if scope.depth > DEPTH_MAX {
            let message = format!("objects and arrays are nested deeper than {DEPTH_MAX}");
            self.problems.push(schema.wrong(message));
            return vec![];
        }
        let only = scope.is_item && members.len() == 1;
        let mut properties = vec![];
        for (name, at) in members {
            if !is_word(&name) {
                let message = format!("`{name}` is not a name: letters and digits, a letter first");
                self.problems.push(at.wrong(message));
                continue;
            }
            let path = format!("{}.{name}", scope.path);
            let is_key = if scope.is_item {
                only || scope.keys.contains(&name)
            } else {
                scope.path == "$" && self.facts.in_identity(&path)
            };
            let presence = if is_key {
                Presence::Key
            } else if required.contains(&name.as_str()) {
                Presence::Required
            } else {
                Presence::Optional
            };
            if let Some(kind) = self.kind(&name, &at, &path, presence, scope) {
                properties.push(PropertySource { name, presence, kind, xml: None });
            }
        }
        properties
    }

    fn kind(
        &mut self,
        name: &str,
        at: &At<'w>,
        path: &str,
        presence: Presence,
        scope: &Scope<'_>,
    ) -> Option<Type> {
        let kind = at.get("type").and_then(|kind| kind.text()).unwrap_or_default();
        let format = at.get("format").and_then(|format| format.text()).unwrap_or_default();
        match (kind, format) {
            ("string", "date") => Some(Type::Date),
            ("string", "date-time") => Some(Type::DateTime),
            ("string", "time") => Some(Type::Time),
            ("string", _) => self.string(name, at, path, presence),
            ("boolean", _) => Some(Type::Boolean),
            ("integer", _) => Some(Type::Integer {
                bits: if format == "int64" { 64 } else { 32 },
                min: at.get("minimum").and_then(|bound| bound.digits()),
                max: at.get("maximum").and_then(|bound| bound.digits()),
            }),
            ("number", _) => self.number(at, path),
            ("object", _) if self.facts.references.contains_key(path) => self.reference(path),
            ("object", _) => {
                if name.ends_with("Reference") {
                    self.problems.push(at.wrong(
                        "its target is not stated; documentPathsMapping needs an entry with \
                         isReference true and its members under referenceJsonPaths",
                    ));
                    return None;
                }
                let scope = Scope { path, keys: &[], is_item: false, depth: scope.depth + 1 };
                let required: Vec<&str> = at.at("required").texts();
                Some(Type::Object(self.members(at, &required, &scope)))
            }
            ("array", _) => self.array(at, path, scope),
            _ => {
                self.problems.push(at.at("type").wrong(format!(
                    "`{kind}` is not a type of a member; there are string, integer, number, boolean, \
                     object and array"
                )));
                None
            }
        }
    }

    fn string(&mut self, name: &str, at: &At<'w>, path: &str, presence: Presence) -> Option<Type> {
        if let Some(found) = self.facts.descriptors.get(path) {
            self.used.insert(path.to_owned());
            let descriptor = self.targets.descriptor(&found.project, &found.name);
            if descriptor.is_none() {
                let message = self.targets.unknown(&found.project, &found.name);
                self.problems.push(found.at.at("resourceName").wrong(message));
            }
            return descriptor.map(Type::Descriptor);
        }
        if name.ends_with("Descriptor") {
            self.problems.push(at.wrong(
                "its descriptor is not stated; documentPathsMapping needs an entry with \
                 isDescriptor true and this path",
            ));
            return None;
        }
        let length = |name: &str| {
            at.get(name).and_then(|found| found.number()).and_then(|n| u32::try_from(n).ok())
        };
        let least = u32::from(presence != Presence::Optional);
        let (min, max) = (length("minLength").unwrap_or(0).max(least), length("maxLength"));
        if max.is_some_and(|max| max < min) {
            self.problems.push(at.at("maxLength").wrong(format!(
                "no text has at least {min} and at most {} characters; correct one of the two",
                max.unwrap_or(0)
            )));
        }
        Some(Type::Text { min, max })
    }

    fn number(&mut self, at: &At<'w>, path: &str) -> Option<Type> {
        let Some((digits, places)) = self.facts.decimals.get(path) else {
            self.problems.push(at.wrong(
                "its number of digits is not stated; decimalPropertyValidationInfos needs an entry \
                 with this path, totalDigits and decimalPlaces",
            ));
            return None;
        };
        let small = |digits: &u64| u8::try_from(*digits).ok().filter(|digits| *digits <= 38);
        let (Some(precision), Some(scale), true) = (small(digits), small(places), places <= digits)
        else {
            self.problems.push(at.wrong(format!(
                "{digits} digits with {places} after the point is not a valid decimal; the \
                 maximum is 38"
            )));
            return None;
        };
        Some(Type::Decimal {
            precision,
            scale,
            min: at.get("minimum").and_then(|bound| bound.digits()),
            max: at.get("maximum").and_then(|bound| bound.digits()),
        })
    }

    fn array(&mut self, at: &At<'w>, path: &str, scope: &Scope<'_>) -> Option<Type> {
        let items = at.at("items");
        if items.get("type").and_then(|kind| kind.text()) != Some("object") {
            self.problems.push(items.at("type").wrong(
                "the items of an array must be objects; give a single value a member of its own",
            ));
            return None;
        }
        let required: Vec<&str> = items.at("required").texts();
        let keys = self.facts.item_keys.get(path).map_or(&[][..], Vec::as_slice);
        for key in keys.iter().filter(|key| items.at("properties").get(key).is_none()) {
            self.problems.push(items.at("properties").wrong(format!(
                "it has no `{key}`, by which arrayUniquenessConstraints identifies items"
            )));
        }
        let path = format!("{path}[*]");
        let scope = Scope { path: &path, keys, is_item: true, depth: scope.depth + 1 };
        let properties = self.members(&items, &required, &scope);
        if properties.is_empty() {
            let message = "an item has no members that could be read; give it at least one";
            self.problems.push(items.at("properties").wrong(message));
            return None;
        }
        Some(Type::List(properties))
    }

    fn reference(&mut self, path: &str) -> Option<Type> {
        let facts = self.facts;
        let found = &facts.references[path];
        self.used.insert(path.to_owned());
        let Some(target) = self.targets.find(&found.project, &found.name) else {
            let message = self.targets.unknown(&found.project, &found.name);
            self.problems.push(found.at.at("resourceName").wrong(message));
            return None;
        };
        let mut parts: Vec<PartSource> = vec![];
        for (member, identity) in &found.parts {
            let Some((_, key)) = target.key.iter().find(|(path, _)| path == identity) else {
                let paths: Vec<&str> = target.key.iter().map(|(path, _)| path.as_str()).collect();
                self.problems.push(found.at.at("referenceJsonPaths").wrong(format!(
                    "`{identity}` is not part of the identity of `{}`; that is {}",
                    found.name,
                    paths.join(", ")
                )));
                continue;
            };
            if parts.iter().any(|part| part.name == *member) {
                continue;
            }
            let column = self.columns.of_path(&format!("{path}.{member}"));
            parts.push(PartSource {
                name: member.clone(),
                key: (key != member).then(|| key.clone()),
                column: column.filter(|column| column != member),
            });
        }
        for (path, column) in &target.key {
            let has = |part: &PartSource| part.key.as_ref().unwrap_or(&part.name) == column;
            if !parts.iter().any(has) {
                self.problems.push(found.at.at("referenceJsonPaths").wrong(format!(
                    "no member stands for `{path}` of `{}`; a reference needs one for each part of \
                     the identity",
                    found.name
                )));
            }
        }
        parts.sort_by(|one, other| one.name.cmp(&other.name));
        Some(Type::Reference { target: target.name, parts })
    }

    /// Reports parts of the identity that are missing or not required.
    fn check_identity(&mut self, required: &[&str]) {
        let schema = self.facts.at.at("jsonSchemaForInsert");
        let is_empty = self.facts.identity.is_empty() && !self.facts.is_descriptor;
        if is_empty {
            self.problems.push(
                self.facts
                    .at
                    .at("identityJsonPaths")
                    .wrong("it is empty; a resource needs at least one value that identifies it"),
            );
        }
        for identity in &self.facts.identity {
            let plain = identity.path.strip_prefix("$.").unwrap_or(&identity.path);
            let first = plain.split(['.', '[']).next().unwrap_or(plain);
            if schema.at("properties").get(first).is_none() {
                self.problems.push(identity.at.wrong(format!(
                    "the document has no member `{first}`; correct the path, or add the member"
                )));
            } else if !required.contains(&first) {
                self.problems.push(identity.at.wrong(format!(
                    "`{first}` is optional; a part of the identity must be required"
                )));
            }
        }
    }

    /// Reports references and descriptors that no member has; otherwise they would be lost
    /// silently.
    fn check_paths(&mut self) {
        let references = self.facts.references.iter().map(|(path, found)| (path, &found.at));
        let descriptors = self.facts.descriptors.iter().map(|(path, found)| (path, &found.at));
        let mut lost: Vec<(&String, &At<'_>)> =
            references.chain(descriptors).filter(|(path, _)| !self.used.contains(*path)).collect();
        lost.sort_by_key(|(path, _)| *path);
        for (path, at) in lost {
            // Inside a reference, the target's own model defines the member.
            let inside_reference = path
                .rsplit_once('.')
                .is_some_and(|(object, _)| self.facts.references.contains_key(object));
            if !inside_reference {
                let message = format!("no member of jsonSchemaForInsert stands at `{path}`");
                self.problems.push(at.wrong(message));
            }
        }
    }
}
