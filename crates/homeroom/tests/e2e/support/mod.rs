//! What every test needs: a place, a server in it, a client of it.

mod client;
mod faults;
mod place;
mod postgres;
mod random;
mod server;
mod streams;
mod wire;

use std::time::{Duration, Instant};

pub use client::Client;
pub use faults::Faults;
pub use place::{Place, Ran};
pub use postgres::Database;
pub use random::Random;
pub use server::Server;
pub use streams::{Stream, Streams};
pub use wire::{Answer, Wire};

/// Longest wait for anything; long enough for a loaded machine, never waited for in full.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Waits until something is so.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A metric without labels, as the admin listener tells it.
pub fn metric(server: &Server, name: &str) -> i64 {
    let metrics = server.admin_client().get("/metrics").text();
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name}: {metrics}")).parse().unwrap()
}

/// A student with the members that one must have.
pub fn student(id: &str, first_name: &str) -> serde_json::Value {
    serde_json::json!({
        "studentUniqueId": id,
        "firstName": first_name,
        "lastSurname": "Quill",
        "birthDate": "2012-05-17",
    })
}

/// Where students are.
pub const STUDENTS: &str = "/data/v3/ed-fi/students";
