//! The walk over a document: finds, checks and writes each property.

mod extensions;
mod item;
mod reference;

use homeroom_model::{Presence, Property, PropertyKind, Resource, Scalar};

use super::absent::says_nothing;
use super::document::{DescriptorText, FoundDescriptor, FoundReference};
use super::key::is_code_value;
use super::path::Path;
use crate::catalog::Catalog;
use crate::empties::{Member, Node, Noting};
use crate::json::{Json, Members};
use crate::scalar;
use crate::spelling::{CODE_VALUE, NAMESPACE};
use crate::violations::Violations;

/// Most violations that are collected, even if a document has millions of invalid items.
const VIOLATIONS_MAX: usize = 200;
/// Most references and descriptors of one document: each is looked up while other writes wait.
const REFERENCES_MAX: usize = 5_000;
/// Most members of one object; each property is searched for among them.
const MEMBERS_MAX: usize = 2_000;
const TOO_MANY_REFERENCES: &str =
    "A document may contain at most 5,000 references and descriptors.";

/// Range of a property's value in the body.
#[derive(Debug, Clone, Default)]
pub(super) struct Span {
    pub(super) own: (usize, usize),
    pub(super) parts: Vec<(usize, usize)>,
}

/// A member that is being written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    /// Lengths of the body and of its gaps before the member.
    before: usize,
    gaps: usize,
    /// Where its value begins in the body.
    value: usize,
}

pub(super) struct Walk<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) resource: &'a Resource,
    pub(super) body: String,
    pub(super) references: Vec<FoundReference>,
    pub(super) descriptors: Vec<FoundDescriptor>,
    pub(super) parts: Vec<FoundDescriptor>,
    pub(super) spelled: Vec<DescriptorText>,
    /// Where answers will have empty collections.
    pub(super) noting: Noting,
    pub(super) violations: Violations,
    pub(super) count: usize,
}

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
                let message =
                    format!("{name}: The value contains control characters; remove them.");
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

    /// Writes the name of an object's next member, with a comma before it unless it is the first.
    pub(super) fn begin_member(&mut self, name: &str) -> Begun {
        let (before, gaps) = (self.body.len(), self.noting.gaps.len());
        if !self.body.ends_with('{') {
            self.body.push(',');
        }
        self.body.push('"');
        self.body.push_str(name);
        self.body.push_str("\":");
        Begun { before, gaps, value: self.body.len() }
    }

    /// Removes a member whose value is invalid or absent.
    pub(super) fn take_back(&mut self, begun: Begun) {
        self.body.truncate(begun.before);
        self.noting.gaps.truncate(begun.gaps);
    }

    fn is_full(&self) -> bool {
        self.references.len() + self.descriptors.len() >= REFERENCES_MAX
    }

    /// Writes an object's members; returns the ranges of each property's value.
    pub(super) fn object(
        &mut self,
        properties: &[Property],
        members: &Members<'_>,
        node: Option<&Node>,
        path: Path,
        depth: usize,
    ) -> Vec<Span> {
        let mut spans = if depth == 0 { vec![Span::default(); properties.len()] } else { vec![] };
        if members.len() > MEMBERS_MAX {
            self.note(path, format!("An object may contain at most {MEMBERS_MAX} members."));
            return spans;
        }
        self.body.push('{');
        let opened = node.map(|node| (self.noting.open(node), node));
        let mut noted = node.map_or(&[][..], |node| &node.members[..]).iter().peekable();
        for (at, property) in properties.iter().enumerate() {
            let path = path.then(at);
            // The members of a node are some of the properties, in their order.
            let member = noted.next_if(|member| member.name == property.name);
            let inner_node = member.and_then(Member::node);
            let sent = Json::member(members, &property.name);
            let sent = sent.filter(|sent| !says_nothing(property, sent));
            let Some(sent) = sent else {
                if property.presence != Presence::Optional {
                    self.note(path, format!("{} is required.", property.name));
                }
                continue;
            };
            let begun = self.begin_member(&property.name);
            let mut parts = vec![];
            let written = match &property.kind {
                PropertyKind::Scalar(scalar) => self.scalar(property, *scalar, sent, path),
                PropertyKind::Reference(reference) => {
                    self.reference(property, reference, sent, path, depth == 0, &mut parts)
                }
                PropertyKind::Object(projects) if property.is_extensions() => {
                    self.extensions(projects, sent, inner_node, path, depth)
                }
                PropertyKind::Object(inner) => {
                    if let Json::Object(members) = sent {
                        self.object(inner, members, inner_node, path, depth + 1);
                        true
                    } else {
                        self.note(path, format!("{} must be an object.", property.name));
                        false
                    }
                }
                PropertyKind::List(inner) => {
                    self.list(property, inner, sent, inner_node, path, depth)
                }
            };
            if written {
                if let (Some((opened, node)), Some(member)) = (opened, member) {
                    self.noting.has(opened, node, member);
                }
                if depth == 0 {
                    spans[at] = Span { own: (begun.value, self.body.len()), parts };
                }
            } else {
                self.take_back(begun);
            }
        }
        if let Some((opened, node)) = opened {
            self.noting.close(opened, node, self.body.len());
        }
        self.body.push('}');
        spans
    }

    fn scalar(&mut self, property: &Property, scalar: Scalar, sent: &Json<'_>, path: Path) -> bool {
        let start = self.body.len();
        if let Err(message) = scalar::write(&mut self.body, scalar, sent) {
            self.note(path, message);
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

    fn list(
        &mut self,
        property: &Property,
        inner: &[Property],
        sent: &Json<'_>,
        node: Option<&Node>,
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
            self.object(inner, members, node, path, depth + 1);
            if self.count > before {
                continue;
            }
            let identity =
                if keyed { item::identity(inner, members) } else { self.body[start..].to_owned() };
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
