//! The sections of the configuration, with their defaults.

use std::net::SocketAddr;
use std::path::PathBuf;

use homeroom_blobs::{BlobPlace, BucketSettings, Limits as BlobLimits};
use homeroom_course::Options as CoursesOptions;
use homeroom_jobs::{Kind, Limits as JobLimits, Times as JobTimes};
use homeroom_store::StoreUrl;
use serde::{Deserialize, Serialize};

use super::budgets::BudgetsConfig;
use super::duration::HumanDuration;
use super::place::StorePlace;
use super::secret::Secret;
use super::socket::{socket_name, socket_name_of_database};

/// What the name of the folder of what is put together or on its way ends with, after that of the blobs.
const SPOOL: &str = ".spool";

/// The whole configuration.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where and how the server listens.
    pub server: ServerConfig,
    /// Where documents are kept.
    pub store: StoreConfig,
    /// Where large bytes are kept.
    pub blobs: BlobsConfig,
    /// Courses and those who learn.
    pub courses: CoursesConfig,
    /// How work is done that is not done within a request.
    pub jobs: JobsConfig,
    /// Which data standard is served.
    pub standard: StandardConfig,
    /// How much requests share and how much may wait, beside `server.connections_max`,
    /// `server.in_flight_max` and `store.queue`. `/metrics` shows the size, use and refusals of each;
    /// a refusal names it.
    pub budgets: BudgetsConfig,
    /// What is logged.
    pub log: LogConfig,
}

/// Where and how the server listens.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Address of the API. Default: `127.0.0.1:8080`.
    pub listen: SocketAddr,
    /// Address of the content of courses, which has an origin of its own so that it can reach nothing
    /// else. Default: none, `127.0.0.1:8081`, or any free port where another program has that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_listen: Option<SocketAddr>,
    /// Origin of the API as browsers see it, such as `https://learn.example.org`, where it is another
    /// than that of its requests. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    /// Origin of the content of courses as browsers see it, such as `https://content.example.org`.
    /// Set `public_url`, too: its pages frame the content. Default: none, the API's host with the port of
    /// `content_listen`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_url: Option<String>,
    /// Address of metrics and probes. Default: `127.0.0.1:9090`.
    pub admin_listen: SocketAddr,
    /// Longest time for a request's header to arrive, from its first byte. Default: `15s`.
    pub header_time: HumanDuration,
    /// Longest time that open requests get to finish when the server stops. Default: `25s`.
    pub drain: HumanDuration,
    /// How long a server that SIGTERM tells to stop goes on serving while `/readyz` answers 503, so that
    /// balancers send requests elsewhere first; longer than they take to notice. SIGINT, or a second
    /// signal, ends the wait. Default: `3s`.
    pub lame_duck: HumanDuration,
    /// Maximum number of requests processed at the same time; four times as many may wait for their
    /// bodies. Default: 4096.
    pub in_flight_max: u32,
    /// Whether `X-Forwarded-Proto`, `-Host`, `-Port`, `-Prefix` (a path that the proxy takes off requests)
    /// and `-For` are trusted. Of several values the last counts, because it comes from the proxy in
    /// front of this server; the proxy must append to each header or replace it. Default: false.
    pub trust_forwarded: bool,
    /// The parts that are served, of `data` (the data API, its composites and its metadata), `bulk`
    /// (uploads of files that the server loads), `admin` (the Admin API), `gateway` (published APIs) and
    /// `learning` (courses and their player). Tokens and probes are always served. Default: none, which
    /// means all.
    pub parts: Vec<Part>,
    /// Maximum number of connections of the API, if the system allows as many open files. Default:
    /// 16384.
    pub connections_max: u32,
    /// Certificates of the API, each a table with `certificate` and `key` (paths of PEM files) and
    /// `names` (host names; the first certificate is also used for all others). With any, the API
    /// listens with TLS only. Changed files are read again within a second. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tls: Vec<TlsConfig>,
    /// A PEM file with the certificates of authorities: clients may then show certificates that one of
    /// them has signed, and get tokens by those that are registered with their keys. A changed file is
    /// read again within a second. Needs `tls`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_authorities: Option<PathBuf>,
    /// Origins whose pages may call the API from a browser, such as `https://app.example.org`; `*`
    /// for all. Default: none.
    pub cors_origins: Vec<String>,
    /// Maximum number of requests per second of each key or, without a key, of each address; a request
    /// that is refused before its caller is known counts for its address. Probes do not count. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_rate: Option<f64>,
    /// Requests that each of them may send at once after a pause, where `client_rate` is set. Default:
    /// 100.
    pub client_burst: u32,
    /// Maximum number of live tokens of each key on this node; who asks for more is answered 429. The
    /// Ed-Fi ODS/API allows 15; here a token costs nothing until it is used. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_tokens_max: Option<usize>,
}

/// A part of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The data API, its composites and its metadata.
    Data,
    /// Bulk Load Services.
    Bulk,
    /// The Admin API.
    Admin,
    /// Published APIs.
    Gateway,
    /// Courses: their API, their player and their content.
    Learning,
}

impl ServerConfig {
    /// Returns whether a part is served.
    pub fn serves(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }
}

/// A certificate and the names that it is for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// A PEM file: the certificate, then those that lead to its authority.
    pub certificate: PathBuf,
    /// A PEM file with its private key.
    pub key: PathBuf,
    /// Host names, such as `api.example.org` or `*.example.org`.
    #[serde(default)]
    pub names: Vec<String>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            content_listen: None,
            public_url: None,
            content_url: None,
            admin_listen: SocketAddr::from(([127, 0, 0, 1], 9090)),
            header_time: HumanDuration::from_secs(15),
            drain: HumanDuration::from_secs(25),
            lame_duck: HumanDuration::from_secs(3),
            in_flight_max: 4_096,
            trust_forwarded: false,
            parts: vec![],
            connections_max: 16_384,
            tls: vec![],
            client_authorities: None,
            cors_origins: vec![],
            client_rate: None,
            client_burst: 100,
            client_tokens_max: None,
        }
    }
}

/// Where documents are kept.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// Folder of the store and the control socket. Default: `homeroom-data`.
    pub data_dir: PathBuf,
    /// `postgres://USER:PASSWORD@HOST/DATABASE` or `sqlite:PATH`. Default: none, a SQLite file in
    /// `data_dir`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<StorePlace>,
    /// A file that holds the URL instead, so that the password appears in no process list and no
    /// environment. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_file: Option<PathBuf>,
    /// Page size of a new store's file in bytes; it cannot be changed later. Default: 4096.
    pub page_bytes: u32,
    /// Maximum number of waiting writes; further ones are answered 503. Default: 1024.
    pub queue: u32,
    /// Longest wait of a write for its turn; after it, it is not done and answered 503. Default: `20s`.
    pub queue_time: HumanDuration,
    /// Longest time of a list or count. Default: `5s`.
    pub list_deadline: HumanDuration,
    /// Page cache of each reading connection in KiB, as far as it is used; the writer has four times as much, but 8192
    /// at most in a file of less than 1 GiB.
    /// Default: none, which means that all page caches together may take a 16th of the memory, with 2048 to 32768
    /// for each connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_kib: Option<u32>,
    /// For how many documents identities and references wait in memory until they move to the file, 100 to 320
    /// bytes a document; after a crash a start reads up to three times as many documents. Default: none,
    /// which means one for each 8 KiB of the memory, at least 16384 and at most 262144.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recent_documents: Option<u32>,
    /// Size, in MiB, from which the write-ahead log of a store in a file is restarted. It is copied into the file while
    /// writes go on, so it grows to half as much again or more; they wait only for the last pages. Default: 64.
    pub log_mib: u32,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            data_dir: PathBuf::from("homeroom-data"),
            url: None,
            url_file: None,
            page_bytes: 4_096,
            queue: 1_024,
            queue_time: HumanDuration::from_secs(20),
            list_deadline: HumanDuration::from_secs(5),
            cache_kib: None,
            recent_documents: None,
            log_mib: 64,
        }
    }
}

impl StoreConfig {
    /// Returns where the store is.
    pub fn place(&self) -> StoreUrl {
        match &self.url {
            Some(place) => place.url().clone(),
            None => StoreUrl::Sqlite(self.data_dir.join("homeroom.db")),
        }
    }

    /// Returns the path of the socket over which commands reach the server that has the store open.
    /// Into a database, only loads go through a server with the same data directory.
    pub fn control_socket(&self) -> Option<PathBuf> {
        match self.place() {
            StoreUrl::Sqlite(file) => Some(socket_name(&file)),
            StoreUrl::Postgres(url) => socket_name_of_database(&self.data_dir, &url),
        }
    }

    /// Returns the size in bytes beyond which the write-ahead log is restarted.
    pub fn log_bytes(&self) -> u64 {
        u64::from(self.log_mib) << 20
    }

    /// Whether the store is a database, which several processes may have open.
    pub fn is_shared(&self) -> bool {
        matches!(self.place(), StoreUrl::Postgres(_))
    }
}

/// Where large bytes are kept: packages, uploads, video.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct BlobsConfig {
    /// Folder of the blobs. All nodes on one database need the same one. Default: none, `FILE.blobs`
    /// beside a store in a file, and `blobs` in `store.data_dir` for a database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// A bucket of an S3-compatible store in place of the folder: `s3://BUCKET/PREFIX`. All nodes on one
    /// database need the same one. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// URL of that store, such as `https://minio.example.org:9000`. Default: none, which means
    /// `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL` of the environment, else AWS in the region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Its region. Default: none, which means `AWS_REGION` or `AWS_DEFAULT_REGION` of the environment,
    /// else `us-east-1`, which most stores accept that have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Whether the bucket's name is part of the host's, `https://BUCKET.HOST`, as a few stores demand.
    /// Default: false.
    pub bucket_in_host: bool,
    /// Id of the key for the bucket. Default: none, which means `AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN` of the environment, else the role that AWS gives
    /// this process (a web identity, a container's, the machine's).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_key_id: Option<String>,
    /// Secret of the key: `env:NAME` for a variable of the environment, `file:PATH` for a file, or the
    /// secret itself. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_access_key: Option<Secret>,
    /// How long bytes that belong to nobody are kept. Default: `3600s`.
    pub grace: HumanDuration,
    /// The bucket, with what the environment says of it.
    #[serde(skip)]
    pub(crate) bucket: Option<BucketSettings>,
}

impl Default for BlobsConfig {
    fn default() -> Self {
        Self {
            dir: None,
            url: None,
            endpoint: None,
            region: None,
            bucket_in_host: false,
            access_key_id: None,
            secret_access_key: None,
            grace: HumanDuration::from_secs(3_600),
            bucket: None,
        }
    }
}

/// Courses and those who learn.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct CoursesConfig {
    /// Whether packages may be fetched from this machine and private networks, and results posted to
    /// them: callers of the API choose these addresses. The metadata services of cloud providers stay
    /// refused. Default: false.
    pub private_addresses: bool,
    /// How long a session may be silent; then it has ended, and counts as suspended. Default: `1800s`.
    pub session_silence: HumanDuration,
    /// How long the calls of content in a launch are kept, from its beginning. Default: `7776000s`.
    pub traces_kept: HumanDuration,
    /// How long a launch stays in the launch history, from the end of its link, at least a day.
    /// Default: `34560000s`.
    pub launches_kept: HumanDuration,
}

impl Default for CoursesConfig {
    fn default() -> Self {
        Self {
            private_addresses: false,
            session_silence: HumanDuration::from_secs(1_800),
            traces_kept: HumanDuration::from_secs(90 * 86_400),
            launches_kept: HumanDuration::from_secs(400 * 86_400),
        }
    }
}

/// How work is done that is not done within a request: imports, uploads, postbacks.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct JobsConfig {
    /// Maximum number of jobs that this node runs at the same time; with 0 it leaves them to other
    /// nodes. Default: 16.
    pub running_max: u32,
    /// How long a node has a job without renewing it, and so how long the jobs of a killed node wait.
    /// It must be longer than the clocks of the nodes differ by. Default: `60s`.
    pub lease: HumanDuration,
    /// How often a node looks for jobs that other nodes have queued. Default: `2s`.
    pub poll: HumanDuration,
    /// Maximum number of attempts; then a job is dead, and `homeroom jobs retry` queues it again.
    /// Default: none, which means what suits the kind of job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts_max: Option<u32>,
    /// Pause after the first failure of a job; it doubles with each further one. Default: `5s`.
    pub pause: HumanDuration,
    /// Longest pause after a failure. Default: `3600s`.
    pub pause_max: HumanDuration,
    /// Maximum number of waiting jobs of all nodes; further ones are refused. Default: 10000.
    pub queued_max: u32,
    /// Maximum number of waiting jobs of one owner, such as a key. Default: 1000.
    pub queued_of_owner_max: u32,
    /// How long a job that is done or cancelled is kept. Default: `604800s`.
    pub ended_kept: HumanDuration,
    /// How long a dead job is kept. Default: `2592000s`.
    pub dead_kept: HumanDuration,
}

impl Default for JobsConfig {
    fn default() -> Self {
        Self {
            running_max: 16,
            lease: HumanDuration::from_secs(60),
            poll: HumanDuration::from_secs(2),
            attempts_max: None,
            pause: HumanDuration::from_secs(5),
            pause_max: HumanDuration::from_secs(3_600),
            queued_max: 10_000,
            queued_of_owner_max: 1_000,
            ended_kept: HumanDuration::from_secs(7 * 86_400),
            dead_kept: HumanDuration::from_secs(30 * 86_400),
        }
    }
}

impl CoursesConfig {
    /// Returns them as the part takes them.
    pub fn options(&self) -> CoursesOptions {
        CoursesOptions {
            private_addresses: self.private_addresses,
            silence: self.session_silence.0,
            traces_kept: self.traces_kept.0,
            launches_kept: self.launches_kept.0,
        }
    }
}

impl JobsConfig {
    /// Returns the limits of jobs.
    pub fn limits(&self) -> JobLimits {
        JobLimits {
            queued_max: self.queued_max,
            queued_of_owner_max: self.queued_of_owner_max,
            ended_kept: self.ended_kept.0,
            dead_kept: self.dead_kept.0,
            ..JobLimits::default()
        }
    }

    /// Returns the times and places of this node's runner.
    pub fn times(&self) -> JobTimes {
        JobTimes {
            running_max: usize::try_from(self.running_max).unwrap_or(usize::MAX),
            lease: self.lease.0,
            poll: self.poll.0,
            ..JobTimes::default()
        }
    }

    /// Applies what is set to a kind of jobs.
    pub fn apply(&self, kind: &mut Kind) {
        kind.attempts_max = self.attempts_max.unwrap_or(kind.attempts_max);
        (kind.pause, kind.pause_max) = (self.pause.0, self.pause_max.0);
    }
}

impl Config {
    /// Returns where the blobs are.
    pub fn blob_place(&self) -> BlobPlace {
        match &self.blobs.bucket {
            Some(bucket) => {
                BlobPlace::bucket(BucketSettings { spool: self.spool(), ..bucket.clone() })
            }
            None => BlobPlace::folder(&self.blob_folder()),
        }
    }

    /// Returns the folder of what is put together or on its way.
    pub fn spool(&self) -> PathBuf {
        let mut spool = self.blob_folder().into_os_string();
        spool.push(SPOOL);
        spool.into()
    }

    /// Returns the folder of the blobs where they are in one.
    fn blob_folder(&self) -> PathBuf {
        match (&self.blobs.dir, self.store.place()) {
            (Some(dir), _) => dir.clone(),
            (None, StoreUrl::Sqlite(file)) => {
                BlobPlace::beside(&file).path().map(Into::into).unwrap_or_default()
            }
            (None, StoreUrl::Postgres(_)) => self.store.data_dir.join("blobs"),
        }
    }

    /// Returns the limits of blobs.
    pub fn blob_limits(&self) -> BlobLimits {
        BlobLimits { grace: self.blobs.grace.0, ..BlobLimits::default() }
    }
}

/// Which data standard is served.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct StandardConfig {
    /// Version of the shipped model: `4.0.0` or `5.2.0`. Default: `5.2.0`.
    pub version: String,
    /// Its extensions: names of shipped ones (`homograph`, `sample`, `tpdm`) or paths of model
    /// files. Default: none.
    pub extensions: Vec<String>,
    /// A model file instead of the shipped one. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
    /// Files with definitions of composites, besides the shipped enrollment ones. Default: none.
    pub composites: Vec<PathBuf>,
    /// Whether to open a store that was made for another standard or version, and to make it a
    /// store of this one from then on. Default: `false`.
    pub change_store: bool,
}

impl Default for StandardConfig {
    fn default() -> Self {
        Self {
            version: DEFAULT_VERSION.into(),
            extensions: vec![],
            model: None,
            composites: vec![],
            change_store: false,
        }
    }
}

/// What is logged.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// `error`, `warn`, `info`, `debug` or `trace`, also by module (`info,homeroom_gateway=debug`).
    /// Default: `info`.
    pub level: String,
    /// `text`, `json`, or `auto`: text on a terminal, JSON otherwise. Default: `auto`.
    pub format: LogFormat,
    /// Which requests are logged, one JSON line each, with ids and no values: `off`, `errors` or
    /// `all`. Default: `off`.
    pub requests: RequestLog,
    /// The file to which these lines are appended. Default: none, the standard error with all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_file: Option<PathBuf>,
    /// Whether refused logins and changes of keys, claim sets and published APIs are logged, with who
    /// made them: the audit log. Default: `true`.
    pub audit: bool,
    /// The file to which the audit log is appended, one JSON line each; commands append to it, too.
    /// Default: none, the standard error with all others; for commands the system's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_file: Option<PathBuf>,
}

/// Which requests are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestLog {
    /// No request is logged.
    Off,
    /// The requests that are answered with a status of 400 and more are logged.
    Errors,
    /// Every request is logged.
    All,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            level: "info".into(),
            format: LogFormat::Auto,
            requests: RequestLog::Off,
            requests_file: None,
            audit: true,
            audit_file: None,
        }
    }
}

/// Form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    Auto,
    /// Plain text.
    Text,
    /// JSON, one line per event.
    Json,
}

/// The version that is served by default.
pub const DEFAULT_VERSION: &str = "5.2.0";
