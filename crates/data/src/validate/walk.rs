//! The walk over a document: finds, checks and writes each property.

use homeroom_http::Violations;
use homeroom_model::{EXTENSIONS, Presence, Property, PropertyKind, Reference, Resource, Scalar};

use super::key::{is_code_value, key_bytes};
use super::{DescriptorText, FoundDescriptor, FoundReference, Path, extension};
use crate::catalog::Catalog;
use crate::json::Json;
use crate::scalar;
use crate::spelling::{CODE_VALUE, NAMESPACE};

/// Most violations that are collected, even if a document has millions of invalid items.
const VIOLATIONS_MAX: usize = 200;
/// Most references and descriptors of one document: each is looked up while other writes wait.
const REFERENCES_MAX: usize = 5_000;
/// Most members of one object; each property is searched for among them.
const MEMBERS_MAX: usize = 2_000;
const TOO_MANY_REFERENCES: &str = "A document may contain at most 5,000 references and \
                                   descriptors.";

/// Range of a property's value in the body.
#[derive(Debug, Clone, Default)]
pub(super) struct Span {
    pub(super) own: (usize, usize),
    pub(super) parts: Vec<(usize, usize)>,
}

pub(super) struct Walk<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) resource: &'a Resource,
    pub(super) body: String,
    pub(super) references: Vec<FoundReference>,
    pub(super) descriptors: Vec<FoundDescriptor>,
    pub(super) parts: Vec<FoundDescriptor>,
    pub(super) spelled: Vec<DescriptorText>,
    pub(super) violations: Violations,
    pub(super) count: usize,
}

type Members<'j> = [(std::borrow::Cow<'j, str>, Json<'j>)];

impl Walk<'_> {
    fn note(&mut self, path: Path, message: impl Into<String>) {
        let path = path.json(self.resource);
        self.note_text(path, message.into());
    }

    pub(super) fn note_text(&mut self, path: String, message: String) {
        self.count += 1;
        if self.count <= VIOLATIONS_MAX {
            self.violations.entry(path).or_default().push(message);
        }
    }

    /// Checks that a descriptor can be referred to by its URI, which is one line and is split at
    /// its first `#`: a namespace that contains one could be mistaken for another.
    pub(super) fn check_uri(&mut self, members: &Members<'_>) {
        for name in [NAMESPACE, CODE_VALUE] {
            // All texts are already checked for other control characters.
            if let Some(Json::Text(text)) = Json::member(members, name)
                && text.contains(['\t', '\n', '\r'])
            {
                let message = format!(
                    "{name}: The value contains control characters; remove \
                     them."
                );
                self.note_text(format!("$.{name}"), message);
            }
        }
        if let Some(Json::Text(namespace)) = Json::member(members, NAMESPACE)
            && namespace.contains('#')
        {
            let message = format!("{NAMESPACE}: The value must not contain a `#`.");
            self.note_text(format!("$.{NAMESPACE}"), message);
        }
    }

    /// Notes the place of a descriptor's URI that was just written from `start`.
    fn note_spelling(&mut self, key: homeroom_store::NaturalKey, start: usize) {
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let (start, end) = (place(start), place(self.body.len()));
        self.spelled.push(DescriptorText { key, start, end });
    }

    fn is_full(&self) -> bool {
        self.references.len() + self.descriptors.len() >= REFERENCES_MAX
    }

    /// Writes an object's members; returns the ranges of each property's value.
    pub(super) fn object(
        &mut self,
        properties: &[Property],
        members: &Members<'_>,
        path: Path,
        depth: usize,
    ) -> Vec<Span> {
        let mut spans = if depth == 0 { vec![Span::default(); properties.len()] } else { vec![] };
        if members.len() > MEMBERS_MAX {
            self.note(path, format!("An object may contain at most {MEMBERS_MAX} members."));
            return spans;
        }
        self.body.push('{');
        let mut known = 0;
        for (at, property) in properties.iter().enumerate() {
            let path = path.then(at);
            let sent = Json::member(members, &property.name);
            known += usize::from(sent.is_some());
            let sent = sent.filter(|sent| !says_nothing(property, sent));
            let Some(sent) = sent else {
                if property.presence != Presence::Optional {
                    self.note(path, format!("{} is required.", property.name));
                }
                continue;
            };
            let before = self.body.len();
            if !self.body.ends_with('{') {
                self.body.push(',');
            }
            self.body.push('"');
            self.body.push_str(&property.name);
            self.body.push_str("\":");
            let start = self.body.len();
            let mut parts = vec![];
            let written = match &property.kind {
                PropertyKind::Scalar(scalar) => self.scalar(property, *scalar, sent, path),
                PropertyKind::Reference(reference) => {
                    self.reference(property, reference, sent, path, depth == 0, &mut parts)
                }
                PropertyKind::Object(projects) if property.is_extensions() => {
                    self.extensions(projects, sent, path, depth)
                }
                PropertyKind::Object(inner) => {
                    if let Json::Object(members) = sent {
                        self.object(inner, members, path, depth + 1);
                        true
                    } else {
                        self.note(path, format!("{} must be an object.", property.name));
                        false
                    }
                }
                PropertyKind::List(inner) => self.list(property, inner, sent, path, depth),
            };
            if written {
                if depth == 0 {
                    spans[at] = Span { own: (start, self.body.len()), parts };
                }
            } else {
                self.body.truncate(before);
            }
        }
        self.body.push('}');
        if known < members.len() && self.catalog.model.has_extensions() {
            self.refuse_unknown(properties, members, path);
        }
        spans
    }

    /// Writes an object's extensions; returns whether there are any. An extension without content
    /// counts as absent.
    fn extensions(
        &mut self,
        projects: &[Property],
        sent: &Json<'_>,
        path: Path,
        depth: usize,
    ) -> bool {
        let Json::Object(members) = sent else {
            self.note(path, format!("{EXTENSIONS} must be an object."));
            return false;
        };
        let model = &self.catalog.model;
        self.refuse_extensions(projects, members, &path.json(self.resource));
        let start = self.body.len();
        self.body.push('{');
        for (at, project) in projects.iter().enumerate() {
            let PropertyKind::Object(added) = &project.kind else { continue };
            let path = path.then(at);
            match extension::member(model, projects, at, members)
                .filter(|sent| **sent != Json::Null)
            {
                None if project.presence == Presence::Optional => {}
                None => self.note(path, format!("{} is required.", project.name)),
                Some(Json::Object(members)) => {
                    let before = self.body.len();
                    if !self.body.ends_with('{') {
                        self.body.push(',');
                    }
                    self.body.push('"');
                    self.body.push_str(&project.name);
                    self.body.push_str("\":");
                    let start = self.body.len();
                    self.object(added, members, path, depth + 2);
                    if &self.body[start..] == "{}" {
                        self.body.truncate(before);
                    }
                }
                Some(_) => self.note(path, format!("{} must be an object.", project.name)),
            }
        }
        self.body.push('}');
        self.body.len() > start + "{}".len()
    }

    /// Reports extensions of an object that has none. A server without extensions drops them, as it
    /// drops every unknown member; a server that stores some must not seem to store these.
    fn refuse_unknown(&mut self, properties: &[Property], members: &Members<'_>, path: Path) {
        if properties.last().is_some_and(Property::is_extensions) {
            return;
        }
        if let Some(Json::Object(sent)) = Json::member(members, EXTENSIONS) {
            let at = format!("{}.{EXTENSIONS}", path.json(self.resource));
            self.refuse_extensions(&[], sent, &at);
        }
    }

    /// Reports every extension that has content and that the object does not have.
    fn refuse_extensions(&mut self, projects: &[Property], members: &Members<'_>, at: &str) {
        for (name, value) in members {
            let says_nothing = match value {
                Json::Object(inner) => inner.is_empty(),
                other => is_absent(other),
            };
            if says_nothing || extension::named(&self.catalog.model, projects, name).is_some() {
                continue;
            }
            let names: Vec<&str> = projects.iter().map(|known| known.name.as_str()).collect();
            let there = match names.as_slice() {
                [] => "none is loaded for it".to_owned(),
                names => format!("there is {}", names.join(", ")),
            };
            self.note_text(
                format!("{at}.{name}"),
                format!("{name} is not an extension of this object; {there}."),
            );
        }
    }

    fn scalar(&mut self, property: &Property, scalar: Scalar, sent: &Json<'_>, path: Path) -> bool {
        let start = self.body.len();
        if let Err(message) = scalar::write(&mut self.body, scalar, sent) {
            self.note(path, format!("{}: {message}", property.name));
            return false;
        }
        if property.presence != Presence::Optional
            && scalar::is_default(&property.name, scalar, &self.body[start..])
        {
            self.note(path, format!("{} is required.", property.name));
            return false;
        }
        if property.presence == Presence::Key
            && !is_code_value(self.resource, property)
            && let (Scalar::Text { .. }, Json::Text(text)) = (scalar, sent)
            && text.trim() != text.as_ref()
        {
            self.note(
                path,
                format!("{}: The value must not begin or end with white space.", property.name),
            );
            return false;
        }
        if let Scalar::Descriptor(descriptor) = scalar
            && let Json::Text(uri) = sent
        {
            if self.is_full() {
                self.note(path, TOO_MANY_REFERENCES);
                return false;
            }
            let key = self.catalog.descriptor_key(descriptor, uri);
            self.descriptors.push(FoundDescriptor { path, descriptor, key });
            self.note_spelling(key, start);
        }
        self.body.len() > start
    }

    fn reference(
        &mut self,
        property: &Property,
        reference: &Reference,
        sent: &Json<'_>,
        path: Path,
        is_root: bool,
        spans: &mut Vec<(usize, usize)>,
    ) -> bool {
        let Json::Object(members) = sent else {
            self.note(path, format!("{} must be an object.", property.name));
            return false;
        };
        self.body.push('{');
        let mut texts = Vec::with_capacity(reference.parts.len());
        let mut missing: Vec<&str> = vec![];
        let (before, whole) = (self.count, path);
        let parts_before = self.parts.len();
        for (at, part) in reference.parts.iter().enumerate() {
            let path = path.then(at);
            let sent = Json::member(members, &part.name)
                .filter(|sent| **sent != Json::Null && !scalar::is_blank(sent));
            let Some(sent) = sent else {
                missing.push(&part.name);
                continue;
            };
            if at > 0 {
                self.body.push(',');
            }
            self.body.push('"');
            self.body.push_str(&part.name);
            self.body.push_str("\":");
            let start = self.body.len();
            if let Err(message) = scalar::write(&mut self.body, part.scalar, sent) {
                self.note(path, format!("{}: {message}", part.name));
            } else if scalar::is_default(&part.name, part.scalar, &self.body[start..]) {
                missing.push(&part.name);
            } else if let (Scalar::Text { .. }, Json::Text(text)) = (part.scalar, sent)
                && text.trim() != text.as_ref()
            {
                self.note(
                    path,
                    format!("{}: The value must not begin or end with white space.", part.name),
                );
            } else if let (Scalar::Descriptor(descriptor), Json::Text(uri)) = (part.scalar, sent) {
                let key = self.catalog.descriptor_key(descriptor, uri);
                if self.parts.len() < REFERENCES_MAX {
                    self.parts.push(FoundDescriptor { path, descriptor, key });
                }
                self.note_spelling(key, start);
            }
            texts.push((start, self.body.len()));
        }
        self.body.push('}');
        if !missing.is_empty() {
            let are = if missing.len() == 1 { "is" } else { "are" };
            let missing = missing.join(", ");
            self.note(whole, format!("{} is incomplete: {missing} {are} required.", property.name));
        }
        if self.count > before {
            // For an invalid reference, only its own violations are reported.
            self.parts.truncate(parts_before);
            return false;
        }
        if self.is_full() {
            self.note(path, TOO_MANY_REFERENCES);
            return false;
        }
        let columns: Vec<_> = reference
            .parts
            .iter()
            .zip(&texts)
            .map(|(part, (start, end))| key_bytes(part.scalar, &self.body[*start..*end]))
            .collect();
        let key = self.catalog.key(reference.target, columns.iter().map(AsRef::as_ref));
        self.references.push(FoundReference {
            path,
            offset: u32::try_from(self.body.len() - 1).unwrap_or(u32::MAX),
            target: reference.target,
            key,
        });
        if is_root {
            *spans = texts;
        }
        true
    }

    fn list(
        &mut self,
        property: &Property,
        inner: &[Property],
        sent: &Json<'_>,
        path: Path,
        depth: usize,
    ) -> bool {
        let Json::Array(items) = sent else {
            self.note(path, format!("{} must be an array.", property.name));
            return false;
        };
        self.body.push('[');
        let keyed = inner.iter().any(|property| property.presence == Presence::Key);
        let mut seen: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
        let whole = path;
        for (at, item) in items.iter().enumerate() {
            let path = path.then(at);
            if self.count > VIOLATIONS_MAX {
                break;
            }
            let Json::Object(members) = item else {
                self.note(path, format!("Each of {} must be an object.", property.name));
                continue;
            };
            if at > 0 {
                self.body.push(',');
            }
            let (start, before) = (self.body.len(), self.count);
            self.object(inner, members, path, depth + 1);
            if self.count > before {
                continue;
            }
            let identity =
                if keyed { item_identity(inner, members) } else { self.body[start..].to_owned() };
            if let Some(first) = seen.get(&identity) {
                let message = format!(
                    "The item at index {at} has the same identity as the item at index {first}; \
                     each may occur only once."
                );
                self.note(whole, message);
            } else {
                seen.insert(identity, at);
            }
        }
        self.body.push(']');
        true
    }
}

/// Returns an item's identity as text: the canonical values of its key properties.
fn item_identity(properties: &[Property], members: &Members<'_>) -> String {
    let mut out = String::new();
    let mut add = |scalar: Scalar, json: Option<&Json<'_>>| {
        let start = out.len();
        if let Some(json) = json {
            _ = scalar::write(&mut out, scalar, json);
        }
        if matches!(scalar, Scalar::Descriptor(_)) {
            let folded = out[start..].to_lowercase();
            out.replace_range(start.., &folded);
        }
        out.push('\u{1f}');
    };
    for property in properties.iter().filter(|property| property.presence == Presence::Key) {
        let sent = Json::member(members, &property.name);
        match (&property.kind, sent) {
            (PropertyKind::Scalar(scalar), sent) => add(*scalar, sent),
            (PropertyKind::Reference(reference), Some(Json::Object(parts))) => {
                for part in &reference.parts {
                    add(part.scalar, Json::member(parts, &part.name));
                }
            }
            _ => {}
        }
    }
    out
}

/// Whether the value sent for a property counts as absent.
fn says_nothing(property: &Property, sent: &Json<'_>) -> bool {
    match &property.kind {
        PropertyKind::List(_) => is_absent(sent),
        PropertyKind::Scalar(_) => *sent == Json::Null || scalar::is_blank(sent),
        PropertyKind::Reference(_) | PropertyKind::Object(_) => *sent == Json::Null,
    }
}

/// Whether a list counts as not sent.
fn is_absent(json: &Json<'_>) -> bool {
    match json {
        Json::Null => true,
        Json::Array(items) => items.is_empty(),
        _ => false,
    }
}
