//! Links a resource: its properties, base, subjects and the places whose values must agree.

use super::error::LinkError;
use super::extend::{Extensions, extend};
use super::names::Owner;
use super::properties::Properties;
use crate::resource::{
    Base, ColumnSource, Place, Property, PropertyKind, QueryField, Reference, Resource, ResourceId,
    Subject, SubjectOf, Target,
};
use crate::source::ResourceSource;

/// What resources are linked with: the properties' own context, and what extends them.
pub(super) struct Linker<'a> {
    pub(super) properties: Properties<'a>,
    pub(super) extensions: &'a Extensions<'a>,
}

impl Linker<'_> {
    fn associations(
        &self,
        owner: Owner<'_>,
        names: &[String],
    ) -> Result<Vec<ResourceId>, LinkError> {
        let resources =
            names.iter().map(|name| match self.properties.names.target(owner, name)? {
                Target::Resource(id) => Ok(id),
                Target::Abstract(_) => Err(owner.wrong(format!("`{name}` is abstract"))),
            });
        resources.collect()
    }

    /// Resolves a resource, with what extensions add to it.
    pub(super) fn resource(
        &self,
        id: ResourceId,
        owner: Owner<'_>,
        source: &ResourceSource,
    ) -> Result<Resource, LinkError> {
        let mut properties = self.properties.resolve(owner, &source.properties)?;
        let key = self.properties.keys[&Target::Resource(id)].clone();
        let query_fields = query_fields(&properties);
        let base = source.base.as_ref().map(|(name, map)| {
            let Target::Abstract(id) = self.properties.names.target(owner, name)? else {
                return Err(owner.wrong(format!("`{name}` is not an abstract base")));
            };
            let columns = self.properties.keys[&Target::Abstract(id)]
                .iter()
                .map(|column| {
                    let own = map
                        .iter()
                        .find(|pair| pair.base == column.name)
                        .map_or(column.name.as_str(), |pair| &pair.own);
                    key.iter()
                        .position(|k| k.name == own)
                        .ok_or_else(|| owner.wrong(format!("its key has no `{own}` for its base")))
                })
                .collect::<Result<_, _>>()?;
            Ok(Base { id, columns })
        });
        let column_place = |column: &str| {
            query_fields
                .iter()
                .find(|field| field.name == column)
                .map(|field| match field.sources[0] {
                    ColumnSource::Scalar(at) => Place { steps: vec![at], part: None },
                    ColumnSource::Part(at, part) => Place { steps: vec![at], part: Some(part) },
                })
                .ok_or_else(|| owner.wrong(format!("no root column is named `{column}`")))
        };
        let mut unified = places(owner, &properties, &source.unified)?;
        for (owner, extension) in self.extensions.of_resource(id) {
            extend(self.properties, *owner, extension, &mut properties)?;
        }
        for (owner, extension) in self.extensions.of_resource(id) {
            unified.extend(places(*owner, &properties, &extension.unified)?);
        }
        Ok(Resource {
            id,
            project: owner.project,
            schema: owner.schema.to_owned(),
            name: source.name.clone(),
            endpoint: source.endpoint.clone(),
            kind: source.kind,
            base: base.transpose()?,
            updatable_key: source.updatable_key,
            domains: source.domains.clone(),
            interchanges: source.interchanges.clone(),
            element: source.element.clone().unwrap_or_else(|| source.name.clone()),
            ignored_elements: source.ignored_elements.clone(),
            subjects: source
                .subjects
                .iter()
                .map(|subject| {
                    Ok(Subject {
                        kind: subject.kind.clone(),
                        column: subject.column.clone(),
                        place: column_place(&subject.column)?,
                        of: match self.properties.names.target(owner, &subject.kind) {
                            Ok(Target::Abstract(base)) => SubjectOf::Organization(base),
                            Ok(Target::Resource(person)) => SubjectOf::Person(person),
                            Err(_) => SubjectOf::Other,
                        },
                    })
                })
                .collect::<Result<_, LinkError>>()?,
            access_through: self.associations(owner, &source.access_through)?,
            access_by: source
                .access_by
                .iter()
                .map(|(name, through)| Ok((name.clone(), self.associations(owner, through)?)))
                .collect::<Result<_, LinkError>>()?,
            unified,
            query_fields: {
                let mut fields = query_fields.clone();
                for field in &mut fields {
                    field.identity = key.iter().any(|column| column.name == field.name);
                }
                fields
            },
            properties,
            key,
        })
    }
}

fn query_fields(properties: &[Property]) -> Vec<QueryField> {
    let mut fields: Vec<QueryField> = vec![];
    let mut add = |name: &str, scalar, source| {
        if let Some(field) = fields.iter_mut().find(|field| field.name == name) {
            field.sources.push(source);
        } else {
            fields.push(QueryField {
                name: name.into(),
                scalar,
                sources: vec![source],
                identity: false,
            });
        }
    };
    for (at, property) in properties.iter().enumerate() {
        match &property.kind {
            PropertyKind::Scalar(scalar) => add(&property.name, *scalar, ColumnSource::Scalar(at)),
            PropertyKind::Reference(reference) => {
                for (part_at, part) in reference.parts.iter().enumerate() {
                    add(&part.column, part.scalar, ColumnSource::Part(at, part_at));
                }
            }
            PropertyKind::Object(_) | PropertyKind::List(_) => {}
        }
    }
    fields
}

/// Resolves groups of places whose values must agree.
fn places(
    owner: Owner<'_>,
    root: &[Property],
    groups: &[Vec<String>],
) -> Result<Vec<Vec<Place>>, LinkError> {
    groups.iter().map(|group| group.iter().map(|path| place(owner, root, path)).collect()).collect()
}

fn place(owner: Owner<'_>, root: &[Property], path: &str) -> Result<Place, LinkError> {
    let unknown = || owner.wrong(format!("`{path}` is not a place in it"));
    let mut steps = vec![];
    let mut inside = Some(root);
    let mut reference: Option<&Reference> = None;
    let mut part = None;
    for step in path.split('.') {
        if let Some(found) = reference {
            part = Some(found.parts.iter().position(|p| p.name == step).ok_or_else(unknown)?);
            reference = None;
            continue;
        }
        let properties = inside.take().ok_or_else(unknown)?;
        let at = properties.iter().position(|p| p.name == step).ok_or_else(unknown)?;
        steps.push(at);
        match &properties[at].kind {
            PropertyKind::Object(inner) | PropertyKind::List(inner) => inside = Some(inner),
            PropertyKind::Reference(found) => reference = Some(found),
            PropertyKind::Scalar(_) => {}
        }
    }
    if reference.is_some() || inside.is_some() {
        return Err(unknown());
    }
    Ok(Place { steps, part })
}
