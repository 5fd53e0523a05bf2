//! The routes of this part.

use std::sync::Arc;

use homeroom_access::{Access, ApiClient, Call, Caller, Scope};
use homeroom_http::{
    BodyLimits, Guard, Handler, PUBLIC_BODY_BYTES_MAX, Problem, Route, handler, other_methods,
};
use http::Method;

use crate::applications::{self, APPLICATIONS};
use crate::hierarchy::Hierarchy;
use crate::instances::{CONTEXTS, DERIVATIVE_INSTANCES, INSTANCES};
use crate::manager::{Admin, Manager};
use crate::profiles::PROFILES;
use crate::refusal::answer;
use crate::resource::Resource;
use crate::vendors::VENDORS;
use crate::{api_clients, claim_sets, information, openapi, resource_claims};

/// Most bytes of a body.
const BODY_LIMIT: usize = 1 << 20;

/// Most bytes of an imported claim set.
const IMPORT_LIMIT: usize = 4 << 20;

/// Who may call the guarded routes.
const GUARDED: Guard = Guard::Token { scope: "admin" };

/// Resources that are rows of the table.
static RESOURCES: [&Resource; 6] =
    [&VENDORS, &APPLICATIONS, &PROFILES, &INSTANCES, &CONTEXTS, &DERIVATIVE_INSTANCES];

/// Makes a handler that reads the registry, including what other processes have changed. Long lists
/// are built off the worker threads.
macro_rules! reads {
    ($admin:expr, $answer:expr) => {
        handler($admin, move |admin: Arc<Admin>, call: Call| async move {
            let caller = Caller::of(&call, Scope::Admin);
            if let Err(error) = admin.access.refresh().await {
                return answer(&call, Err(error.into()));
            }
            caller.again(&admin.access)?;
            let kept = homeroom_store::kept();
            let reading = tokio::task::spawn_blocking(move || {
                let answer = answer(&call, $answer(&admin, &call));
                drop(kept);
                answer
            });
            reading.await.unwrap_or_else(|error| Err(Problem::internal(error)))
        })
    };
}

/// Makes a handler whose answer never changes.
macro_rules! tells {
    ($admin:expr, $answer:expr) => {
        handler($admin, move |admin: Arc<Admin>, call: Call| async move {
            answer(&call, $answer(&admin, &call))
        })
    };
}

/// Makes a handler that changes the registry. It runs to completion even if the caller hangs up: a
/// written change must come into force.
macro_rules! changes {
    ($admin:expr, $answer:expr) => {
        handler($admin, move |admin: Arc<Admin>, mut call: Call| async move {
            let kept = homeroom_store::kept();
            let changing = tokio::spawn(async move {
                let _kept = kept;
                let manager = Manager::of(&call, admin);
                let outcome = $answer(&manager, &mut call).await;
                answer(&call, outcome)
            });
            changing.await.unwrap_or_else(|error| Err(Problem::internal(error)))
        })
    };
}

/// Returns the routes of this part.
pub fn routes(access: &Arc<Access>) -> Vec<Route<ApiClient>> {
    let hierarchy = Hierarchy::of(access.claims());
    let admin = &Arc::new(Admin { access: Arc::clone(access), hierarchy });
    let mut routes = vec![];
    for resource in RESOURCES {
        routes.extend(routes_of(admin, resource));
    }
    routes.extend(more_of_resources(admin));
    routes.extend(routes_of_claim_sets(admin));
    routes.extend(routes_of_what_is_fixed(admin));
    routes.push(openapi::route());
    routes
}

fn guarded(
    method: Method,
    template: &'static str,
    handler: Handler<ApiClient>,
) -> Route<ApiClient> {
    Route::new(method, template, GUARDED, handler).with_body(BodyLimits::of_bytes(BODY_LIMIT))
}

fn routes_of(admin: &Arc<Admin>, of: &'static Resource) -> Vec<Route<ApiClient>> {
    let list = reads!(admin, |admin: &Admin, call: &Call| of.list(admin, call));
    let get = reads!(admin, |admin: &Admin, call: &Call| of.get(admin, call));
    let create =
        changes!(admin, async |admin: &Manager, call: &mut Call| of.create(admin, call).await);
    let put =
        changes!(admin, async |admin: &Manager, call: &mut Call| of.replace(admin, call).await);
    let delete =
        changes!(admin, async |admin: &Manager, call: &mut Call| of.delete(admin, call).await);
    vec![
        guarded(Method::GET, of.all, list),
        guarded(Method::GET, of.one, get),
        guarded(Method::POST, of.all, create),
        guarded(Method::PUT, of.one, put),
        guarded(Method::DELETE, of.one, delete),
    ]
}

fn more_of_resources(admin: &Arc<Admin>) -> Vec<Route<ApiClient>> {
    let of_vendor = |admin: &Admin, call: &Call| applications::list_of(admin, &VENDORS, call);
    let of_instance = |admin: &Admin, call: &Call| applications::list_of(admin, &INSTANCES, call);
    vec![
        guarded(Method::GET, "/adminapi/v2/vendors/{id}/applications", reads!(admin, of_vendor)),
        guarded(
            Method::GET,
            "/adminapi/v2/odsInstances/{id}/applications",
            reads!(admin, of_instance),
        ),
        guarded(
            Method::PUT,
            "/adminapi/v2/applications/{id}/reset-credential",
            changes!(admin, applications::reset_credential),
        ),
        guarded(Method::GET, "/adminapi/v2/apiclients", reads!(admin, api_clients::list)),
        guarded(Method::POST, "/adminapi/v2/apiclients", changes!(admin, api_clients::create)),
        guarded(Method::GET, "/adminapi/v2/apiclients/{id}", reads!(admin, api_clients::get)),
        guarded(Method::PUT, "/adminapi/v2/apiclients/{id}", changes!(admin, api_clients::replace)),
        guarded(
            Method::DELETE,
            "/adminapi/v2/apiclients/{id}",
            changes!(admin, api_clients::delete),
        ),
        guarded(
            Method::PUT,
            "/adminapi/v2/apiclients/{id}/reset-credential",
            changes!(admin, api_clients::reset_credential),
        ),
    ]
}

fn routes_of_claim_sets(admin: &Arc<Admin>) -> Vec<Route<ApiClient>> {
    let import = changes!(admin, claim_sets::import);
    let import = guarded(Method::POST, "/adminapi/v2/claimSets/import", import);
    vec![
        guarded(Method::GET, "/adminapi/v2/claimSets", reads!(admin, claim_sets::list)),
        guarded(Method::POST, "/adminapi/v2/claimSets", changes!(admin, claim_sets::create)),
        guarded(Method::POST, "/adminapi/v2/claimSets/copy", changes!(admin, claim_sets::copy)),
        import.with_body(BodyLimits::of_bytes(IMPORT_LIMIT)),
        guarded(Method::GET, "/adminapi/v2/claimSets/{id}", reads!(admin, claim_sets::get)),
        guarded(Method::PUT, "/adminapi/v2/claimSets/{id}", changes!(admin, claim_sets::rename)),
        guarded(Method::DELETE, "/adminapi/v2/claimSets/{id}", changes!(admin, claim_sets::delete)),
        guarded(Method::GET, "/adminapi/v2/claimSets/{id}/export", reads!(admin, claim_sets::get)),
        guarded(
            Method::POST,
            "/adminapi/v2/claimSets/{id}/resourceClaimActions",
            changes!(admin, claim_sets::add_claim),
        ),
        guarded(
            Method::PUT,
            "/adminapi/v2/claimSets/{id}/resourceClaimActions/{resourceClaimId}",
            changes!(admin, claim_sets::replace_claim),
        ),
        guarded(
            Method::DELETE,
            "/adminapi/v2/claimSets/{id}/resourceClaimActions/{resourceClaimId}",
            changes!(admin, claim_sets::remove_claim),
        ),
        guarded(
            Method::POST,
            "/adminapi/v2/claimSets/{id}/resourceClaimActions/{resourceClaimId}/\
             overrideAuthorizationStrategy",
            changes!(admin, claim_sets::override_strategies),
        ),
        guarded(
            Method::POST,
            "/adminapi/v2/claimSets/{id}/resourceClaimActions/{resourceClaimId}/\
             resetAuthorizationStrategies",
            changes!(admin, claim_sets::reset_strategies),
        ),
    ]
}

fn routes_of_what_is_fixed(admin: &Arc<Admin>) -> Vec<Route<ApiClient>> {
    let public = |method, template: &'static str, handler| {
        Route::new(method, template, Guard::Public, handler)
            .with_body(BodyLimits::of_bytes(PUBLIC_BODY_BYTES_MAX))
    };
    vec![
        public(Method::GET, "/adminapi", tells!(admin, information::get)),
        public(Method::POST, "/adminapi/connect/register", tells!(admin, information::register)),
        public(other_methods(), "/adminapi/v1/{*rest}", tells!(admin, information::first_version)),
        guarded(Method::GET, "/adminapi/v2/tenants", tells!(admin, information::list_tenants)),
        guarded(
            Method::GET,
            "/adminapi/v2/tenants/{tenantName}",
            tells!(admin, information::get_tenant),
        ),
        guarded(Method::GET, "/adminapi/v2/resourceClaims", tells!(admin, resource_claims::list)),
        guarded(
            Method::GET,
            "/adminapi/v2/resourceClaims/{id}",
            tells!(admin, resource_claims::get),
        ),
        guarded(
            Method::GET,
            "/adminapi/v2/resourceClaimActions",
            tells!(admin, resource_claims::list_actions_of_claims),
        ),
        guarded(
            Method::GET,
            "/adminapi/v2/resourceClaimActionAuthStrategies",
            tells!(admin, resource_claims::list_strategies_of_claims),
        ),
        guarded(Method::GET, "/adminapi/v2/actions", tells!(admin, resource_claims::list_actions)),
        guarded(
            Method::GET,
            "/adminapi/v2/authorizationStrategies",
            tells!(admin, resource_claims::list_strategies),
        ),
    ]
}
