//! The Ed-Fi Admin API 2.x under `/adminapi`, which manages clients and their rights over HTTP.
//!
//! It manages the registry of the `access` crate, so a key made by a command is visible here and
//! the other way round. A request for a change goes through four steps: `form` reads the body by a
//! table of members and collects every violation, the resource's own check looks at the registry,
//! the change is committed as a whole, and it takes effect with the next request.
//!
//! Most resources are rows of the table in `resource`: vendors, applications, profiles, the
//! instance with its contexts and derivatives. Claim sets and their parts have modules of their
//! own. Tokens come from `/adminapi/connect/token`, a route of `access` like `/oauth/token`.
//!
//! Source: the Ed-Fi Management API 2.3.0 (OpenAPI); where it is silent, what public clients of the
//! Ed-Fi Admin API 2.x rely on.
//!
//! ```
//! use homeroom_access::{Access, AccessConfig};
//! use homeroom_http::Timestamp;
//! use homeroom_store::Store;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let model = homeroom_testkit::USUAL.model();
//! let store = Store::temporary(&[])?;
//! let access = Access::open(store, model, AccessConfig::default(), Timestamp::now()).await?;
//!
//! let routes = homeroom_admin::routes(&access);
//! assert!(routes.iter().any(|route| route.template == "/adminapi/v2/vendors"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![expect(clippy::unnecessary_wraps, reason = "all handlers of a table share one signature")]

mod api_clients;
mod applications;
mod claim_sets;
mod form;
mod hierarchy;
mod information;
mod instances;
mod list;
mod manager;
mod openapi;
mod owned;
mod profiles;
mod refusal;
mod reserved;
mod resource;
mod resource_claims;
mod routes;
mod vendors;

pub use openapi::{OPENAPI, document as openapi_document};
pub use routes::routes;
