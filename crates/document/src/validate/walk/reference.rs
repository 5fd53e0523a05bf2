//! A reference, whose parts name another document.

use homeroom_model::{Property, Reference, Scalar};

use super::super::document::{FoundDescriptor, FoundReference};
use super::super::key::key_bytes;
use super::super::path::Path;
use super::{REFERENCES_MAX, TOO_MANY_REFERENCES, Walk};
use crate::json::Json;
use crate::scalar;

impl Walk<'_> {
    /// Writes a reference and returns whether it is valid; `spans` are the ranges of its parts'
    /// values, if it is a property of the document itself.
    pub(super) fn reference(
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
        let mut missing: Vec<&str> = vec![];
        let (before, whole) = (self.count, path);
        let parts_before = self.parts.len();
        for (at, part) in reference.parts.iter().enumerate() {
            let path = path.then(at);
            let sent = Json::member(members, &part.name)
                .filter(|sent| **sent != Json::Null && !scalar::is_blank(sent));
            let Some(sent) = sent else {
                missing.push(&part.name);
                continue;
            };
            let start = self.begin_member(&part.name).value;
            if let Err(message) = scalar::write(&mut self.body, part.scalar, sent) {
                self.note(path, message);
            } else if scalar::is_default(&part.name, part.scalar, &self.body[start..]) {
                missing.push(&part.name);
            } else if let (Scalar::Text { .. }, Json::Text(text)) = (part.scalar, sent)
                && text.trim() != text.as_ref()
            {
                self.note(path, "The value must not begin or end with white space.");
            } else if let (Scalar::Descriptor(descriptor), Json::Text(uri)) = (part.scalar, sent) {
                let key = self.catalog.descriptor_key(descriptor, uri);
                if self.parts.len() < REFERENCES_MAX {
                    self.parts.push(FoundDescriptor { path, descriptor, key });
                }
                self.note_spelling(key, start);
            }
            texts.push((start, self.body.len()));
        }
        self.body.push('}');
        if !missing.is_empty() {
            let are = if missing.len() == 1 { "is" } else { "are" };
            let missing = missing.join(", ");
            self.note(whole, format!("{} is incomplete: {missing} {are} required.", property.name));
        }
        if self.count > before {
            // For an invalid reference, only its own violations are reported.
            self.parts.truncate(parts_before);
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
}
