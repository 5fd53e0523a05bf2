//! Turns the field filters of a query string into conditions for the store.

use homeroom_document::catalog::{Catalog, is_descriptor};
use homeroom_document::json::{Json, write_text};
use homeroom_document::scalar;
use homeroom_document::spelling::CODE_VALUE;
use homeroom_document::validate::{descriptor_uri, key_bytes};
use homeroom_http::{Kind, Problem, Query, Violations};
use homeroom_model::{
    ColumnSource, Presence, PropertyKind, QueryField, Reference, Resource, Scalar, Target,
};
use homeroom_store::{Condition, DocumentId, NaturalKey, Store, StoreError, Uuid};

/// Message for an invalid id.
pub const NO_ID: &str = "id must be 32 hex digits.";

/// The restrictions of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// Documents that refer to all of these.
    pub targets: Vec<DocumentId>,
    /// Documents that meet all of these.
    pub conditions: Vec<Condition>,
}

/// A filter of the query string, with its value in canonical JSON.
struct Given<'a> {
    field: &'a QueryField,
    text: String,
}

/// Reads all field filters; names that the resource does not have are ignored.
///
/// A complete natural key is looked up. A complete reference or a descriptor becomes a search among
/// the documents that refer to it. All other filters are compared with the documents.
///
/// # Errors
///
/// 400 `data-validation-failed` for values of the wrong type, by the filter's name as a JSON path;
/// an error of the store.
pub async fn read(
    catalog: &Catalog,
    store: &Store,
    resource: &Resource,
    query: &Query,
) -> Result<Filter, Problem> {
    let mut violations = Violations::new();
    let mut given: Vec<Given<'_>> = vec![];
    let mut never = false;
    for field in &resource.query_fields {
        let Some(sent) = query.get(&field.name).filter(|sent| !sent.is_empty()) else { continue };
        match canonical(field.scalar, sent) {
            Ok(text) => given.push(Given { field, text }),
            // No document uses a descriptor with an invalid URI.
            Err(_) if matches!(field.scalar, Scalar::Descriptor(_)) => never = true,
            Err(message) => {
                violations.insert(format!("$.{}", field.name), vec![message]);
            }
        }
    }
    let mut filter = Filter::default();
    if let Some(id) = query.get("id").filter(|id| !id.is_empty()) {
        match Uuid::read(id) {
            Some(id) => filter.conditions.push(Condition::Uuid(id)),
            None => _ = violations.insert("$.id".into(), vec![NO_ID.into()]),
        }
    }
    if !violations.is_empty() {
        return Err(Problem::of(Kind::DataValidationFailed)
            .detail("A query parameter has a value of the wrong type; validationErrors lists each.")
            .violations(violations));
    }
    if never {
        filter.conditions.push(Condition::Never);
        return Ok(filter);
    }
    if let Some(key) = whole_key(catalog, resource, &given) {
        filter.conditions.push(Condition::Key(key));
        given.retain(|given| !given.field.identity);
    }
    restrict(catalog, store, resource, &given, &mut filter).await.map_err(crate::problem_of)?;
    Ok(filter)
}

/// Returns the canonical JSON text of a parameter's value.
fn canonical(scalar: Scalar, sent: &str) -> Result<String, String> {
    let mut out = String::new();
    if let Scalar::Text { .. } = scalar {
        write_text(&mut out, sent);
        return Ok(out);
    }
    // A filter may ask for any number, even one that no document can hold.
    let wide = match scalar {
        Scalar::Integer { bits, .. } => Scalar::Integer { bits, min: i64::MIN, max: i64::MAX },
        Scalar::Decimal { .. } => {
            Scalar::Decimal { precision: 38, scale: 18, min: None, max: None }
        }
        other => other,
    };
    scalar::write(&mut out, wide, &Json::Text(sent.into()))?;
    Ok(out)
}

fn whole_key(catalog: &Catalog, resource: &Resource, given: &[Given<'_>]) -> Option<NaturalKey> {
    let texts = resource
        .key
        .iter()
        .map(|column| given.iter().find(|g| g.field.name == column.name).map(|g| g.text.as_str()))
        .collect::<Option<Vec<&str>>>()?;
    if is_descriptor(resource) {
        return Some(catalog.descriptor_key(resource.id, &descriptor_uri(resource, &texts)));
    }
    let columns: Vec<_> =
        resource.key.iter().zip(texts).map(|(c, text)| key_bytes(c.scalar, text)).collect();
    Some(catalog.key(Target::Resource(resource.id), columns.iter().map(AsRef::as_ref)))
}

async fn restrict(
    catalog: &Catalog,
    store: &Store,
    resource: &Resource,
    given: &[Given<'_>],
    filter: &mut Filter,
) -> Result<(), StoreError> {
    let mut done = vec![false; given.len()];
    for (at, property) in resource.properties.iter().enumerate() {
        match &property.kind {
            PropertyKind::Reference(reference) => {
                let Some(parts) = whole_reference(reference, at, given) else { continue };
                let names_it_alone = parts.iter().any(|g| given[*g].field.sources.len() == 1);
                if property.presence == Presence::Optional && !names_it_alone {
                    // If this reference is absent, another one may hold these values.
                    continue;
                }
                let columns: Vec<_> = parts
                    .iter()
                    .zip(&reference.parts)
                    .map(|(g, part)| key_bytes(part.scalar, &given[*g].text))
                    .collect();
                let key = catalog.key(reference.target, columns.iter().map(AsRef::as_ref));
                let covered = narrow(catalog, store, resource, key, filter).await?;
                for g in parts {
                    done[g] |= covered && given[g].field.sources.len() == 1;
                }
            }
            PropertyKind::Scalar(Scalar::Descriptor(descriptor)) => {
                let Some(g) = given.iter().position(|g| g.field.name == property.name) else {
                    continue;
                };
                if property.presence == Presence::Optional && given[g].field.sources.len() > 1 {
                    continue;
                }
                let Ok(Json::Text(uri)) = Json::read(given[g].text.as_bytes()) else { continue };
                let key = catalog.descriptor_key(*descriptor, &uri);
                done[g] |= narrow(catalog, store, resource, key, filter).await?;
            }
            _ => {}
        }
    }
    for (given, _) in given.iter().zip(done).filter(|(_, done)| !done) {
        filter.conditions.push(condition(resource, given));
    }
    Ok(())
}

/// Restricts the list to documents that refer to an identity. Returns `true` if this covers the
/// filter completely, because the document can refer to the target at no other place.
async fn narrow(
    catalog: &Catalog,
    store: &Store,
    resource: &Resource,
    key: NaturalKey,
    filter: &mut Filter,
) -> Result<bool, StoreError> {
    let Some((target, _, kind)) = store.target(key).await? else {
        filter.conditions.push(Condition::Never);
        return Ok(true);
    };
    if !filter.targets.contains(&target) {
        filter.targets.push(target);
    }
    Ok(catalog.resource(kind).is_some_and(|to| catalog.refers_at_one_place(resource.id, to.id)))
}

/// Returns, for each member of a reference, the index of its filter, if all members have one.
fn whole_reference(reference: &Reference, at: usize, given: &[Given<'_>]) -> Option<Vec<usize>> {
    (0..reference.parts.len())
        .map(|part| {
            given.iter().position(|g| g.field.sources.contains(&ColumnSource::Part(at, part)))
        })
        .collect()
}

fn condition(resource: &Resource, given: &Given<'_>) -> Condition {
    let paths = given.field.sources.iter().map(|source| resource.column_path(*source)).collect();
    let plain = || match Json::read(given.text.as_bytes()) {
        Ok(Json::Text(text)) => text.into_owned(),
        _ => given.text.clone(),
    };
    match given.field.scalar {
        Scalar::Integer { .. } => {
            Condition::Integer { paths, value: given.text.parse().unwrap_or_default() }
        }
        Scalar::Decimal { .. } => {
            Condition::Number { paths, value: given.text.parse().unwrap_or_default() }
        }
        Scalar::Boolean => Condition::Boolean { paths, value: given.text == "true" },
        Scalar::Descriptor(_) => Condition::Text { paths, value: plain(), fold: true },
        // Blanks around a code value do not count, neither in documents nor in filters.
        Scalar::Text { .. } if is_descriptor(resource) && given.field.name == CODE_VALUE => {
            Condition::Trimmed { paths, value: plain() }
        }
        Scalar::Text { .. } | Scalar::Date | Scalar::DateTime | Scalar::Time => {
            // A descriptor's identity does not depend on case.
            let fold = given.field.identity && is_descriptor(resource);
            Condition::Text { paths, value: plain(), fold }
        }
    }
}
