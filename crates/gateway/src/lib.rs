//! The front door: every request passes through it, whichever part answers.
//!
//! listen → request id, `traceparent`, `now` → route → client → target. Every part is a target in
//! this process, offered as a table of [`homeroom_http::Route`]s; nothing else listens.
//!
//! ```
//! use homeroom_gateway::Router;
//! use homeroom_http::{Call, Guard, Route, empty_response, handler};
//! use http::{Method, StatusCode};
//!
//! let student = Route {
//!     method: Method::GET,
//!     template: "/students/{id}",
//!     guard: Guard::Public,
//!     body_limit: 0,
//!     handler: handler(&(), |(), _: Call<()>| async { Ok(empty_response(StatusCode::OK)) }),
//! };
//! let router = Router::new(vec![student])?;
//!
//! let (route, params) = router.find(&Method::GET, "/students/42").ok().expect("it has this route");
//! assert_eq!((route.template, params.get("id")), ("/students/{id}", "42"));
//! # Ok::<(), homeroom_gateway::RouteError>(())
//! ```

mod answer_room;
mod budget;
mod budgets;
mod caller;
mod callers;
mod correlation;
mod forwarded;
mod front_door;
mod limits;
mod listen;
mod metrics;
mod router;
mod sending;
mod visit;

pub use budget::Capacity;
pub use front_door::FrontDoor;
pub use limits::Limits;
pub use listen::{ListenError, Listener, Times};
pub use metrics::{Gauge, Metrics};
pub use router::{RouteError, Router};
