//! The form of a resource in interchange XML, as a tree that a streaming reader walks.
//!
//! Every property states its path of elements ([`Property::xml`]); the tree joins these paths and
//! adds what follows from the keys. For every open element, a reader keeps a node of the tree and a
//! place in the JSON document:
//!
//! - At the start of an element, it looks up the name among the [`XmlElement::children`] of the
//!   open node (an element may contain a child of the same name, so the depth decides). It then
//!   moves along [`XmlElement::into`], from the place of the enclosing element: [`Step::Member`]
//!   opens the embedded object or reference of that name, [`Step::Item`] appends an item to the
//!   collection.
//! - At its end, it writes the text as [`XmlElement::content`] says.
//!
//! References. `SchoolReference` opens the reference object. Inside it, `SchoolIdentity` adds no
//! step of its own; the elements in it, including those of nested references, fill the members:
//! `CourseOfferingReference/CourseOfferingIdentity/SessionReference/SessionIdentity/SessionName`
//! is `sessionName`. Two elements may fill the same member, such as the school of a course offering
//! and that of its session; then they must agree. Instead of an identity, a reference may carry the
//! attribute `ref`, which names the attribute `id` of a record or of another reference anywhere in
//! the same file; the key of that record or reference fills [`Content::Reference::members`], in
//! order. `SchoolLookup` holds elements of the target's own record ([`Content::Lookup`]).
//!
//! Text. A school year `2021-2022` is 2022 ([`Content::SchoolYear`]). A descriptor is its URI. A
//! `dateTime` without a zone is in UTC. An interchange may also hold references as records of their
//! own, such as `SectionReference`, so that other references can name their `id`: see
//! [`reference_shape`].
//!
//! Extensions. The elements of an extension stand directly in the object's own element, after the
//! rest; where the standard has an element of the same name, theirs is called `SAMPLE-Name`. A
//! record of an extension is an element with its name, or `SAMPLE-Bus`; the latter is required
//! where the standard has a record of the same name. A record of the standard may be called
//! `SAMPLE-ContactExtension` ([`Model::by_element`]). Where an extension's file names no
//! interchange, its records are in an interchange named after the extension.

use crate::resource::extension_name;
use crate::resource::{EXTENSIONS, Model, Property, PropertyKind, Resource, Scalar, Target};
use crate::source::{Presence, ResourceKind};

/// An element and its content.
#[derive(Debug, Clone, PartialEq)]
pub struct XmlElement {
    /// Element name.
    pub name: String,
    /// Steps to its place in the document, from the place of the enclosing element.
    pub into: Vec<Step>,
    /// How its text is used.
    pub content: Content,
    /// The elements that it may contain.
    pub children: Vec<XmlElement>,
}

/// One step into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The embedded object or reference of this name; created if missing.
    Member(String),
    /// A new item of the collection of this name.
    Item(String),
}

/// How an element's text is used.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// It has no text of its own, only children.
    Children,
    /// It becomes the member of this name.
    Value(String, Scalar),
    /// It is a school year of two years, `2021-2022`; the second becomes the member of this name.
    SchoolYear(String),
    /// It is a reference, by an identity inside it or by `ref`.
    Reference {
        /// The target of the reference.
        target: Target,
        /// The members of the reference object that the target's key fills, in key order.
        members: Vec<String>,
    },
    /// It describes a document of the target by elements of the target's record, which may be fewer
    /// than the key. These elements are those of [`xml_shape`]; this node has no children.
    Lookup(Target),
    /// It becomes no property.
    Ignored,
}

impl XmlElement {
    fn new(name: &str, content: Content) -> Self {
        Self { name: name.to_owned(), into: vec![], content, children: vec![] }
    }

    /// Returns the child element with this name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }
}

/// Returns the tree of elements of a resource's record.
pub fn xml_shape(model: &Model, resource: &Resource) -> XmlElement {
    let mut root = XmlElement::new(&resource.element, Content::Children);
    add_properties(model, &mut root, &resource.properties);
    for path in &resource.ignored_elements {
        insert(&mut root, path, |name| XmlElement::new(name, Content::Ignored));
    }
    root
}

/// Returns the tree of elements of a reference that is a record of its own; its place is an object
/// with the members of the target's key.
pub fn reference_shape(model: &Model, target: Target) -> XmlElement {
    let members = model.target_key(target).iter().map(|column| column.name.clone()).collect();
    reference(model, &format!("{}Reference", model.target_name(target)), target, members)
}

fn add_properties(model: &Model, owner: &mut XmlElement, properties: &[Property]) {
    for property in properties {
        match &property.kind {
            PropertyKind::Object(projects) if property.is_extensions() => {
                for project in projects {
                    add_extension(model, owner, project);
                }
            }
            _ => insert(owner, &property.xml, |name| element(model, name, property)),
        }
    }
}

/// Adds the elements of one extension to those of the object that it extends.
fn add_extension(model: &Model, owner: &mut XmlElement, project: &Property) {
    let PropertyKind::Object(added) = &project.kind else { return };
    let way = [EXTENSIONS, &project.name].map(|name| Step::Member(name.to_owned()));
    for property in added {
        let path = if owner.child(&property.xml).is_some() {
            extension_name(&project.name, &property.xml)
        } else {
            property.xml.clone()
        };
        insert(owner, &path, |name| {
            let mut element = element(model, name, property);
            element.into.splice(0..0, way.iter().cloned());
            element
        });
    }
}

/// Inserts an element at the end of a path; creates the elements on the way as needed.
fn insert(owner: &mut XmlElement, path: &str, make: impl FnOnce(&str) -> XmlElement) {
    match path.split_once('/') {
        None => owner.children.push(make(path)),
        Some((first, rest)) => {
            let way =
                |child: &XmlElement| child.name == first && child.content == Content::Children;
            let at = owner.children.iter().position(way).unwrap_or_else(|| {
                owner.children.push(XmlElement::new(first, Content::Children));
                owner.children.len() - 1
            });
            insert(&mut owner.children[at], rest, make);
        }
    }
}

fn element(model: &Model, name: &str, property: &Property) -> XmlElement {
    let member = || property.name.clone();
    match &property.kind {
        PropertyKind::Scalar(scalar) => XmlElement::new(name, Content::Value(member(), *scalar)),
        PropertyKind::Reference(found) => {
            let members = found.parts.iter().map(|part| part.name.clone()).collect();
            let mut element = reference(model, name, found.target, members);
            element.into.push(Step::Member(member()));
            element
        }
        PropertyKind::Object(inner) => {
            let mut element = XmlElement::new(name, Content::Children);
            element.into.push(Step::Member(member()));
            add_properties(model, &mut element, inner);
            element
        }
        PropertyKind::List(inner) => {
            let mut element = match inner.as_slice() {
                [only, ..] if only.xml == "." => self::element(model, name, only),
                _ => {
                    let mut element = XmlElement::new(name, Content::Children);
                    add_properties(model, &mut element, inner);
                    element
                }
            };
            element.into.insert(0, Step::Item(member()));
            element
        }
    }
}

/// Returns the element of a reference whose target's key fills `members`, in order.
fn reference(model: &Model, name: &str, target: Target, members: Vec<String>) -> XmlElement {
    if let (Target::Resource(id), [member]) = (target, members.as_slice())
        && model.resource(id).kind == ResourceKind::Enumeration
    {
        return XmlElement::new(name, Content::SchoolYear(member.clone()));
    }
    let target_name = model.target_name(target);
    let mut identity = XmlElement::new(&format!("{target_name}Identity"), Content::Children);
    let (properties, key) = match target {
        Target::Resource(id) => (&model.resource(id).properties, model.target_key(target)),
        Target::Abstract(id) => (&model.base(id).properties, model.target_key(target)),
    };
    for property in properties.iter().filter(|property| property.presence == Presence::Key) {
        let member = |column: &str| {
            key.iter().position(|found| found.name == column).map(|at| members[at].clone())
        };
        let last = property.xml.rsplit('/').next().unwrap_or(&property.xml);
        match &property.kind {
            PropertyKind::Scalar(scalar) => identity.children.extend(
                member(&property.name)
                    .map(|member| XmlElement::new(last, Content::Value(member, *scalar))),
            ),
            PropertyKind::Reference(found) => {
                let inner = found.parts.iter().filter_map(|part| member(&part.column)).collect();
                identity.children.push(reference(model, last, found.target, inner));
            }
            PropertyKind::Object(_) | PropertyKind::List(_) => {}
        }
    }
    let lookup = XmlElement::new(&format!("{target_name}Lookup"), Content::Lookup(target));
    let mut element = XmlElement::new(name, Content::Reference { target, members });
    element.children = vec![identity, lookup];
    element
}
