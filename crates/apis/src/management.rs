//! `/adminapi/gateway/v1`: what `homeroom gateway` does, over HTTP, for keys with the scope `admin`.

mod base;
mod items;
mod openapi;
mod problem;
mod reserved;
mod whole;

use std::sync::Arc;

use homeroom_access::{Access, ApiClient, Author, Call, Caller, Scope};
use homeroom_http::{BodyLimits, Guard, Problem, Route, handler};
use http::Method;

use crate::apis::Apis;
use base::BASE;

pub use openapi::{OPENAPI, document as openapi_document};

/// Most bytes of a definition that is sent.
const DEFINITION_LIMIT: usize = 16 << 20;
/// Most bytes of an API or plan that is sent, with its document.
const ITEM_LIMIT: usize = 8 << 20;

/// What the handlers share.
struct Management {
    apis: Arc<Apis>,
    access: Arc<Access>,
}

/// Makes a handler for callers who may still manage. It runs to completion even if the caller hangs up:
/// a written change must come into force. What it does to what is published, `$done`, is in the audit log.
macro_rules! managed {
    ($management:expr, $answer:expr) => {
        managed!($management, $answer, "")
    };
    ($management:expr, $answer:expr, $done:literal) => {
        handler($management, move |management: Arc<Management>, mut call: Call| async move {
            let kept = homeroom_store::kept();
            let answering = tokio::spawn(async move {
                let _kept = kept;
                let caller = Caller::of(&call, Scope::Admin);
                management.access.refresh().await.map_err(problem::of_access)?;
                caller.again(&management.access)?;
                let answered = $answer(&management.apis, &mut call).await;
                if answered.is_ok() {
                    note(&call, $done);
                }
                answered
            });
            answering.await.unwrap_or_else(|error| Err(Problem::internal(error)))
        })
    };
}

/// Returns the routes by which published APIs are managed.
pub fn routes(apis: &Arc<Apis>, access: &Arc<Access>) -> Vec<Route<ApiClient>> {
    let (apis, access) = (Arc::clone(apis), Arc::clone(access));
    let own = &Arc::new(Management { apis, access });
    let route = |method, path: &str, limit, answer| {
        let guard = Guard::Token { scope: Scope::Admin.name() };
        let template = format!("{BASE}{path}");
        Route::new(method, template, guard, answer).with_body(BodyLimits::of_bytes(limit))
    };
    let whole = |method, path, answer| route(method, path, DEFINITION_LIMIT, answer);
    let item = |method, path, answer| route(method, path, ITEM_LIMIT, answer);
    vec![
        whole(Method::POST, "/apply", managed!(own, whole::apply, "gateway.applied")),
        whole(Method::POST, "/lint", managed!(own, whole::lint)),
        whole(Method::POST, "/diff", managed!(own, whole::diff)),
        whole(Method::GET, "/export", managed!(own, whole::export)),
        item(Method::GET, "/apis", managed!(own, items::list_apis)),
        item(Method::GET, "/apis/{name}", managed!(own, items::get_api)),
        item(Method::PUT, "/apis/{name}", managed!(own, items::put_api, "gateway.api-put")),
        item(
            Method::DELETE,
            "/apis/{name}",
            managed!(own, items::delete_api, "gateway.api-removed"),
        ),
        item(Method::GET, "/plans", managed!(own, items::list_plans)),
        item(Method::GET, "/plans/{name}", managed!(own, items::get_plan)),
        item(Method::PUT, "/plans/{name}", managed!(own, items::put_plan, "gateway.plan-put")),
        item(
            Method::DELETE,
            "/plans/{name}",
            managed!(own, items::delete_plan, "gateway.plan-removed"),
        ),
        openapi::route(),
    ]
}

/// Writes into the audit log what a request has done, if that is a change, and to which API or plan.
fn note(call: &Call, done: &str) {
    if !done.is_empty() {
        let mut params = call.params.0.iter();
        let named =
            params.find(|(param, _)| param == "name").map_or("all", |(_, name)| name.as_str());
        Author::of_call(call).note(done, named);
    }
}
