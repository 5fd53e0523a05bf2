//! Who may do what: the client registry, keys and tokens, claim sets and what they grant.
//!
//! [`Access`] is opened on a store. The front door asks it to [recognize](Access::recognize) the
//! caller of each request. A part asks [`authorize`] what the [`ApiClient`] may do to a resource,
//! and stays within the [`Grant`] that it gets. Commands [manage](Access::manage) keys and claim
//! sets with [`Manage`] values. [`routes`] are `/oauth/token`, questions about tokens, and the public keys.
//!
//! Rights are data: the [`Claims`] hierarchy and the shipped claim sets are in a file, the
//! operator's sets are in the store, and each set is compiled over the model so that a decision
//! takes two array lookups.
//!
//! ```
//! use homeroom_access::{Action, ClaimName, Claims};
//! use homeroom_model::{format, link, shipped};
//!
//! let text = shipped("5.2.0").expect("this version is shipped");
//! let claims = Claims::of(&link(&[format::read(text)?])?)?;
//!
//! let student = ClaimName::read("ed-fi/student").expect("this is how a claim is named");
//! let student = claims.named(&student).expect("students have a claim");
//! assert!(claims.above(student).any(|claim| !claim.defaults(Action::Read).is_empty()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod action;
mod audit;
mod authorize;
mod basic;
mod cache;
mod caller;
mod catch_up;
mod certificate;
mod change;
mod claim_name;
mod claim_set;
mod claims;
mod claims_file;
mod client;
mod credentials;
mod custom_view;
mod denial;
mod documents;
mod error;
mod explain;
mod grant;
mod holder;
pub mod import;
mod introspect;
mod issuer;
mod items;
mod login;
mod lookups;
mod manage;
mod many;
mod metadata;
mod oauth;
mod ownership;
mod phase;
mod proven;
mod recognize;
mod recognized;
mod records;
mod refused_logins;
mod registry;
mod relation;
mod revive;
mod revocations;
mod revoke;
mod rights;
mod routes;
mod secret;
mod server_keys;
mod sql;
mod store_problem;
mod strategy;
mod token;
mod token_info;
mod token_scope;
mod unrecognized;

pub use access::{Access, AccessConfig};
pub use action::{Action, PerAction};
pub use audit::{AUDIT, Author};
pub use authorize::{authorize, authorize_upsert};
pub use cache::make_room;
pub use caller::{AsOf, Caller, Lapsed};
pub use change::{Change, ClientRights, NewClient};
pub use claim_name::ClaimName;
pub use claim_set::ClaimSet;
pub use claims::{Claim, ClaimId, Claims, EXTENSIONS_SHIPPED, SHIPPED};
pub use claims_file::ClaimsError;
pub use client::{ANY_SCOPE, ApiClient, Call, Scope, Status};
pub use credentials::{API_KEY, Credentials};
pub use custom_view::{
    BasisOf, CustomView, MemberIs, MemberRule, SharedValue, ViewBound, ViewRule, Views,
};
pub use denial::{Denial, Lack, title};
pub use documents::{DocumentStanding, StrategyStanding, SubjectStanding};
pub use error::{AccessError, ManageError};
pub use explain::{AskedDocument, Explain, Explanation};
pub use grant::{
    Alternative, Grant, Part, Relationships, Restriction, Standing, UpsertGrant, missing_relation,
    namespace_subject,
};
pub use holder::Holder;
pub use issuer::{Subscribed, Subscriptions};
pub use items::{ItemKind, ODS_INSTANCE, stable_id};
pub use login::RefusedLogin;
pub use lookups::LookupsFull;
pub use manage::{EDUCATION_ORGANIZATIONS_MAX, Manage, NAMESPACE_PREFIXES_MAX, TEXT_MAX};
pub use many::{Begun, Planner};
pub use phase::Phase;
pub use recognized::Recognized;
pub use registry::{ApplicationClient, KnownSet, Origin, Registry};
pub use relation::By;
pub use revive::{Revival, revive};
pub use rights::{Permission, Rights};
pub use routes::{TOKEN_REQUEST_BYTES_MAX, routes};
pub use secret::{RandomError, Secret};
pub use store_problem::{CHECK_FIRST, SEND_AGAIN, store_problem};
pub use strategy::Strategy;
pub use token::TOKEN_SECONDS;
pub use token_info::{EducationOrganization, TokenInfo};
pub use unrecognized::Unrecognized;
