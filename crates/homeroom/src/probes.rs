//! Probes and metrics. Liveness never touches the store; readiness fails as soon as the server
//! begins to stop, and while the disk accepts no writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use homeroom_gateway::{Gauge, Metrics};
use homeroom_http::{Guard, Handler, Problem, Response, Route, handler, json_response};
use homeroom_store::Store;
use http::{HeaderValue, Method, StatusCode, header};

/// Whether requests are accepted.
#[derive(Debug)]
pub struct Readiness {
    started: AtomicBool,
    ready: AtomicBool,
    store: Store,
}

impl Readiness {
    /// Returns the readiness of a server that is starting.
    pub fn new(store: Store) -> Self {
        Self { started: AtomicBool::new(false), ready: AtomicBool::new(false), store }
    }

    /// Starts accepting requests, when everything is open.
    pub fn start(&self) {
        self.started.store(true, Ordering::Release);
        self.ready.store(true, Ordering::Release);
    }

    /// Stops accepting requests, when the server drains.
    pub fn drain(&self) {
        self.ready.store(false, Ordering::Release);
    }

    /// Answers `/readyz`: whether requests are accepted and, if the store is the cause, why not.
    fn answer(&self) -> Response {
        let is_wanted = self.ready.load(Ordering::Acquire);
        match self.store.trouble().filter(|_| is_wanted) {
            None => state(is_wanted, "ready"),
            Some(trouble) => {
                let body = serde_json::json!({ "ready": false, "store": trouble.to_string() });
                json_response(StatusCode::SERVICE_UNAVAILABLE, body.to_string())
            }
        }
    }

    /// Answers in the format of Ed-Fi's servers: the state of the whole and of each part.
    fn health(&self) -> Response {
        let (is_wanted, trouble) = (self.ready.load(Ordering::Acquire), self.store.trouble());
        let word = |is_well: bool| if is_well { "Healthy" } else { "Unhealthy" };
        let is_well = is_wanted && trouble.is_none();
        let why = trouble.as_ref().map_or_else(|| "It answers.".to_owned(), ToString::to_string);
        let served = if is_wanted { "It accepts requests." } else { "It is starting or stopping." };
        let body = serde_json::json!({
            "status": word(is_well),
            "results": [
                {"name": "server", "status": word(is_wanted), "description": served},
                {"name": "store", "status": word(trouble.is_none()), "description": why},
            ],
        });
        let status = if is_well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        json_response(status, body.to_string())
    }
}

fn public<C>(template: &'static str, handler: Handler<C>) -> Route<C> {
    Route { method: Method::GET, template, guard: Guard::Public, body_limit: 0, handler }
}

/// Returns `/livez`, `/readyz`, `/startupz`, `/version`, and `/health` as Ed-Fi's servers answer
/// it.
pub fn routes<C: Send + Sync + 'static>(readiness: &Arc<Readiness>) -> Vec<Route<C>> {
    vec![
        public("/livez", handler(readiness, |_, _| async { Ok(state(true, "live")) })),
        public(
            "/readyz",
            handler(
                readiness,
                |readiness: Arc<Readiness>, _| async move { Ok(readiness.answer()) },
            ),
        ),
        public(
            "/startupz",
            handler(readiness, |readiness: Arc<Readiness>, _| async move {
                Ok(state(readiness.started.load(Ordering::Acquire), "started"))
            }),
        ),
        public(
            "/health",
            handler(
                readiness,
                |readiness: Arc<Readiness>, _| async move { Ok(readiness.health()) },
            ),
        ),
        public("/version", handler(readiness, |_, _| async { Ok(version()) })),
    ]
}

/// Returns `/metrics`, for the admin listener only.
pub fn metrics_route<C: Send + Sync + 'static>(
    metrics: &Arc<Metrics>,
    store: &Arc<StoreGauges>,
) -> Route<C> {
    let state = (Arc::clone(metrics), Arc::clone(store));
    let answer =
        handler(&state, |(metrics, store): (Arc<Metrics>, Arc<StoreGauges>), _| async move {
            store.read().await;
            let mut response = json_response(StatusCode::OK, metrics.text());
            let media = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
            Ok::<_, Problem>(response)
        });
    public("/metrics", answer)
}

fn state(is_so: bool, name: &str) -> Response {
    let status = if is_so { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    json_response(status, format!("{{\"{name}\":{is_so}}}"))
}

fn version() -> Response {
    let body = serde_json::json!({ "name": "homeroom", "version": env!("CARGO_PKG_VERSION") });
    json_response(StatusCode::OK, body.to_string())
}

/// The gauges of a store, read when the metrics are requested.
pub struct StoreGauges {
    store: Store,
    waiting: Gauge,
    log_bytes: Gauge,
    change_version: Gauge,
}

impl StoreGauges {
    /// Registers the gauges of a store.
    pub fn new(metrics: &mut Metrics, store: Store) -> Self {
        Self {
            waiting: metrics.gauge("homeroom_store_writes_waiting", "Writes not answered yet"),
            log_bytes: metrics
                .gauge("homeroom_store_log_bytes", "Size of the write-ahead log's file"),
            change_version: metrics
                .gauge("homeroom_store_change_version", "Newest change version that is durable"),
            store,
        }
    }

    /// Updates the gauges from the store's current state.
    pub async fn read(&self) {
        let load = self.store.load();
        self.waiting.set(i64::try_from(load.waiting).unwrap_or(i64::MAX));
        self.log_bytes.set(i64::try_from(load.log_bytes).unwrap_or(i64::MAX));
        // If the store cannot be read, the gauge keeps its last value.
        if let Ok(newest) = self.store.newest_change_version().await {
            self.change_version.set(newest);
        }
    }
}
