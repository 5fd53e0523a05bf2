//! Education organizations by id, as `/oauth/token_info` shows them.
//!
//! The base that all of them extend is named here, because authorization's rules name it, too.
//! Their kinds, their names and the organizations above them come from the model.

use homeroom_access::EducationOrganization;
use homeroom_document::json::Json;
use homeroom_http::Problem;
use homeroom_model::{
    Abstract, Model, Presence, PropertyKind, Resource, ResourceId, Scalar, Target,
};
use homeroom_store::Row;

use crate::{DataApi, problem_of};

/// The abstract base that authorization uses, which is also the name of a subject kind. A model may
/// have other bases; that clients are bound to this one is a rule of Ed-Fi, not of the model.
const BASE: &str = "EducationOrganization";
/// Most organizations above one organization.
const ANCESTORS_MAX: usize = 16;

/// Returns those of the given organizations that have documents.
///
/// # Errors
///
/// 503 and the like, where the store fails.
pub(crate) async fn with_ids(
    api: &DataApi,
    ids: &[i64],
) -> Result<Vec<EducationOrganization>, Problem> {
    let mut found = vec![];
    for id in ids {
        found.extend(organization(api, *id).await?);
    }
    Ok(found)
}

async fn organization(api: &DataApi, id: i64) -> Result<Option<EducationOrganization>, Problem> {
    let Some((resource, row)) = find(api, id).await? else { return Ok(None) };
    let Ok(Json::Object(members)) = Json::read(row.body.as_bytes()) else { return Ok(None) };
    let model = &api.catalog.model;
    let base = resource.base.as_ref().map(|base| model.base(base.id));
    let name = base
        .and_then(|base| name_property(model, base))
        .and_then(|property| Json::member(members.as_slice(), property));
    let name = if let Some(Json::Text(name)) = name { name.to_string() } else { String::new() };
    let mut ancestors = vec![];
    above(api, resource, &row.body, &mut ancestors).await?;
    let schema = resource.schema.replace('-', "");
    let kind = format!("{schema}.{}", resource.name);
    Ok(Some(EducationOrganization { id, name_of_institution: name, kind, ancestors }))
}

/// Finds the document of an organization by its id, whatever its kind.
async fn find(api: &DataApi, id: i64) -> Result<Option<(&Resource, Row)>, Problem> {
    let Some(base) = api.catalog.model.by_name(BASE) else { return Ok(None) };
    let key = api.catalog.key(base, [id.to_string().as_bytes()]);
    let Some((_, uuid, _)) = api.store.target(key).await.map_err(problem_of)? else {
        return Ok(None);
    };
    let Some(row) = api.store.document(uuid).await.map_err(problem_of)? else { return Ok(None) };
    Ok(api.catalog.resource(row.kind).map(|resource| (resource, row)))
}

/// Returns the property that names the documents of a base: the only required text, apart from the
/// key, that all its subclasses have. [`None`] if there is no such text or more than one.
fn name_property<'m>(model: &'m Model, base: &Abstract) -> Option<&'m str> {
    let texts = |id: &ResourceId| {
        let properties = model.resource(*id).properties.iter();
        properties.filter(|property| {
            property.presence == Presence::Required
                && matches!(property.kind, PropertyKind::Scalar(Scalar::Text { .. }))
        })
    };
    let (first, others) = base.subclasses.split_first()?;
    let mut shared = texts(first).filter(|property| {
        others.iter().all(|id| texts(id).any(|other| other.name == property.name))
    });
    match (shared.next(), shared.next()) {
        (Some(only), None) => Some(&only.name),
        _ => None,
    }
}

/// Adds the organizations that a document's references of the same base lead to, recursively.
async fn above(
    api: &DataApi,
    resource: &Resource,
    body: &str,
    out: &mut Vec<(String, i64)>,
) -> Result<(), Problem> {
    let Ok(Json::Object(members)) = Json::read(body.as_bytes()) else { return Ok(()) };
    for property in &resource.properties {
        let PropertyKind::Reference(reference) = &property.kind else { continue };
        let [part] = &reference.parts[..] else { continue };
        let is_organization = match reference.target {
            Target::Abstract(base) => api.catalog.model.base(base).name == BASE,
            Target::Resource(id) => {
                let base = api.catalog.model.resource(id).base.as_ref();
                base.is_some_and(|base| api.catalog.model.base(base.id).name == BASE)
            }
        };
        let Some(Json::Object(parts)) = Json::member(members.as_slice(), &property.name) else {
            continue;
        };
        let id =
            Json::member(parts.as_slice(), &part.name).and_then(homeroom_document::scalar::integer);
        let Some(id) = id.filter(|_| is_organization) else { continue };
        let Some((parent, row)) = find(api, id).await? else { continue };
        let Some(column) = parent.key.first() else { continue };
        let name = snake_case(&column.name);
        if out.len() < ANCESTORS_MAX && !out.contains(&(name.clone(), id)) {
            out.push((name, id));
            Box::pin(above(api, parent, &row.body, out)).await?;
        }
    }
    Ok(())
}

fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use homeroom_model::{format, link, shipped};

    use super::*;

    fn name_in(text: &str) -> Option<String> {
        let model = link(&[format::read(text).unwrap()]).unwrap();
        let base = model.abstracts.iter().find(|base| base.name == BASE).unwrap();
        name_property(&model, base).map(str::to_owned)
    }

    #[test]
    fn each_organization_of_the_shipped_model_has_one_name_property() {
        let name = name_in(shipped("5.2.0").unwrap());

        assert_eq!(name.as_deref(), Some("nameOfInstitution"));
    }

    #[test]
    fn the_name_is_the_only_text_required_of_every_subclass() {
        for (first, second, expected) in [
            ("! title text(1..9)", "! title text(1..9)", Some("title")),
            ("! title text(1..9)\n  ! code text(1..9)", "! title text(1..9)", Some("title")),
            ("! title text(1..9)", "? title text(1..9)", None),
            ("! size int32", "! size int32", None),
            (
                "! code text(1..9)\n  ! title text(1..9)",
                "! code text(1..9)\n  ! title text(1..9)",
                None,
            ),
        ] {
            let text = format!(
                "standard Ed-Fi ed-fi 5.2.0\n\nabstract {BASE}\n  @ id int64\n\n\
                 resource One ones\n  base {BASE} id=oneId\n  @ oneId int64\n  {first}\n\n\
                 resource Two twos\n  base {BASE} id=twoId\n  @ twoId int64\n  {second}\n"
            );

            assert_eq!(name_in(&text).as_deref(), expected, "{first} / {second}");
        }
    }
}
