//! Describes a token to the client that holds it.
//!
//! Source: Ed-Fi ODS/API 7.3 `/oauth/token_info`; the draft of the Ed-Fi token introspection API.

use std::sync::Arc;

use homeroom_http::{Kind, Problem, Response};
use homeroom_model::Model;
use http::{StatusCode, header};
use serde_json::{Map, Value, json};

use crate::access::Access;
use crate::action::Action;
use crate::caller::Caller;
use crate::client::{ApiClient, Call};
use crate::oauth::{Fields, uncached};
use crate::recognize::bearer_token;

/// The services beside the data that this server serves: none, so that no claim on one is named.
const SERVED: [&str; 0] = [];

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

/// A token that its holder asks about. All of the answer is known here, except for the documents of
/// the holder's education organizations.
#[derive(Debug)]
pub struct TokenInfo {
    client: Arc<ApiClient>,
    /// In seconds since 1970.
    expires: i64,
}

impl TokenInfo {
    /// Reads the question. The token in the body must be the caller's own.
    ///
    /// # Errors
    ///
    /// 400 where the body is malformed or names another token; 401 where the caller has lost its
    /// rights in the meantime.
    pub async fn asked(access: &Access, call: &mut Call) -> Result<Self, Problem> {
        let caller = Caller::of_any_scope(call);
        let body = call.read_body().await?;
        let bearer = bearer_token(call.header(header::AUTHORIZATION.as_str()))?;
        let fields = Fields::read(call.header(header::CONTENT_TYPE.as_str()), &body)
            .map_err(|what| Problem::of(Kind::BadRequest).error(what))?;
        let Some(token) = fields.get("token") else {
            return Err(Problem::of(Kind::BadRequest)
                .error("The body needs the token as its member `token`.")
                .hint("Send `token=TOKEN` as a form or `{\"token\": \"TOKEN\"}` as JSON."));
        };
        if token.trim() != bearer {
            return Err(Problem::of(Kind::BadRequest)
                .error("The token in the body is not the one in the Authorization header."));
        }
        let expires = access
            .tokens
            .verify(bearer, call.now)
            .map_err(|error| Problem::of(Kind::AuthenticationFailed).error(error.to_string()))?
            .exp;
        // Reading the body may have taken a while.
        Ok(Self { client: caller.again(access)?.client, expires })
    }

    /// Returns the ids of the holder's education organizations.
    pub fn education_organizations(&self) -> &[i64] {
        &self.client.education_organizations
    }

    /// Returns the answer, which no cache may keep. `known` are those of the holder's organizations
    /// that have documents.
    pub fn answer(&self, access: &Access, known: &[EducationOrganization]) -> Response {
        let body = token_info(&access.model, &self.client, known, self.expires);
        uncached(StatusCode::OK, &body)
    }
}

/// Returns the body of the answer.
fn token_info(
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
        .filter(|(service, _)| SERVED.contains(service))
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
