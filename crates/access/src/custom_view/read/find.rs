//! Resolves the words of a definition in the model: a member by its path, a basis by the resources
//! that refer to it.

use homeroom_http::did_you_mean;
use homeroom_model::{
    Model, Property, PropertyKind, Reference, Resource, ResourceId, Scalar, SubjectOf, Target,
};
use serde_json::Value;

use crate::custom_view::SharedValue;

/// A member of a resource's documents.
pub(super) struct Found {
    pub(super) lists: Vec<String>,
    pub(super) path: String,
    pub(super) scalar: Option<Scalar>,
}

/// Finds `a.b.c` among a resource's members. A list stands for each of its items.
pub(super) fn find(resource: &Resource, path: &str) -> Result<Found, String> {
    let mut found = Found { lists: vec![], path: "$".into(), scalar: None };
    let mut inner = Some(Inner::Properties(&resource.properties));
    let steps: Vec<&str> = path.split('.').collect();
    for (at, step) in steps.iter().enumerate() {
        let is_last = at + 1 == steps.len();
        let unknown = |names: Vec<&str>| {
            let near = did_you_mean(step, names);
            format!("`{step}` is not a member there ('{path}' of {}){near}", resource.name)
        };
        match inner {
            Some(Inner::Properties(properties)) => {
                let names = || properties.iter().map(|property| property.name.as_str()).collect();
                let property = properties.iter().find(|property| property.name == *step);
                let property = property.ok_or_else(|| unknown(names()))?;
                found.path = format!("{}.{step}", found.path);
                inner = match &property.kind {
                    PropertyKind::Scalar(scalar) => {
                        found.scalar = Some(*scalar);
                        None
                    }
                    PropertyKind::Reference(reference) => Some(Inner::Parts(reference)),
                    PropertyKind::Object(inner) => Some(Inner::Properties(inner)),
                    PropertyKind::List(inner) => {
                        if !is_last {
                            found.lists.push(std::mem::replace(&mut found.path, "$".into()));
                        }
                        Some(Inner::Properties(inner))
                    }
                };
            }
            Some(Inner::Parts(reference)) => {
                let names = || reference.parts.iter().map(|part| part.name.as_str()).collect();
                let part = reference.parts.iter().find(|part| part.name == *step);
                let part = part.ok_or_else(|| unknown(names()))?;
                found.path = format!("{}.{step}", found.path);
                found.scalar = Some(part.scalar);
                inner = None;
            }
            None => return Err(unknown(vec![])),
        }
    }
    Ok(found)
}

enum Inner<'m> {
    Properties(&'m [Property]),
    Parts(&'m Reference),
}

/// Returns the values by which a document of `resource` shows that it refers to one of `basis` from
/// the intended reference; empty where it can refer to it from no other place.
pub(super) fn same(
    model: &Model,
    resource: &Resource,
    basis: Target,
    by: Option<&Value>,
) -> Result<Vec<SharedValue>, String> {
    let basis_name = model.target_name(basis);
    let roots: Vec<(usize, &Reference)> = resource
        .properties
        .iter()
        .enumerate()
        .filter_map(|(at, property)| match &property.kind {
            PropertyKind::Reference(to) if is_related(model, to.target, basis) => Some((at, to)),
            _ => None,
        })
        .collect();
    let sites = sites(model, &resource.properties, basis);
    let names: Vec<&str> =
        roots.iter().map(|(at, _)| resource.properties[*at].name.as_str()).collect();
    let meant = match by {
        Some(by) => {
            let by = by.as_str().unwrap_or_default();
            let at = names.iter().position(|name| *name == by);
            Some(at.ok_or_else(|| {
                let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                format!(
                    "`by`: `{by}` is not a reference of {} to a {basis_name}; available: {list}",
                    resource.name
                )
            })?)
        }
        None if sites == 0 => {
            return Err(format!("a {} does not refer to a {basis_name}", resource.name));
        }
        None if sites == 1 => None,
        None => match &roots[..] {
            [_] => Some(0),
            _ => {
                return Err(format!(
                    "a {} refers to a {basis_name} from several places; say which with `by`: {}",
                    resource.name,
                    names.join(", ")
                ));
            }
        },
    };
    let about = resource.subjects.iter().any(|subject| {
        let is_of_basis = match subject.of {
            SubjectOf::Person(person) => basis == Target::Resource(person),
            SubjectOf::Organization(base) => is_related(model, Target::Abstract(base), basis),
            SubjectOf::Other => false,
        };
        is_of_basis && roots.iter().all(|(at, _)| subject.place.steps != [*at])
    });
    // Where a reference can come from only one place, the stored edge is enough.
    if sites == 1 && !about {
        return Ok(vec![]);
    }
    let Some((at, reference)) = meant.or((roots.len() == 1).then_some(0)).map(|at| roots[at])
    else {
        return Err(format!("a {} refers to a {basis_name} within a list", resource.name));
    };
    let kinds = kinds(model, reference.target, basis);
    (0..reference.parts.len())
        .map(|part| shared(model, &resource.properties[at].name, reference, part, &kinds))
        .collect::<Option<_>>()
        .ok_or_else(|| format!("a {} does not refer to a whole {basis_name}", resource.name))
}

/// Returns the kinds of documents that a reference to `target` may lead to and that belong to
/// `basis`.
fn kinds(model: &Model, target: Target, basis: Target) -> Vec<ResourceId> {
    match (target, basis) {
        (Target::Resource(kind), _) | (_, Target::Resource(kind)) => vec![kind],
        (Target::Abstract(base), Target::Abstract(_)) => model.base(base).subclasses.clone(),
    }
}

/// Returns the JSON path of a reference's member, and its path in a document of each kind.
fn shared(
    model: &Model,
    property: &str,
    reference: &Reference,
    part: usize,
    kinds: &[ResourceId],
) -> Option<SharedValue> {
    let mut fold = false;
    let mut own = vec![];
    for kind in kinds {
        let resource = model.resource(*kind);
        let column = match (reference.target, &resource.base) {
            (Target::Abstract(_), Some(base)) => *base.columns.get(part)?,
            _ => part,
        };
        let column = resource.key.get(column)?;
        fold |= matches!(column.scalar, Scalar::Descriptor(_));
        own.push((*kind, resource.column_path(column.source)));
    }
    let theirs = format!("$.{property}.{}", reference.parts[part].name);
    Some(SharedValue { theirs, own, fold })
}

/// Returns whether a reference to one may lead to the other.
pub(super) fn is_related(model: &Model, target: Target, basis: Target) -> bool {
    let is_kind =
        |resource, base| model.resource(resource).base.as_ref().is_some_and(|own| own.id == base);
    match (target, basis) {
        (Target::Resource(one), Target::Abstract(base))
        | (Target::Abstract(base), Target::Resource(one)) => is_kind(one, base),
        (target, basis) => target == basis,
    }
}

/// Returns how many places may refer to documents of a basis.
pub(super) fn sites(model: &Model, properties: &[Property], basis: Target) -> usize {
    let of = |property: &Property| match &property.kind {
        PropertyKind::Reference(to) => usize::from(is_related(model, to.target, basis)),
        PropertyKind::Object(inner) | PropertyKind::List(inner) => sites(model, inner, basis),
        PropertyKind::Scalar(_) => 0,
    };
    properties.iter().map(of).sum()
}
