//! The members that make up a resource's identity.

use std::fmt::Write as _;

use serde_json::Value;

use super::api::encoded;
use super::shape::{Form, Property, Resource, Scalar, is_flat_name};
use super::values::is_namespace;

/// Returns the resource's own member that differs between its documents.
pub fn varied(resource: &Resource) -> Option<&Property> {
    let rank = |property: &&Property| match &property.form {
        _ if !property.is_identity || is_namespace(&property.name) => None,
        Form::Scalar(Scalar::Text { max, .. }) if *max >= 8 => Some(0),
        Form::Scalar(Scalar::Integer { .. }) => Some(1),
        Form::Scalar(Scalar::Date) => Some(2),
        Form::Scalar(Scalar::Moment) => Some(3),
        Form::Scalar(Scalar::Time) => Some(4),
        _ => None,
    };
    let ranked =
        resource.properties.iter().filter_map(|property| Some((rank(&property)?, property)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, property)| property)
}

/// Returns whether the references in two documents' identities are equal.
pub fn refers_alike(resource: &Resource, one: &Value, other: &Value) -> bool {
    identity_members(resource, other)
        .all(|(property, member, value)| same(&one[property][member], value))
}

/// Returns whether the target treats two values as equal: descriptors ignore case.
fn same(one: &Value, other: &Value) -> bool {
    match (one.as_str(), other.as_str()) {
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        _ => one == other,
    }
}

fn identity_members<'k>(
    resource: &'k Resource,
    body: &'k Value,
) -> impl Iterator<Item = (&'k str, &'k str, &'k Value)> {
    resource.properties.iter().flat_map(move |property| {
        let members = match &property.form {
            Form::Reference(reference) if resource.identifies(property, reference) => {
                &reference.members[..]
            }
            _ => &[],
        };
        let name = property.name.as_str();
        let value = move |member: &'k str| Some((name, member, body.get(name)?.get(member)?));
        members.iter().filter_map(move |(member, _)| value(member))
    })
}

/// Returns the number that is a resource's whole identity.
pub fn own_id(resource: &Resource) -> Option<&Property> {
    resource.properties.iter().find(|property| property.is_identity)
}

/// Returns the references of a document's identity as query parameters.
pub fn filter(resource: &Resource, like: &Value) -> String {
    let mut text = String::new();
    let mut seen: Vec<&str> = vec![];
    for (property, member, value) in identity_members(resource, like) {
        let names = resource.identity.iter().filter(|flat| is_flat_name(flat, property, member));
        let names = names.filter(|name| resource.query.contains(name));
        let Some(name) = names.max_by_key(|flat| flat.len()) else { continue };
        let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if !seen.contains(&name.as_str()) {
            seen.push(name);
            _ = write!(text, "&{name}={}", encoded(&written));
        }
    }
    text
}
