//! The Ed-Fi data API: every resource from the model.
//!
//! A request becomes a [`validate::Document`], the document a plan, the plan's outcome an answer.
//! No resource is named here: the model says what differs between them.

mod audit;
mod blocking;
pub mod catalog;
pub mod composites;
mod deletes;
mod empties;
mod filter;
pub mod json;
pub mod metadata;
mod organizations;
mod paging;
pub mod plan;
mod profile;
mod reading;
mod request;
pub mod respond;
mod rights;
pub mod scalar;
mod seed;
mod spelling;
mod token_info;
pub mod validate;

use std::sync::Arc;
use std::time::Duration;

use homeroom_access::{ANY_SCOPE, Access, ApiClient, Call, TOKEN_REQUEST_BYTES_MAX};
use homeroom_http::{Guard, Kind, Problem, Route, handler, other_methods};
use homeroom_model::Resource;
use homeroom_store::{Store, StoreError};
use http::Method;

pub use audit::{Audit, AuditProgress, audit};
pub use catalog::Catalog;
pub use composites::{CompositeError, Composites};
pub use rights::explain::manage;
pub use seed::{SeedError, seed};

/// Most bytes of one document.
pub const DOCUMENT_BYTES_MAX: usize = 10 << 20;

/// The scope that a token needs here.
pub const SCOPE: &str = "data";

/// The data API's state.
#[derive(Debug, Clone)]
pub struct DataApi {
    /// The model, bound to the store.
    pub catalog: Arc<Catalog>,
    /// The store.
    pub store: Store,
    /// Longest time for a list of deletions, however many reads it needs.
    pub list_deadline: Duration,
}

impl DataApi {
    /// Creates an API for a bound model.
    pub fn new(catalog: Arc<Catalog>, store: Store) -> Self {
        let list_deadline = store.list_deadline();
        Self { catalog, store, list_deadline }
    }

    /// Returns the resource in a call's address, and refuses headers that cannot be honoured.
    fn resource(&self, call: &Call) -> Result<&Resource, Problem> {
        let (schema, endpoint) = (call.params.get("schema"), call.params.get("endpoint"));
        let resource = self.catalog.model.by_endpoint(schema, endpoint).ok_or_else(|| {
            Problem::of(Kind::NotFound)
                .detail("There is no such resource.")
                .hint("/metadata/data/v3/resources/swagger.json lists the resources.")
        })?;
        refuse_snapshot(call)?;
        profile::refuse(call)?;
        Ok(resource)
    }
}

/// Refuses a request that asks for a snapshot, because this store has none.
fn refuse_snapshot(call: &Call) -> Result<(), Problem> {
    let asked = call.header("use-snapshot");
    if asked.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Err(no_snapshot(&call.method));
    }
    Ok(())
}

fn no_snapshot(method: &Method) -> Problem {
    if *method == Method::GET || *method == Method::HEAD {
        Problem::of(Kind::NotFound)
            .detail("This server does not support snapshots.")
            .hint("Omit the Use-Snapshot header; page with pageToken up to a maxChangeVersion.")
    } else {
        Problem::of(Kind::SnapshotsMethodNotAllowed)
            .error(format!("{method} cannot be used with a snapshot."))
            .header(http::header::ALLOW, http::HeaderValue::from_static("GET, HEAD"))
    }
}

/// The state of the handlers: the data, and the registry that authorizes access to it.
#[derive(Debug, Clone)]
struct Served {
    api: DataApi,
    access: Arc<Access>,
}

/// Returns the routes of the data API, for callers that `access` recognizes.
pub fn routes(api: &DataApi, access: &Arc<Access>) -> Vec<Route<ApiClient>> {
    const MANY: &str = "/data/v3/{schema}/{endpoint}";
    const ONE: &str = "/data/v3/{schema}/{endpoint}/{id}";
    const PARTITIONS: &str = "/data/v3/{schema}/{endpoint}/partitions";
    const DELETES: &str = "/data/v3/{schema}/{endpoint}/deletes";
    const KEY_CHANGES: &str = "/data/v3/{schema}/{endpoint}/keyChanges";
    let api = &Served { api: api.clone(), access: Arc::clone(access) };
    let route = |method: Method, template, body_limit, handler| Route {
        method,
        template,
        guard: Guard::Token { scope: SCOPE },
        body_limit,
        handler,
    };
    let other = |template, allowed: &'static str| {
        let state = (api.clone(), allowed);
        route(other_methods(), template, 0, handler(&state, request::not_allowed))
    };
    vec![
        route(Method::GET, MANY, 0, handler(api, request::list)),
        route(Method::POST, MANY, DOCUMENT_BYTES_MAX, handler(api, request::upsert)),
        other(MANY, "GET, HEAD, POST"),
        route(Method::GET, ONE, 0, handler(api, request::get)),
        route(Method::PUT, ONE, DOCUMENT_BYTES_MAX, handler(api, request::replace)),
        route(Method::DELETE, ONE, 0, handler(api, request::delete)),
        other(ONE, "DELETE, GET, HEAD, PUT"),
        route(Method::GET, PARTITIONS, 0, handler(api, request::partitions)),
        other(PARTITIONS, "GET, HEAD"),
        route(Method::GET, DELETES, 0, handler(api, request::deletes)),
        other(DELETES, "GET, HEAD"),
        route(Method::GET, KEY_CHANGES, 0, handler(api, request::key_changes)),
        other(KEY_CHANGES, "GET, HEAD"),
        route(
            Method::GET,
            "/changeQueries/v1/availableChangeVersions",
            0,
            handler(api, request::available_change_versions),
        ),
        Route {
            method: Method::POST,
            template: "/oauth/token_info",
            guard: Guard::Token { scope: ANY_SCOPE },
            body_limit: TOKEN_REQUEST_BYTES_MAX,
            handler: handler(api, token_info::post),
        },
    ]
}

/// Returns the problem for a failure of the store.
pub fn problem_of(error: StoreError) -> Problem {
    match error {
        StoreError::Busy => Problem::busy(1),
        StoreError::Deadline(time) => Problem::busy(5)
            .detail(format!("The read took longer than {} s and was stopped.", time.as_secs()))
            .hint(
                "Filter by a whole reference or key, omit totalCount, or page with pageToken.",
            ),
        StoreError::TooLarge { bytes_max, .. } => {
            Problem::of(Kind::ParameterValidationFailed).error(format!(
                "The page would be larger than {} MiB; ask for fewer documents with limit or pageSize.",
                bytes_max >> 20
            ))
        }
        StoreError::DiskFull => {
            Problem::busy(30).detail("The server's disk is full; nothing was written.")
        }
        StoreError::DiskFailed(_) => {
            Problem::busy(30).detail("The server's disk is failing; nothing was written.")
        }
        StoreError::Displaced(_) => Problem::busy(30)
            .detail("The server's store was moved or replaced; nothing was written."),
        StoreError::Unsure => Problem::busy(30)
            .detail("The server's disk or database failed; it is not known whether this was \
                     written.")
            .hint("Send the same request again: if it was written, nothing changes."),
        StoreError::Away(_) => {
            Problem::busy(2).detail("The server cannot use its database at the moment.")
        }
        StoreError::Closed => Problem::busy(5).detail("The server is being shut down."),
        StoreError::FromTheFuture { found, known } => Problem::busy(30).detail(format!(
            "A newer Homeroom has migrated the database (schema version {found}; this server knows \
             {known}); nothing was written. Upgrade this server, too."
        )),
        StoreError::Failed(_)
        | StoreError::InUse(_)
        | StoreError::Unusable(_) => Problem::internal(error),
    }
}
