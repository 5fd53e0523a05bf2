//! Published APIs: what a file defines is served below `/apis/{context}/{version}`, for keys that have
//! subscribed to it, within limits, with changes of headers and bodies, by upstreams or by a part of this
//! server.
//!
//! Each plan, API and document is a row of its own; a change is checked and stored by itself, and every node reads
//! what has changed. An API is compiled when it is published, so that a call only looks up.
//!
//! ```
//! use homeroom_apis::{Published, check};
//!
//! let published: Published = serde_json::from_str(
//!     r#"{"definition": {"apis": [{"name": "echo", "context": "echo", "version": "v1"}]},
//!         "documents": {}}"#,
//! )?;
//!
//! assert_eq!(check(&published)[0].path, "apis[0].upstream");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod apis;
mod balance;
mod bodies;
mod breaker;
mod changing;
mod check;
mod counts;
mod definition;
mod diff;
mod document;
mod edit;
mod error;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod groups;
mod headers;
mod index;
mod issuer;
mod known;
mod limit;
mod limits;
mod live_api;
mod location;
mod management;
mod meter;
mod missing;
mod operations;
mod path;
mod peer;
mod places;
mod quota;
mod quota_rows;
mod quota_use;
mod read;
mod repeats;
mod requests;
mod rows;
mod schema;
mod secret;
mod secret_files;
mod sent;
mod serving;
mod shared;
mod sql;
mod structure;
mod subscription;
mod target;
mod transform;
mod unique_json;
mod units;
mod upgrade;
mod upstream;

pub use apis::{Apis, ApisRequest};
pub use changing::TRANSFORM_BYTES_ALONE;
pub use check::{APIS_MAX, Finding, check};
pub use definition::{
    Api, Audience, Balance, Breaker, Definition, Group, Headers, Health, Issuer, PathChange, Plan,
    Published, QueryChanges, Retries, Security, Sticky, Timeouts, Transforms,
};
pub use diff::{Difference, differences};
pub use error::ApisError;
pub use limits::{By, Bys, Limit, Limits};
pub use management::{OPENAPI, openapi_document, routes};
pub use quota::{Per, Quota};
pub use read::{Linted, lint, located, read, write, write_folder, write_whole};
pub use shared::ApisLimits;
pub use subscription::Subscription;
pub use transform::{NotJson, OPERATIONS_MAX, Operation, OperationError, Transform, Unfit};
pub use units::{Size, Time};
