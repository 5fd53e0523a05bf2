//! Serving: listeners, the control socket, signals, the drain.
#![expect(clippy::disallowed_methods, reason = "a sweep has a moment of its own")]

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use homeroom_access::Access;
use homeroom_apis::{Apis, ApisError};
use homeroom_blobs::{BlobError, Blobs, Swept};
use homeroom_bulk_api::BulkService;
use homeroom_course::{Courses, Origins};
use homeroom_data::metadata::Credentials;
use homeroom_gateway::{AccessLog, FrontDoor, Identity, Limits, Listener, Rate, Times, Tls};
use homeroom_http::{Cors, Site, Timestamp};
use homeroom_jobs::{Kind, Runner};
use homeroom_store::ChangedAt;
use rustix::fs::{Access as FileAccess, access};
use tokio::sync::watch;

use crate::app::App;
use crate::config::{Config, Part, ServerConfig};
use crate::control;
use crate::exit::Failure;
use crate::probes;
use crate::request_log;
use crate::signals::{Leave, told_to_stop};

/// The longest time that requests of the admin listener get to finish when the server stops.
const ADMIN_DRAIN: Duration = Duration::from_secs(1);

/// The time between two checks for changed keys and claim sets.
const FOLLOW: Duration = Duration::from_millis(500);
/// How often the use of quotas is written.
const KEEP_QUOTAS: Duration = Duration::from_secs(5);
/// The longest wait at the start for what the store has of it; the rest is read while the server serves.
const READ_QUOTAS_MAX: Duration = Duration::from_millis(500);
/// The longest wait at the end until it is written.
const LAST_QUOTAS_MAX: Duration = Duration::from_secs(20);

/// The time between two sweeps of blobs: half of their grace period, within these limits.
const SWEEP_MIN: Duration = Duration::from_millis(100);
const SWEEP_MAX: Duration = Duration::from_mins(10);
/// The time between two sweeps of bulk operations.
const SWEEP_BULK: Duration = Duration::from_mins(5);

/// The longest time between two sweeps of courses.
const SWEEP_COURSES_MAX: Duration = Duration::from_mins(1);
/// The time between two looks for notices that other nodes have left.
const NOTICES: Duration = Duration::from_secs(5);

/// How many connections are let in in a round for each core, where turns are taken and nobody has stated it.
const ENTRANCE_OF_CORE: usize = 8;

/// The port of content, where nobody has chosen one.
const CONTENT_PORT: u16 = 8081;

/// The most connections of the admin listener.
const ADMIN_CONNECTIONS_MAX: u64 = 256;
/// Open files that are reserved for the store, logs and control sockets: a fixed number, and some
/// for each core; at most half of all.
const FILES_KEPT: u64 = 64;
const FILES_KEPT_FOR_CORE: u64 = 16;

/// Returns the most connections of the API, at most `wanted`, and of the admin listener, so that the
/// store can open files whatever clients do.
fn connections(files: u64, cores: u64, wanted: u32) -> (usize, usize) {
    let kept = (FILES_KEPT + FILES_KEPT_FOR_CORE * cores).min(files / 2);
    let rest = files.saturating_sub(kept);
    let admin = (rest / 8).clamp(1, ADMIN_CONNECTIONS_MAX);
    let api = rest.saturating_sub(admin).clamp(1, wanted.into());
    let count = |files| usize::try_from(files).unwrap_or(usize::MAX);
    (count(api), count(admin))
}

/// The addresses of a server, bound before anything is made, and its log of requests, so that a server
/// that cannot have them leaves nothing behind. Connections wait until the server serves.
pub struct Listeners {
    main: Listener,
    content: Option<Listener>,
    admin: Listener,
    log: Option<AccessLog>,
}

impl Listeners {
    /// Binds all addresses and opens the log, within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Which address, file, or path of the control socket, cannot be had, and what to do.
    pub fn bind(config: &Config) -> Result<Self, Failure> {
        // A server of a database does without one that cannot be there.
        if let Some(path) = config.store.control_socket().filter(|_| !config.store.is_shared()) {
            control::Socket::expect_possible(&path)?;
        }
        let tls = tls(&config.server)?;
        let mut main = bind(config.server.listen, "server.listen")?;
        let mut content = None;
        if config.server.serves(Part::Learning) {
            content = Some(bind_content(config.server.content_listen)?.of(Site::Content));
        }
        if let Some(tls) = tls {
            main = main.with_tls(tls.clone());
            content = content.map(|content| content.with_tls(tls));
        }
        let admin = bind(config.server.admin_listen, "server.admin_listen")?;
        if let Some(dir) = &config.blobs.dir {
            expect_writable(dir).map_err(|error| Failure::of_path("blobs.dir", dir, &error))?;
        }
        if config.blobs.bucket.is_some() {
            expect_bucket(config)?;
        }
        Ok(Self { main, content, admin, log: request_log::open(&config.log)? })
    }
}

/// Binds the control socket. Without it, a load into a database is done beside its servers, so they start
/// without one that cannot be there.
fn bind_control(config: &Config) -> Result<Option<control::Socket>, Failure> {
    let Some(path) = config.store.control_socket() else { return Ok(None) };
    if !config.store.is_shared() {
        return control::Socket::bind(&path).map(Some);
    }
    let made = homeroom_store::make_folder(&config.store.data_dir);
    let made = made.map_err(|e| Failure::of_path("store.data_dir", &config.store.data_dir, &e));
    match made.and_then(|_| control::Socket::bind(&path)) {
        Ok(socket) => Ok(Some(socket)),
        Err(error) => {
            tracing::info!(%error, "there is no control socket; loads run beside this server");
            Ok(None)
        }
    }
}

/// Asks the bucket of the blobs whether it can be used. Everything else can be served without it, so one
/// that cannot be reached now only makes a line in the log.
fn expect_bucket(config: &Config) -> Result<(), Failure> {
    match config.blob_place().exists_blocking() {
        Ok(_) => Ok(()),
        Err(error @ BlobError::Bucket { is_passing: true, .. }) => {
            tracing::warn!(%error, "the bucket of the blobs does not answer; serving what does without it");
            Ok(())
        }
        Err(error) => Err(Failure::Usage(error.to_string())),
    }
}

/// A bound server that does not serve yet.
pub struct Server {
    main: Listener,
    content: Option<Listener>,
    admin: Listener,
    control: Option<control::Socket>,
    door: Arc<FrontDoor>,
    admin_door: Arc<FrontDoor>,
    app: App,
    config: Config,
}

impl Server {
    /// Builds the front doors and binds the control socket, within a Tokio runtime. `credentials` are
    /// shown on the page at `/`.
    ///
    /// # Errors
    ///
    /// Why there can be no control socket; routes that contradict each other.
    pub fn new(
        Listeners { main, content, admin, log }: Listeners,
        app: App,
        config: &Config,
        credentials: Option<Credentials>,
    ) -> Result<Self, Failure> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let wanted = config.server.connections_max;
        let (connections, admin_connections) =
            connections(crate::process::raise_open_files(), cores as u64, wanted);
        let entrance =
            config.budgets.entrance.map_or(ENTRANCE_OF_CORE * cores, |size| size as usize);
        let limits = Limits { connections, entrance, ..limits(config) };
        let pages = Cors { origins: config.server.cors_origins.clone(), ..Cors::default() };
        let origins = Origins {
            main_port: main.address().port(),
            content_port: content.as_ref().map_or(0, |content| content.address().port()),
            main_url: config.server.public_url.clone(),
            content_url: config.server.content_url.clone(),
        };
        let mut door =
            app.front_door(config, limits, credentials, main.address(), &origins)?.with_cors(pages);
        if let Some(per_second) = config.server.client_rate {
            door = door.with_rate(Rate { per_second, burst: config.server.client_burst });
        }
        if let Some(log) = log {
            door = door.with_log(log);
        }
        let door = Arc::new(door);
        let admin_limits = Limits { connections: admin_connections, ..limits };
        let mut admin_routes = probes::routes(&app.ready);
        admin_routes.push(probes::metrics_route(
            &app.metrics,
            &app.store_gauges,
            &app.jobs,
            app.blobs.place(),
            &app.load_metrics,
        ));
        let admin_metrics = Arc::new(homeroom_gateway::Metrics::new(env!("CARGO_PKG_VERSION")));
        let admin_door =
            FrontDoor::new(admin_routes, Arc::clone(&app.access), admin_metrics, admin_limits)
                .map_err(|e| Failure::because("building the admin listener", e))?;
        if (connections as u64) < u64::from(wanted) {
            tracing::info!(
                connections,
                "connections at a time, by the system's limit of open files"
            );
        }
        let control = bind_control(config)?;
        let admin_door = Arc::new(admin_door);
        Ok(Self { main, content, admin, control, door, admin_door, app, config: config.clone() })
    }

    /// Returns the address of the API.
    pub fn address(&self) -> SocketAddr {
        self.main.address()
    }

    /// Returns the URL of the API, by its address.
    pub fn url(&self) -> String {
        let scheme = if self.config.server.tls.is_empty() { "http" } else { "https" };
        format!("{scheme}://{}", self.address())
    }

    /// Returns the address of the courses' content, if courses are served.
    pub fn content_address(&self) -> Option<SocketAddr> {
        self.content.as_ref().map(Listener::address)
    }

    /// Returns the address of metrics and probes.
    pub fn admin_address(&self) -> SocketAddr {
        self.admin.address()
    }

    /// Serves until `stop` resolves, then drains. After a notice to balancers it serves on for a while:
    /// it says that it is not ready, and closes connections after their next answer.
    pub async fn run(self, stop: impl Future<Output = Leave>) {
        let (stopping, stopped) = watch::channel(false);
        let (drained, nothing_left) = watch::channel(false);
        let times =
            Times { header: self.config.server.header_time.0, drain: self.config.server.drain.0 };
        let admin_times = Times { drain: ADMIN_DRAIN, ..times };
        let is_shared = self.config.store.is_shared();
        let following = tokio::spawn(follow(Arc::clone(&self.app.access), is_shared));
        let (mut publishing, mut keeping) = (None, None);
        if self.config.server.serves(Part::Gateway) {
            let apis = Arc::clone(&self.app.apis);
            let begun = apis.begin_at(&self.door).await;
            // Whatever is not read, the first round reads or tells.
            let reading = apis.read_quotas(Timestamp::now());
            _ = tokio::time::timeout(READ_QUOTAS_MAX, reading).await;
            let told = told(nothing_left.clone());
            keeping = Some(tokio::spawn(keep_quotas(Arc::clone(&apis), told)));
            publishing = Some(tokio::spawn(publish(apis, begun)));
        }
        let control = self.control.map(|control| control.serve(self.app.clone()));
        let sweeping = tokio::spawn(sweep(self.app.blobs.clone()));
        let sweeping_bulk = tokio::spawn(sweep_bulk(self.app.bulk.clone()));
        let mut of_courses = vec![];
        if self.config.server.serves(Part::Learning) {
            let pause = self.config.courses.session_silence.0 / 4;
            of_courses.push(tokio::spawn(sweep_courses(self.app.courses.clone(), pause)));
            of_courses.push(tokio::spawn(queue_notices(self.app.courses.clone())));
        }
        // Nobody else has an embedded store open, so whoever ran its jobs is gone.
        if !is_shared && let Err(error) = self.app.jobs.end_leases(ChangedAt::now()).await {
            tracing::warn!(%error, "jobs of the server before are taken over when their leases end");
        }
        let kinds = kinds(&self.config, &self.app);
        let runner = Runner::start(&self.app.jobs, kinds, self.config.jobs.times());
        let content = self.content.map(|content| {
            let told = told(stopped.clone());
            tokio::spawn(content.serve(Arc::clone(&self.door), told, times))
        });
        let apis = Arc::clone(&self.app.apis);
        let door = Arc::clone(&self.door);
        let main = tokio::spawn(self.main.serve(self.door, told(stopped), times));
        let admin =
            tokio::spawn(self.admin.serve(self.admin_door, told(nothing_left), admin_times));
        self.app.ready.start();
        let leave = stop.await;
        self.app.ready.drain();
        let notice = self.config.server.lame_duck.0;
        if leave == Leave::WithNotice && !notice.is_zero() {
            tracing::info!(seconds = notice.as_secs_f64(), "stopping: not ready from now on");
            door.leave();
            // Whoever asks a second time does not want to wait.
            _ = tokio::time::timeout(notice, told_to_stop()).await;
        }
        tracing::info!("stopping once open requests have finished");
        _ = stopping.send(true);
        if let Some(control) = control {
            control.stop(times.drain).await;
        }
        // Requests and jobs finish at the same time, each within the drain time.
        _ = tokio::join!(main, runner.stop(times.drain), apis.drain(times.drain));
        if let Some(content) = content {
            _ = content.await;
        }
        // The admin listener stops last: while requests finish, it reports that no more are
        // accepted.
        _ = drained.send(true);
        _ = admin.await;
        following.abort();
        if let Some(publishing) = publishing {
            publishing.abort();
        }
        // It ends its round and writes the last calls in another.
        if let Some(keeping) = keeping
            && tokio::time::timeout(LAST_QUOTAS_MAX, keeping).await.is_err()
        {
            let seconds = LAST_QUOTAS_MAX.as_secs();
            tracing::warn!(seconds, "the store does not take the last calls of quotas in time");
        }
        sweeping.abort();
        sweeping_bulk.abort();
        for task in of_courses {
            task.abort();
        }
        let store = self.app.data.store.clone();
        _ = tokio::task::spawn_blocking(move || store.close()).await;
        tracing::info!("stopped");
    }
}

/// Returns the limits of the API's front door.
fn limits(config: &Config) -> Limits {
    let budgets = &config.budgets;
    let bytes = |mib: u32| (mib as usize) << 20;
    Limits {
        in_flight: config.server.in_flight_max,
        lists: budgets.lists as usize,
        writes: config.store.queue as usize,
        stream_bytes: bytes(budgets.streams_mib),
        stranger_bytes: bytes(budgets.stranger_bodies_mib),
        body_bytes: bytes(budgets.bodies_mib),
        waiting_answer_bytes: bytes(budgets.waiting_answers_mib),
        waiting_public_answer_bytes: bytes(budgets.waiting_public_answers_mib),
        waiting_connections: budgets.waiting_connections as usize,
        waiting_requests: budgets.waiting_requests.into(),
        held_refusals: budgets.held_refusals.into(),
        answer_bytes: bytes(budgets.answers_mib),
        public_answer_bytes: bytes(budgets.public_answers_mib),
        trust_forwarded: config.server.trust_forwarded,
        ..Limits::default()
    }
}

/// Removes bytes that belong to nobody, now and then.
async fn sweep(blobs: Blobs) {
    let pause = (blobs.limits().grace / 2).clamp(SWEEP_MIN, SWEEP_MAX);
    loop {
        tokio::time::sleep(pause).await;
        match blobs.sweep(ChangedAt::now()).await {
            Ok(swept) if swept == Swept::default() => {}
            Ok(Swept { unfinished, unnamed, removed, bytes }) => {
                tracing::info!(unfinished, unnamed, removed, bytes, "blobs were swept");
            }
            Err(error) => tracing::warn!(%error, "blobs cannot be swept"),
        }
    }
}

/// Ends uploads that have waited too long, and removes operations that were kept long enough.
async fn sweep_bulk(bulk: BulkService) {
    loop {
        tokio::time::sleep(SWEEP_BULK).await;
        match bulk.sweep(ChangedAt::now()).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "bulk operations have expired"),
            Err(problem) => {
                let error = problem.internal.as_deref().unwrap_or(problem.kind.title());
                tracing::warn!(error, "bulk operations cannot be swept");
            }
        }
    }
}

/// Ends silent sessions of courses, and removes what was kept long enough.
async fn sweep_courses(courses: Courses, pause: Duration) {
    let pause = pause.clamp(SWEEP_MIN, SWEEP_COURSES_MAX);
    let mut has_more = false;
    loop {
        if !has_more {
            tokio::time::sleep(pause).await;
        }
        has_more = false;
        match courses.sweep(ChangedAt::now()).await {
            Ok(swept) if swept == homeroom_course::Swept::default() => {}
            Ok(homeroom_course::Swept { sessions, launches, traces, carried }) => {
                has_more = carried > 0;
                tracing::info!(
                    sessions,
                    launches,
                    traces,
                    carried,
                    "sessions were ended, old launches removed"
                );
            }
            Err(error) => tracing::warn!(%error, "sessions of courses cannot be swept"),
        }
    }
}

/// Queues jobs for what somebody is to be told of: at once where this process has written it, and now and
/// then for what other nodes have left.
async fn queue_notices(courses: Courses) {
    loop {
        tokio::select! {
            () = courses.noticed() => {}
            () = tokio::time::sleep(NOTICES) => {}
        }
        if let Err(error) = courses.queue_notices(ChangedAt::now()).await {
            tracing::warn!(%error, "notices of courses cannot be queued");
            tokio::time::sleep(NOTICES).await;
        }
    }
}

/// Returns the kinds of jobs that this process does.
fn kinds(config: &Config, app: &App) -> Vec<Kind> {
    let mut kinds = vec![];
    if config.server.serves(Part::Bulk) {
        let metrics = Arc::clone(&app.load_metrics);
        kinds.push(homeroom_bulk_api::kind(&app.bulk, move |summary| metrics.add(summary)));
    }
    if config.server.serves(Part::Learning) {
        kinds.extend(homeroom_course::kinds(&app.courses));
    }
    for kind in &mut kinds {
        config.jobs.apply(kind);
    }
    kinds
}

/// Follows changes of what is published, of other nodes and of this one, and of its secrets; `done` is how the first
/// reading ended.
async fn publish(apis: Arc<Apis>, mut done: Result<(), ApisError>) {
    let mut is_behind = false;
    loop {
        if let Err(error) = &done
            && !is_behind
        {
            tracing::warn!(%error, "what is published cannot be read");
        }
        is_behind = done.is_err();
        tokio::time::sleep(FOLLOW).await;
        done = apis.follow().await;
    }
}

/// Writes the use of quotas now and then, and a last time when it is told to stop.
async fn keep_quotas(apis: Arc<Apis>, stopped: impl Future<Output = ()>) {
    let mut stopped = pin!(stopped);
    let mut is_behind = false;
    loop {
        let is_last = tokio::time::timeout(KEEP_QUOTAS, &mut stopped).await.is_ok();
        let kept = apis.keep_quotas(Timestamp::now()).await;
        if let Err(error) = &kept {
            if is_last {
                tracing::warn!(%error, "the last calls of quotas are forgotten");
            } else if !is_behind {
                tracing::warn!(%error, "the use of quotas cannot be kept; a restart would forget it");
            }
        }
        if is_last {
            return;
        }
        is_behind = kept.is_err();
    }
}

/// Follows changes of keys and claim sets that other nodes make, if there can be other nodes, and
/// looks up the outcome of changes for which it is unknown.
async fn follow(access: Arc<Access>, is_shared: bool) {
    let mut is_behind = false;
    loop {
        tokio::time::sleep(FOLLOW).await;
        if !is_shared && !access.is_in_doubt() {
            continue;
        }
        let refreshed = access.refresh().await;
        if let Err(error) = &refreshed
            && !is_behind
        {
            tracing::warn!(%error, "changes of keys and claim sets by other processes cannot be read");
        }
        is_behind = refreshed.is_err();
    }
}

/// Reads the certificates of the API.
fn tls(config: &ServerConfig) -> Result<Option<Tls>, Failure> {
    if config.tls.is_empty() {
        return Ok(None);
    }
    let identities = config.tls.iter().cloned().map(|own| Identity {
        names: own.names,
        certificate: own.certificate,
        key: own.key,
    });
    let tls = Tls::new(identities.collect(), config.client_authorities.clone());
    // Every reason is in the settings or in a file that they name.
    tls.map(Some).map_err(|error| Failure::Usage(format!("server.tls: {error}")))
}

/// Refuses a folder in which this process may not write, by the closest one that exists; makes nothing.
fn expect_writable(folder: &Path) -> std::io::Result<()> {
    for folder in folder.ancestors() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        match std::fs::metadata(folder) {
            Ok(found) if found.is_dir() => {
                return Ok(access(folder, FileAccess::WRITE_OK | FileAccess::EXEC_OK)?);
            }
            Ok(_) => return Err(std::io::ErrorKind::NotADirectory.into()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn bind(address: SocketAddr, setting: &str) -> Result<Listener, Failure> {
    Listener::bind(address).map_err(|error| Failure::Failed(format!("{setting}: {error}")))
}

/// Binds the address of content. One that nobody has chosen may be another where it is taken.
fn bind_content(chosen: Option<SocketAddr>) -> Result<Listener, Failure> {
    const SETTING: &str = "server.content_listen";
    if let Some(chosen) = chosen {
        return bind(chosen, SETTING);
    }
    match Listener::bind(SocketAddr::from(([127, 0, 0, 1], CONTENT_PORT))) {
        Ok(listener) => Ok(listener),
        Err(error) => {
            let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0)), SETTING)?;
            tracing::info!(%error, content = %listener.address(), "content has another port");
            Ok(listener)
        }
    }
}

async fn told(mut stopped: watch::Receiver<bool>) {
    _ = stopped.wait_for(|stopped| *stopped).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_always_leave_open_files_for_the_store() {
        for (files, cores) in [(1, 1), (64, 2), (256, 2), (1_024, 2), (1_024, 64), (1 << 20, 8)] {
            let (api, admin) = connections(files, cores, 16_384);

            let kept = files.saturating_sub((api + admin) as u64);
            assert!(api >= 1 && admin >= 1);
            assert!(files < 4 || kept >= (files / 2).min(FILES_KEPT), "{files}: {kept}");
        }
        assert_eq!(connections(1 << 20, 8, 16_384), (16_384, 256));
        assert_eq!(connections(1 << 20, 8, 100_000), (100_000, 256));
    }
}
