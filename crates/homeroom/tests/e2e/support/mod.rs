//! Shared test support: a place, a server in it, and clients of the server.

mod client;
mod faults;
mod learning;
mod place;
mod postgres;
mod random;
mod receiver;
mod server;
mod streams;
mod upstream;
mod wire;

use std::time::{Duration, Instant};

pub use client::Client;
pub use faults::Faults;
pub use learning::{API, Learning, registered};
pub use place::{Place, Ran};
pub use postgres::Database;
pub use random::Random;
pub use receiver::{Received, Receiver};
pub use server::Server;
pub use streams::{Stream, Streams};
pub use upstream::{Answered, Seen, Upstream};
pub use wire::{Answer, Wire};

/// The longest wait for any event; long enough for a loaded machine, and rarely used up.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Waits until a condition holds.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns a metric without labels from the admin listener.
pub fn metric(server: &Server, name: &str) -> i64 {
    let metrics = server.admin_client().get("/metrics").text();
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name}: {metrics}")).parse().unwrap()
}

/// Returns a student with the required members.
pub fn student(id: &str, first_name: &str) -> serde_json::Value {
    serde_json::json!({
        "studentUniqueId": id,
        "firstName": first_name,
        "lastSurname": "Quill",
        "birthDate": "2012-05-17",
    })
}

/// The path of students.
pub const STUDENTS: &str = "/data/v3/ed-fi/students";
