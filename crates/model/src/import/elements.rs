//! Finds the XML element of each property by walking complex types beside JSON objects.
//!
//! An element belongs to the property of its kind and name. Names differ in known ways. A
//! descriptor gains `Descriptor`. A repeated element becomes a plural. The owner's name, or its
//! end, is dropped from the front. A role that equals the beginning of the target's name is stated
//! once. The elements of a common type that JSON does not nest join the object around it, with the
//! type's role in front of their names.

use std::collections::HashSet;

use super::names::same;
use super::rules::{IgnoredRule, Rules};
use super::xsd::{Element, Schemas};
use crate::source::{PropertySource, ResourceSource, Type};
use crate::words::{default_path, singulars};

/// Deepest nesting of common types that is followed.
const DEPTH_MAX: usize = 8;

/// Which elements and properties were matched, and which were not.
#[derive(Debug, Default)]
pub struct Placement {
    /// Number of elements that have a property.
    pub placed: usize,
    /// Elements without a property, `Section/Lookup`.
    pub unplaced: Vec<String>,
    /// Properties without an element, `Section.programs`.
    pub bare: Vec<String>,
    /// Rows of the rules that were used.
    pub rules_used: HashSet<String>,
}

/// Gives every property of a resource the path of its XML elements and the bounds of their types.
pub fn place(source: &mut ResourceSource, schemas: &Schemas, rules: &Rules, out: &mut Placement) {
    let name = source.name.clone();
    if !schemas.complex.contains_key(&name) {
        return;
    }
    let mut owners = vec![name.clone()];
    owners.extend(source.base.iter().map(|(base, _)| base.clone()));
    let mut placer = Placer { schemas, rules, out, ignored: vec![] };
    let mut objects = Objects { properties: &mut source.properties, claimed: vec![] };
    let at = SchemaPosition {
        type_name: &name,
        path: String::new(),
        whole: name.clone(),
        owners,
        role: None,
    };
    placer.walk(&at, &mut objects, 0);
    placer.note_bare(&name, &objects);
    source.ignored_elements = placer.ignored;
    leave_out_defaults(&mut source.properties, false);
}

/// Removes the paths that follow from the general rule.
fn leave_out_defaults(properties: &mut [PropertySource], items: bool) {
    let only = items && properties.len() == 1;
    for property in properties {
        if property.xml.as_deref() == Some(&default_path(property, only)) {
            property.xml = None;
        }
        match &mut property.kind {
            Type::List(inner) => leave_out_defaults(inner, true),
            Type::Object(inner) => leave_out_defaults(inner, false),
            _ => {}
        }
    }
}

struct Placer<'a> {
    schemas: &'a Schemas,
    rules: &'a Rules,
    out: &'a mut Placement,
    ignored: Vec<String>,
}

/// The properties of one JSON object, and which of them have an element.
struct Objects<'a> {
    properties: &'a mut Vec<PropertySource>,
    claimed: Vec<usize>,
}

/// The current position in the XML schema.
struct SchemaPosition<'a> {
    type_name: &'a str,
    /// Elements from the JSON object's own element to here, each followed by `/`.
    path: String,
    /// Elements from the record to here, for messages and rules.
    whole: String,
    /// Prefixes that an element's name may have.
    owners: Vec<String>,
    /// Role of the common type that the elements belong to.
    role: Option<String>,
}

/// What an element holds.
enum ElementContent<'a> {
    Descriptor(&'a str),
    Reference(&'a str),
    SchoolYear,
    Common(&'a str),
    Simple(&'a str),
}

impl Placer<'_> {
    fn walk(&mut self, at: &SchemaPosition<'_>, objects: &mut Objects<'_>, depth: usize) {
        let schemas = self.schemas;
        for (owner, element) in schemas.elements_of(at.type_name) {
            let whole = format!("{}/{}", at.whole, element.name);
            let declared = format!("{owner}/{}", element.name);
            let ignored = |rule: &&IgnoredRule| rule.element == whole || rule.element == declared;
            if let Some(rule) = self.rules.ignored.iter().find(ignored) {
                self.out.rules_used.insert(format!("ignored {}", rule.element));
                self.ignored.extend(whole.split_once('/').map(|(_, path)| path.to_owned()));
            } else {
                self.element(element, whole, at, objects, depth);
            }
        }
    }

    fn element(
        &mut self,
        element: &Element,
        whole: String,
        at: &SchemaPosition<'_>,
        objects: &mut Objects<'_>,
        depth: usize,
    ) {
        let path = format!("{}{}", at.path, element.name);
        let content = self.content(&element.kind);
        let names = self.names(element, &content, at, &whole);
        let found = objects.find(&names, &content, element.many);
        let Some(index) = found else {
            match content {
                ElementContent::Common(kind) if !element.many && depth < DEPTH_MAX => {
                    let mut owners = at.owners.clone();
                    owners.extend([kind.to_owned(), element.name.clone()]);
                    let role = element.name.strip_suffix(kind).map(String::from);
                    let role = role.filter(|role| !role.is_empty());
                    let inner = SchemaPosition {
                        type_name: kind,
                        path: format!("{path}/"),
                        whole,
                        owners,
                        role: role.or_else(|| at.role.clone()),
                    };
                    self.walk(&inner, objects, depth + 1);
                }
                _ => self.out.unplaced.push(whole),
            }
            return;
        };
        self.out.placed += 1;
        objects.claimed.push(index);
        let property = &mut objects.properties[index];
        property.xml = Some(path);
        let inner = match &mut property.kind {
            Type::Object(inner) | Type::List(inner) => inner,
            kind => {
                if let ElementContent::Simple(name) = content {
                    self.bounds(name, kind);
                }
                return;
            }
        };
        if let ElementContent::Common(kind) = content {
            let at = SchemaPosition {
                type_name: kind,
                path: String::new(),
                whole: whole.clone(),
                owners: vec![kind.to_owned(), element.name.clone()],
                role: None,
            };
            let mut objects = Objects { properties: inner, claimed: vec![] };
            self.walk(&at, &mut objects, depth + 1);
            self.note_bare(&whole, &objects);
        } else if let [single] = inner.as_mut_slice() {
            single.xml = Some(".".into());
            if let ElementContent::Simple(name) = content {
                self.bounds(name, &mut single.kind);
            }
        }
    }

    fn content<'e>(&self, kind: &'e str) -> ElementContent<'e> {
        if kind == "SchoolYearType" {
            return ElementContent::SchoolYear;
        }
        match kind.strip_suffix("ReferenceType") {
            Some(name) if name.ends_with("Descriptor") => ElementContent::Descriptor(name),
            Some(name) => ElementContent::Reference(name),
            None if self.schemas.complex.contains_key(kind) => ElementContent::Common(kind),
            None => ElementContent::Simple(kind),
        }
    }

    /// Returns the JSON names that an element may have, the likeliest first; in the singular for a
    /// repeated element.
    fn names(
        &mut self,
        element: &Element,
        content: &ElementContent<'_>,
        at: &SchemaPosition<'_>,
        whole: &str,
    ) -> Vec<String> {
        if let Some(rule) = self.rules.element.iter().find(|rule| rule.element == whole) {
            self.out.rules_used.insert(format!("element {whole}"));
            return vec![rule.property.clone()];
        }
        let name = element.name.as_str();
        let mut stems = vec![];
        if let Some(role) = &at.role {
            stems.push(format!("{role}{name}"));
        }
        stems.push(name.to_owned());
        for ending in at.owners.iter().flat_map(|owner| endings(owner)) {
            if let Some(rest) = name.strip_prefix(ending).filter(|rest| !rest.is_empty()) {
                stems.push(rest.to_owned());
            }
        }
        if let ElementContent::Reference(target) = content {
            let role = name.strip_suffix(&format!("{target}Reference"));
            if role.is_some_and(|role| target.starts_with(role)) {
                stems.push(format!("{target}Reference"));
            }
        }
        let ending = match content {
            ElementContent::Descriptor(_) if !element.many => "Descriptor",
            ElementContent::SchoolYear => "TypeReference",
            _ => "",
        };
        let cut = if element.many { "Reference" } else { "" };
        let mut names: Vec<String> = stems
            .iter()
            .map(|stem| format!("{}{ending}", stem.strip_suffix(cut).unwrap_or(stem)))
            .collect();
        if matches!(content, ElementContent::SchoolYear) {
            names.extend(stems);
        }
        names
    }

    /// Takes over the bounds of a simple type; a minimum length that `OpenAPI` states is kept.
    fn bounds(&self, name: &str, kind: &mut Type) {
        let restrictions = || self.schemas.restrictions(name);
        match kind {
            Type::Text { min: min @ 0, .. } => {
                *min = restrictions().find_map(|found| found.min_length).unwrap_or(0);
            }
            Type::Integer { min, max, .. } | Type::Decimal { min, max, .. } => {
                if let Some(least) = restrictions().find_map(|found| found.min.clone()) {
                    *min = Some(least);
                }
                if let Some(most) = restrictions().find_map(|found| found.max.clone()) {
                    *max = Some(most);
                }
            }
            _ => {}
        }
    }

    fn note_bare(&mut self, owner: &str, objects: &Objects<'_>) {
        for (at, property) in objects.properties.iter().enumerate() {
            let place = format!("{owner}.{}", property.name);
            if objects.claimed.contains(&at) {
                continue;
            }
            if self.rules.bare.iter().any(|rule| rule.property == place) {
                self.out.rules_used.insert(format!("bare {place}"));
            } else {
                self.out.bare.push(place);
            }
        }
    }
}

impl Objects<'_> {
    fn find(&self, names: &[String], content: &ElementContent<'_>, many: bool) -> Option<usize> {
        names.iter().find_map(|name| {
            (0..self.properties.len())
                .filter(|at| !self.claimed.contains(at))
                .find(|at| fits(&self.properties[*at], name, content, many))
        })
    }
}

/// Returns a name, and what remains as words are removed from its front: `StudentAssessment`,
/// `Assessment`.
fn endings(name: &str) -> impl Iterator<Item = &str> {
    name.char_indices()
        .filter(|(_, letter)| letter.is_ascii_uppercase())
        .map(move |(at, _)| &name[at..])
}

fn fits(property: &PropertySource, name: &str, content: &ElementContent<'_>, many: bool) -> bool {
    if many {
        let Type::List(inner) = &property.kind else { return false };
        let named = same(&property.name, name)
            || singulars(&property.name).iter().any(|singular| same(singular, name));
        return named
            && match content {
                ElementContent::Common(_) => true,
                _ => matches!(inner.as_slice(), [single] if holds(&single.kind, content)),
            };
    }
    same(&property.name, name)
        && match content {
            ElementContent::Common(_) => matches!(property.kind, Type::Object(_)),
            _ => holds(&property.kind, content),
        }
}

fn holds(kind: &Type, content: &ElementContent<'_>) -> bool {
    match (kind, content) {
        (Type::Descriptor(name), ElementContent::Descriptor(wanted)) => name == wanted,
        (Type::Reference { target, .. }, ElementContent::Reference(wanted)) => target == wanted,
        (Type::Reference { target, .. }, ElementContent::SchoolYear) => target == "SchoolYearType",
        (Type::Descriptor(_) | Type::Reference { .. } | Type::Object(_) | Type::List(_), _) => {
            false
        }
        (Type::Integer { .. }, ElementContent::SchoolYear) | (_, ElementContent::Simple(_)) => true,
        _ => false,
    }
}
