//! A place in one document.

use std::fmt::Write as _;

use homeroom_model::{Property, PropertyKind, Reference, Resource};

use crate::json::{Step, write_text};

/// A place in one document: property indices and, after a list, the item's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Path {
    steps: [u32; 12],
    length: u8,
}

impl Path {
    pub(super) fn then(mut self, step: usize) -> Self {
        if let Some(place) = self.steps.get_mut(usize::from(self.length)) {
            *place = u32::try_from(step).unwrap_or(u32::MAX);
            self.length += 1;
        }
        self
    }

    /// Returns the JSON path, `$.addresses[0].city`.
    pub fn json(&self, resource: &Resource) -> String {
        let mut out = String::from("$");
        let mut properties = Some(resource.properties.as_slice());
        let mut steps = self.steps[..usize::from(self.length)].iter();
        while let (Some(step), Some(inside)) = (steps.next(), properties.take()) {
            let Some(property) = inside.get(*step as usize) else { break };
            out.push('.');
            out.push_str(&property.name);
            match &property.kind {
                PropertyKind::Object(inner) => properties = Some(inner),
                PropertyKind::List(inner) => {
                    if let Some(item) = steps.next() {
                        _ = write!(out, "[{item}]");
                    }
                    properties = Some(inner);
                }
                PropertyKind::Reference(reference) => {
                    if let Some(part) = steps.next().and_then(|s| reference.parts.get(*s as usize))
                    {
                        out.push('.');
                        out.push_str(&part.name);
                    }
                }
                PropertyKind::Scalar(_) => {}
            }
        }
        out
    }
}

/// Returns the JSON path of steps into a body sent for a resource: `$.addresses[0].city`. Members
/// that the resource has are named as the model names them, others as they were sent.
pub fn json_path(resource: &Resource, way: &[Step]) -> String {
    let mut out = String::from("$");
    let mut properties: Option<&[Property]> = Some(&resource.properties);
    let mut parts = None;
    for step in way {
        let name = match step {
            Step::Item(at) => {
                _ = write!(out, "[{at}]");
                continue;
            }
            Step::Member(name) => name,
        };
        let inside = properties.take().unwrap_or_default();
        let property = inside.iter().find(|property| property.name.eq_ignore_ascii_case(name));
        let part = parts.take().and_then(|reference: &Reference| {
            reference.parts.iter().find(|part| part.name.eq_ignore_ascii_case(name))
        });
        match property.map(|property| &property.kind) {
            Some(PropertyKind::Object(inner) | PropertyKind::List(inner)) => {
                properties = Some(inner);
            }
            Some(PropertyKind::Reference(reference)) => parts = Some(reference),
            Some(PropertyKind::Scalar(_)) | None => {}
        }
        let known = property.map(|property| &property.name).or(part.map(|part| &part.name));
        let name = known.unwrap_or(name);
        let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '$');
        if name.chars().all(is_plain) && !name.is_empty() {
            out.push('.');
            out.push_str(name);
        } else {
            out.push('[');
            write_text(&mut out, name);
            out.push(']');
        }
    }
    out
}
