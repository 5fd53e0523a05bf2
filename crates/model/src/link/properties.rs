//! Resolves the properties of a resource, an abstract base or an extension.

use std::collections::HashMap;

use super::error::LinkError;
use super::keys::reference_parts;
use super::names::{Names, Owner};
use crate::resource::{EXTENSIONS, KeyColumn, Property, PropertyKind, Reference, Target};
use crate::source::{PropertySource, Type};
use crate::words::default_path;

/// What properties are resolved with: the files' names, and the keys of what references lead to.
#[derive(Clone, Copy)]
pub(super) struct Properties<'a> {
    pub(super) names: &'a Names<'a>,
    pub(super) keys: &'a HashMap<Target, Vec<KeyColumn>>,
}

impl Properties<'_> {
    /// Resolves the properties of an object.
    pub(super) fn resolve(
        &self,
        owner: Owner<'_>,
        sources: &[PropertySource],
    ) -> Result<Vec<Property>, LinkError> {
        self.all(owner, sources, false)
    }

    fn items(
        &self,
        owner: Owner<'_>,
        sources: &[PropertySource],
    ) -> Result<Vec<Property>, LinkError> {
        self.all(owner, sources, sources.len() == 1)
    }

    fn all(
        &self,
        owner: Owner<'_>,
        sources: &[PropertySource],
        only: bool,
    ) -> Result<Vec<Property>, LinkError> {
        for (at, source) in sources.iter().enumerate() {
            let twice = |other: &PropertySource| other.name.eq_ignore_ascii_case(&source.name);
            if sources[..at].iter().any(twice) {
                return Err(owner.wrong(format!("`{}` appears twice in one object", source.name)));
            }
            if source.name == EXTENSIONS {
                let message =
                    format!("`{EXTENSIONS}` is reserved for extensions and cannot be a property");
                return Err(owner.wrong(message));
            }
            owner.name("property", &source.name)?;
        }
        sources.iter().map(|source| self.property(owner, source, only)).collect()
    }

    fn property(
        &self,
        owner: Owner<'_>,
        source: &PropertySource,
        only: bool,
    ) -> Result<Property, LinkError> {
        let kind = match &source.kind {
            Type::Reference { target, parts } => {
                let target = self.names.target(owner, target)?;
                let parts = reference_parts(owner, source, parts, &self.keys[&target])?;
                PropertyKind::Reference(Reference { target, parts })
            }
            Type::Object(inner) => PropertyKind::Object(self.resolve(owner, inner)?),
            Type::List(inner) => PropertyKind::List(self.items(owner, inner)?),
            scalar => PropertyKind::Scalar(
                self.names
                    .scalar(owner, scalar)?
                    .expect("what is no reference, object or list is a scalar"),
            ),
        };
        let xml = source.xml.clone().unwrap_or_else(|| default_path(source, only));
        Ok(Property { name: source.name.clone(), presence: source.presence, kind, xml })
    }
}
