//! The state of the data API, and what each request asks of it first.

use std::sync::Arc;
use std::time::Duration;

use homeroom_access::{Access, Call};
use homeroom_document::{Catalog, Documents};
use homeroom_http::{BudgetFigures, Kind, Problem};
use homeroom_model::Resource;
use homeroom_store::Store;
use http::Method;

use crate::batch_places::BatchPlaces;
use crate::blocking::Work;
use crate::profile;

/// The scope that a token needs here.
pub const SCOPE: &str = "data";

/// The data API's state.
#[derive(Debug, Clone)]
pub struct DataApi {
    /// The model, bound to the store.
    pub catalog: Arc<Catalog>,
    /// The store.
    pub store: Store,
    /// Longest time that a list of deletions may take, however many reads it needs.
    pub list_deadline: Duration,
    /// Places for batches.
    pub batches: BatchPlaces,
    /// Places for long work.
    pub work: Work,
}

impl DataApi {
    /// Makes an API for a bound model.
    pub fn new(catalog: Arc<Catalog>, store: Store) -> Self {
        let list_deadline = store.list_deadline();
        Self {
            catalog,
            store,
            list_deadline,
            batches: BatchPlaces::default(),
            work: Work::default(),
        }
    }

    /// Returns the figures of its queues.
    pub fn queues(&self) -> Vec<BudgetFigures> {
        let mut all = vec![self.batches.figures()];
        all.extend(self.work.figures());
        all
    }

    /// Returns the documents that the API gives access to.
    pub fn documents(&self) -> Documents {
        Documents { catalog: Arc::clone(&self.catalog), store: self.store.clone() }
    }

    /// Returns the resource that a call's address names.
    ///
    /// # Errors
    ///
    /// 404 where there is no such resource; a refusal of what the headers ask for and this server
    /// does not offer, snapshots and profiles.
    pub(crate) fn resource(&self, call: &Call) -> Result<&Resource, Problem> {
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
pub(crate) fn refuse_snapshot(call: &Call) -> Result<(), Problem> {
    let asked = call.header("use-snapshot");
    if asked.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Err(no_snapshot(&call.method));
    }
    Ok(())
}

pub(crate) fn no_snapshot(method: &Method) -> Problem {
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
pub(crate) struct DataState {
    pub(crate) api: DataApi,
    pub(crate) access: Arc<Access>,
}
