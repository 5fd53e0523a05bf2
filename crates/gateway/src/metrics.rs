//! What Prometheus is told: requests by route template and status, never by path or id.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
pub use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// Bounds advised by OpenTelemetry for HTTP durations, in seconds.
const BUCKETS: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

#[expect(clippy::struct_field_names, reason = "OpenTelemetry's names")]
#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Labels {
    http_request_method: &'static str,
    http_route: &'static str,
    http_response_status_code: u16,
}

/// A request that is being answered; it counts until the value goes, which is also when its
/// caller has gone and no answer is made.
pub(crate) struct InFlight<'a>(&'a Metrics);

impl InFlight<'_> {
    pub(crate) fn end(
        self,
        method: &'static str,
        route: &'static str,
        status: u16,
        time: Duration,
    ) {
        let labels = Labels {
            http_request_method: method,
            http_route: route,
            http_response_status_code: status,
        };
        self.0.durations.get_or_create(&labels).observe(time.as_secs_f64());
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.dec();
    }
}

/// The server's metrics.
pub struct Metrics {
    registry: Registry,
    durations: Family<Labels, Histogram>,
    refused: Counter<u64, AtomicU64>,
    in_flight: Gauge,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

impl Metrics {
    /// Metrics of a server of this version.
    pub fn new(version: &str) -> Self {
        let mut registry = Registry::default();
        let durations =
            Family::<Labels, Histogram>::new_with_constructor(|| Histogram::new(BUCKETS));
        registry.register(
            "http_server_request_duration_seconds",
            "Time from the request's header to its answer",
            durations.clone(),
        );
        let refused = Counter::default();
        registry.register(
            "homeroom_requests_refused",
            "Requests answered 503 because too many were in flight",
            refused.clone(),
        );
        let in_flight = Gauge::default();
        registry.register(
            "http_server_active_requests",
            "Requests being answered",
            in_flight.clone(),
        );
        registry.register(
            "homeroom_build",
            "What runs",
            Info::new([("version", version.to_owned())]),
        );
        Self { registry, durations, refused, in_flight }
    }

    /// A further metric, whose owner sets it before [`Metrics::text`] is asked for.
    pub fn gauge(&mut self, name: &str, help: &str) -> Gauge {
        let gauge = Gauge::default();
        self.registry.register(name, help, gauge.clone());
        gauge
    }

    /// Counts a request that begins, unless `max` are being answered already.
    pub(crate) fn begin(&self, max: i64) -> Option<InFlight<'_>> {
        let one = InFlight(self);
        if self.in_flight.inc() < max {
            return Some(one);
        }
        self.refused.inc();
        None
    }

    /// The text that Prometheus scrapes.
    pub fn text(&self) -> String {
        let mut out = String::new();
        match encode(&mut out, &self.registry) {
            Ok(()) => out,
            Err(error) => format!("# {error}\n"),
        }
    }
}
