//! The values that make up an identity.

use homeroom_model::{ColumnSource, Property, PropertyKind, Resource, Scalar};

use crate::catalog::is_descriptor;
use crate::json::{Json, Members, member_text, write_text};
use crate::scalar;
use crate::spelling::{CODE_VALUE, NAMESPACE};

/// Whether a property is a descriptor's name within its namespace; blanks around it do not count.
pub(super) fn is_code_value(resource: &Resource, property: &Property) -> bool {
    is_descriptor(resource) && property.name == CODE_VALUE
}

/// Returns a key column's part of an identity's hash: its canonical JSON text, with descriptors in
/// lower case.
pub fn key_bytes(scalar: Scalar, text: &str) -> std::borrow::Cow<'_, [u8]> {
    match scalar {
        Scalar::Descriptor(_) => text.to_lowercase().into_bytes().into(),
        _ => text.as_bytes().into(),
    }
}

/// Returns a descriptor's URI from the JSON texts of its key.
pub fn descriptor_uri(resource: &Resource, texts: &[&str]) -> String {
    let column = |name: &str| {
        let at = resource.key.iter().position(|column| column.name == name);
        match at.map(|at| Json::read(texts[at].as_bytes())) {
            Some(Ok(Json::Text(text))) => text.into_owned(),
            _ => String::new(),
        }
    };
    format!("{}#{}", column(NAMESPACE), column(CODE_VALUE).trim())
}

/// Returns the values of a document's key by column, as a JSON object.
pub fn key_values(resource: &Resource, body: &str) -> String {
    let mut out = String::from("{");
    if let Ok(Json::Object(members)) = Json::read(body.as_bytes()) {
        for column in &resource.key {
            let value = column_value(resource, &members, column.source);
            if out.len() > 1 {
                out.push(',');
            }
            write_text(&mut out, &column.name);
            out.push(':');
            let start = out.len();
            if value.is_none_or(|value| scalar::write(&mut out, column.scalar, value).is_err()) {
                out.truncate(start);
                out.push_str("null");
            }
        }
    }
    out.push('}');
    out
}

/// Returns the value of a root column from a document's members.
pub(crate) fn column_value<'j>(
    resource: &Resource,
    members: &'j Members<'j>,
    source: ColumnSource,
) -> Option<&'j Json<'j>> {
    let (at, part) = match source {
        ColumnSource::Scalar(at) => (at, None),
        ColumnSource::Part(at, part) => (at, Some(part)),
    };
    let property = &resource.properties[at];
    let value = Json::member(members, &property.name)?;
    match (&property.kind, part, value) {
        (PropertyKind::Reference(reference), Some(part), Json::Object(parts)) => {
            Json::member(parts.as_slice(), &reference.parts[part].name)
        }
        (_, None, value) => Some(value),
        _ => None,
    }
}

/// Returns the JSON text of a root column, unchanged from a document's canonical text.
pub(crate) fn column_text<'b>(
    resource: &Resource,
    body: &'b str,
    source: ColumnSource,
) -> Option<&'b str> {
    match source {
        ColumnSource::Scalar(at) => member_text(body, &resource.properties[at].name),
        ColumnSource::Part(at, part) => {
            let property = &resource.properties[at];
            let PropertyKind::Reference(reference) = &property.kind else { return None };
            member_text(member_text(body, &property.name)?, &reference.parts[part].name)
        }
    }
}
