//! Adds missing collections to answers, as empty lists.
//!
//! A stored text leaves empty collections out. They take no space on disk, and a document is the
//! same whether it is sent with or without them. An answer has every collection of its resource, at
//! the end of the object that lacks it. The places are noted by the walk that writes the canonical
//! text, as [`Gaps`] beside its references. A text that was written under another model, or before gaps
//! existed, is walked when it is read.
//!
//! Source: Ed-Fi ODS/API 7.3, whose answers have every collection, also in common objects, items
//! and extensions; an extension that has only collections is present even if the document lacks it.

use std::fmt::Write as _;

use homeroom_model::{Property, PropertyKind, Resource};
use homeroom_store::{Gap, Gaps, NaturalKey};

use crate::json::{after_string, after_value};

/// Most gaps that are noted; a document with more is walked on each read.
const GAPS_MAX: usize = 4_096;

/// The collections of a resource, and what an answer shows if a document lacks them.
#[derive(Debug)]
pub(crate) struct Empties {
    /// Hash of everything that the numbering of members depends on.
    shape: u32,
    /// Text of the members of all objects, one object after the other:
    /// `,"addresses":[],"telephones":[]`.
    text: String,
    /// Offset of each member in the text, and the text's length.
    starts: Vec<usize>,
    root: Node,
}

/// An object that may lack collections, or that contains such an object.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Number of its first member that may be missing; the others follow it.
    first: usize,
    /// Number of members that may be missing.
    count: usize,
    /// These members, and the members that contain such objects, in canonical order.
    pub(crate) members: Vec<Member>,
}

/// A member that an answer shows when it is missing, or that contains such members.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Its number, if an answer shows it when it is missing.
    number: Option<usize>,
    inner: Inner,
}

impl Member {
    /// Returns the node of the member's value, or of each of its items.
    pub(crate) fn node(&self) -> Option<&Node> {
        match &self.inner {
            Inner::Object(node) | Inner::Items(node) => Some(node),
            Inner::Nothing => None,
        }
    }
}

/// The part of a member's value that is walked.
#[derive(Debug)]
enum Inner {
    Nothing,
    Object(Node),
    Items(Node),
}

impl Empties {
    /// Works out the collections of a resource.
    pub(crate) fn of(resource: &Resource) -> Self {
        let mut empties =
            Self { shape: 0, text: String::new(), starts: vec![], root: Node::default() };
        let mut paths = String::new();
        empties.root = empties.node(&resource.properties, "$", false, &mut paths);
        empties.starts.push(empties.text.len());
        let hash = NaturalKey::of("empties", [empties.text.as_bytes(), paths.as_bytes()]);
        empties.shape = u32::from_le_bytes([hash.0[0], hash.0[1], hash.0[2], hash.0[3]]);
        empties
    }

    /// Whether the resource has no collections.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the hash that the numbers of [`Gap`]s depend on.
    pub(crate) fn shape(&self) -> u32 {
        self.shape
    }

    /// Returns the members of a gap, each with a comma in front; empty for invalid numbers.
    pub(crate) fn text(&self, gap: Gap) -> &str {
        let first = usize::from(gap.first);
        let end = first + usize::from(gap.count);
        match (self.starts.get(first), self.starts.get(end)) {
            (Some(start), Some(end)) => &self.text[*start..*end],
            _ => "",
        }
    }

    /// Returns the gaps of a canonical text as they are stored; [`None`] if there are too many, or
    /// the resource has no collections.
    pub(crate) fn noted(&self, places: Vec<Gap>) -> Option<Gaps> {
        let is_noted = !self.is_empty() && places.len() <= GAPS_MAX;
        is_noted.then_some(Gaps { shape: self.shape, places })
    }

    /// Returns the node of the document itself; [`None`] if the resource has no collections.
    pub(crate) fn root(&self) -> Option<&Node> {
        (!self.is_empty()).then_some(&self.root)
    }

    /// Finds the gaps of a canonical text by scanning it. In an invalid text, only the gaps before
    /// the fault are found.
    pub(crate) fn find(&self, body: &str) -> Vec<Gap> {
        let mut scan = GapScan { bytes: body.as_bytes(), noting: Noting::default() };
        if let Some(root) = self.root() {
            _ = scan.object(root, 0);
        }
        scan.noting.gaps
    }

    /// Builds the node of the object at a path; `of_projects` says that it is the member for
    /// extensions.
    fn node(
        &mut self,
        properties: &[Property],
        path: &str,
        of_projects: bool,
        paths: &mut String,
    ) -> Node {
        let first = self.starts.len();
        let mut members: Vec<Member> = vec![];
        for property in properties {
            let value = match &property.kind {
                PropertyKind::List(_) => Some("[]".to_owned()),
                PropertyKind::Object(projects) if property.is_extensions() => {
                    object(projects.iter().filter_map(of_collections_alone))
                }
                PropertyKind::Object(_) if of_projects => {
                    of_collections_alone(property).map(|(_, value)| value)
                }
                PropertyKind::Object(_) | PropertyKind::Scalar(_) | PropertyKind::Reference(_) => {
                    None
                }
            };
            let number = value.map(|value| {
                self.starts.push(self.text.len());
                _ = write!(self.text, ",\"{}\":{value}", property.name);
                self.starts.len() - 1
            });
            members.push(Member { name: property.name.clone(), number, inner: Inner::Nothing });
        }
        let count = self.starts.len() - first;
        _ = write!(paths, "{path} {first} {count};");
        for (member, property) in members.iter_mut().zip(properties) {
            let path = format!("{path}.{}", property.name);
            let (PropertyKind::Object(inner) | PropertyKind::List(inner)) = &property.kind else {
                continue;
            };
            let node = self.node(inner, &path, property.is_extensions(), paths);
            let is_list = matches!(property.kind, PropertyKind::List(_));
            member.inner = match (node.members.is_empty(), is_list) {
                (true, _) => Inner::Nothing,
                (false, true) => Inner::Items(node),
                (false, false) => Inner::Object(node),
            };
        }
        let matters =
            |member: &Member| member.number.is_some() || !matches!(member.inner, Inner::Nothing);
        members.retain(matters);
        Node { first, count, members }
    }
}

/// Returns the name of an extension that has only collections, and its value without items;
/// [`None`] for any other extension.
fn of_collections_alone(project: &Property) -> Option<(&str, String)> {
    let PropertyKind::Object(added) = &project.kind else { return None };
    let is_alone = added.iter().all(|property| matches!(property.kind, PropertyKind::List(_)));
    let lists = added.iter().map(|property| (property.name.as_str(), "[]".to_owned()));
    object(lists).filter(|_| is_alone).map(|value| (project.name.as_str(), value))
}

/// Writes an object of these members; [`None`] if there are none.
fn object<'m>(members: impl Iterator<Item = (&'m str, String)>) -> Option<String> {
    let members: Vec<String> = members.map(|(name, value)| format!("\"{name}\":{value}")).collect();
    (!members.is_empty()).then(|| format!("{{{}}}", members.join(",")))
}

impl Node {
    /// Finds the member with a name and sets the next one to try; members are mostly in order.
    fn member(&self, name: &[u8], next: &mut usize) -> Option<&Member> {
        let (before, after) = self.members.split_at(*next);
        let found = after.iter().chain(before).position(|member| member.name.as_bytes() == name)?;
        let at = (*next + found) % self.members.len();
        *next = at + 1;
        Some(&self.members[at])
    }
}

/// Notes gaps while a text is written or read.
#[derive(Debug, Default)]
pub(crate) struct Noting {
    /// For each open object, which of its members are present.
    present: Vec<bool>,
    /// The gaps of the objects that were closed.
    pub(crate) gaps: Vec<Gap>,
}

/// An object that is open; the place of its first member in [`Noting`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opened(usize);

impl Noting {
    /// Opens an object.
    pub(crate) fn open(&mut self, node: &Node) -> Opened {
        let first = self.present.len();
        self.present.resize(first + node.count, false);
        Opened(first)
    }

    /// Notes that the open object has a member.
    pub(crate) fn has(&mut self, Opened(first): Opened, node: &Node, member: &Member) {
        if let Some(number) = member.number {
            self.present[first + number - node.first] = true;
        }
    }

    /// Notes the members that the object lacks, which closes at the byte `at`; consecutive ones form
    /// one gap.
    pub(crate) fn close(&mut self, Opened(first): Opened, node: &Node, at: usize) {
        if let Ok(offset) = u32::try_from(at) {
            let mut number = 0;
            while number < node.count {
                let rest = &self.present[first + number..];
                let run = rest.iter().take_while(|present| !**present).count();
                let missing = u16::try_from(node.first + number);
                if let (Ok(first), Ok(count @ 1..)) = (missing, u16::try_from(run)) {
                    self.gaps.push(Gap { offset, first, count });
                }
                number += run + 1;
            }
        }
        self.present.truncate(first);
    }
}

/// A scan of a text for the members that its objects lack.
struct GapScan<'b> {
    bytes: &'b [u8],
    noting: Noting,
}

impl GapScan<'_> {
    /// Scans an object that begins at `brace`; returns its end, or [`None`] if it is invalid.
    fn object(&mut self, node: &Node, brace: usize) -> Option<usize> {
        let opened = self.noting.open(node);
        let (mut at, mut next) = (brace + 1, 0);
        while *self.bytes.get(at)? == b'"' {
            let colon = after_string(self.bytes, at)?;
            let member = node.member(&self.bytes[at + 1..colon - 1], &mut next);
            if let Some(member) = member {
                self.noting.has(opened, node, member);
            }
            at = match (member.map(|member| &member.inner), self.bytes.get(colon + 1)?) {
                (Some(Inner::Object(node)), b'{') => self.object(node, colon + 1)?,
                (Some(Inner::Items(node)), b'[') => self.items(node, colon + 1)?,
                _ => after_value(self.bytes, colon + 1)?,
            };
            at += usize::from(*self.bytes.get(at)? == b',');
        }
        if self.bytes[at] != b'}' {
            return None;
        }
        self.noting.close(opened, node, at);
        Some(at + 1)
    }

    fn items(&mut self, node: &Node, bracket: usize) -> Option<usize> {
        let mut at = bracket + 1;
        while *self.bytes.get(at)? == b'{' {
            at = self.object(node, at)?;
            at += usize::from(*self.bytes.get(at)? == b',');
        }
        (self.bytes[at] == b']').then_some(at + 1)
    }
}
