//! A place in one document.

use std::fmt::Write as _;

use homeroom_model::{PropertyKind, Resource};

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

    /// The JSON path, `$.addresses[0].city`.
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
