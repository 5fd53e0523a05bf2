//! Writes interchange XML: turns a document's members into elements, as the model maps them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use homeroom_model::Model;
use homeroom_model::xml::{Content, Step, XmlElement, xml_shape};
use serde_json::Value;

use super::file::{WriteError, at, create, name_of, resource};
use super::order::ElementOrder;
use crate::batch::Document;

/// Size in bytes from which an interchange continues in another file.
const PART_BYTES_MAX: u64 = 200_000_000;

/// Writes `Student.xml` and the like.
pub(super) struct Xml<'a> {
    model: &'a Model,
    directory: &'a Path,
    order: ElementOrder,
    part_bytes_max: u64,
    /// Interchange and element tree of each resource.
    kinds: HashMap<&'static str, (&'a str, XmlElement)>,
    open: HashMap<&'a str, Interchange>,
    files: Vec<String>,
    text: String,
}

/// A file being written.
struct Interchange {
    part: usize,
    bytes: u64,
    path: PathBuf,
    file: BufWriter<File>,
}

impl<'a> Xml<'a> {
    pub(super) fn new(model: &'a Model, directory: &'a Path) -> Self {
        Self {
            model,
            directory,
            order: ElementOrder::new(),
            part_bytes_max: PART_BYTES_MAX,
            kinds: HashMap::new(),
            open: HashMap::new(),
            files: vec![],
            text: String::new(),
        }
    }

    /// Adds a document to its interchange.
    pub(super) fn add(&mut self, document: &Document) -> Result<(), WriteError> {
        let unplaced = || WriteError::Unplaced { resource: document.resource };
        if !self.kinds.contains_key(document.resource) {
            let resource = resource(self.model, document.resource)?;
            let interchange = resource.interchanges.first().ok_or_else(unplaced)?;
            let mut shape = xml_shape(self.model, resource);
            self.order.sort(&mut shape);
            self.kinds.insert(document.resource, (interchange, shape));
        }
        let (name, shape) = &self.kinds[document.resource];
        let value: Value =
            serde_json::from_str(&document.json).expect("the generator writes whole documents");
        self.text.clear();
        element(&mut self.text, shape, &value, 1);
        if self.open.get(name).is_some_and(|open| open.bytes >= self.part_bytes_max) {
            let full = self.open.remove(name).expect("it is open, as its size was asked for");
            let part = full.part;
            let first = self.path(name, None);
            if part == 1 {
                let path = self.path(name, Some(1));
                full.close(name)?;
                // Creating the file first reserves its name, so that the rename overwrites no other
                // file.
                drop(create(&path)?);
                std::fs::rename(&first, &path).map_err(|source| at(&first, source))?;
                self.files.push(name_of(&path));
            } else {
                self.files.push(full.close(name)?);
            }
            let next =
                Interchange::open(name, self.path(name, Some(part + 1)), part + 1, self.model)?;
            self.open.insert(name, next);
        } else if !self.open.contains_key(name) {
            let next = Interchange::open(name, self.path(name, None), 1, self.model)?;
            self.open.insert(name, next);
        }
        self.open.get_mut(name).expect("it was opened when it was not").write(&self.text)
    }

    /// Closes all files; returns the names of all written files.
    pub(super) fn finish(mut self) -> Result<Vec<String>, WriteError> {
        for (name, open) in self.open {
            self.files.push(open.close(name)?);
        }
        Ok(self.files)
    }

    fn path(&self, interchange: &str, part: Option<usize>) -> PathBuf {
        self.directory.join(match part {
            None => format!("{interchange}.xml"),
            Some(part) => format!("{interchange}-{part:03}.xml"),
        })
    }
}

impl Interchange {
    fn open(name: &str, path: PathBuf, part: usize, model: &Model) -> Result<Self, WriteError> {
        let file = BufWriter::new(create(&path)?);
        let mut open = Self { part, bytes: 0, path, file };
        let version = &model.projects[0].version;
        open.write("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")?;
        open.write(&format!("<Interchange{name} xmlns=\"http://ed-fi.org/{version}\">\n"))?;
        Ok(open)
    }

    fn write(&mut self, text: &str) -> Result<(), WriteError> {
        self.bytes += text.len() as u64;
        self.file.write_all(text.as_bytes()).map_err(|source| at(&self.path, source))
    }

    /// Finishes the file; returns its name.
    fn close(mut self, name: &str) -> Result<String, WriteError> {
        self.write(&format!("</Interchange{name}>\n"))?;
        self.file.flush().map_err(|source| at(&self.path, source))?;
        Ok(name_of(&self.path))
    }
}

/// Writes one element for each place that the shape leads to; an empty one is left out.
fn element(out: &mut String, shape: &XmlElement, around: &Value, depth: usize) {
    places(around, &shape.into, &mut |place| {
        let before = out.len();
        indent(out, depth);
        tag(out, "<", &shape.name);
        let opened = out.len();
        match &shape.content {
            Content::Value(member, _) => text(out, &place[member]),
            Content::SchoolYear(member) => {
                if let Some(year) = place[member].as_i64() {
                    out.push_str(&(year - 1).to_string());
                    out.push('-');
                    out.push_str(&year.to_string());
                }
            }
            Content::Children | Content::Reference { .. } => {
                out.push('\n');
                let inside = out.len();
                for child in &shape.children {
                    element(out, child, place, depth + 1);
                }
                if out.len() == inside {
                    out.truncate(opened);
                } else {
                    indent(out, depth);
                }
            }
            Content::Lookup(_) | Content::Ignored => {}
        }
        if out.len() == opened {
            out.truncate(before);
        } else {
            tag(out, "</", &shape.name);
            out.push('\n');
        }
    });
}

/// Follows the steps from a place in the document to one place or, through a collection, to
/// several.
fn places(place: &Value, steps: &[Step], found: &mut dyn FnMut(&Value)) {
    match steps.split_first() {
        None => found(place),
        Some((Step::Member(name), rest)) => {
            if let Some(inner) = place.get(name) {
                places(inner, rest, found);
            }
        }
        Some((Step::Item(name), rest)) => {
            for item in place.get(name).and_then(Value::as_array).into_iter().flatten() {
                places(item, rest, found);
            }
        }
    }
}

fn text(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => {
            if !text.contains(['&', '<', '>']) {
                return out.push_str(text);
            }
            for c in text.chars() {
                match c {
                    '&' => out.push_str("&amp;"),
                    '<' => out.push_str("&lt;"),
                    '>' => out.push_str("&gt;"),
                    c => out.push(c),
                }
            }
        }
        Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => {}
    }
}

fn tag(out: &mut String, open: &str, name: &str) {
    out.push_str(open);
    out.push_str(name);
    out.push('>');
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n('\t', depth));
}

#[cfg(test)]
mod tests {
    use homeroom_model::{format, link, shipped};

    use super::*;
    use crate::documents::documents;
    use crate::plan::DistrictPlan;

    #[test]
    fn a_large_interchange_is_split_into_numbered_parts() {
        let model = link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap();
        let directory = std::env::temp_dir().join(format!("district-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let mut xml = Xml { part_bytes_max: 4_000, ..Xml::new(&model, &directory) };

        let plan = DistrictPlan::new(30, 1, 2026).unwrap();
        for document in documents(&plan).filter(|document| document.resource == "Student") {
            xml.add(&document).unwrap();
        }
        let mut files = xml.finish().unwrap();

        files.sort();
        let parts: Vec<String> = (1..=files.len()).map(|n| format!("Student-{n:03}.xml")).collect();
        assert!(files.len() > 1);
        assert_eq!(files, parts);
        let texts: Vec<String> =
            files.iter().map(|f| std::fs::read_to_string(directory.join(f)).unwrap()).collect();
        assert!(texts.iter().all(|text| text.ends_with("</InterchangeStudent>\n")));
        let students: usize = texts.iter().map(|text| text.matches("<Student>").count()).sum();
        assert_eq!(students, 30);
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn text_is_escaped() {
        let mut out = String::new();

        text(&mut out, &Value::from("a < b & c > d"));

        assert_eq!(out, "a &lt; b &amp; c &gt; d");
    }
}
