//! The members that make up a resource's identity.

use std::fmt::Write as _;

use serde_json::Value;

use super::api::encoded;
use super::shape::{Form, Kind, Property, Scalar, is_flat_name};
use super::values::is_namespace;

/// Returns the resource's own member that differs between its documents.
pub fn varied(kind: &Kind) -> Option<&Property> {
    let rank = |property: &&Property| match &property.form {
        _ if !property.is_identity || is_namespace(&property.name) => None,
        Form::Scalar(Scalar::Text { max, .. }) if *max >= 8 => Some(0),
        Form::Scalar(Scalar::Integer { .. }) => Some(1),
        Form::Scalar(Scalar::Date) => Some(2),
        Form::Scalar(Scalar::Moment) => Some(3),
        Form::Scalar(Scalar::Time) => Some(4),
        _ => None,
    };
    let ranked = kind.properties.iter().filter_map(|property| Some((rank(&property)?, property)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, property)| property)
}

/// Returns whether the references in two documents' identities are equal.
pub fn refers_alike(kind: &Kind, one: &Value, other: &Value) -> bool {
    identity_members(kind, other)
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
    kind: &'k Kind,
    body: &'k Value,
) -> impl Iterator<Item = (&'k str, &'k str, &'k Value)> {
    kind.properties.iter().flat_map(move |property| {
        let members = match &property.form {
            Form::Reference(reference) if kind.identifies(property, reference) => {
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
pub fn own_id(kind: &Kind) -> Option<&Property> {
    kind.properties.iter().find(|property| property.is_identity)
}

/// Returns the references of a document's identity as query parameters.
pub fn filter(kind: &Kind, like: &Value) -> String {
    let mut text = String::new();
    let mut seen: Vec<&str> = vec![];
    for (property, member, value) in identity_members(kind, like) {
        let names = kind.identity.iter().filter(|flat| is_flat_name(flat, property, member));
        let names = names.filter(|name| kind.query.contains(name));
        let Some(name) = names.max_by_key(|flat| flat.len()) else { continue };
        let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if !seen.contains(&name.as_str()) {
            seen.push(name);
            _ = write!(text, "&{name}={}", encoded(&written));
        }
    }
    text
}
