//! Documents on their way in and out of the store, without HTTP.
//!
//! A body is read as JSON ([`json`]), checked against the model ([`validate`]), and turned into a
//! plan ([`plan`]) that the store runs; a plan that is not carried out says why in the words of a
//! [`Refusal`]. The API and the loader share these stages. No resource is named here: the model says
//! what differs between them.
//!
//! ```
//! use std::sync::Arc;
//!
//! use homeroom_access::UpsertGrant;
//! use homeroom_document::json::Json;
//! use homeroom_document::{Catalog, plan, validate};
//! use homeroom_model::{format, link, shipped};
//! use homeroom_store::{ChangedAt, Store};
//!
//! let model = link(&[format::read(shipped("5.2.0").unwrap()).unwrap()]).unwrap();
//! let store = Store::temporary(&[]).unwrap();
//! let catalog = Arc::new(Catalog::bind(Arc::new(model), &store).unwrap());
//! let resource = catalog.model.by_endpoint("ed-fi", "gradeLevelDescriptors").unwrap();
//!
//! let body = br#"{"codeValue": "9", "namespace": "uri://a.org/x", "shortDescription": "Ninth"}"#;
//! let json = Json::read(body).unwrap();
//! let document = validate::validate(&catalog, resource, &json).unwrap();
//! let grant = UpsertGrant::everything();
//! let plan = plan::upsert(&catalog, document, grant, plan::Precondition::default(), ChangedAt(0));
//!
//! let written = store.run_blocking(plan).map_err(|_| "refused").unwrap().value;
//! assert_eq!(written.effect, plan::Effect::Created);
//! ```

mod audit;
pub mod catalog;
mod documents;
mod empties;
pub mod json;
pub mod plan;
mod refusal;
pub mod rights;
pub mod scalar;
mod seed;
pub mod spelling;
pub mod text;
pub mod validate;
mod violations;

pub use audit::{Audit, AuditProgress, audit};
pub use catalog::Catalog;
pub use documents::Documents;
pub use refusal::{Code, Refusal, unknown_descriptor};
pub use seed::{SeedError, seed, seeded};
pub use violations::Violations;

/// Most bytes of one document.
pub const DOCUMENT_BYTES_MAX: usize = 10 << 20;
