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
//! let answer = handler(&(), |(), _: Call<()>| async { Ok(empty_response(StatusCode::OK)) });
//! let student = Route::new(Method::GET, "/students/{id}", Guard::Public, answer);
//! let router = Router::new(vec![student])?;
//!
//! let found = router.find(&Method::GET, "/students/42").expect("it has this route");
//! assert_eq!((found.label, found.params.get("id")), ("/students/{id}", "42"));
//! # Ok::<(), homeroom_gateway::RouteError>(())
//! ```

mod access_log;
mod answer_room;
mod budget;
mod budgets;
mod caller;
mod callers;
mod correlation;
mod entrance;
mod forwarded;
mod front_door;
mod gate;
mod labels;
mod limits;
mod listen;
mod live;
mod metrics;
mod pacing;
mod patience;
mod place_turns;
mod rate;
mod recognition;
mod router;
mod sending;
mod shards;
mod shares;
mod sites;
mod tls;
mod upstream_figures;
mod visit;

pub use access_log::{AccessLog, LoggedRequests};
pub use budget::Capacity;
pub use front_door::FrontDoor;
pub use gate::{Gate, GateFigures, GateLimits, Gates, Limit, Turn, WAITING as WAITING_CALLS};
pub use limits::Limits;
pub use listen::{ListenError, Listener, Times};
pub use live::{LIVE_BASE, LiveRoutes};
pub use metrics::{Gauge, Metrics};
pub use patience::{Until, stated as patience};
pub use rate::{Rate, RateLimit, Taken};
pub use router::{Found, RouteError, Router};
pub use shards::Shards;
pub use shares::{NoShare, Share, Shares};
pub use tls::{Identity, Tls, TlsError, fingerprint_of, fingerprint_of_client};
pub use upstream_figures::{ApiFigures, ConnectionFigures, UPSTREAM_BUCKETS, UpstreamFigures};
