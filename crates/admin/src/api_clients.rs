//! API clients: the individual keys of an application.

use homeroom_access::{ApplicationClient, Call, ItemKind, Registry, Status, TEXT_MAX};
use homeroom_http::{Kind, Problem, Response, empty_response, json_response};
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::applications::{check_instances, rights};
use crate::form::{self, ID_MAX, Is, Member, needed, optional};
use crate::list::answer_list;
use crate::manager::{Admin, Manager};
use crate::refusal::{Faults, Refusal};
use crate::reserved;
use crate::resource::{Candidate, created, deleted, id_of};

const NOUN: &str = "API client";

/// Most keys of an application.
const CLIENTS_MAX: usize = 1_000;

/// The members of a request.
pub(crate) const MEMBERS: &[Member] = &[
    needed("name", Is::Text(TEXT_MAX)),
    optional("isApproved", Is::Flag),
    needed("applicationId", Is::Id),
    optional("odsInstanceIds", Is::Ids(100, ID_MAX)),
];

/// Answers GET of all API clients of an application.
pub(crate) fn list(admin: &Admin, call: &Call) -> Result<Response, Refusal> {
    let query = call.query()?;
    let application: Option<i64> = query.get("applicationid").and_then(|id| id.trim().parse().ok());
    let application = application.ok_or_else(|| {
        Problem::of(Kind::ParameterValidationFailed)
            .error("applicationid is required: the id of an application.")
    })?;
    admin.access.look_up(|registry| {
        answer_list(registry.clients_of(application).map(|client| shown(&client)))
    })
}

/// Answers GET of one API client.
pub(crate) fn get(admin: &Admin, call: &Call) -> Result<Response, Refusal> {
    let id = id_of(call, "id", NOUN)?;
    let client = admin.access.look_up(|registry| found(registry, id))?;
    Ok(json_response(StatusCode::OK, shown(&client).to_string()))
}

/// Answers POST: creates another key for an application.
pub(crate) async fn create(admin: &Manager, call: &mut Call) -> Result<Response, Refusal> {
    let body = form::read_object(call).await?;
    let mut change = admin.begin(call).await?;
    let (asked, rights) = change.look_up(|registry| {
        let asked = checked(registry, &body)?;
        reserved::check_application(registry, asked.application)?;
        let keys = registry.clients_of(asked.application).count();
        if keys >= CLIENTS_MAX {
            let message = format!("The application already has {keys} keys.");
            return Err(Refusal::Invalid(Faults::of("applicationId", message)));
        }
        let rights = rights(registry, asked.application, &asked.definition);
        Ok((asked, rights))
    })?;
    let made = change.add_client(asked.application, &asked.name, asked.is_approved, rights)?;
    change.commit().await?;
    let body = json!({
        "id": made.id,
        "name": asked.name,
        "key": made.key,
        "secret": made.secret.expose(),
        "applicationId": asked.application,
    });
    Ok(created("/adminapi/v2/apiclients", made.id, Some(&body)))
}

/// Answers PUT: changes the name, the application with its rights, and the approval.
pub(crate) async fn replace(admin: &Manager, call: &mut Call) -> Result<Response, Refusal> {
    let id = id_of(call, "id", NOUN)?;
    let body = form::read_object(call).await?;
    let mut change = admin.begin(call).await?;
    let (client, asked, rights) = change.look_up(|registry| {
        let client = editable(registry, id)?;
        let asked = checked(registry, &body)?;
        if asked.application != client.application {
            reserved::check_application(registry, asked.application)?;
        }
        let rights = rights(registry, asked.application, &asked.definition);
        Ok::<_, Refusal>((client, asked, rights))
    })?;
    let key = &client.client.key;
    if asked.application != client.application {
        change.grant(key, &rights);
    }
    change.change_client(key, asked.application, &asked.name, asked.is_approved)?;
    change.commit().await?;
    Ok(empty_response(StatusCode::OK))
}

/// Answers DELETE of an API client.
pub(crate) async fn delete(admin: &Manager, call: &Call) -> Result<Response, Refusal> {
    let id = id_of(call, "id", NOUN)?;
    let mut change = admin.begin(call).await?;
    let client = change.look_up(|registry| editable(registry, id))?;
    change.remove_client(&client.client.key);
    change.commit().await?;
    Ok(deleted(NOUN))
}

/// Answers PUT …/reset-credential: creates a new secret; the old one ends at once.
pub(crate) async fn reset_credential(admin: &Manager, call: &Call) -> Result<Response, Refusal> {
    let id = id_of(call, "id", NOUN)?;
    let mut change = admin.begin(call).await?;
    let client = change.look_up(|registry| editable(registry, id))?;
    let secret = change.reset_secret(&client.client.key)?;
    change.commit().await?;
    let body = json!({
        "id": id,
        "name": client.name,
        "key": client.client.key,
        "secret": secret.expose(),
        "applicationId": client.application,
    });
    Ok(json_response(StatusCode::OK, body.to_string()))
}

/// The properties that a body asks for.
struct Asked {
    name: String,
    is_approved: bool,
    application: i64,
    /// The definition of the application.
    definition: Value,
}

fn checked(registry: &Registry, body: &Map<String, Value>) -> Result<Asked, Refusal> {
    let mut faults = Faults::default();
    let mut definition = form::read(body, MEMBERS, &mut faults);
    let mut candidate = Candidate { id: None, definition: &mut definition, faults };
    check_instances(&mut candidate);
    let mut faults = candidate.faults;
    let application = definition["applicationId"].as_i64().unwrap_or_default();
    let known = registry.item(ItemKind::Application, application);
    if application > 0 && known.is_none() {
        let message = format!("There is no application with the id {application}.");
        faults.add("applicationId", message);
    }
    faults.or_none()?;
    Ok(Asked {
        name: definition["name"].as_str().unwrap_or_default().to_owned(),
        is_approved: definition["isApproved"].as_bool().unwrap_or(true),
        application,
        definition: known.cloned().unwrap_or_default(),
    })
}

fn found(registry: &Registry, id: i64) -> Result<ApplicationClient, Refusal> {
    registry.client_numbered(id).ok_or_else(|| Refusal::not_found(NOUN, id))
}

/// Returns a client that may be changed over HTTP.
fn editable(registry: &Registry, id: i64) -> Result<ApplicationClient, Refusal> {
    let client = found(registry, id)?;
    reserved::check_client(&client.client)?;
    Ok(client)
}

fn shown(client: &ApplicationClient) -> Value {
    let status = match client.client.status {
        Status::Active => "Active",
        Status::Suspended => "Suspended",
        Status::Revoked(_) => "Revoked",
    };
    json!({
        "id": client.id,
        "key": client.client.key,
        "name": client.name,
        "isApproved": client.is_approved,
        "useSandbox": false,
        "sandboxType": 0,
        "applicationId": client.application,
        "keyStatus": status,
        "educationOrganizationIds": *client.client.education_organizations,
        "odsInstanceIds": [homeroom_access::ODS_INSTANCE],
    })
}
