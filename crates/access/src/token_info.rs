//! Describes a token to the client that holds it.
//!
//! Source: Ed-Fi ODS/API 7.3 `/oauth/token_info`; the draft of the Ed-Fi token introspection API.

use std::future::Future;
use std::pin::Pin;

use homeroom_http::Problem;
use homeroom_model::Model;
use serde_json::{Map, Value, json};

use crate::action::Action;
use crate::client::ApiClient;

/// An education organization, as its document shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EducationOrganization {
    /// Its id.
    pub id: i64,
    /// Its name.
    pub name_of_institution: String,
    /// Its kind, as in `edfi.LocalEducationAgency`.
    pub kind: String,
    /// The organizations above it, as member name and id: `local_education_agency_id`, 255901.
    pub ancestors: Vec<(String, i64)>,
}

/// Looks up education organizations; the data part implements it.
pub trait EducationOrganizations: Send + Sync {
    /// Returns those of the given organizations that have documents.
    fn find<'a>(
        &'a self,
        ids: &'a [i64],
    ) -> Pin<Box<dyn Future<Output = Result<Vec<EducationOrganization>, Problem>> + Send + 'a>>;
}

/// Returns the body of the answer. `known` are the client's organizations that have documents;
/// `expires` is in seconds since 1970.
pub(crate) fn token_info(
    model: &Model,
    client: &ApiClient,
    known: &[EducationOrganization],
    expires: i64,
) -> Value {
    let organizations: Vec<Value> = client
        .education_organizations
        .iter()
        .map(|id| organization(*id, known.iter().find(|known| known.id == *id)))
        .collect();
    let resources: Vec<Value> = model
        .resources
        .iter()
        .map(|resource| (resource, client.rights.granted(resource)))
        .filter(|(_, granted)| !granted.is_empty())
        .map(|(resource, granted)| {
            json!({
                "resource": format!("/{}/{}", resource.schema, resource.endpoint),
                "operations": names(&granted),
            })
        })
        .collect();
    let services: Vec<Value> = client
        .rights
        .services()
        .map(|(service, granted)| json!({"service": service, "operations": names(&granted)}))
        .collect();
    json!({
        "active": true,
        "exp": expires,
        "client_id": client.key,
        "namespace_prefixes": *client.namespace_prefixes,
        "education_organizations": organizations,
        "student_identification_system": null,
        "assigned_profiles": [],
        "claim_set": {"name": client.claim_set},
        "resources": resources,
        "services": services,
    })
}

fn organization(id: i64, known: Option<&EducationOrganization>) -> Value {
    let mut members = Map::new();
    members.insert("education_organization_id".into(), id.into());
    members.insert(
        "name_of_institution".into(),
        known.map(|known| known.name_of_institution.as_str()).into(),
    );
    members.insert("type".into(), known.map(|known| known.kind.as_str()).into());
    for (name, id) in known.into_iter().flat_map(|known| &known.ancestors) {
        members.insert(name.clone(), (*id).into());
    }
    Value::Object(members)
}

fn names(actions: &[Action]) -> Vec<&'static str> {
    actions.iter().map(|action| action.name()).collect()
}
