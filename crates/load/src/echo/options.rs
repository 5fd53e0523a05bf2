//! The options of an echo server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;

use super::queue::PlantedCapacity;

/// The options of an echo server.
#[derive(Debug, Clone)]
pub struct EchoOptions {
    /// The address to listen on; port 0 takes any free port.
    pub listen: SocketAddr,
    /// How long each answer is held back.
    pub delay: Duration,
    /// The size of each answer's body; `None` sends back what was posted.
    pub body_bytes: Option<usize>,
    /// The capacity to simulate; `None` serves as fast as the machine can.
    pub capacity: Option<PlantedCapacity>,
    /// When the freeze begins, counted from the first request, and how long it lasts. During it
    /// nothing is read or written.
    pub freeze: Option<(Duration, Duration)>,
    /// The share of requests that fail, and the status that they get.
    pub errors: Option<(f64, u16)>,
    /// The certificate and key to serve TLS with; `None` for plain HTTP.
    pub tls: Option<Arc<ServerConfig>>,
    /// Whether arrivals are also counted by millisecond.
    pub by_millisecond: bool,
}

impl EchoOptions {
    /// Returns options for an echo that only answers, on a free port of the loopback interface.
    pub fn plain() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            delay: Duration::ZERO,
            body_bytes: None,
            capacity: None,
            freeze: None,
            errors: None,
            tls: None,
            by_millisecond: false,
        }
    }
}
