//! One record's document, made while its elements pass by.
//!
//! Every open element has its node in the record's shape and its place in the document; see
//! [`homeroom_model::xml`] for how an element moves the place. What needs the rest of the file or
//! the store (a `ref`, a lookup) is noted and filled in afterwards.

use std::borrow::Cow;

use homeroom_data::json::Json;
use homeroom_http::Kind;
use homeroom_model::xml::{Content, Step, XmlElement};
use homeroom_model::{Scalar, Target};

use super::scan::Tag;
use super::value::{lexical, school_year};
use crate::flaw::Flaw;

/// Most bytes of one element's text.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Most flaws and strange elements that are noted of one record.
const NOTES_MAX: usize = 50;

/// What a school year is where it stands in a document.
const SCHOOL_YEAR: Scalar = Scalar::Integer { bits: 32, min: 0, max: 9_999 };

/// Index of an object or array in the document that is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node(usize);

#[derive(Debug)]
enum Value<'m> {
    Object(Vec<(&'m str, Node)>),
    Array(Vec<Node>),
    Text(String),
}

/// A reference that is given by the `id` of something else in the file.
#[derive(Debug)]
pub(crate) struct ById<'m> {
    /// The object to fill.
    pub place: Node,
    /// Its members, in the order of the target's key.
    pub members: &'m [String],
    /// What it refers to.
    pub target: Target,
    /// The `id`.
    pub id: String,
    /// The way to it.
    pub path: String,
}

/// A reference that is given by other values than the key.
#[derive(Debug)]
pub(crate) struct ByLookup<'m> {
    /// The object to fill.
    pub place: Node,
    /// Its members, in the order of the target's key.
    pub members: &'m [String],
    /// What it refers to.
    pub target: Target,
    /// The elements of the lookup.
    pub given: Raw,
    /// The way to it.
    pub path: String,
}

/// An element as it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Raw {
    /// Name.
    pub name: String,
    /// Text, all of it.
    pub text: String,
    /// Elements inside.
    pub children: Vec<Raw>,
}

/// What one open element is.
#[derive(Debug)]
enum Inside<'m> {
    /// An element of the shape.
    Known(&'m XmlElement),
    /// Part of a lookup.
    Lookup(Raw),
    /// Nothing that counts.
    Ignored,
}

#[derive(Debug)]
struct Open<'m> {
    inside: Inside<'m>,
    place: Node,
    text: String,
    is_nil: bool,
}

/// A record on its way to a document.
#[derive(Debug)]
pub(crate) struct Builder<'m> {
    nodes: Vec<Value<'m>>,
    open: Vec<Open<'m>>,
    /// References to fill from the file.
    pub by_id: Vec<ById<'m>>,
    /// References to fill from the store.
    pub by_lookup: Vec<ByLookup<'m>>,
    /// What is wrong.
    pub flaws: Vec<Flaw>,
    /// Ways to elements that the model does not have, and to text where none belongs.
    pub strays: Vec<String>,
}

impl<'m> Builder<'m> {
    /// Begins a record whose element has just begun.
    pub(crate) fn new(shape: &'m XmlElement) -> Self {
        let root = Node(0);
        Self {
            nodes: vec![Value::Object(vec![])],
            open: vec![Open {
                inside: Inside::Known(shape),
                place: root,
                text: String::new(),
                is_nil: false,
            }],
            by_id: vec![],
            by_lookup: vec![],
            flaws: vec![],
            strays: vec![],
        }
    }

    /// The whole document.
    pub(crate) const ROOT: Node = Node(0);

    /// An element inside the record begins.
    pub(crate) fn start(&mut self, tag: &Tag) {
        let Some(parent) = self.open.last() else { return };
        let (place, text) = (parent.place, String::new());
        let is_nil = tag.is_nil;
        let shape = match &parent.inside {
            Inside::Ignored => {
                self.open.push(Open { inside: Inside::Ignored, place, text, is_nil });
                return;
            }
            Inside::Lookup(_) => {
                let inside = Inside::Lookup(Raw { name: tag.name.clone(), ..Raw::default() });
                self.open.push(Open { inside, place, text, is_nil });
                return;
            }
            Inside::Known(shape) => *shape,
        };
        let Some(child) = shape.child(&tag.name) else {
            let path = self.path(Some(&tag.name));
            self.stray(path);
            self.open.push(Open { inside: Inside::Ignored, place, text, is_nil });
            return;
        };
        let place = child.into.iter().fold(place, |place, step| self.step(place, step));
        let inside = match &child.content {
            Content::Ignored => Inside::Ignored,
            Content::Lookup(_) => Inside::Lookup(Raw { name: tag.name.clone(), ..Raw::default() }),
            Content::Reference { target, members } => {
                if let Some(id) = &tag.reference {
                    let path = self.path(Some(&tag.name));
                    let (id, target) = (id.clone(), *target);
                    self.by_id.push(ById { place, members, target, id, path });
                }
                Inside::Known(child)
            }
            Content::Children | Content::Value(..) | Content::SchoolYear(_) => Inside::Known(child),
        };
        self.open.push(Open { inside, place, text, is_nil });
    }

    /// Text inside the innermost element; an element's text may come in pieces.
    pub(crate) fn text(&mut self, piece: &str) {
        let Some(open) = self.open.last_mut() else { return };
        if matches!(open.inside, Inside::Ignored) {
            return;
        }
        if open.text.len() + piece.len() > TEXT_BYTES_MAX {
            open.inside = Inside::Ignored;
            let path = self.path(None);
            self.flaw(Flaw {
                kind: Kind::DataValidationFailed,
                path,
                general: "A text is too long.",
                message: format!("The text is longer than {TEXT_BYTES_MAX} bytes."),
                hint: "Shorten the text.",
            });
            return;
        }
        open.text.push_str(piece);
    }

    /// The innermost element ends. Gives whether it was the record itself.
    pub(crate) fn end(&mut self) -> bool {
        let Some(open) = self.open.pop() else { return true };
        let text = open.text.trim();
        match open.inside {
            Inside::Ignored => {}
            Inside::Lookup(mut raw) => {
                text.clone_into(&mut raw.text);
                self.end_of_lookup(raw, open.place);
            }
            Inside::Known(_) if open.is_nil || text.is_empty() => {}
            Inside::Known(shape) => match &shape.content {
                Content::Value(member, scalar) => {
                    if !self.fill(open.place, member, &lexical(*scalar, text), *scalar) {
                        self.disagrees(member, &shape.name);
                    }
                }
                Content::SchoolYear(member) => {
                    let year = school_year(text);
                    if year.is_none() {
                        let path = self.path(Some(&shape.name));
                        self.flaw(Flaw {
                            kind: Kind::DataValidationFailed,
                            path,
                            general: "A text is no school year.",
                            message: "The text is no school year.".into(),
                            hint: "Write two years that follow each other, such as 2021-2022.",
                        });
                    }
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

    /// Sets a member of an object. Where it has a value already, the two must agree: gives whether
    /// they do.
    pub(crate) fn fill(
        &mut self,
        place: Node,
        member: &'m str,
        text: &str,
        scalar: Scalar,
    ) -> bool {
        let next = Node(self.nodes.len());
        let Value::Object(members) = &mut self.nodes[place.0] else { return false };
        let Some(there) = members.iter().find(|(name, _)| *name == member).map(|(_, at)| *at)
        else {
            members.push((member, next));
            self.nodes.push(Value::Text(text.to_owned()));
            return true;
        };
        match (&self.nodes[there.0], scalar) {
            (Value::Text(there), Scalar::Descriptor(_)) => there.eq_ignore_ascii_case(text),
            (Value::Text(there), _) => there == text,
            (Value::Object(_) | Value::Array(_), _) => false,
        }
    }

    /// Notes that an element contradicts one before it.
    fn disagrees(&mut self, member: &str, element: &str) {
        let path = self.path(Some(element));
        let message =
            format!("The element gives {member} another value than an element before it.");
        self.flaw(contradiction(path, message));
    }

    /// Notes what is wrong.
    pub(crate) fn flaw(&mut self, flaw: Flaw) {
        if self.flaws.len() < NOTES_MAX {
            self.flaws.push(flaw);
        }
    }

    /// The text at the end of a way of members from the root.
    pub(crate) fn text_at(&self, path: &[&str]) -> Option<&str> {
        let mut at = Self::ROOT;
        for name in path {
            let Value::Object(members) = &self.nodes[at.0] else { return None };
            at = members.iter().find(|(member, _)| member == name)?.1;
        }
        if let Value::Text(text) = &self.nodes[at.0] { Some(text) } else { None }
    }

    /// The document; objects and items that nothing filled are left out.
    pub(crate) fn into_json(mut self) -> Json<'m> {
        self.json(Self::ROOT).unwrap_or(Json::Object(vec![]))
    }

    fn json(&mut self, node: Node) -> Option<Json<'m>> {
        match std::mem::replace(&mut self.nodes[node.0], Value::Array(vec![])) {
            Value::Text(text) => Some(Json::Text(Cow::Owned(text))),
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

    /// The way from below the record to the innermost element and to `further`.
    fn path(&self, further: Option<&str>) -> String {
        let names = self.open.iter().skip(1).filter_map(|open| match &open.inside {
            Inside::Known(shape) => Some(shape.name.as_str()),
            Inside::Lookup(raw) => Some(raw.name.as_str()),
            Inside::Ignored => None,
        });
        names.chain(further).collect::<Vec<_>>().join("/")
    }
}

/// Two elements that stand for the same value say different things.
pub(crate) fn contradiction(path: String, message: String) -> Flaw {
    Flaw {
        kind: Kind::DataValidationFailed,
        path,
        general: "Elements contradict each other.",
        message,
        hint: "Elements that stand for the same value must agree.",
    }
}
