//! Reads definitions of composites from XML, strictly: anything that the schema does not have is an
//! error that names its line.
//!
//! Source: `Ed-Fi-ODS-API-Composites.xsd` of the Ed-Fi ODS/API 7.3.

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::CompositeError;

/// Most bytes of a file of definitions.
pub const FILE_BYTES_MAX: usize = 1 << 20;
/// Deepest nesting of elements.
const DEPTH_MAX: usize = 24;

/// The attributes and children that an element may have.
struct Rule {
    element: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
    children: &'static [&'static str],
}

/// All elements of the schema. A `LinkedCollection` is written as a resource is.
static RULES: [Rule; 13] = [
    Rule {
        element: "CompositeMetadata",
        required: &["organizationCode"],
        optional: &[],
        children: &["Category"],
    },
    Rule {
        element: "Category",
        required: &["displayName", "name"],
        optional: &[],
        children: &["Routes", "Composites"],
    },
    Rule { element: "Routes", required: &[], optional: &[], children: &["Route"] },
    Rule {
        element: "Route",
        required: &["relativeRouteTemplate"],
        optional: &["compositeNameConstraint"],
        children: &[],
    },
    Rule { element: "Composites", required: &[], optional: &[], children: &["Composite"] },
    Rule {
        element: "Composite",
        required: &["name"],
        optional: &[],
        children: &["Specification", "BaseResource"],
    },
    Rule { element: "Specification", required: &[], optional: &[], children: &["Parameter"] },
    Rule {
        element: "Parameter",
        required: &["name", "filterPath"],
        optional: &["queryable", "description"],
        children: &[],
    },
    Rule {
        element: "BaseResource",
        required: &["name"],
        optional: &["displayName", "logicalSchema"],
        children: OF_RESOURCE,
    },
    Rule {
        element: "LinkedCollection",
        required: &["name"],
        optional: &["displayName", "logicalSchema"],
        children: OF_RESOURCE,
    },
    Rule {
        element: "ReferencedResource",
        required: &["name"],
        optional: &["displayName", "flatten", "includeResourceSubtype"],
        children: OF_RESOURCE,
    },
    Rule {
        element: "Collection",
        required: &["name"],
        optional: &["displayName"],
        children: &["Property", "Collection", "ReferencedResource"],
    },
    Rule {
        element: "EmbeddedObject",
        required: &["name"],
        optional: &["displayName", "flatten"],
        children: &["Property", "Collection", "ReferencedResource", "EmbeddedObject"],
    },
];

static PROPERTY: Rule =
    Rule { element: "Property", required: &["name"], optional: &["displayName"], children: &[] };

const OF_RESOURCE: &[&str] =
    &["Property", "Collection", "ReferencedResource", "LinkedCollection", "EmbeddedObject"];

fn rule(element: &str) -> Option<&'static Rule> {
    RULES.iter().chain([&PROPERTY]).find(|rule| rule.element == element)
}

/// An element of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// Its name, `BaseResource`.
    pub name: String,
    /// Line in its file, from 1.
    pub line: usize,
    attributes: Vec<(String, String)>,
    /// The elements inside, in order.
    pub children: Vec<Element>,
}

impl Element {
    /// Returns an attribute, if it was given.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Returns an attribute that the schema demands.
    pub fn required(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// Returns whether an attribute is true; one that is missing is not.
    pub fn is(&self, name: &str) -> bool {
        matches!(self.get(name), Some("true" | "1"))
    }

    /// Returns the children with a name.
    pub fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Self> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// Reads a file of definitions. Returns its `CompositeMetadata` element.
///
/// # Errors
///
/// Names the file, the line, what was found there and what is allowed there.
pub fn read(file: &str, text: &str) -> Result<Element, CompositeError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let fail = |line: usize, what: String| CompositeError { file: file.into(), line, what };
    if text.len() > FILE_BYTES_MAX {
        return Err(fail(1, format!("a file of composites has at most {FILE_BYTES_MAX} bytes")));
    }
    let mut reader = Reader::from_str(text);
    let mut lines = Lines { text, at: 0, line: 1 };
    let mut open: Vec<Element> = vec![];
    let mut root: Option<Element> = None;
    loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let line = lines.of(at);
        let event =
            reader.read_event().map_err(|error| fail(line, format!("this is not XML: {error}")))?;
        let closed = match event {
            Event::Start(_) | Event::Empty(_) if root.is_some() => {
                return Err(fail(line, "nothing may follow CompositeMetadata".into()));
            }
            Event::Start(tag) => {
                if open.len() == DEPTH_MAX {
                    return Err(fail(line, format!("more than {DEPTH_MAX} elements are open")));
                }
                let element = begin(&tag, line, open.last()).map_err(|what| fail(line, what))?;
                open.push(element);
                None
            }
            Event::Empty(tag) => {
                Some(begin(&tag, line, open.last()).map_err(|what| fail(line, what))?)
            }
            Event::End(_) => open.pop(),
            Event::Text(text) if !text.xml10_content().trim().is_empty() => {
                return Err(fail(line, "there is text where only elements are allowed".into()));
            }
            Event::CData(_) | Event::DocType(_) | Event::GeneralRef(_) => {
                return Err(fail(line, "only elements and comments are allowed here".into()));
            }
            Event::Eof => {
                let ended = || fail(line, "the file ends before CompositeMetadata does".into());
                return root.ok_or_else(ended);
            }
            _ => None,
        };
        let Some(closed) = closed else { continue };
        complete(&closed).map_err(|what| fail(closed.line, what))?;
        match open.last_mut() {
            Some(parent) => parent.children.push(closed),
            None => root = Some(closed),
        }
    }
}

/// Counts lines as positions grow.
struct Lines<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    fn of(&mut self, at: usize) -> usize {
        let at = at.min(self.text.len());
        self.line += self.text.get(self.at..at).unwrap_or_default().matches('\n').count();
        self.at = at;
        self.line
    }
}

fn begin(tag: &BytesStart<'_>, line: usize, parent: Option<&Element>) -> Result<Element, String> {
    let name = tag.local_name().as_ref().to_owned();
    let allowed = parent.map_or(&["CompositeMetadata"][..], |parent| {
        rule(&parent.name).map_or(&[], |rule| rule.children)
    });
    if !allowed.contains(&name.as_str()) {
        let place = parent.map_or("the file".to_owned(), |parent| parent.name.clone());
        return Err(match allowed {
            [] => format!("{place} cannot contain elements, but contains {name}"),
            _ => format!("{place} has no {name}; it may have {}", allowed.join(", ")),
        });
    }
    let rule = rule(&name).ok_or_else(|| format!("there is no element {name}"))?;
    let mut attributes = vec![];
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|error| format!("{name}: {error}"))?;
        let key = attribute.key.as_ref().to_owned();
        // These attributes name the schema that a file follows.
        if key.starts_with("xmlns") || key.starts_with("xsi:") {
            continue;
        }
        if !rule.required.contains(&key.as_str()) && !rule.optional.contains(&key.as_str()) {
            let known = [rule.required, rule.optional].concat();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            return Err(format!("{name} has no attribute {key}; it may have {known}"));
        }
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|error| format!("{name}: {key}: {error}"))?
            .trim()
            .to_owned();
        if matches!(key.as_str(), "flatten" | "includeResourceSubtype" | "queryable")
            && !matches!(value.as_str(), "true" | "false" | "1" | "0")
        {
            return Err(format!("{name}: {key} must be true or false, not `{value}`"));
        }
        attributes.push((key, value));
    }
    for key in rule.required {
        if attributes.iter().all(|(own, value)| own != key || value.is_empty()) {
            return Err(format!("{name} needs the attribute {key}"));
        }
    }
    Ok(Element { name, line, attributes, children: vec![] })
}

/// Refuses an element that lacks a required child.
fn complete(element: &Element) -> Result<(), String> {
    let count = |name: &str| element.all(name).count();
    let needs = |name: &str| format!("{} needs a {name} inside", element.name);
    let once = |name: &str| format!("{} has one {name}", element.name);
    match element.name.as_str() {
        "CompositeMetadata" if count("Category") == 0 => Err(needs("Category")),
        "Category" if count("Composites") == 0 => Err(needs("Composites")),
        "Category" if count("Composites") > 1 => Err(once("Composites")),
        "Category" if count("Routes") > 1 => Err(once("Routes")),
        "Composites" if count("Composite") == 0 => Err(needs("Composite")),
        "Composite" if count("BaseResource") == 0 => Err(needs("BaseResource")),
        "Composite" if count("BaseResource") > 1 => Err(once("BaseResource")),
        "Composite" if count("Specification") > 1 => Err(once("Specification")),
        "BaseResource" | "LinkedCollection" | "ReferencedResource" | "Collection"
        | "EmbeddedObject"
            if element.children.is_empty() =>
        {
            Err(needs("Property"))
        }
        _ => Ok(()),
    }
}
