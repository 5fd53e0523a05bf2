//! Counts what goes to a bucket and comes from it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Method, StatusCode};

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was carried out, or the answer is that there is no such object.
    Ok,
    /// The store refused it.
    Refused,
    /// The store failed, or did not answer.
    Failed,
}

const METHODS: [Method; 5] = [Method::GET, Method::HEAD, Method::PUT, Method::POST, Method::DELETE];
const OUTCOMES: [(Outcome, &str); 3] =
    [(Outcome::Ok, "ok"), (Outcome::Refused, "refused"), (Outcome::Failed, "failed")];

/// The counts of a bucket's requests.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    requests: [[AtomicU64; OUTCOMES.len()]; METHODS.len()],
    time_us: [AtomicU64; METHODS.len()],
    sent: AtomicU64,
    received: AtomicU64,
}

/// What has gone to a bucket and come from it, since this process began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BucketFigures {
    /// Requests by method and outcome (`ok`, `refused` or `failed`); one that is sent again counts again.
    pub requests: Vec<(&'static str, &'static str, u64)>,
    /// By method, the time until the heads of all answers, in microseconds.
    pub time_us: Vec<(&'static str, u64)>,
    /// Bytes of bodies that were sent.
    pub bytes_sent: u64,
    /// Bytes of bodies that have arrived.
    pub bytes_received: u64,
}

impl Outcome {
    pub(crate) fn of(status: StatusCode) -> Self {
        match status.as_u16() {
            // There is none, there is one already, there is less.
            ..=399 | 404 | 409 | 412 | 416 => Self::Ok,
            408 | 429 | 500.. => Self::Failed,
            _ => Self::Refused,
        }
    }
}

impl Counts {
    pub(crate) fn answered(&self, method: &Method, outcome: Outcome, time: Duration) {
        let Some(at) = METHODS.iter().position(|own| own == method) else { return };
        let which = OUTCOMES.iter().position(|(own, _)| *own == outcome).unwrap_or(0);
        self.requests[at][which].fetch_add(1, Ordering::Relaxed);
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.time_us[at].fetch_add(time, Ordering::Relaxed);
    }

    pub(crate) fn sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn figures(&self) -> BucketFigures {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut figures = BucketFigures {
            bytes_sent: load(&self.sent),
            bytes_received: load(&self.received),
            ..BucketFigures::default()
        };
        for (at, method) in METHODS.iter().enumerate() {
            let name = name(method);
            figures.time_us.push((name, load(&self.time_us[at])));
            for (which, (_, outcome)) in OUTCOMES.iter().enumerate() {
                figures.requests.push((name, outcome, load(&self.requests[at][which])));
            }
        }
        figures
    }
}

fn name(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "PUT" => "PUT",
        "POST" => "POST",
        _ => "DELETE",
    }
}
