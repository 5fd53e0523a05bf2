//! From what was sent to a document: canonical text, identity, references; or every violation.
//!
//! One walk over the model's properties does it all: it finds each member in any case, coerces and
//! checks its value, writes it in canonical order, and notes where references and descriptors
//! stand. Members that the model does not have are dropped, nulls and empty collections are as if
//! absent.

mod unify;

use std::fmt::Write as _;

use homeroom_http::Violations;
use homeroom_model::{
    ColumnSource, Presence, Property, PropertyKind, Reference, Resource, ResourceId, Scalar, Target,
};
use homeroom_store::NaturalKey;

use crate::catalog::{Catalog, is_descriptor};
use crate::json::{Json, write_text};
use crate::scalar;

/// Most violations that are collected; a document of millions of bad items is bad enough.
const VIOLATIONS_MAX: usize = 200;
/// Most references and descriptors of one document: each is looked up while other writes wait.
const REFERENCES_MAX: usize = 5_000;
/// Most members of one object; each property is looked for among them.
const MEMBERS_MAX: usize = 2_000;

/// A document that keeps all rules that can be checked without the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its resource.
    pub resource: ResourceId,
    /// Canonical JSON text.
    pub body: String,
    /// Its identity.
    pub key: NaturalKey,
    /// Its identity under its abstract base, if it has one.
    pub alias: Option<NaturalKey>,
    /// References, in the order of the text.
    pub references: Vec<FoundReference>,
    /// Descriptors used.
    pub descriptors: Vec<FoundDescriptor>,
}

/// A reference in a document.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundReference {
    /// Where it stands.
    pub path: Path,
    /// Byte offset in the body of the `}` that closes it.
    pub offset: u32,
    /// What kind it points to.
    pub target: Target,
    /// The identity that it names.
    pub key: NaturalKey,
}

/// A descriptor's use in a document.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundDescriptor {
    /// Where it stands.
    pub path: Path,
    /// The descriptor's resource.
    pub descriptor: ResourceId,
    /// Its identity.
    pub key: NaturalKey,
}

/// A place in one document: property indices and, after a list, the item's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Path {
    steps: [u32; 12],
    length: u8,
}

impl Path {
    fn then(mut self, step: usize) -> Self {
        if let Some(place) = self.steps.get_mut(usize::from(self.length)) {
            *place = u32::try_from(step).unwrap_or(u32::MAX);
            self.length += 1;
        }
        self
    }

    /// The JSON path, `$.addresses[0].city`.
    pub fn json(&self, resource: &Resource) -> String {
        let mut out = String::from("$");
        let mut properties = Some(resource.properties.as_slice());
        let mut steps = self.steps[..usize::from(self.length)].iter();
        while let (Some(step), Some(inside)) = (steps.next(), properties.take()) {
            let Some(property) = inside.get(*step as usize) else { break };
            out.push('.');
            out.push_str(&property.name);
            match &property.kind {
                PropertyKind::Object(inner) => properties = Some(inner),
                PropertyKind::List(inner) => {
                    if let Some(item) = steps.next() {
                        _ = write!(out, "[{item}]");
                    }
                    properties = Some(inner);
                }
                PropertyKind::Reference(reference) => {
                    if let Some(part) = steps.next().and_then(|s| reference.parts.get(*s as usize))
                    {
                        out.push('.');
                        out.push_str(&part.name);
                    }
                }
                PropertyKind::Scalar(_) => {}
            }
        }
        out
    }
}

/// A document that breaks rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Invalid {
    /// Every violation, by JSON path.
    pub violations: Violations,
    /// Descriptors that stand where they may; the store knows whether they exist.
    pub descriptors: Vec<FoundDescriptor>,
}

/// Checks a document against its resource.
///
/// # Errors
///
/// Every violation, by JSON path.
pub fn validate(
    catalog: &Catalog,
    resource: &Resource,
    json: &Json<'_>,
) -> Result<Document, Violations> {
    examine(catalog, resource, json).map_err(|invalid| invalid.violations)
}

/// As [`validate`]; tells also which descriptors were found, so that those that do not exist can be
/// named in the same answer.
///
/// # Errors
///
/// [`Invalid`]
pub fn examine(
    catalog: &Catalog,
    resource: &Resource,
    json: &Json<'_>,
) -> Result<Document, Invalid> {
    let Json::Object(members) = json else {
        let message = "The document must be a JSON object.".to_owned();
        let violations = [("$".to_owned(), vec![message])].into();
        return Err(Invalid { violations, descriptors: vec![] });
    };
    let mut walk = Walk {
        catalog,
        resource,
        body: String::with_capacity(512),
        references: vec![],
        descriptors: vec![],
        violations: Violations::new(),
        count: 0,
    };
    let spans = walk.object(&resource.properties, members, Path::default(), 0);
    unify::check(resource, json, |path, message| walk.note_text(path, message));
    if is_descriptor(resource) {
        walk.check_namespace(members);
    }
    if walk.count > 0 {
        return Err(Invalid { violations: walk.violations, descriptors: walk.descriptors });
    }
    let texts: Vec<&str> = resource
        .key
        .iter()
        .map(|column| {
            let (start, end) = match column.source {
                ColumnSource::Scalar(at) => spans[at].own,
                ColumnSource::Part(at, part) => {
                    spans[at].parts.get(part).copied().unwrap_or((0, 0))
                }
            };
            &walk.body[start..end]
        })
        .collect();
    let columns: Vec<std::borrow::Cow<'_, [u8]>> = resource
        .key
        .iter()
        .zip(&texts)
        .map(|(column, text)| key_bytes(column.scalar, text))
        .collect();
    let key = if is_descriptor(resource) {
        let uri = descriptor_uri(resource, &texts);
        catalog.descriptor_key(resource.id, &uri)
    } else {
        catalog.key(Target::Resource(resource.id), columns.iter().map(AsRef::as_ref))
    };
    let alias = resource.base.as_ref().map(|base| {
        catalog.key(
            Target::Abstract(base.id),
            base.columns.iter().map(|column| columns[*column].as_ref()),
        )
    });
    Ok(Document {
        resource: resource.id,
        body: walk.body,
        key,
        alias,
        references: walk.references,
        descriptors: walk.descriptors,
    })
}

/// What a key column adds to an identity's hash: its canonical JSON text; descriptors in lower case.
pub fn key_bytes(scalar: Scalar, text: &str) -> std::borrow::Cow<'_, [u8]> {
    match scalar {
        Scalar::Descriptor(_) => text.to_lowercase().into_bytes().into(),
        _ => text.as_bytes().into(),
    }
}

/// The properties that make up a descriptor's URI, `namespace#codeValue`.
pub(crate) const NAMESPACE: &str = "namespace";
/// See [`NAMESPACE`].
pub(crate) const CODE_VALUE: &str = "codeValue";

const TOO_MANY_REFERENCES: &str = "A document may hold at most 5,000 references and descriptors.";

/// A descriptor's URI from the JSON texts of its key.
pub(crate) fn descriptor_uri(resource: &Resource, texts: &[&str]) -> String {
    let column = |name: &str| {
        let at = resource.key.iter().position(|column| column.name == name);
        match at.map(|at| Json::read(texts[at].as_bytes())) {
            Some(Ok(Json::Text(text))) => text.into_owned(),
            _ => String::new(),
        }
    };
    format!("{}#{}", column(NAMESPACE), column(CODE_VALUE))
}

/// Where a property's value stands in the body.
#[derive(Debug, Clone, Default)]
struct Span {
    own: (usize, usize),
    parts: Vec<(usize, usize)>,
}

struct Walk<'a> {
    catalog: &'a Catalog,
    resource: &'a Resource,
    body: String,
    references: Vec<FoundReference>,
    descriptors: Vec<FoundDescriptor>,
    violations: Violations,
    count: usize,
}

type Members<'j> = [(std::borrow::Cow<'j, str>, Json<'j>)];

impl Walk<'_> {
    fn note(&mut self, path: Path, message: impl Into<String>) {
        let path = path.json(self.resource);
        self.note_text(path, message.into());
    }

    fn note_text(&mut self, path: String, message: String) {
        self.count += 1;
        if self.count <= VIOLATIONS_MAX {
            self.violations.entry(path).or_default().push(message);
        }
    }

    /// A URI is split at its first `#`: a namespace that holds one could pass for another's.
    fn check_namespace(&mut self, members: &Members<'_>) {
        if let Some(Json::Text(namespace)) = Json::member(members, NAMESPACE)
            && namespace.contains('#')
        {
            let message = format!("{NAMESPACE}: The value must not hold a `#`.");
            self.note_text(format!("$.{NAMESPACE}"), message);
        }
    }

    fn is_full(&self) -> bool {
        self.references.len() + self.descriptors.len() >= REFERENCES_MAX
    }

    /// Writes an object's members; gives the spans of the values of each property.
    fn object(
        &mut self,
        properties: &[Property],
        members: &Members<'_>,
        path: Path,
        depth: usize,
    ) -> Vec<Span> {
        let mut spans = if depth == 0 { vec![Span::default(); properties.len()] } else { vec![] };
        if members.len() > MEMBERS_MAX {
            self.note(path, format!("An object may hold at most {MEMBERS_MAX} members."));
            return spans;
        }
        self.body.push('{');
        for (at, property) in properties.iter().enumerate() {
            let path = path.then(at);
            let sent = Json::member(members, &property.name).filter(|sent| !is_absent(sent));
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
        spans
    }

    fn scalar(&mut self, property: &Property, scalar: Scalar, sent: &Json<'_>, path: Path) -> bool {
        let start = self.body.len();
        if let Err(message) = scalar::write(&mut self.body, scalar, sent) {
            self.note(path, format!("{}: {message}", property.name));
            return false;
        }
        if property.presence == Presence::Key
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
        let before = self.count;
        for (at, part) in reference.parts.iter().enumerate() {
            let path = path.then(at);
            let sent = Json::member(members, &part.name).filter(|sent| !matches!(sent, Json::Null));
            let Some(sent) = sent else {
                self.note(path, format!("{} is required.", part.name));
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
            } else if let (Scalar::Text { .. }, Json::Text(text)) = (part.scalar, sent)
                && text.trim() != text.as_ref()
            {
                self.note(
                    path,
                    format!("{}: The value must not begin or end with white space.", part.name),
                );
            }
            texts.push((start, self.body.len()));
        }
        self.body.push('}');
        if self.count > before {
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
                    "The item has the same identity as the item at index {first}; each may stand once.",
                );
                self.note(path, message);
            } else {
                seen.insert(identity, at);
            }
        }
        self.body.push(']');
        true
    }
}

/// An item's identity as text: canonical values of its key properties.
fn item_identity(properties: &[Property], members: &Members<'_>) -> String {
    let mut out = String::new();
    let mut add = |scalar: Scalar, json: Option<&Json<'_>>| {
        let start = out.len();
        if let Some(json) = json {
            _ = scalar::write(&mut out, scalar, json);
        }
        if matches!(scalar, Scalar::Descriptor(_)) {
            out[start..].make_ascii_lowercase();
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

/// Whether a value counts as not sent.
fn is_absent(json: &Json<'_>) -> bool {
    match json {
        Json::Null => true,
        Json::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// The values of a document's key by column, as a JSON object.
pub fn key_values(resource: &Resource, body: &str) -> String {
    let mut out = String::from("{");
    if let Ok(Json::Object(members)) = Json::read(body.as_bytes()) {
        for column in &resource.key {
            let (at, part) = match column.source {
                ColumnSource::Scalar(at) => (at, None),
                ColumnSource::Part(at, part) => (at, Some(part)),
            };
            let property = &resource.properties[at];
            let mut value = Json::member(&members, &property.name);
            if let (Some(part), PropertyKind::Reference(reference)) = (part, &property.kind) {
                value = match value {
                    Some(Json::Object(parts)) => Json::member(parts, &reference.parts[part].name),
                    _ => None,
                };
            }
            if out.len() > 1 {
                out.push(',');
            }
            write_text(&mut out, &column.name);
            out.push(':');
            let start = out.len();
            if value.is_none_or(|value| scalar::write(&mut out, column.scalar, value).is_err()) {
                out.truncate(start);
                out.push_str("null");
            }
        }
    }
    out.push('}');
    out
}
