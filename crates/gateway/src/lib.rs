//! The front door: every request passes through it, whichever part answers.
//!
//! listen → request id, `traceparent`, `now` → route → client → target. Every part is a target in
//! this process, offered as a table of [`homeroom_http::Route`]s; nothing else listens.

mod budget;
mod budgets;
mod caller;
mod forwarded;
mod front_door;
mod limits;
mod listen;
mod metrics;
mod router;
mod sending;
mod visit;

pub use budget::Pot;
pub use front_door::FrontDoor;
pub use limits::Limits;
pub use listen::{ListenError, Listener, Times};
pub use metrics::{Gauge, Metrics};
pub use router::{RouteError, Router};
