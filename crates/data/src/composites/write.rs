//! Writes an answer from the documents that were found. Values are copied from the stored texts byte
//! for byte.

use homeroom_document::catalog::Catalog;
use homeroom_document::json::{items, member_text, write_text};
use homeroom_http::Problem;
use homeroom_store::Row;

use super::read::{FoundDocuments, link, too_large};
use super::{Member, Node};

/// Most bytes of an answer.
const BYTES_MAX: usize = 64 << 20;

/// Writes the text of an answer.
pub(super) struct Writer<'a, 'n> {
    catalog: &'a Catalog,
    found: &'a FoundDocuments<'n>,
    pub(super) out: Vec<u8>,
}

impl<'a, 'n> Writer<'a, 'n> {
    pub(super) fn new(catalog: &'a Catalog, found: &'a FoundDocuments<'n>) -> Self {
        Self { catalog, found, out: vec![] }
    }

    /// Writes documents as a node shows them, as a list.
    ///
    /// # Errors
    ///
    /// 400 if that is too much for one answer.
    pub(super) fn documents<'r>(
        &mut self,
        node: &Node,
        rows: impl Iterator<Item = &'r Row>,
    ) -> Result<(), Problem> {
        self.out.push(b'[');
        let mut is_first = true;
        for row in rows {
            self.comma(&mut is_first);
            self.document(node, row)?;
        }
        self.out.push(b']');
        Ok(())
    }

    /// Writes a document as a node shows it.
    ///
    /// # Errors
    ///
    /// As [`Writer::documents`].
    pub(super) fn document(&mut self, node: &Node, row: &Row) -> Result<(), Problem> {
        self.object(node, row, &row.body)
    }

    fn object(&mut self, node: &Node, row: &Row, object: &str) -> Result<(), Problem> {
        if self.out.len() > BYTES_MAX {
            return Err(too_large());
        }
        self.out.push(b'{');
        self.members(node, row, object, &mut true)?;
        self.out.push(b'}');
        Ok(())
    }

    fn members(
        &mut self,
        node: &Node,
        row: &Row,
        object: &str,
        is_first: &mut bool,
    ) -> Result<(), Problem> {
        let all = self.found;
        for member in &node.members {
            match member {
                Member::Id { name } => {
                    self.name(name, is_first);
                    self.out.push(b'"');
                    self.out.extend_from_slice(&row.uuid.hex());
                    self.out.push(b'"');
                }
                Member::Value { name, ways, .. } => {
                    let value = |way: &Vec<String>| {
                        way.iter().try_fold(object, |at, step| member_text(at, step))
                    };
                    if let Some(text) = ways.iter().find_map(value) {
                        self.name(name, is_first);
                        self.out.extend_from_slice(text.as_bytes());
                    }
                }
                Member::Collection { name, property, node } => {
                    self.name(name, is_first);
                    self.out.push(b'[');
                    let mut is_first = true;
                    for item in member_text(object, property).into_iter().flat_map(items) {
                        self.comma(&mut is_first);
                        self.object(node, row, item)?;
                    }
                    self.out.push(b']');
                }
                Member::Object { name, property, node } => {
                    if let Some(inner) = member_text(object, property) {
                        self.inside(name.as_deref(), node, None, (row, inner), is_first)?;
                    }
                }
                Member::Base { name, property, node, subtype } => {
                    let Some(inner) = member_text(object, property) else { continue };
                    let kind = subtype.as_deref().zip(self.kind(row, object, property));
                    self.inside(name.as_deref(), node, kind, (row, inner), is_first)?;
                }
                Member::Reference { name, property, node, subtype, .. } => {
                    let link = link(row, object, property);
                    let found = link.and_then(|link| all.row(link.target));
                    let Some(target) = found else { continue };
                    let kind = subtype.as_deref().zip(self.kind(row, object, property));
                    self.inside(name.as_deref(), node, kind, (target, &target.body), is_first)?;
                }
                Member::Linked { name, resource, property, node } => {
                    self.name(name, is_first);
                    self.documents(node, all.linked(*resource, property, row.id).into_iter())?;
                }
            }
        }
        Ok(())
    }

    /// Writes an object as a node shows it, under a name or flattened.
    fn inside(
        &mut self,
        name: Option<&str>,
        node: &Node,
        kind: Option<(&str, String)>,
        (row, object): (&Row, &str),
        is_first: &mut bool,
    ) -> Result<(), Problem> {
        let Some(name) = name else {
            self.members(node, row, object, is_first)?;
            self.subtype(kind, is_first);
            return Ok(());
        };
        self.name(name, is_first);
        self.out.push(b'{');
        let mut is_first = true;
        self.members(node, row, object, &mut is_first)?;
        self.subtype(kind, &mut is_first);
        self.out.push(b'}');
        Ok(())
    }

    fn subtype(&mut self, kind: Option<(&str, String)>, is_first: &mut bool) {
        if let Some((name, kind)) = kind {
            self.name(name, is_first);
            let mut text = String::new();
            write_text(&mut text, &kind);
            self.out.extend_from_slice(text.as_bytes());
        }
    }

    /// Writes the kind of the document to which a reference leads, `edfi.School`, with the schema's name in
    /// the database of the ODS/API.
    fn kind(&self, row: &Row, object: &str, property: &str) -> Option<String> {
        let resource = self.catalog.resource(link(row, object, property)?.kind)?;
        Some(format!("{}.{}", resource.schema.replace('-', ""), resource.name))
    }

    fn name(&mut self, name: &str, is_first: &mut bool) {
        self.comma(is_first);
        let mut text = String::new();
        write_text(&mut text, name);
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b':');
    }

    fn comma(&mut self, is_first: &mut bool) {
        if !std::mem::replace(is_first, false) {
            self.out.push(b',');
        }
    }
}
