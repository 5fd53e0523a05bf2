//! Reads what a model needs from the XML schemas: complex types with their elements, simple types
//! with their bounds, enumerations, and what each interchange may carry.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::outcome::Problem;

/// Contents of the schema files.
#[derive(Debug, Default)]
pub struct Schemas {
    /// Version of the standard, the last part of the target namespace.
    pub version: String,
    /// Complex types by name.
    pub complex: HashMap<String, ComplexType>,
    /// Simple types by name.
    pub simple: HashMap<String, SimpleType>,
    /// Names and types of elements, by interchange, `MasterSchedule`.
    pub interchanges: BTreeMap<String, Vec<Element>>,
}

/// A complex type.
#[derive(Debug, Default)]
pub struct ComplexType {
    /// The type it extends.
    pub base: Option<String>,
    /// Its group, from the annotation: `Domain Entity`, `Common`, `Identity`, …
    pub group: String,
    /// Its own elements in order, including those of a choice.
    pub elements: Vec<Element>,
}

/// An element inside a complex type.
#[derive(Debug, Clone)]
pub struct Element {
    /// Element name.
    pub name: String,
    /// Its type; a built-in type has `xs:` in front.
    pub kind: String,
    /// Whether it may occur more than once.
    pub many: bool,
}

/// A simple type.
#[derive(Debug, Default)]
pub struct SimpleType {
    /// The type it restricts.
    pub base: String,
    /// Its group, from the annotation.
    pub group: String,
    /// Fewest characters.
    pub min_length: Option<u32>,
    /// Least value.
    pub min: Option<String>,
    /// Greatest value.
    pub max: Option<String>,
    /// The values of an enumeration; empty for other types.
    pub values: Vec<String>,
}

impl SimpleType {
    /// Whether it is a list of values that the standard fixes.
    pub fn is_enumeration(&self) -> bool {
        self.group == "Enumeration"
    }
}

impl Schemas {
    /// Adds one schema file.
    ///
    /// # Errors
    ///
    /// Returns a problem when the file is no XML.
    pub fn add(&mut self, text: &str) -> Result<(), Problem> {
        let mut reader = Reader::from_str(text);
        let mut at = Position::default();
        loop {
            let position = reader.buffer_position();
            let event = reader.read_event().map_err(|error| {
                Problem::new(format!("byte {position}"), format!("not XML: {error}"))
            })?;
            match event {
                Event::Start(tag) => {
                    self.open(&tag, &mut at)?;
                    at.open.push(local(&tag));
                }
                Event::Empty(tag) => {
                    self.open(&tag, &mut at)?;
                    at.close(&local(&tag));
                }
                Event::End(_) => {
                    if let Some(name) = at.open.pop() {
                        at.close(&name);
                    }
                }
                Event::Text(text) if at.open.last().is_some_and(|tag| tag == "TypeGroup") => {
                    let group = text.xml10_content().trim().to_owned();
                    if let Some(found) = at.simple.as_ref().and_then(|n| self.simple.get_mut(n)) {
                        found.group = group;
                    } else if let Some(found) =
                        at.complex.as_ref().and_then(|n| self.complex.get_mut(n))
                    {
                        found.group = group;
                    }
                }
                Event::Eof => return Ok(()),
                _ => {}
            }
        }
    }

    fn open(&mut self, tag: &BytesStart<'_>, at: &mut Position) -> Result<(), Problem> {
        let attribute = |name: &str| attribute(tag, name);
        let value = || attribute("value").unwrap_or_default();
        match local(tag).as_str() {
            "schema" => {
                let namespace = attribute("targetNamespace").unwrap_or_default();
                let last = namespace.rsplit('/').next().unwrap_or("");
                if last.starts_with(|first: char| first.is_ascii_digit()) {
                    last.clone_into(&mut self.version);
                }
            }
            "complexType" => {
                if let Some(name) = attribute("name") {
                    self.complex.insert(name.clone(), ComplexType::default());
                    at.complex = Some(name);
                }
            }
            "simpleType" => {
                if let Some(name) = attribute("name") {
                    self.simple.insert(name.clone(), SimpleType::default());
                    at.simple = Some(name);
                }
            }
            "extension" => {
                if let Some(found) = at.complex.as_ref().and_then(|n| self.complex.get_mut(n)) {
                    found.base = attribute("base");
                }
            }
            "element" => {
                let name = attribute("name")
                    .ok_or_else(|| Problem::new("xs:element", "it has no name"))?;
                match attribute("type") {
                    Some(kind) => {
                        let many = attribute("maxOccurs").is_some_and(|most| most != "1");
                        let element = Element { name, kind, many };
                        self.elements(at).push(element);
                    }
                    None => at.interchange = name.strip_prefix("Interchange").map(String::from),
                }
            }
            other => {
                let Some(found) = at.simple.as_ref().and_then(|n| self.simple.get_mut(n)) else {
                    return Ok(());
                };
                match other {
                    "restriction" => found.base = attribute("base").unwrap_or_default(),
                    "minLength" => found.min_length = value().parse().ok(),
                    "minInclusive" => found.min = Some(value()),
                    "maxInclusive" => found.max = Some(value()),
                    "enumeration" => found.values.push(value()),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn elements(&mut self, at: &Position) -> &mut Vec<Element> {
        match (&at.complex, &at.interchange) {
            (Some(name), _) => &mut self.complex.entry(name.clone()).or_default().elements,
            (None, Some(name)) => self.interchanges.entry(name.clone()).or_default(),
            (None, None) => &mut self.complex.entry(String::new()).or_default().elements,
        }
    }

    /// Returns the elements of a complex type, those of its bases first, each with the type that
    /// declares it.
    pub fn elements_of(&self, name: &str) -> Vec<(String, &Element)> {
        let Some(found) = self.complex.get(name) else { return vec![] };
        let mut all = found.base.as_deref().map_or(vec![], |base| self.elements_of(base));
        all.extend(found.elements.iter().map(|element| (name.to_owned(), element)));
        all
    }

    /// Iterates over a simple type and the types that it restricts, the nearest first.
    pub fn restrictions(&self, name: &str) -> impl Iterator<Item = &SimpleType> {
        std::iter::successors(self.simple.get(name), |found| self.simple.get(&found.base))
    }
}

/// Where the reader is in a file.
#[derive(Default)]
struct Position {
    open: Vec<String>,
    complex: Option<String>,
    simple: Option<String>,
    interchange: Option<String>,
}

impl Position {
    fn close(&mut self, name: &str) {
        match name {
            "complexType" => self.complex = None,
            "simpleType" => self.simple = None,
            _ => {}
        }
    }
}

fn local(tag: &BytesStart<'_>) -> String {
    tag.local_name().as_ref().to_owned()
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = tag.try_get_attribute(name).ok()??;
    found.normalized_value(XmlVersion::Implicit1_0).ok().map(Cow::into_owned)
}
