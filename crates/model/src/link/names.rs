//! What each name of the files stands for.

use std::collections::HashMap;

use super::{LinkError, index, wrong};
use crate::resource::{AbstractId, ResourceId, Scalar, Target};
use crate::source::{ResourceKind, ResourceSource, Type};

/// Text without a stated length may have this many characters.
const TEXT_MAX: u32 = 65_536;

#[derive(Default)]
pub(super) struct Names<'a> {
    pub(super) targets: HashMap<String, Target>,
    pub(super) resources: Vec<(usize, &'a ResourceSource)>,
    pub(super) abstracts: Vec<&'a ResourceSource>,
}

impl<'a> Names<'a> {
    pub(super) fn add(
        &mut self,
        project: usize,
        source: &'a ResourceSource,
    ) -> Result<(), LinkError> {
        let target = if source.kind == ResourceKind::Abstract {
            self.abstracts.push(source);
            Target::Abstract(AbstractId(index(self.abstracts.len() - 1)))
        } else {
            self.resources.push((project, source));
            Target::Resource(ResourceId(index(self.resources.len() - 1)))
        };
        match self.targets.insert(source.name.clone(), target) {
            Some(_) => Err(wrong(source, "the name stands twice")),
            None => Ok(()),
        }
    }

    pub(super) fn all(&self) -> Vec<Target> {
        let resources = (0..self.resources.len()).map(|at| Target::Resource(ResourceId(index(at))));
        let bases = (0..self.abstracts.len()).map(|at| Target::Abstract(AbstractId(index(at))));
        resources.chain(bases).collect()
    }

    pub(super) fn source(&self, target: Target) -> &'a ResourceSource {
        match target {
            Target::Resource(id) => self.resources[usize::from(id.0)].1,
            Target::Abstract(id) => self.abstracts[usize::from(id.0)],
        }
    }

    pub(super) fn target(&self, owner: &ResourceSource, name: &str) -> Result<Target, LinkError> {
        self.targets
            .get(name)
            .copied()
            .ok_or_else(|| wrong(owner, format!("nothing is named `{name}`")))
    }

    pub(super) fn scalar(
        &self,
        owner: &ResourceSource,
        kind: &Type,
    ) -> Result<Option<Scalar>, LinkError> {
        Ok(Some(match kind {
            Type::Text { min, max } => Scalar::Text { min: *min, max: max.unwrap_or(TEXT_MAX) },
            Type::Integer { bits, min, max } => {
                let (least, greatest) = if *bits == 32 {
                    (i64::from(i32::MIN), i64::from(i32::MAX))
                } else {
                    (i64::MIN, i64::MAX)
                };
                Scalar::Integer {
                    bits: *bits,
                    min: bound(owner, min.as_deref())?.unwrap_or(least),
                    max: bound(owner, max.as_deref())?.unwrap_or(greatest),
                }
            }
            Type::Decimal { precision, scale, min, max } => Scalar::Decimal {
                precision: *precision,
                scale: *scale,
                min: bound(owner, min.as_deref())?,
                max: bound(owner, max.as_deref())?,
            },
            Type::Boolean => Scalar::Boolean,
            Type::Date => Scalar::Date,
            Type::DateTime => Scalar::DateTime,
            Type::Time => Scalar::Time,
            Type::Descriptor(name) => match self.target(owner, name)? {
                Target::Resource(id)
                    if self.resources[usize::from(id.0)].1.kind == ResourceKind::Descriptor =>
                {
                    Scalar::Descriptor(id)
                }
                _ => return Err(wrong(owner, format!("`{name}` is no descriptor"))),
            },
            Type::Reference { .. } | Type::Object(_) | Type::List(_) => return Ok(None),
        }))
    }
}

fn bound<T: std::str::FromStr>(
    owner: &ResourceSource,
    text: Option<&str>,
) -> Result<Option<T>, LinkError> {
    text.map(|text| text.parse().map_err(|_| wrong(owner, format!("`{text}` is no bound"))))
        .transpose()
}
