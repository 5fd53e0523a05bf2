//! Identities of documents that may be invalid, and values at JSON paths.

use homeroom_document::catalog::is_descriptor;
use homeroom_document::json::{Json, write_text};
use homeroom_document::validate::key_bytes;
use homeroom_document::{Catalog, scalar};
use homeroom_model::{ColumnSource, PropertyKind, Resource, Target};
use homeroom_store::NaturalKey;

/// Returns the canonical JSON texts of a document's key columns, in key order; [`None`] for columns
/// that are absent or are not valid values.
pub(crate) fn columns(resource: &Resource, json: &Json<'_>) -> Vec<Option<String>> {
    let value = |source| -> Option<&Json<'_>> {
        let Json::Object(members) = json else { return None };
        match source {
            ColumnSource::Scalar(at) => Json::member(members, &resource.properties[at].name),
            ColumnSource::Part(at, part) => {
                let property = &resource.properties[at];
                let PropertyKind::Reference(reference) = &property.kind else { return None };
                match Json::member(members, &property.name)? {
                    Json::Object(parts) => Json::member(parts, &reference.parts[part].name),
                    _ => None,
                }
            }
        }
    };
    let columns = resource.key.iter().map(|column| {
        let mut text = String::new();
        scalar::write(&mut text, column.scalar, value(column.source)?).ok().map(|()| text)
    });
    columns.collect()
}

/// Returns the values of a document's key columns, in key order, as text without quotes; [`None`]
/// if any is missing.
pub(crate) fn plain_columns(resource: &Resource, json: &Json<'_>) -> Option<Vec<String>> {
    columns(resource, json)
        .into_iter()
        .map(|column| match Json::read(column?.as_bytes()).ok()? {
            Json::Text(text) => Some(text.into_owned()),
            Json::Number(text) => Some(text.to_owned()),
            Json::Boolean(value) => Some(value.to_string()),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
        })
        .collect()
}

/// Returns a document's key as a JSON object, with null for absent values; [`None`] if all are
/// absent.
pub(crate) fn key_text(resource: &Resource, json: &Json<'_>) -> Option<String> {
    let columns = columns(resource, json);
    if columns.iter().all(Option::is_none) {
        return None;
    }
    let mut out = String::from("{");
    for (column, value) in resource.key.iter().zip(&columns) {
        if out.len() > 1 {
            out.push(',');
        }
        write_text(&mut out, &column.name);
        out.push(':');
        out.push_str(value.as_deref().unwrap_or("null"));
    }
    out.push('}');
    Some(out)
}

/// Writes named values as a JSON object.
pub(crate) fn object_text<'j>(members: impl Iterator<Item = (&'j str, &'j Json<'j>)>) -> String {
    let mut out = String::from("{");
    for (name, value) in members {
        if out.len() > 1 {
            out.push(',');
        }
        write_text(&mut out, name);
        out.push(':');
        match value {
            Json::Text(text) => write_text(&mut out, text),
            Json::Number(text) => out.push_str(text),
            Json::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Null | Json::Array(_) | Json::Object(_) => out.push_str("null"),
        }
    }
    out.push('}');
    out
}

/// Returns the hashes of a document's identity: its own, and the one under its base.
pub(crate) fn hashes(
    catalog: &Catalog,
    resource: &Resource,
    json: &Json<'_>,
) -> Option<(NaturalKey, Option<NaturalKey>)> {
    let columns: Vec<String> = columns(resource, json).into_iter().collect::<Option<_>>()?;
    let parts: Vec<_> = resource
        .key
        .iter()
        .zip(&columns)
        .map(|(column, text)| key_bytes(column.scalar, text))
        .collect();
    if is_descriptor(resource) {
        // Descriptors are referred to by their URI.
        let Json::Object(members) = json else { return None };
        let text = |name| match Json::member(members, name) {
            Some(Json::Text(text)) => Some(text.as_ref()),
            _ => None,
        };
        let uri = format!("{}#{}", text("namespace")?, text("codeValue")?);
        return Some((catalog.descriptor_key(resource.id, &uri), None));
    }
    let own = catalog.key(Target::Resource(resource.id), parts.iter().map(AsRef::as_ref));
    let under_base = resource.base.as_ref().map(|base| {
        let parts = base.columns.iter().map(|at| parts[*at].as_ref());
        catalog.key(Target::Abstract(base.id), parts)
    });
    Some((own, under_base))
}

/// Returns the value at a JSON path such as `$.addresses[0].city`.
pub(crate) fn at_path<'j>(json: &'j Json<'j>, path: &str) -> Option<&'j Json<'j>> {
    let mut at = json;
    for step in path.strip_prefix('$')?.split('.').skip(1) {
        let (name, index) = match step.split_once('[') {
            Some((name, index)) => (name, Some(index.strip_suffix(']')?.parse::<usize>().ok()?)),
            None => (step, None),
        };
        let Json::Object(members) = at else { return None };
        at = Json::member(members, name)?;
        if let Some(index) = index {
            let Json::Array(items) = at else { return None };
            at = items.get(index)?;
        }
    }
    Some(at)
}

/// Removes the item indices from a JSON path: `$.addresses.city`.
pub(crate) fn without_indices(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut is_inside = false;
    for c in path.chars() {
        match c {
            '[' => is_inside = true,
            ']' => is_inside = false,
            c if !is_inside => out.push(c),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_its_value() {
        let json = Json::read(br#"{"a":[{"b":1},{"b":{"c":2}}]}"#).unwrap();

        assert_eq!(at_path(&json, "$.a[1].b.c"), Some(&Json::Number("2")));
        assert_eq!(at_path(&json, "$"), Some(&json));
        for nowhere in ["$.a[2].b", "$.x", "$.a[x]", "a", "$.a.b"] {
            assert_eq!(at_path(&json, nowhere), None, "{nowhere}");
        }
        assert_eq!(without_indices("$.a[12].b[0].c"), "$.a.b.c");
    }

    #[test]
    fn a_key_shows_absent_parts_as_null() {
        let model = crate::tests::model();
        let resource = model.by_endpoint("ed-fi", "classPeriods").unwrap();
        let json = Json::read(br#"{"classPeriodName":"1","schoolReference":{"schoolId":"x"}}"#);

        let key = key_text(resource, &json.unwrap());

        assert_eq!(key.as_deref(), Some(r#"{"classPeriodName":"1","schoolId":null}"#));
        assert_eq!(key_text(resource, &Json::Null), None);
    }
}
