//! Applications: the callers of the data API, with their rights and keys.

use homeroom_access::{
    ApplicationClient, Call, Change, ClientRights, EDUCATION_ORGANIZATIONS_MAX, ItemKind,
    ODS_INSTANCE, Registry, Status, TEXT_MAX,
};
use homeroom_http::{Kind, Problem, Response, json_response};
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::form::{ID_MAX, Is, ids, needed, optional};
use crate::list::{By, Filter, answer_list, filter};
use crate::manager::{Admin, Manager};
use crate::owned::{applications_of, prefixes_of};
use crate::refusal::{Faults, Refusal};
use crate::reserved;
use crate::resource::{Candidate, Resource};

/// Most applications in a store; as many as there may be keys.
const APPLICATIONS_MAX: usize = 100_000;

/// Most ids of profiles or instances in a request.
const FEW_MAX: usize = 100;

/// The resource of applications.
pub(crate) static APPLICATIONS: Resource = Resource {
    kind: ItemKind::Application,
    noun: "application",
    all: "/adminapi/v2/applications",
    one: "/adminapi/v2/applications/{id}",
    count_max: APPLICATIONS_MAX,
    members: &[
        needed("applicationName", Is::Text(TEXT_MAX)),
        needed("vendorId", Is::Id).null_by_command(),
        needed("claimSetName", Is::Text(TEXT_MAX)).null_by_command(),
        optional("profileIds", Is::Ids(FEW_MAX, ID_MAX)),
        needed("educationOrganizationIds", Is::Ids(EDUCATION_ORGANIZATIONS_MAX, i64::MAX)),
        optional("odsInstanceIds", Is::Ids(FEW_MAX, ID_MAX)),
        optional("enabled", Is::Flag),
    ],
    filters: &[
        filter("id", By::Number),
        filter("applicationName", By::Text),
        Filter { parameter: "claimsetName", member: "claimSetName", by: By::Text },
        Filter { parameter: "ids", member: "id", by: By::Ids },
    ],
    only_in_one: &[],
    check,
    created,
    changed,
    deleted,
    derived,
};

fn check(registry: &Registry, application: &mut Candidate<'_>) -> Result<(), Refusal> {
    if let Some(id) = application.id {
        reserved::check_application(registry, id)?;
    }
    let vendor = application.definition["vendorId"].as_i64();
    if let Some(vendor) = vendor.filter(|id| registry.item(ItemKind::Vendor, *id).is_none()) {
        application
            .faults
            .add("vendorId", format!("The vendor with the id {vendor} was not found."));
    }
    match registry.claim_set_named(application.text("claimSetName")) {
        Some(known) => application.definition["claimSetName"] = known.set().name.as_str().into(),
        None if application.text("claimSetName").is_empty() => {}
        None => {
            let message = format!("There is no claim set '{}'.", application.text("claimSetName"));
            application.faults.add("claimSetName", message);
        }
    }
    let profiles = ids(&application.definition["profileIds"]);
    let unknown = profiles.iter().filter(|id| registry.item(ItemKind::Profile, **id).is_none());
    let unknown: Vec<String> = unknown.map(i64::to_string).collect();
    if !unknown.is_empty() {
        let message = format!("These profile ids were not found: {}.", unknown.join(", "));
        application.faults.add("profileIds", message);
    }
    check_instances(application);
    if is_same_as_another(registry, application) {
        return Err(Problem::of(Kind::NonUniqueIdentity)
            .detail("The vendor already has an application with the same values.")
            .hint("Use that one, or create another key for it with POST /adminapi/v2/apiclients.")
            .into());
    }
    if !profiles.is_empty() && unknown.is_empty() {
        std::mem::take(&mut application.faults).or_none()?;
        return Err(Problem::of(Kind::NotImplemented)
            .detail("Profiles are stored but not enforced yet, so no application can have one.")
            .hint("Leave profileIds out; a claim set narrows what an application may do.")
            .into());
    }
    application.definition["profileIds"] = json!([]);
    Ok(())
}

/// Checks the instances; the only one is used where none is named.
pub(crate) fn check_instances(candidate: &mut Candidate<'_>) {
    let given = &candidate.definition["odsInstanceIds"];
    if given.is_null() {
        candidate.definition["odsInstanceIds"] = json!([ODS_INSTANCE]);
        return;
    }
    let given = ids(given);
    if given.is_empty() {
        candidate.faults.add("odsInstanceIds", "Must have at least one id, or be left out.");
    }
    for other in given.into_iter().filter(|id| *id != ODS_INSTANCE) {
        let message = format!("There is no ODS instance with the id {other}.");
        candidate.faults.add("odsInstanceIds", message);
    }
}

/// Returns whether its vendor already has the same application, as when a request is sent twice.
fn is_same_as_another(registry: &Registry, application: &Candidate<'_>) -> bool {
    const SAME: [&str; 3] = ["applicationName", "claimSetName", "educationOrganizationIds"];
    let vendor = application.definition["vendorId"].as_i64();
    let (None, Some(vendor)) = (application.id, vendor) else { return false };
    applications_of(registry, vendor)
        .any(|(_, other)| SAME.iter().all(|name| other[name] == application.definition[name]))
}

/// Returns the rights of an application's keys. An application made by a command has no vendor: its
/// keys share the prefixes of the first key.
pub(crate) fn rights(registry: &Registry, id: i64, application: &Value) -> ClientRights {
    let vendor = application["vendorId"].as_i64();
    let vendor = vendor.and_then(|id| registry.item(ItemKind::Vendor, id));
    let of_first = || {
        let first = registry.clients_of(id).next();
        first.map(|client| client.client.namespace_prefixes.to_vec()).unwrap_or_default()
    };
    ClientRights {
        application: application["applicationName"].as_str().unwrap_or_default().to_owned(),
        claim_set: application["claimSetName"].as_str().map(String::from),
        education_organizations: ids(&application["educationOrganizationIds"]),
        namespace_prefixes: vendor.map_or_else(of_first, prefixes_of),
    }
}

fn is_enabled(application: &Value) -> bool {
    application["enabled"].as_bool().unwrap_or(true)
}

/// Creates the first key of a new application.
fn created(
    change: &mut Change<'_>,
    id: i64,
    application: &Value,
) -> Result<Option<Value>, Refusal> {
    let rights = change.look_up(|registry| rights(registry, id, application));
    let name = rights.application.clone();
    let made = change.add_client(id, &name, is_enabled(application), rights)?;
    Ok(Some(json!({"id": id, "key": made.key, "secret": made.secret.expose()})))
}

/// Gives all keys of the application its new rights at once.
fn changed(change: &mut Change<'_>, id: i64, application: &Value) -> Result<(), Refusal> {
    let rights = change.look_up(|registry| rights(registry, id, application));
    for client in clients_of(change, id) {
        change.grant(&client.client.key, &rights);
        change.change_client(&client.client.key, id, &client.name, is_enabled(application))?;
    }
    Ok(())
}

/// Deletes the keys of an application with it.
fn deleted(change: &mut Change<'_>, id: i64) -> Result<(), Refusal> {
    change.look_up(|registry| reserved::check_application(registry, id))?;
    for client in clients_of(change, id) {
        change.remove_client(&client.client.key);
    }
    Ok(())
}

fn clients_of(change: &Change<'_>, application: i64) -> Vec<ApplicationClient> {
    change.look_up(|registry| registry.clients_of(application).collect())
}

fn derived(registry: &Registry, id: i64, shown: &mut Map<String, Value>) {
    let enabled = registry.clients_of(id).all(|client| client.is_approved);
    shown.insert("enabled".into(), enabled.into());
}

/// Answers PUT …/reset-credential: creates a new secret for the application's first key that is not
/// revoked; the old secret ends at once.
pub(crate) async fn reset_credential(admin: &Manager, call: &Call) -> Result<Response, Refusal> {
    let id = APPLICATIONS.id(call)?;
    let mut change = admin.begin(call).await?;
    if change.look_up(|registry| registry.item(ItemKind::Application, id).is_none()) {
        return Err(Refusal::not_found(APPLICATIONS.noun, id));
    }
    change.look_up(|registry| reserved::check_application(registry, id))?;
    let is_revoked =
        |client: &ApplicationClient| matches!(client.client.status, Status::Revoked(_));
    let first = clients_of(&change, id).into_iter().min_by_key(is_revoked);
    let Some(client) = first else {
        let message = "The application has no key; create one with POST /adminapi/v2/apiclients.";
        return Err(Refusal::Invalid(Faults::of("id", message)));
    };
    let secret = change.reset_secret(&client.client.key)?;
    change.commit().await?;
    let body = json!({"id": id, "key": client.client.key, "secret": secret.expose()});
    Ok(json_response(StatusCode::OK, body.to_string()))
}

/// Answers GET /vendors/{id}/applications and /odsInstances/{id}/applications.
pub(crate) fn list_of(admin: &Admin, of: &Resource, call: &Call) -> Result<Response, Refusal> {
    let id = of.id(call)?;
    admin.access.look_up(|registry| {
        if registry.item(of.kind, id).is_none() {
            return Err(Refusal::not_found(of.noun, id));
        }
        let is_of = |application: &Value| match of.kind {
            ItemKind::OdsInstance => ids(&application["odsInstanceIds"]).contains(&id),
            _ => application["vendorId"].as_i64() == Some(id),
        };
        let applications = registry.items(ItemKind::Application);
        answer_list(
            applications
                .filter(|(_, application)| is_of(application))
                .map(|(id, application)| APPLICATIONS.shown(registry, id, application).into()),
        )
    })
}
