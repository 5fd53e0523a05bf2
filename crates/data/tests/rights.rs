//! Authorization: relationships, ownership, and the reasons for refusals.
#![expect(clippy::disallowed_methods, reason = "a test may look at the clock")]

use homeroom_testkit as app;

#[path = "rights/audit.rs"]
mod audit;
#[path = "rights/changes.rs"]
mod changes;
#[path = "rights/deletes.rs"]
mod deletes;
#[path = "rights/explanations.rs"]
mod explanations;
#[path = "rights/matrix.rs"]
mod matrix;
#[path = "rights/oracle.rs"]
mod oracle;
#[path = "rights/order.rs"]
mod order;
#[path = "rights/ownership.rs"]
mod ownership;
#[path = "rights/places.rs"]
mod places;
#[path = "rights/refusals.rs"]
mod refusals;
#[path = "rights/town.rs"]
mod town;
#[path = "rights/view_oracle.rs"]
mod view_oracle;
#[path = "rights/views.rs"]
mod views;
#[path = "rights/village.rs"]
mod village;
