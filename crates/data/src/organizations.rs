//! Education organizations by id, as `/oauth/token_info` shows them.

use std::future::Future;
use std::pin::Pin;

use homeroom_access::{EducationOrganization, EducationOrganizations};
use homeroom_http::Problem;
use homeroom_model::{PropertyKind, Resource, Target};
use homeroom_store::Row;

use crate::json::Json;
use crate::{DataApi, problem_of};

/// The abstract base that authorization speaks of (the subject kind of the same name).
const BASE: &str = "EducationOrganization";
/// The property of the base's documents that names them.
const NAME: &str = "nameOfInstitution";
/// Most organizations above one.
const ANCESTORS_MAX: usize = 16;

impl EducationOrganizations for DataApi {
    fn find<'a>(
        &'a self,
        ids: &'a [i64],
    ) -> Pin<Box<dyn Future<Output = Result<Vec<EducationOrganization>, Problem>> + Send + 'a>>
    {
        Box::pin(async move {
            ids.iter().filter_map(|id| organization(self, *id).transpose()).collect()
        })
    }
}

fn organization(api: &DataApi, id: i64) -> Result<Option<EducationOrganization>, Problem> {
    let Some((resource, row)) = find(api, id)? else { return Ok(None) };
    let Ok(Json::Object(members)) = Json::read(row.body.as_bytes()) else { return Ok(None) };
    let name = match Json::member(members.as_slice(), NAME) {
        Some(Json::Text(name)) => name.to_string(),
        _ => String::new(),
    };
    let mut ancestors = vec![];
    above(api, resource, &row.body, &mut ancestors)?;
    let schema = resource.schema.replace('-', "");
    let kind = format!("{schema}.{}", resource.name);
    Ok(Some(EducationOrganization { id, name_of_institution: name, kind, ancestors }))
}

/// The document of an organization's id, whatever its kind.
fn find(api: &DataApi, id: i64) -> Result<Option<(&Resource, Row)>, Problem> {
    let Some(base) = api.catalog.model.by_name(BASE) else { return Ok(None) };
    let key = api.catalog.key(base, [id.to_string().as_bytes()]);
    let Some((_, uuid, _)) = api.store.target(key).map_err(problem_of)? else { return Ok(None) };
    let Some(row) = api.store.document(uuid).map_err(problem_of)? else { return Ok(None) };
    Ok(api.catalog.resource(row.kind).map(|resource| (resource, row)))
}

/// Adds the organizations that a document's references of the same base lead to, and so on.
fn above(
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
        let id = Json::member(parts.as_slice(), &part.name).and_then(crate::scalar::integer);
        let Some(id) = id.filter(|_| is_organization) else { continue };
        let Some((parent, row)) = find(api, id)? else { continue };
        let Some(column) = parent.key.first() else { continue };
        let name = snake_case(&column.name);
        if out.len() < ANCESTORS_MAX && !out.contains(&(name.clone(), id)) {
            out.push((name, id));
            above(api, parent, &row.body, out)?;
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
