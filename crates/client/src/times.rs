//! The longest time that each phase of a request may take.

use std::time::Duration;

use tokio::time::Instant;

/// Stands for a time that does not end.
const YEARS: Duration = Duration::from_hours(30 * 365 * 24);

/// The time-outs of a request, one for each phase.
///
/// Each try of a request has these times anew, except for `total`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    /// The longest wait until fewer requests, to the same origin or to all, are in progress.
    pub wait: Duration,
    /// The longest time for looking up the host's addresses.
    pub resolve: Duration,
    /// The longest time for opening a TCP connection; several addresses share it.
    pub connect: Duration,
    /// The longest time for the TLS handshake.
    pub tls: Duration,
    /// The longest time between two parts of the request's body that the connection takes. A body
    /// has parts of at most 64 KiB, or those of its stream. It also is the longest time for which a
    /// connection takes no byte, even if the answer is there already.
    pub send: Duration,
    /// The longest time from the end of the request to the head of the answer.
    pub answer: Duration,
    /// The longest time between two parts of the answer's body.
    pub body: Duration,
    /// The longest time for everything, with retries, redirects and the answer's body. `None` for no
    /// limit, as transfers of unknown length need it.
    pub total: Option<Duration>,
}

/// Returns the moment at which a time ends. A time beyond what the clock can show ends in 30 years.
pub fn end_of(begun: Instant, time: Duration) -> Instant {
    begun.checked_add(time).unwrap_or_else(|| begun + YEARS)
}

impl Default for Times {
    /// Five seconds for each step to the connection, half a minute for each later one, and two
    /// minutes for all of them.
    fn default() -> Self {
        let [short, long] = [Duration::from_secs(5), Duration::from_secs(30)];
        Self {
            wait: short,
            resolve: short,
            connect: short,
            tls: short,
            send: long,
            answer: long,
            body: long,
            total: Some(Duration::from_mins(2)),
        }
    }
}

impl Times {
    /// Gives every phase, and all of them together, this time. So a time-out names the phase only if no
    /// earlier phase took any time; give `total` more to learn which one is slow.
    pub fn all(time: Duration) -> Self {
        Self {
            wait: time,
            resolve: time,
            connect: time,
            tls: time,
            send: time,
            answer: time,
            body: time,
            total: Some(time),
        }
    }
}
