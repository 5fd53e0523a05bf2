//! Identities, and the reference members that follow from them.

use std::collections::HashMap;

use super::error::LinkError;
use super::names::{Names, Owner};
use crate::resource::{ColumnSource, KeyColumn, ReferencePart, Target};
use crate::source::{PartSource, Presence, PropertySource, Type};

/// Works out every identity; a key may depend on keys of other resources.
pub(super) struct Keys<'a> {
    pub(super) names: &'a Names<'a>,
    pub(super) done: HashMap<Target, Vec<KeyColumn>>,
    pub(super) open: Vec<Target>,
}

impl Keys<'_> {
    pub(super) fn of(&mut self, target: Target) -> Result<Vec<KeyColumn>, LinkError> {
        if let Some(key) = self.done.get(&target) {
            return Ok(key.clone());
        }
        let (owner, source) = self.names.source(target);
        if self.open.contains(&target) {
            return Err(owner.wrong("its key refers to itself through a cycle"));
        }
        self.open.push(target);
        let mut key: Vec<KeyColumn> = vec![];
        let mut add = |name: &str, scalar, source| {
            if key.iter().all(|column| column.name != name) {
                key.push(KeyColumn { name: name.into(), scalar, source });
            }
        };
        for (at, property) in source.properties.iter().enumerate() {
            if property.presence != Presence::Key {
                continue;
            }
            if let Some(scalar) = self.names.scalar(owner, &property.kind)? {
                add(&property.name, scalar, ColumnSource::Scalar(at));
            } else if let Type::Reference { target, parts } = &property.kind {
                let target = self.names.target(owner, target)?;
                let theirs = self.of(target)?;
                let parts = reference_parts(owner, property, parts, &theirs)?;
                for (part_at, part) in parts.iter().enumerate() {
                    add(&part.column, part.scalar, ColumnSource::Part(at, part_at));
                }
            } else {
                return Err(owner.wrong(format!("`{}` cannot be part of a key", property.name)));
            }
        }
        if key.is_empty() {
            return Err(owner.wrong("it has no key"));
        }
        self.open.pop();
        self.done.insert(target, key.clone());
        Ok(key)
    }
}

/// Returns the members of a reference in the order of its target's key.
pub(super) fn reference_parts(
    owner: Owner<'_>,
    property: &PropertySource,
    parts: &[PartSource],
    key: &[KeyColumn],
) -> Result<Vec<ReferencePart>, LinkError> {
    if parts.len() != key.len() {
        return Err(owner.wrong(format!(
            "`{}` has {} members, its target's key has {} ({})",
            property.name,
            parts.len(),
            key.len(),
            key.iter().map(|k| k.name.as_str()).collect::<Vec<_>>().join(", "),
        )));
    }
    key.iter()
        .map(|column| {
            let part = parts
                .iter()
                .find(|part| part.key.as_deref().unwrap_or(&part.name) == column.name)
                .ok_or_else(|| {
                    owner.wrong(format!("`{}` lacks the key part `{}`", property.name, column.name))
                })?;
            let own = part.column.as_ref().unwrap_or(&part.name);
            owner.name("reference's member", &part.name)?;
            owner.name("reference's member", own)?;
            Ok(ReferencePart {
                name: part.name.clone(),
                column: own.clone(),
                scalar: column.scalar,
            })
        })
        .collect()
}
