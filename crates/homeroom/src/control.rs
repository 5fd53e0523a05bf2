//! The control socket: how commands reach a server that has the store open.
//!
//! `DATA/control.sock` (mode 0600) accepts one JSON line: a [`Request`] and the store that it is
//! for. It answers with JSON lines: any number of `{"progress": …}`, then `{"done": …}`,
//! `{"refused": …}`, `{"bad-input": …}`, `{"nothing-to-load": …}` or `{"failed": …}`. A server with another
//! store does nothing. A command that finds no server opens the store itself and does the same: both ways end
//! in [`perform`]. Where the store is a database, only loads take this way.
#![expect(clippy::disallowed_methods, reason = "a request of a command gets its moment here")]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

mod request;
mod socket;
mod told;
mod who;
mod whose;

use homeroom_apis::ApisRequest;
use homeroom_blobs::{BlobPlace, Copied};
use homeroom_bulk::Progress;
use homeroom_document::AuditProgress;
use homeroom_export::views::{Dialect, apply, views};
use homeroom_http::Timestamp;
use homeroom_model::Resource;
use homeroom_store::{ChangedAt, Snapshot, SnapshotOptions, StoreError, StoreUrl};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::app::{App, Configured};
use crate::config::Config;
use crate::exit::Failure;
use crate::health::Looked;
pub use request::Request;
pub use socket::Socket;
use told::Told;
use whose::{Asked, Meant};

/// The longest request line, in bytes.
const REQUEST_BYTES_MAX: u64 = 16 << 20;
/// The longest wait for a command to send its request or to read its answer.
const QUIET_TIME_MAX: Duration = Duration::from_secs(10);

/// The longest time for copying blobs into a backup.
const BLOBS_TIME_MAX: Duration = Duration::from_hours(24);

/// The progress of a backup.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Far {
    /// Rows are being copied, one by one.
    Copied {
        /// The number of rows copied so far.
        rows: u64,
    },
    /// The copy is being checked.
    Checked {
        /// The number of documents checked so far.
        documents: u64,
        /// The number of documents in the copy.
        of: u64,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Progress(Value),
    Done(Value),
    /// The arguments are wrong.
    Refused(String),
    /// A path among the arguments cannot be used.
    BadInput {
        input: PathBuf,
        problem: String,
    },
    NothingToLoad(String),
    Failed(String),
}

/// Does what a command of `author` asks, with an open store. A load polls `is_stopped`.
///
/// # Errors
///
/// Says what could not be done, in words for a person.
pub fn perform(
    app: &App,
    runtime: &tokio::runtime::Handle,
    author: homeroom_access::Author,
    request: Request,
    progress: &mut dyn FnMut(Value),
    is_stopped: &dyn Fn() -> bool,
) -> Result<Value, Failure> {
    let failed = |error: &dyn std::error::Error| Failure::Failed(crate::app::chain(error));
    match request {
        Request::Manage(manage) => runtime
            .block_on(homeroom_data::manage(
                &app.data,
                &app.access,
                manage,
                author,
                Timestamp::now(),
            ))
            .map_err(|error| failed(&error)),
        Request::CreateSubscriber { create, subscription } => {
            // A key that may call nothing would be left behind otherwise.
            runtime
                .block_on(app.apis.check_subscription(&subscription))
                .map_err(|error| failed(&error))?;
            let now = Timestamp::now();
            let by = author.clone();
            let made = homeroom_data::manage(&app.data, &app.access, create, by, now);
            let mut made = runtime.block_on(made).map_err(|error| failed(&error))?;
            let key = made["key"].as_str().unwrap_or_default();
            runtime
                .block_on(app.apis.subscribe(key, &subscription))
                .map_err(|error| failed(&error))?;
            author.note_key("key.subscribed", key);
            if let (Some(made), Ok(Value::Object(subscription))) =
                (made.as_object_mut(), serde_json::to_value(&subscription))
            {
                let named = |name: String| if name == "scopes" { "apiScopes".into() } else { name };
                made.extend(subscription.into_iter().map(|(name, value)| (named(name), value)));
            }
            Ok(made)
        }
        Request::Apis(asked) => {
            let done = runtime.block_on(app.apis.manage(asked.clone()));
            let done = done.map_err(|error| failed(&error))?;
            match &asked {
                ApisRequest::Apply { .. } => {
                    let count = done.as_array().map_or(0, Vec::len);
                    author.note("gateway.applied", &format!("{count} changes"));
                }
                ApisRequest::Subscribe { key, .. } => author.note_key("key.subscribed", key),
                ApisRequest::Diff { .. } | ApisRequest::Export {} => {}
            }
            Ok(done)
        }
        Request::Jobs(asked) => runtime
            .block_on(app.jobs.manage(asked, ChangedAt::now()))
            .map_err(|error| failed(&error)),
        Request::Courses(asked) => {
            runtime.block_on(app.courses.manage(asked)).map_err(|error| failed(&error))
        }
        Request::Backup { to, time_max_ms } => {
            let blobs_to = BlobPlace::beside(&to);
            let paths = [Some(to.as_path()), blobs_to.path()];
            if let Some(taken) =
                paths.into_iter().flatten().find(|path| path.symlink_metadata().is_ok())
            {
                let message = format!("{} already exists; name another file", taken.display());
                return Err(Failure::Usage(message));
            }
            let time_max = Duration::from_millis(time_max_ms);
            let mut backing_up = BackingUp { app, blobs_to, time_max, progress, done: None };
            let backed_up = app.data.store.backup_with(&to, &mut backing_up);
            let BackingUp { blobs_to, done, .. } = backing_up;
            backed_up.map_err(|error| {
                // Half a copy would only keep a full disk full.
                _ = blobs_to.path().map(std::fs::remove_dir_all);
                failed(&error)
            })?;
            let Looks { looked, copied, change_version } = done.unwrap_or_default();
            let blobs = json!({ "copied": copied.blobs, "bytes": copied.bytes });
            Ok(json!({
                "backup": to, "changeVersion": change_version, "looked": looked, "blobs": blobs,
            }))
        }
        Request::Views { of } => {
            let (catalog, url) = (&app.data.catalog, app.data.store.url());
            let only = of.as_deref().unwrap_or_default();
            crate::standard::refuse_unknown(&catalog.model, only)?;
            let kind = |resource: &Resource| Some(catalog.kind(resource.id));
            let made = match &of {
                Some(only) => views(&catalog.model, Dialect::of(url), only, &kind),
                None => vec![],
            };
            apply(url, &made, only).map_err(|error| failed(&error))?;
            Ok(json!({ "views": made.len() }))
        }
        Request::Load(options) => {
            let mut tell = |now: &Progress| {
                if let Ok(value) = serde_json::to_value(now) {
                    progress(value);
                }
            };
            let summary =
                homeroom_bulk::load(&app.data.documents(), &options, &mut tell, is_stopped)
                    .map_err(Failure::from)?;
            app.load_metrics.add(&summary);
            serde_json::to_value(summary).map_err(|error| failed(&error))
        }
    }
}

/// A backup that is being taken.
struct BackingUp<'a> {
    app: &'a App,
    blobs_to: BlobPlace,
    /// The longest time for checking the copy.
    time_max: Duration,
    progress: &'a mut dyn FnMut(Value),
    done: Option<Looks>,
}

/// What was found in the copy, and what was copied beside it.
#[derive(Default)]
struct Looks {
    looked: Looked,
    copied: Copied,
    change_version: i64,
}

impl homeroom_store::BackingUp for BackingUp<'_> {
    /// Checks the copy, and copies the blobs that it names. Sweeps wait meanwhile.
    fn look(&mut self, copy: &StoreUrl) -> Result<Vec<String>, StoreError> {
        let mut tell = |now: AuditProgress| {
            (self.progress)(json!(Far::Checked { documents: now.documents, of: now.in_all }));
        };
        let looked =
            crate::health::look(copy, &self.app.standard, self.time_max, false, &mut tell)?;
        let problems = looked.problems.clone();
        let mut looks = Looks { looked, ..Looks::default() };
        if problems.is_empty() {
            let _held = self.app.blobs.hold_blocking();
            let options =
                SnapshotOptions { time_max: BLOBS_TIME_MAX, ..SnapshotOptions::default() };
            let snapshot = Snapshot::open(copy, &options)?;
            looks.change_version = snapshot.newest_change_version();
            looks.copied = homeroom_blobs::copy(&snapshot, self.app.blobs.place(), &self.blobs_to)?;
        }
        self.done = Some(looks);
        Ok(problems)
    }

    fn copied(&mut self, rows: u64) {
        (self.progress)(json!(Far::Copied { rows }));
    }
}

/// Returns whether a server has the store open and can be reached.
pub fn is_served(config: &Config) -> bool {
    connect(config).is_ok_and(|stream| stream.is_some())
}

/// Connects to the server that has the store open, if there is one.
fn connect(config: &Config) -> Result<Option<UnixStream>, Failure> {
    let Some(name) = config.store.control_socket() else { return Ok(None) };
    let Ok(stream) = UnixStream::connect(&name) else { return Ok(None) };
    let server = rustix::net::sockopt::socket_peercred(&stream)
        .map_err(|error| Failure::because("looking up the owner of the control socket", error))?;
    let server = server.uid.as_raw();
    // In a folder that others may write to, anybody could listen there.
    let own = rustix::process::geteuid().as_raw();
    if server == 0 || server == own || owner_of_store(config) == Some(server) {
        return Ok(Some(stream));
    }
    Err(Failure::Failed(format!(
        "the process that listens at {} runs as user {server}, which does not own the store; stop \
         it, remove the socket, and keep the store in a folder that only its owner can write to",
        name.display()
    )))
}

/// Returns the user to whom the store's file belongs, or for a database the data directory.
fn owner_of_store(config: &Config) -> Option<u32> {
    let place = match config.store.place() {
        StoreUrl::Sqlite(file) => file,
        StoreUrl::Postgres(_) => config.store.data_dir.clone(),
    };
    std::fs::metadata(place).ok().map(|about| about.uid())
}

/// Returns whether a request goes through the server that has the store open. What is not a load needs no
/// server where the store is a database: there it must work while a server does not answer, too.
fn goes_through_server(config: &Config, request: &Request) -> bool {
    !config.store.is_shared() || matches!(request, Request::Load(_))
}

/// Sends a request to the server that has the store open; without one, opens the store and does the
/// request here. Only a request that adds something makes a store that is not there.
///
/// # Errors
///
/// Says what could not be done, or why the store cannot be opened.
pub fn request(
    config: &Config,
    request: Request,
    progress: &mut dyn FnMut(Value),
) -> Result<Value, Failure> {
    if goes_through_server(config, &request)
        && let Some(stream) = connect(config)?
    {
        let asked = Asked { store: Meant::by(config), request };
        return send(&stream, &asked, progress);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|e| Failure::because("starting the runtime", e))?;
    let absent = crate::app::refuse_absent(config);
    if !request.may_make_store() {
        absent?;
    } else if absent.is_err() && request.is_tried_first() {
        try_on_another(config, &runtime, request.clone())?;
    }
    let app = runtime.block_on(App::open(config))?;
    perform(&app, runtime.handle(), who::here(), request, progress, &|| false)
}

/// Does a request on a store that is gone afterwards, so that one that fails leaves no new store behind.
/// The logs have none of it.
fn try_on_another(
    config: &Config,
    runtime: &tokio::runtime::Runtime,
    request: Request,
) -> Result<(), Failure> {
    tracing::subscriber::with_default(tracing::subscriber::NoSubscriber::new(), || {
        let configured = Configured::read(config)?;
        let app = runtime.block_on(App::on_trial(config, &configured))?;
        perform(&app, runtime.handle(), who::here(), request, &mut |_| {}, &|| false).map(drop)
    })
}

fn send(
    stream: &UnixStream,
    asked: &Asked,
    progress: &mut dyn FnMut(Value),
) -> Result<Value, Failure> {
    let broken = |error: std::io::Error| {
        Failure::Unreachable(format!(
            "the server at the control socket closed the connection early: {error}"
        ))
    };
    let mut line =
        serde_json::to_string(asked).map_err(|e| Failure::because("writing the request", e))?;
    line.push('\n');
    let mut writer = stream;
    writer.write_all(line.as_bytes()).map_err(broken)?;
    for line in BufReader::new(stream).lines() {
        let answer: Answer = serde_json::from_str(&line.map_err(broken)?)
            .map_err(|e| Failure::because("reading the server's answer", e))?;
        match answer {
            Answer::Progress(value) => progress(value),
            Answer::Done(value) => return Ok(value),
            Answer::Refused(message) => return Err(Failure::Usage(message)),
            Answer::BadInput { input, problem } => return Err(Failure::Input { input, problem }),
            Answer::NothingToLoad(message) => return Err(Failure::NothingToLoad(message)),
            Answer::Failed(message) => return Err(Failure::Failed(whose::plainly(message))),
        }
    }
    Err(Failure::Unreachable("the server closed the control socket without an answer".into()))
}

impl Socket {
    /// Serves requests until stopped, on one thread for the socket and one for each connection.
    pub fn serve(self, app: App) -> Serving {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let name = self.name.clone();
        let runtime = tokio::runtime::Handle::current();
        let (ending, ended) = oneshot::channel::<()>();
        let accept = move || {
            let mut requests: Vec<JoinHandle<()>> = vec![];
            while !stopped.load(Ordering::Acquire) {
                requests.retain(|request| !request.is_finished());
                match self.listener.accept() {
                    Ok((stream, _)) => {
                        let (app, runtime) = (app.clone(), runtime.clone());
                        let stopped = Arc::clone(&stopped);
                        let spawned = std::thread::Builder::new()
                            .name("control-request".into())
                            .spawn(move || answer(&app, &runtime, &stream, &stopped));
                        match spawned {
                            Ok(request) => requests.push(request),
                            Err(error) => {
                                tracing::warn!(%error, "a control request could not be accepted");
                            }
                        }
                    }
                    Err(_) => std::thread::sleep(Duration::from_millis(20)),
                }
            }
            for request in requests {
                _ = request.join();
            }
            drop(ending);
        };
        let thread = std::thread::Builder::new().name("control".into()).spawn(accept);
        if let Err(error) = thread {
            tracing::error!(%error, "the control socket is not available");
        }
        Serving { stop, name, ended }
    }
}

/// A served control socket.
#[derive(Debug)]
pub struct Serving {
    stop: Arc<AtomicBool>,
    name: socket::Name,
    /// Resolves when the last request has been answered.
    ended: oneshot::Receiver<()>,
}

impl Serving {
    /// Accepts no further requests, stops loads and waits for the open requests, for at most
    /// `time_max`.
    pub async fn stop(self, time_max: Duration) {
        self.stop.store(true, Ordering::Release);
        self.name.remove();
        if tokio::time::timeout(time_max, self.ended).await.is_err() {
            tracing::warn!("a command was still running after the drain time");
        }
    }
}

fn answer(
    app: &App,
    runtime: &tokio::runtime::Handle,
    stream: &UnixStream,
    is_stopped: &AtomicBool,
) {
    _ = stream.set_nonblocking(false);
    _ = stream.set_read_timeout(Some(QUIET_TIME_MAX));
    _ = stream.set_write_timeout(Some(QUIET_TIME_MAX));
    let told = Told::new(stream);
    let mut line = String::new();
    let read = BufReader::new(stream.take(REQUEST_BYTES_MAX)).read_line(&mut line);
    let answer = match read.map_err(|e| e.to_string()).and_then(|_| {
        serde_json::from_str::<Asked>(&line).map_err(|error| whose::not_understood(&error))
    }) {
        Ok(asked) if !asked.store.is(&app.data.store) => {
            Answer::Failed(asked.store.refused_by(&app.data.store))
        }
        Ok(Asked { request, .. }) => {
            let mut progress = |value| told.progress(&line_of(&Answer::Progress(value)));
            let is_stopped = || is_stopped.load(Ordering::Acquire) || told.is_gone();
            let author = who::at(stream);
            match perform(app, runtime, author, request, &mut progress, &is_stopped) {
                Ok(done) => Answer::Done(done),
                Err(Failure::Usage(message)) => Answer::Refused(message),
                Err(Failure::Input { input, problem }) => Answer::BadInput { input, problem },
                Err(Failure::NothingToLoad(message)) => Answer::NothingToLoad(message),
                Err(failure) => Answer::Failed(failure.to_string()),
            }
        }
        Err(message) => Answer::Failed(message),
    };
    told.last(&line_of(&answer));
}

fn line_of(answer: &Answer) -> Vec<u8> {
    let mut line = serde_json::to_vec(answer).expect("an answer is JSON already");
    line.push(b'\n');
    line
}
