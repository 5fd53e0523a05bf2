//! The time limits of the phases of a request.

use std::time::Duration;

use tokio::time::Instant;

/// A time that is practically unlimited.
const YEARS: Duration = Duration::from_hours(30 * 365 * 24);

/// The time-outs of a request, one for each phase.
///
/// Each attempt has the full times, except for `total`, which covers all attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    /// The longest wait for a permit while too many requests are in progress.
    pub wait: Duration,
    /// The longest time for looking up the host's addresses.
    pub resolve: Duration,
    /// The longest time for opening a TCP connection; several addresses share it.
    pub connect: Duration,
    /// The longest time for the TLS handshake.
    pub tls: Duration,
    /// The longest time between two parts of the request's body that the connection accepts. Parts have
    /// at most 64 KiB, or are those of the stream. It is also the longest time for which a connection
    /// may accept no byte, even if the answer has already arrived.
    pub send: Duration,
    /// The longest time from the end of the request to the head of the answer.
    pub answer: Duration,
    /// The longest time between two parts of the answer's body.
    pub body: Duration,
    /// The longest time for everything, including retries, redirects and the answer's body. `None`
    /// is no limit, which transfers of unknown length need.
    pub total: Option<Duration>,
}

/// Returns the time at which a limit ends. A limit beyond the range of the clock ends in 30 years.
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
    /// Sets the limit of every phase, and of all of them together, to this time. The total then usually
    /// ends first and a time-out does not say which phase was slow; a larger `total` tells.
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
