//! Probes and metrics. Liveness never touches the store; readiness fails as soon as the server
//! begins to stop, and while the disk accepts no writes.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use homeroom_blobs::BlobPlace;
use homeroom_gateway::{Gauge, Metrics};
use homeroom_http::{Call, Guard, Handler, Problem, Response, Route, handler, json_response};
use homeroom_jobs::Jobs;
use homeroom_store::Store;
use http::{HeaderValue, Method, StatusCode, header};

use crate::bucket_metrics;
use crate::exposition::Form;
use crate::job_metrics;
use crate::load_metrics::LoadMetrics;
use crate::process::{Process, Space};
use crate::runtime_metrics;

/// The end of a text of OpenMetrics.
const END: &str = "# EOF\n";

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

    /// Answers `/readyz`: whether requests are accepted and, if not, why.
    fn answer(&self) -> Response {
        let body = match (self.unwanted(), self.store.trouble()) {
            (None, None) => return state(true, "ready"),
            (Some(why), _) => serde_json::json!({ "ready": false, "server": why }),
            (None, Some(trouble)) => {
                serde_json::json!({ "ready": false, "store": trouble.to_string() })
            }
        };
        json_response(StatusCode::SERVICE_UNAVAILABLE, body.to_string())
    }

    /// Returns why the server itself wants no requests.
    fn unwanted(&self) -> Option<&'static str> {
        if self.ready.load(Ordering::Acquire) {
            None
        } else if self.started.load(Ordering::Acquire) {
            Some("It is stopping.")
        } else {
            Some("It is starting.")
        }
    }

    /// Answers in the format of Ed-Fi's servers: the state of the whole and of each part.
    fn health(&self) -> Response {
        let (unwanted, trouble) = (self.unwanted(), self.store.trouble());
        let is_wanted = unwanted.is_none();
        let word = |is_well: bool| if is_well { "Healthy" } else { "Unhealthy" };
        let is_well = is_wanted && trouble.is_none();
        let why = trouble.as_ref().map_or_else(|| "It answers.".to_owned(), ToString::to_string);
        let served = unwanted.unwrap_or("It accepts requests.");
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
    Route::new(Method::GET, template, Guard::Public, handler)
}

fn probe<C>(template: &'static str, handler: Handler<C>) -> Route<C> {
    Route { is_probe: true, ..public(template, handler) }
}

/// Returns `/livez`, `/readyz`, `/startupz`, `/version`, and `/health` as Ed-Fi's servers answer
/// it.
pub fn routes<C: Send + Sync + 'static>(readiness: &Arc<Readiness>) -> Vec<Route<C>> {
    vec![
        probe("/livez", handler(readiness, |_, _| async { Ok(state(true, "live")) })),
        probe(
            "/readyz",
            handler(
                readiness,
                |readiness: Arc<Readiness>, _| async move { Ok(readiness.answer()) },
            ),
        ),
        probe(
            "/startupz",
            handler(readiness, |readiness: Arc<Readiness>, _| async move {
                Ok(state(readiness.started.load(Ordering::Acquire), "started"))
            }),
        ),
        probe(
            "/health",
            handler(
                readiness,
                |readiness: Arc<Readiness>, _| async move { Ok(readiness.health()) },
            ),
        ),
        public("/version", handler(readiness, |_, _| async { Ok(version()) })),
    ]
}

/// Returns `/metrics`, for the admin listener only: in the form of OpenMetrics if the scraper accepts
/// that, otherwise in the older form of Prometheus.
pub fn metrics_route<C: Send + Sync + 'static>(
    metrics: &Arc<Metrics>,
    store: &Arc<StoreGauges>,
    jobs: &Jobs,
    blobs: &BlobPlace,
    loads: &Arc<LoadMetrics>,
) -> Route<C> {
    type State = (Arc<Metrics>, Arc<StoreGauges>, Jobs, BlobPlace, Arc<LoadMetrics>);
    let (metrics, store, loads) = (Arc::clone(metrics), Arc::clone(store), Arc::clone(loads));
    let state: State = (metrics, store, jobs.clone(), blobs.clone(), loads);
    let answer =
        handler(&state, |(metrics, store, jobs, blobs, loads): State, call: Call<C>| async move {
            let form = Form::accepted(&call.headers);
            store.read().await;
            let queued = job_metrics::Queued::read(&jobs).await;
            metrics.show_queue(&queued.figures(&jobs));
            let own = queued.lines() + &loads.lines() + &bucket_metrics::lines(&blobs);
            let text = with_own_figures(metrics.text(), &store, &own);
            let mut response = json_response(StatusCode::OK, form.of(text));
            let media = HeaderValue::from_static(form.media_type());
            response.headers_mut().insert(header::CONTENT_TYPE, media);
            Ok::<_, Problem>(response)
        });
    public("/metrics", answer)
}

/// Adds the figures of the process and its threads, of the jobs and of loads, and those of the store that are not whole
/// numbers, before the end of a text of metrics.
fn with_own_figures(mut text: String, store: &StoreGauges, own: &str) -> String {
    text.truncate(text.strip_suffix(END).map_or(text.len(), str::len));
    store.write_commits(&mut text);
    text.push_str(own);
    runtime_metrics::write(&mut text);
    if let Some(process) = Process::read() {
        process.write(&mut text);
    }
    text + END
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
    up: Gauge,
    waiting: Gauge,
    bytes: Gauge,
    /// Where the store is a file.
    of_file: Option<FileGauges>,
    change_version: Gauge,
}

/// The gauges of a store in a file. Of a database only its server knows these figures.
struct FileGauges {
    log_bytes: Gauge,
    free_bytes: Gauge,
}

impl StoreGauges {
    /// Registers the gauges of a store.
    pub fn new(metrics: &mut Metrics, store: Store) -> Self {
        Self {
            waiting: metrics.gauge("homeroom_store_writes_waiting", "Writes not answered yet"),
            up: metrics.gauge(
                "homeroom_store_up",
                "Whether the store can be read and written: 1, or 0 while its disk or database fails",
            ),
            bytes: metrics
                .gauge("homeroom_store_bytes", "Size of the store's file, or of its database"),
            of_file: store.file().map(|_| FileGauges {
                log_bytes: metrics
                    .gauge("homeroom_store_log_bytes", "Size of the write-ahead log's file"),
                free_bytes: metrics.gauge(
                    "homeroom_store_free_bytes",
                    "Free space on the disk of the store's file",
                ),
            }),
            change_version: metrics
                .gauge("homeroom_store_change_version", "Newest change version that is durable"),
            store,
        }
    }

    /// Updates the gauges from the store's current state.
    pub async fn read(&self) {
        let load = self.store.load();
        let figure = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        self.waiting.set(i64::try_from(load.waiting).unwrap_or(i64::MAX));
        if let Some(gauges) = &self.of_file {
            gauges.log_bytes.set(figure(load.log_bytes));
            let space = self.store.file().and_then(|(file, _)| Space::at(&file));
            gauges.free_bytes.set(figure(space.map_or(0, |space| space.free)));
        }
        // If the store cannot be read, the gauges keep their last values.
        if let Ok(bytes) = self.store.bytes().await {
            self.bytes.set(figure(bytes));
        }
        let newest = self.store.newest_change_version().await;
        self.up.set(i64::from(newest.is_ok() && self.store.trouble().is_none()));
        if let Ok(newest) = newest {
            self.change_version.set(newest);
        }
    }

    /// Adds the number of commits, the time that they took, and how often the writer forgot what it remembered.
    fn write_commits(&self, out: &mut String) {
        let load = self.store.load();
        let (count, time) = (load.commits, load.commit_time.as_secs_f64());
        _ = write!(
            out,
            "# HELP homeroom_store_commits Transactions that this process has committed.\n\
             # TYPE homeroom_store_commits counter\nhomeroom_store_commits_total {count}\n\
             # HELP homeroom_store_sync_seconds Time that these commits took until they were \
             durable.\n# TYPE homeroom_store_sync_seconds counter\n\
             homeroom_store_sync_seconds_total {time}\n\
             # HELP homeroom_store_forgotten How often plain SQL or a failed transaction made the \
             writer forget what it remembered of documents, ties and rights.\n\
             # TYPE homeroom_store_forgotten counter\nhomeroom_store_forgotten_total {}\n\
             # HELP homeroom_store_phase_seconds Time of each phase of writing.\n\
             # TYPE homeroom_store_phase_seconds histogram\n",
            load.forgotten
        );
        for times in self.store.phases() {
            let phase = times.phase.name();
            for (bound, count) in times.cumulative() {
                let bound = bound.as_secs_f64();
                _ = writeln!(
                    out,
                    "homeroom_store_phase_seconds_bucket{{phase=\"{phase}\",le=\"{bound:?}\"}} {count}"
                );
            }
            let (count, sum) = (times.count(), times.sum.as_secs_f64());
            _ = write!(
                out,
                "homeroom_store_phase_seconds_bucket{{phase=\"{phase}\",le=\"+Inf\"}} {count}\n\
                 homeroom_store_phase_seconds_sum{{phase=\"{phase}\"}} {sum}\n\
                 homeroom_store_phase_seconds_count{{phase=\"{phase}\"}} {count}\n"
            );
        }
    }
}
