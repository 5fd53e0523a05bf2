//! The limits of the front door.

use std::time::Duration;

/// Limits of the front door. Each limit that all requests share is a budget ([`Capacity`](crate::Capacity)).
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most connections.
    pub connections: usize,
    /// Most requests being processed at the same time; the rest wait for a place
    /// or are answered 503. Four
    /// times as many may wait for their bodies.
    pub in_flight: u32,
    /// Most requests in flight that read lists of documents.
    pub lists: usize,
    /// Most requests in flight that write.
    pub writes: usize,
    /// Most bytes of open HTTP/2 requests, not counting their bodies.
    pub stream_bytes: usize,
    /// Most bytes of bodies on public routes.
    pub stranger_bytes: usize,
    /// Most bytes of all other bodies that do not arrive at once.
    pub body_bytes: usize,
    /// Most bytes of answers that wait for room among them, and the same on public routes.
    pub waiting_answer_bytes: usize,
    /// See `waiting_answer_bytes`.
    pub waiting_public_answer_bytes: usize,
    /// Most connections that wait for a place because their address has used up its share; beyond
    /// that the one that has waited longest is closed.
    pub waiting_connections: usize,
    /// The number of connections whose next request is read in a round, while turns are taken. No turns are taken
    /// while fewer connections than this are open.
    pub entrance: usize,
    /// Most requests that wait for a place; beyond that they are refused at once.
    pub waiting_requests: u64,
    /// Most refusals that are held for a moment where there are many; beyond that they are sent at once.
    pub held_refusals: u64,
    /// Most bytes of large answers (more than 16 KiB) that their callers have not read yet.
    pub answer_bytes: usize,
    /// The same for answers on public routes, so that anonymous callers cannot use up the clients'
    /// room.
    pub public_answer_bytes: usize,
    /// Whether the `X-Forwarded-…` headers of a reverse proxy are trusted.
    pub trust_forwarded: bool,
    /// Longest time that any large answer may take, plus time in proportion to its size.
    pub quiet: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 16_384,
            in_flight: 4_096,
            lists: 512,
            writes: 1_024,
            stream_bytes: 64 << 20,
            stranger_bytes: 32 << 20,
            body_bytes: 256 << 20,
            waiting_answer_bytes: 64 << 20,
            waiting_public_answer_bytes: 16 << 20,
            waiting_connections: 16,
            entrance: 16_384,
            waiting_requests: 4_096,
            held_refusals: 4_096,
            answer_bytes: 512 << 20,
            public_answer_bytes: 128 << 20,
            trust_forwarded: false,
            quiet: Duration::from_secs(75),
        }
    }
}
