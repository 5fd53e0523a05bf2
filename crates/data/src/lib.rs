//! The Ed-Fi data API: every resource from the model.
//!
//! A request becomes a [`Document`](homeroom_document::validate::Document), the document a plan, the
//! plan's outcome an answer. What a document is and how it gets into the store belongs to
//! [`homeroom_document`]; here are requests, filters, pages, answers and metadata. No resource is
//! named: the model says what differs between them.
//!
//! ```
//! use std::sync::Arc;
//!
//! use homeroom_access::{Access, AccessConfig};
//! use homeroom_data::DataApi;
//! use homeroom_document::Catalog;
//! use homeroom_http::Timestamp;
//! use homeroom_model::{format, link, shipped};
//! use homeroom_store::Store;
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let model = Arc::new(link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap());
//! let store = Store::temporary(&[]).unwrap();
//! let api = DataApi::new(Arc::new(Catalog::bind(Arc::clone(&model), &store).unwrap()), store.clone());
//! let access = Access::open(store, model, AccessConfig::default(), Timestamp::now()).await.unwrap();
//!
//! let routes = homeroom_data::routes(&api, &access);
//!
//! assert!(routes.iter().any(|route| route.template == "/data/v3/{schema}/{endpoint}/{id}"));
//! # });
//! ```

mod api;
mod batch;
mod batch_places;
mod blocking;
mod coding;
pub mod composites;
mod deletes;
mod explain;
mod filter;
pub mod metadata;
mod organizations;
mod paging;
mod problem;
mod profile;
mod reach;
mod reading;
mod request;
pub mod respond;
mod routes;
mod strict;
mod token_info;

pub use api::{DataApi, SCOPE};
pub(crate) use api::{DataState, no_snapshot, refuse_snapshot};
pub use batch::{BATCH_ANSWER_BYTES_MAX, BATCH_BYTES_MAX, BATCH_LINES_MAX};
pub use batch_places::{BATCHES_MAX, BATCHES_OF_KEY_MAX, BatchPlaces};
pub use blocking::{Work, WorkLimits};
pub use composites::{CompositeError, Composites};
pub use explain::manage;
pub use problem::problem_of;
pub use routes::routes;
