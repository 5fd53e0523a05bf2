//! Promises of a store in PostgreSQL beyond those of every store.
#![expect(clippy::disallowed_methods, reason = "a test may look at the clock")]

mod gate;
mod given_up;
mod groups;
mod hung_up;
mod lanes;
mod nodes;
mod outages;
mod proxy;
mod reaching;
mod sessions;
mod silence;
mod snapshots;
mod support;
mod tls;
mod together;
mod upgrades;
