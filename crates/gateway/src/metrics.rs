//! Metrics for Prometheus: requests by route template and status, never by path or id.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use homeroom_access::Access;
use homeroom_http::BudgetFigures;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
pub use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::budget::{Budget, Capacity};
use crate::budgets::Budgets;
use crate::rate::RateLimit;
use crate::upstream_figures::{ApiCollector, ApiFigures};

/// Bucket bounds that OpenTelemetry advises for HTTP durations, in seconds.
const BUCKETS: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

#[expect(clippy::struct_field_names, reason = "OpenTelemetry's names")]
#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Labels {
    http_request_method: &'static str,
    http_route: &'static str,
    http_response_status_code: u16,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct BudgetLabel {
    budget: &'static str,
}

/// Returns the figures of queues and pools at this moment.
type BudgetSource = Box<dyn Fn() -> Vec<BudgetFigures> + Send + Sync>;

/// The server's metrics.
pub struct Metrics {
    registry: Registry,
    durations: Family<Labels, Histogram>,
    refused: Counter<u64, AtomicU64>,
    in_flight: Gauge,
    budgets: OnceLock<Arc<Budgets>>,
    /// Further queues and pools.
    others: Mutex<Vec<BudgetSource>>,
    rate: OnceLock<Arc<RateLimit>>,
    rate_refused: Counter<u64, AtomicU64>,
    access: OnceLock<Arc<Access>>,
    verified: Counter<u64, AtomicU64>,
    tokens_refused: Counter<u64, AtomicU64>,
    credentials_refused: Counter<u64, AtomicU64>,
    budget_size: Family<BudgetLabel, Gauge>,
    budget_used: Family<BudgetLabel, Gauge>,
    budget_refused: Family<BudgetLabel, Counter<u64, AtomicU64>>,
    apis: ApiCollector,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

impl Metrics {
    /// Creates the metrics of a server of this version.
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
        let (budget_size, budget_used) = (Family::default(), Family::default());
        let budget_refused = Family::default();
        registry.register("homeroom_budget_size", "Size of the budget", budget_size.clone());
        registry.register(
            "homeroom_budget_used",
            "How much of the budget is in use",
            budget_used.clone(),
        );
        registry.register(
            "homeroom_budget_refused",
            "Requests and connections refused because the budget, or the holder's share of it, \
             was used up",
            budget_refused.clone(),
        );
        let rate_refused = Counter::default();
        registry.register(
            "homeroom_client_rate_refused",
            "Requests answered 429 because their client sent too many",
            rate_refused.clone(),
        );
        let verified = Counter::default();
        registry.register(
            "homeroom_credentials_verified",
            "Tokens and secrets that were verified because they were not in the cache",
            verified.clone(),
        );
        let (tokens_refused, credentials_refused) = (Counter::default(), Counter::default());
        registry.register(
            "homeroom_tokens_refused",
            "Requests for a token that were refused",
            tokens_refused.clone(),
        );
        registry.register(
            "homeroom_credentials_refused",
            "Requests answered 401 because of the token, key or certificate that they showed",
            credentials_refused.clone(),
        );
        let apis = ApiCollector::default();
        registry.register_collector(Box::new(apis.clone()));
        let (budgets, rate, access) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self {
            registry,
            durations,
            refused,
            in_flight,
            budgets,
            others: Mutex::default(),
            rate,
            rate_refused,
            access,
            verified,
            tokens_refused,
            credentials_refused,
            budget_size,
            budget_used,
            budget_refused,
            apis,
        }
    }

    /// Registers another metric, which its owner sets before [`Metrics::text`] is called.
    pub fn gauge(&mut self, name: &str, help: &str) -> Gauge {
        let gauge = Gauge::default();
        self.registry.register(name, help, gauge.clone());
        gauge
    }

    /// Reports further queues and pools from now on, in the same way as the budgets of the front
    /// door.
    pub fn watch_queues(&self, figures: impl Fn() -> Vec<BudgetFigures> + Send + Sync + 'static) {
        self.others().push(Box::new(figures));
    }

    /// Reports the figures of published APIs from now on.
    pub fn watch_apis(&self, figures: impl Fn() -> ApiFigures + Send + Sync + 'static) {
        self.apis.watch(figures);
    }

    /// Reports the figures of a queue, as they are at this moment.
    pub fn show_queue(&self, figures: &BudgetFigures) {
        let label = BudgetLabel { budget: figures.name };
        let figure = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.budget_size.get_or_create(&label).set(figure(figures.size));
        self.budget_used.get_or_create(&label).set(figure(figures.used));
        let refused = self.budget_refused.get_or_create(&label);
        refused.inner().store(figures.refused, Ordering::Relaxed);
    }

    fn others(&self) -> MutexGuard<'_, Vec<BudgetSource>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports these budgets from now on.
    pub(crate) fn watch(&self, budgets: &Arc<Budgets>) {
        _ = self.budgets.set(Arc::clone(budgets));
    }

    /// Reports this limit of requests from now on.
    pub(crate) fn watch_rate(&self, rate: &Arc<RateLimit>) {
        _ = self.rate.set(Arc::clone(rate));
    }

    /// Reports how often this part verifies credentials from now on.
    pub(crate) fn watch_access(&self, access: &Arc<Access>) {
        _ = self.access.set(Arc::clone(access));
    }

    /// Records an answer.
    pub(crate) fn answered(
        &self,
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
        self.durations.get_or_create(&labels).observe(time.as_secs_f64());
    }

    fn read_counts(&self) {
        if let Some(access) = self.access.get() {
            self.verified.inner().store(access.verifications(), Ordering::Relaxed);
            self.tokens_refused.inner().store(access.tokens_refused(), Ordering::Relaxed);
            let refused = access.credentials_refused();
            self.credentials_refused.inner().store(refused, Ordering::Relaxed);
        }
        if let Some(rate) = self.rate.get() {
            self.rate_refused.inner().store(rate.refused(), Ordering::Relaxed);
        }
        let others: Vec<_> = self.others().iter().flat_map(|source| source()).collect();
        for figures in &others {
            self.show_queue(figures);
        }
        let Some(budgets) = self.budgets.get() else { return };
        let figure = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        for capacity in Capacity::ALL {
            self.show_queue(&budgets.of(*capacity).figures());
        }
        let sum = |of: fn(&Budget) -> u64| {
            of(budgets.of(Capacity::InFlight)) + of(budgets.of(Capacity::Awaited))
        };
        self.in_flight.set(figure(sum(Budget::used)));
        self.refused.inner().store(sum(Budget::refused), Ordering::Relaxed);
    }

    /// Returns the text that Prometheus scrapes.
    pub fn text(&self) -> String {
        self.read_counts();
        let mut out = String::new();
        match encode(&mut out, &self.registry) {
            Ok(()) => out,
            Err(error) => format!("# {error}\n"),
        }
    }
}
