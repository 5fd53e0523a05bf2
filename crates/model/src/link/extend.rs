//! What extensions add to resources of the standard: properties under `_ext`, by schema.

use std::collections::HashMap;

use super::error::LinkError;
use super::names::{Names, Owner};
use super::properties::Properties;
use crate::resource::{EXTENSIONS, Property, PropertyKind, ResourceId, Target};
use crate::source::{ExtensionSource, Presence, Source};

/// The extensions in all files, by the resource that they extend.
#[derive(Default)]
pub(super) struct Extensions<'a> {
    by_resource: HashMap<ResourceId, Vec<(Owner<'a>, &'a ExtensionSource)>>,
}

impl<'a> Extensions<'a> {
    pub(super) fn of(sources: &'a [Source], names: &Names<'a>) -> Result<Self, LinkError> {
        let mut all = Self::default();
        for (project, source) in sources.iter().enumerate() {
            for extension in &source.extensions {
                let name = extension.target.rsplit('/').next().unwrap_or(&extension.target);
                let owner = names.owner(project, name);
                let id = match names.target_of_extension(owner, &extension.target)? {
                    Target::Resource(id) if names.resources[usize::from(id.0)].0 != project => id,
                    Target::Resource(_) => {
                        return Err(owner.wrong(
                            "it extends a resource of its own; give the properties to that",
                        ));
                    }
                    Target::Abstract(_) => {
                        return Err(owner.wrong(
                            "it extends an abstract base, which has no documents; extend its subclasses",
                        ));
                    }
                };
                let known = all.by_resource.entry(id).or_default();
                if known.iter().any(|(other, _)| other.project == project) {
                    return Err(owner.wrong("the file extends it twice; join the two sections"));
                }
                known.push((owner, extension));
            }
        }
        Ok(all)
    }

    pub(super) fn of_resource(&self, id: ResourceId) -> &[(Owner<'a>, &'a ExtensionSource)] {
        self.by_resource.get(&id).map_or(&[], Vec::as_slice)
    }
}

/// Adds an extension's properties to those of a resource.
pub(super) fn extend(
    properties: Properties<'_>,
    owner: Owner<'_>,
    extension: &ExtensionSource,
    root: &mut Vec<Property>,
) -> Result<(), LinkError> {
    for part in &extension.parts {
        if let Some(key) = part.properties.iter().find(|p| p.presence == Presence::Key) {
            return Err(owner.wrong(format!(
                "`{}` is marked as part of a key; an extension cannot add to the key of the \
                 resource that it extends; write ! or ?",
                key.name
            )));
        }
        let added = properties.resolve(owner, &part.properties)?;
        let inside = inside(owner, root, &part.within)?;
        let presence = if extension.required && part.within.is_empty() {
            Presence::Required
        } else {
            Presence::Optional
        };
        let projects = extensions_in(inside);
        if presence == Presence::Required {
            projects.presence = presence;
        }
        let PropertyKind::Object(projects) = &mut projects.kind else {
            return Err(owner.wrong("extensions must add an object"));
        };
        if projects.iter().any(|property| property.name == owner.schema) {
            return Err(owner.wrong(format!("`in {}` appears twice; join the two", part.within)));
        }
        projects.push(Property {
            name: owner.schema.to_owned(),
            presence,
            kind: PropertyKind::Object(added),
            xml: String::new(),
        });
    }
    Ok(())
}

/// Finds the properties of the object at a path of names.
fn inside<'p>(
    owner: Owner<'_>,
    root: &'p mut Vec<Property>,
    path: &str,
) -> Result<&'p mut Vec<Property>, LinkError> {
    let mut at = root;
    for name in path.split('.').filter(|name| !name.is_empty()) {
        let found = at.iter_mut().find(|property| property.name == name);
        match found.map(|property| &mut property.kind) {
            Some(PropertyKind::Object(inner) | PropertyKind::List(inner)) => at = inner,
            _ => {
                return Err(owner.wrong(format!(
                    "`in {path}`: `{name}` is not an object or collection of what it extends"
                )));
            }
        }
    }
    Ok(at)
}

/// Returns the property that holds extensions of an object, created if missing.
fn extensions_in(properties: &mut Vec<Property>) -> &mut Property {
    let at = properties.iter().position(Property::is_extensions).unwrap_or_else(|| {
        properties.push(Property {
            name: EXTENSIONS.to_owned(),
            presence: Presence::Optional,
            kind: PropertyKind::Object(vec![]),
            xml: String::new(),
        });
        properties.len() - 1
    });
    &mut properties[at]
}
