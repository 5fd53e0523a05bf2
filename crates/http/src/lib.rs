//! What every HTTP part of Homeroom shares: a [`Call`], the [`Route`] that leads to it, and the
//! [`Problem`] that answers a call that failed.
//!
//! This crate knows no client type: [`Call`] is generic over it, and the `access` crate names the
//! one that all parts use.
//!
//! ```
//! use homeroom_http::{Kind, Problem};
//!
//! let problem = Problem::of(Kind::NotFound).detail("There is no student with this id.");
//! let response = problem.into_response("the-caller-s-correlation-id");
//!
//! assert_eq!(response.status(), 404);
//! ```

mod accept;
mod answer;
mod body;
mod budget_figures;
mod call;
mod cors;
mod credential;
mod entity_tag;
mod fingerprint;
mod foreign;
mod gzip;
mod nearest;
pub mod openapi;
mod problem;
mod query;
mod quiet;
mod refusals;
mod response;
mod route;
mod site;
mod template;
mod time;
mod via;

pub use accept::{names_media, prefers, takes_gzip};
pub use answer::{JSON, coded_answer, coding_of, json_answer, text_answer};
pub use body::{Admission, BodyLimits, BodyStream, Coming, InTurn, RequestBody, STREAM_BYTES};
pub use budget_figures::BudgetFigures;
pub use call::{Call, Params};
pub use cors::Cors;
pub use credential::Credential;
pub use entity_tag::{EntityTag, EntityTags};
pub use fingerprint::Fingerprint;
pub use foreign::{Foreign, Vouched, Voucher};
pub use nearest::{did_you_mean, nearest};
pub use problem::{Kind, Named, Problem, ProblemParts, Violations};
pub use query::{Query, QueryError};
pub use quiet::QuietWaker;
pub use refusals::{PROBLEMS, Refusals};
pub use response::{Body, BodyError, Response, empty_response, json_response};
pub use route::{
    Guard, Handler, Known, MethodsAt, PUBLIC_BODY_BYTES_MAX, Recognizer, Route, handler,
    other_methods,
};
pub use site::{Served, Site};
pub use template::{BASE_URL, Both, Coding, Copy, Template};
pub use time::Timestamp;
pub use via::Via;
