//! Builds one record's document while its elements are read.
//!
//! Every open element has a node in the record's shape and a place in the document; see
//! [`homeroom_model::xml`] for how an element moves the place. A reference that needs the rest of
//! the file or the store (a `ref` or a lookup) is noted and filled in afterwards.

use std::borrow::Cow;

use homeroom_document::Code;
use homeroom_document::json::Json;
use homeroom_model::xml::{Content, Step, XmlElement};
use homeroom_model::{Scalar, Target};

use super::token::Tag;
use super::value::{lexical, school_year};
use crate::flaw::Flaw;

/// Most bytes of one element's text.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Most flaws, and most stray elements, that are kept per record.
const NOTES_MAX: usize = 50;

/// Type of a school year in a document.
const SCHOOL_YEAR: Scalar = Scalar::Integer { bits: 32, min: 0, max: 9_999 };

/// Index of an object or array in the document under construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node(usize);

#[derive(Debug)]
enum Value<'m> {
    Object(Vec<(&'m str, Node)>),
    Array(Vec<Node>),
    Text(Cow<'m, str>),
}

/// A reference by the `id` of another element in the file.
#[derive(Debug)]
pub(crate) struct ById<'m> {
    /// The reference object to fill.
    pub place: Node,
    /// Its members, in the order of the target's key.
    pub members: &'m [String],
    /// Target of the reference.
    pub target: Target,
    /// The `id` that it names.
    pub id: String,
    /// Path of elements to it.
    pub path: String,
}

/// A reference by other values than the key.
#[derive(Debug)]
pub(crate) struct ByLookup<'m> {
    /// The reference object to fill.
    pub place: Node,
    /// Its members, in the order of the target's key.
    pub members: &'m [String],
    /// Target of the reference.
    pub target: Target,
    /// Elements of the lookup.
    pub given: Raw,
    /// Path of elements to it.
    pub path: String,
}

/// An element that has not been interpreted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Raw {
    /// Name of the element.
    pub name: String,
    /// All of its text.
    pub text: String,
    /// Child elements.
    pub children: Vec<Raw>,
}

/// Role of one open element.
#[derive(Debug)]
enum Inside<'m> {
    /// An element of the record's shape.
    Known(&'m XmlElement),
    /// Part of a lookup.
    Lookup(Raw),
    /// An ignored element.
    Ignored,
}

#[derive(Debug)]
struct Open<'m> {
    inside: Inside<'m>,
    place: Node,
    text: Cow<'m, str>,
    is_nil: bool,
}

/// A record that is being turned into a document.
#[derive(Debug)]
pub(crate) struct Builder<'m> {
    nodes: Vec<Value<'m>>,
    open: Vec<Open<'m>>,
    /// References to resolve within the file.
    pub by_id: Vec<ById<'m>>,
    /// References to resolve in the store.
    pub by_lookup: Vec<ByLookup<'m>>,
    /// Faults found in the record.
    pub flaws: Vec<Flaw>,
    /// Paths of elements that the model does not have, and of text where none belongs.
    pub strays: Vec<String>,
}

impl<'m> Builder<'m> {
    /// Begins a record after its start tag was read.
    pub(crate) fn new(shape: &'m XmlElement) -> Self {
        let root = Node(0);
        Self {
            nodes: vec![Value::Object(vec![])],
            open: vec![Open {
                inside: Inside::Known(shape),
                place: root,
                text: Cow::Borrowed(""),
                is_nil: false,
            }],
            by_id: vec![],
            by_lookup: vec![],
            flaws: vec![],
            strays: vec![],
        }
    }

    /// The document's root object.
    pub(crate) const ROOT: Node = Node(0);

    /// Handles the start of an element inside the record.
    pub(crate) fn start(&mut self, tag: &Tag<'_>) {
        let Some(parent) = self.open.last() else { return };
        let (place, text) = (parent.place, Cow::Borrowed(""));
        let is_nil = tag.is_nil;
        let shape = match &parent.inside {
            Inside::Ignored => {
                self.open.push(Open { inside: Inside::Ignored, place, text, is_nil });
                return;
            }
            Inside::Lookup(_) => {
                let inside = Inside::Lookup(Raw { name: tag.name.to_owned(), ..Raw::default() });
                self.open.push(Open { inside, place, text, is_nil });
                return;
            }
            Inside::Known(shape) => *shape,
        };
        let Some(child) = shape.child(tag.name) else {
            let path = self.path(Some(tag.name));
            self.stray(path);
            self.open.push(Open { inside: Inside::Ignored, place, text, is_nil });
            return;
        };
        let place = child.into.iter().fold(place, |place, step| self.step(place, step));
        let inside = match &child.content {
            Content::Ignored => Inside::Ignored,
            Content::Lookup(_) => {
                Inside::Lookup(Raw { name: tag.name.to_owned(), ..Raw::default() })
            }
            Content::Reference { target, members } => {
                if let Some(id) = &tag.reference {
                    let path = self.path(Some(tag.name));
                    let (id, target) = (id.clone().into_owned(), *target);
                    self.by_id.push(ById { place, members, target, id, path });
                }
                Inside::Known(child)
            }
            Content::Children | Content::Value(..) | Content::SchoolYear(_) => Inside::Known(child),
        };
        self.open.push(Open { inside, place, text, is_nil });
    }

    /// Handles text inside the innermost element; it may come in several pieces.
    pub(crate) fn text(&mut self, piece: Cow<'m, str>) {
        let Some(open) = self.open.last_mut() else { return };
        if matches!(open.inside, Inside::Ignored) {
            return;
        }
        if open.text.len() + piece.len() > TEXT_BYTES_MAX {
            open.inside = Inside::Ignored;
            let path = self.path(None);
            self.flaw(Flaw {
                place: None,
                code: Code::Invalid,
                path,
                general: "A text is too long.",
                message: format!("The text is longer than {TEXT_BYTES_MAX} bytes."),
                hint: "Shorten the text.",
            });
            return;
        }
        if open.text.is_empty() {
            open.text = piece;
        } else {
            open.text.to_mut().push_str(&piece);
        }
    }

    /// Handles the end of the innermost element; returns whether it was the record itself.
    pub(crate) fn end(&mut self) -> bool {
        let Some(open) = self.open.pop() else { return true };
        let text = trimmed(open.text);
        match open.inside {
            Inside::Ignored => {}
            Inside::Lookup(mut raw) => {
                raw.text = text.into_owned();
                self.end_of_lookup(raw, open.place);
            }
            Inside::Known(_) if open.is_nil || text.is_empty() => {}
            Inside::Known(shape) => match &shape.content {
                Content::Value(member, scalar) => {
                    if !self.fill(open.place, member, lexical(*scalar, text), *scalar) {
                        self.disagrees(member, &shape.name);
                    }
                }
                Content::SchoolYear(member) => {
                    let year = school_year(&text);
                    if year.is_none() {
                        let path = self.path(Some(&shape.name));
                        self.flaw(Flaw {
                            place: None,
                            code: Code::Invalid,
                            path,
                            general: "A text is not a school year.",
                            message: "The text is not a school year.".into(),
                            hint: "Write two years that follow each other, such as 2021-2022.",
                        });
                    }
                    let year = year.map(|year| Cow::Owned(year.to_owned()));
                    if year.is_some_and(|year| !self.fill(open.place, member, year, SCHOOL_YEAR)) {
                        self.disagrees(member, &shape.name);
                    }
                }
                Content::Children
                | Content::Reference { .. }
                | Content::Lookup(_)
                | Content::Ignored => {
                    let path = self.path((!self.open.is_empty()).then_some(&shape.name));
                    self.stray(format!("{path}/text()"));
                }
            },
        }
        self.open.is_empty()
    }

    /// Sets a member of an object. Returns `false` if the member already has a different value.
    pub(crate) fn fill(
        &mut self,
        place: Node,
        member: &'m str,
        text: Cow<'m, str>,
        scalar: Scalar,
    ) -> bool {
        let next = Node(self.nodes.len());
        let Value::Object(members) = &mut self.nodes[place.0] else { return false };
        let Some(there) = members.iter().find(|(name, _)| *name == member).map(|(_, at)| *at)
        else {
            members.push((member, next));
            self.nodes.push(Value::Text(text));
            return true;
        };
        match (&self.nodes[there.0], scalar) {
            (Value::Text(there), Scalar::Descriptor(_)) => there.eq_ignore_ascii_case(&text),
            (Value::Text(there), _) => *there == text,
            (Value::Object(_) | Value::Array(_), _) => false,
        }
    }

    /// Records that an element contradicts an earlier one.
    fn disagrees(&mut self, member: &str, element: &str) {
        let path = self.path(Some(element));
        let message =
            format!("The element gives {member} a different value than an earlier element.");
        self.flaw(contradiction(path, message));
    }

    /// Records a flaw.
    pub(crate) fn flaw(&mut self, flaw: Flaw) {
        if self.flaws.len() < NOTES_MAX {
            self.flaws.push(flaw);
        }
    }

    /// Returns the text at a path of members from the root.
    pub(crate) fn text_at(&self, path: &[&str]) -> Option<&str> {
        let mut at = Self::ROOT;
        for name in path {
            let Value::Object(members) = &self.nodes[at.0] else { return None };
            at = members.iter().find(|(member, _)| member == name)?.1;
        }
        if let Value::Text(text) = &self.nodes[at.0] { Some(text) } else { None }
    }

    /// Returns the document without objects and items that were never filled.
    pub(crate) fn into_json(mut self) -> Json<'m> {
        self.json(Self::ROOT).unwrap_or(Json::Object(vec![]))
    }

    fn json(&mut self, node: Node) -> Option<Json<'m>> {
        match std::mem::replace(&mut self.nodes[node.0], Value::Array(vec![])) {
            Value::Text(text) => Some(Json::Text(text)),
            Value::Object(members) => {
                let members: Vec<_> = members
                    .into_iter()
                    .filter_map(|(name, node)| Some((Cow::Borrowed(name), self.json(node)?)))
                    .collect();
                (!members.is_empty()).then_some(Json::Object(members))
            }
            Value::Array(items) => {
                let items: Vec<_> = items.into_iter().filter_map(|node| self.json(node)).collect();
                (!items.is_empty()).then_some(Json::Array(items))
            }
        }
    }

    fn end_of_lookup(&mut self, raw: Raw, place: Node) {
        let path = self.path(Some(&raw.name));
        match self.open.last_mut().map(|open| &mut open.inside) {
            Some(Inside::Lookup(around)) => around.children.push(raw),
            Some(Inside::Known(XmlElement {
                content: Content::Reference { target, members },
                ..
            })) => {
                let (target, members): (Target, &'m [String]) = (*target, members);
                self.by_lookup.push(ByLookup { place, members, target, given: raw, path });
            }
            _ => {}
        }
    }

    fn step(&mut self, place: Node, step: &'m Step) -> Node {
        match step {
            Step::Member(name) => self.member(place, name, || Value::Object(vec![])),
            Step::Item(name) => {
                let list = self.member(place, name, || Value::Array(vec![]));
                let item = Node(self.nodes.len());
                if let Value::Array(items) = &mut self.nodes[list.0] {
                    items.push(item);
                }
                self.nodes.push(Value::Object(vec![]));
                item
            }
        }
    }

    fn member(&mut self, place: Node, name: &'m str, make: fn() -> Value<'m>) -> Node {
        let next = Node(self.nodes.len());
        let Value::Object(members) = &mut self.nodes[place.0] else { return place };
        if let Some((_, there)) = members.iter().find(|(member, _)| *member == name) {
            return *there;
        }
        members.push((name, next));
        self.nodes.push(make());
        next
    }

    fn stray(&mut self, path: String) {
        if self.strays.len() < NOTES_MAX {
            self.strays.push(path);
        }
    }

    /// Returns the path of elements from below the record to the innermost element and then
    /// `further`.
    fn path(&self, further: Option<&str>) -> String {
        let names = self.open.iter().skip(1).filter_map(|open| match &open.inside {
            Inside::Known(shape) => Some(shape.name.as_str()),
            Inside::Lookup(raw) => Some(raw.name.as_str()),
            Inside::Ignored => None,
        });
        names.chain(further).collect::<Vec<_>>().join("/")
    }
}

/// Returns the flaw for two elements that give different values for the same member.
pub(crate) fn contradiction(path: String, message: String) -> Flaw {
    Flaw {
        place: None,
        code: Code::Invalid,
        path,
        general: "Elements contradict each other.",
        message,
        hint: "Elements that set the same value must agree.",
    }
}

/// Removes the white space around a text.
fn trimmed(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => match text.trim() {
            part if part.len() < text.len() => Cow::Owned(part.to_owned()),
            _ => Cow::Owned(text),
        },
    }
}
