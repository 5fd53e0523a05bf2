//! Wires the parts together: a store, a model bound to it, access rights, the front door.
#![expect(
    clippy::disallowed_methods,
    reason = "a new store's documents get the moment of the start"
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use homeroom_access::{Access, AccessConfig, ApiClient, Subscribed};
use homeroom_apis::{Apis, ApisLimits, Subscription};
use homeroom_blobs::Blobs;
use homeroom_bulk_api::BulkService;
use homeroom_course::{Courses, Origins};
use homeroom_data::composites::{self, Composites};
use homeroom_data::metadata::{self, Credentials, Metadata, PageRequest, Shown};
use homeroom_data::{BatchPlaces, DataApi, Work, WorkLimits};
use homeroom_document::Catalog;
use homeroom_export::views::{Dialect, renew, views};
use homeroom_gateway::{FrontDoor, GateLimits, Gates, Limits, Metrics};
use homeroom_http::{BudgetFigures, Route, Timestamp};
use homeroom_jobs::Jobs;
use homeroom_model::Model;
use homeroom_store::{ChangedAt, Options, Snapshot, SnapshotOptions, Store, StoreUrl};

use crate::config::{BudgetsConfig, Config, Part};
use crate::exit::Failure;
use crate::load_metrics::LoadMetrics;
use crate::probes;
use crate::standard::{self, Standard};

/// An opened Homeroom, which serves requests and runs commands.
#[derive(Clone)]
pub struct App {
    /// The data API: catalog and store.
    pub data: DataApi,
    /// Clients, tokens and claim sets.
    pub access: Arc<Access>,
    /// Published APIs.
    pub apis: Arc<Apis>,
    /// Work that is done later.
    pub jobs: Jobs,
    /// Large bytes.
    pub blobs: Blobs,
    /// What clients upload to be loaded.
    pub bulk: BulkService,
    /// Courses, registrations and launches.
    pub courses: Courses,
    /// Metrics of this process.
    pub metrics: Arc<Metrics>,
    /// Items of the loads that this process did.
    pub load_metrics: Arc<LoadMetrics>,
    /// The store's gauges among the metrics.
    pub store_gauges: Arc<probes::StoreGauges>,
    /// The standard that is served.
    pub standard: Arc<Standard>,
    /// The composites that are served.
    pub composites: Arc<Composites>,
    /// What the store was filled with when it was made just now, such as
    /// `60 ed-fi/schoolYearTypes`; empty for a store that existed.
    pub seeded: String,
    /// Whether requests are wanted; false while starting and draining.
    pub ready: Arc<probes::Readiness>,
}

/// The standard and the composites that the configuration names.
pub struct Configured {
    standard: Standard,
    composites: Arc<Composites>,
}

impl Configured {
    /// Reads their files; opens and makes nothing.
    ///
    /// # Errors
    ///
    /// Says what is wrong in which file.
    pub fn read(config: &Config) -> Result<Self, Failure> {
        let standard = Standard::read(&config.standard)?;
        let composites = Arc::new(standard::composites(&config.standard, &standard.model)?);
        Ok(Self { standard, composites })
    }

    /// Returns the model that a store is opened with.
    pub fn model(&self) -> &Model {
        &self.standard.model
    }
}

impl App {
    /// Opens the store, binds the model, and fills a new store with the standard's seed.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the store, the model or the seed, and what to do.
    pub async fn open(config: &Config) -> Result<Self, Failure> {
        Self::open_as(config, Configured::read(config)?).await
    }

    /// Does the same as [`App::open`] with a standard that has been read already.
    ///
    /// # Errors
    ///
    /// As for [`App::open`].
    pub async fn open_as(
        config: &Config,
        Configured { standard, composites }: Configured,
    ) -> Result<Self, Failure> {
        let store = open_store(config)?;
        let mut app = Self::on_store(store, &standard, config).await?;
        app.composites = composites;
        app.renew_views(config);
        Ok(app)
    }

    /// Opens a store of its own that is gone with the value, as a new one of this configuration would be: to
    /// learn whether something would be refused there.
    ///
    /// # Errors
    ///
    /// As for [`App::open`].
    pub async fn on_trial(config: &Config, configured: &Configured) -> Result<Self, Failure> {
        let store = Store::temporary(&[]).map_err(|e| Failure::because("opening a store", e))?;
        let mut config = config.clone();
        if let StoreUrl::Sqlite(file) = store.url() {
            config.blobs.dir = Some(file.with_extension("blobs"));
            config.blobs.bucket = None;
        }
        Self::on_store(store, &configured.standard, &config).await
    }

    /// Does the same as [`App::open`] with a store that is open already.
    async fn on_store(store: Store, standard: &Standard, config: &Config) -> Result<Self, Failure> {
        let now = Timestamp::now();
        keep_standard(&store, standard)?;
        let catalog = Catalog::bind(Arc::clone(&standard.model), &store)
            .map_err(|e| Failure::because("binding the model to the store", e))?;
        let budgets = &config.budgets;
        let batches = BatchPlaces::new(budgets.batches as usize, budgets.batches_of_key as usize);
        let work = Work::new(WorkLimits {
            batch_checks: budgets.batch_checks as usize,
            large_bodies: budgets.large_bodies as usize,
            compressed_lists: budgets.compressed_lists as usize,
        });
        let data = DataApi { batches, work, ..DataApi::new(Arc::new(catalog), store.clone()) };
        let newest = store.newest_change_version().await;
        let mut seeded = String::new();
        if newest.map_err(|e| Failure::because("opening the store", e))? == 0 {
            let (data, seed) = (data.clone(), standard.seed);
            let counts = tokio::task::spawn_blocking(move || {
                homeroom_document::seed(&data.catalog, &data.store, seed, ChangedAt(now.0))
            })
            .await
            .map_err(|e| Failure::because("seeding the store", e))?
            .map_err(|e| Failure::because("seeding the store", e))?;
            let counts = counts.iter().map(|(resource, count)| format!("{count} {resource}"));
            seeded = counts.collect::<Vec<_>>().join(", ");
            tracing::info!(holds = seeded, "made a new store");
        }
        let limits = ApisLimits {
            gates: Gates::new(gates(budgets)),
            issuer_keys: budgets.issuer_keys,
            issuer_tokens: budgets.issuer_tokens as usize,
            transforms: budgets.transforms.map(|places| places as usize),
            transform_bytes: u64::from(budgets.transform_bytes_mib) << 20,
        };
        let apis = Arc::new(Apis::with_limits(store.clone(), limits));
        let jobs = Jobs::new(store.clone(), config.jobs.limits());
        let blobs = Blobs::new(config.blob_place(), store.clone(), config.blob_limits());
        let courses = Courses::new(store.clone(), jobs.clone(), blobs.clone())
            .with_options(config.courses.options());
        let recognition = AccessConfig {
            live_tokens_max: config.server.client_tokens_max,
            key_lookups: budgets.key_lookups.into(),
            public_url: config.server.public_url.clone(),
            ..AccessConfig::default()
        };
        let access = Access::open(store, Arc::clone(&standard.model), recognition, now)
            .await
            .map_err(|e| Failure::because("opening the client registry", chain(&e)))?;
        let published = Arc::clone(&apis);
        access.know_subscriptions(Box::new(move |key| {
            let Subscription { apis, scopes, .. } = (*published.subscription(key)?).clone();
            Some(Subscribed { apis, scopes })
        }));
        let (own_blobs, own_jobs) = (blobs.clone(), jobs.clone());
        let bulk =
            BulkService::new(&access, data.documents(), own_blobs, own_jobs, &config.spool());
        let mut metrics = Metrics::new(env!("CARGO_PKG_VERSION"));
        watch(&metrics, &data, &access);
        let called = Arc::clone(&apis);
        metrics.watch_queues(move || called.queues());
        let called = Arc::clone(&apis);
        metrics.watch_apis(move || called.figures());
        let store_gauges = Arc::new(probes::StoreGauges::new(&mut metrics, data.store.clone()));
        let ready = Arc::new(probes::Readiness::new(data.store.clone()));
        let standard = Arc::new(standard.clone());
        Ok(Self {
            data,
            access,
            apis,
            jobs,
            load_metrics: Arc::default(),
            blobs,
            bulk,
            courses,
            metrics: Arc::new(metrics),
            store_gauges,
            standard,
            composites: Arc::default(),
            seeded,
            ready,
        })
    }

    /// Recreates the reporting views that an earlier model has left in the store.
    fn renew_views(&self, config: &Config) {
        let catalog = &self.data.catalog;
        let made = |only: &[String]| {
            let dialect = Dialect::of(&config.store.place());
            views(&catalog.model, dialect, only, &|resource| Some(catalog.kind(resource.id)))
        };
        // Serving does not need them, so a failure is only logged.
        match renew(&config.store.place(), &made) {
            Ok(true) => tracing::info!("recreating the reporting views"),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "the reporting views cannot be recreated"),
        }
    }

    /// Returns every route of the main listener for the address `listening`. The page at `/` shows
    /// `credentials` to requests from this machine.
    pub fn routes(
        &self,
        config: &Config,
        credentials: Option<Credentials>,
        listening: SocketAddr,
        origins: &Origins,
    ) -> Vec<Route<ApiClient>> {
        let model = Arc::clone(&self.data.catalog.model);
        let page_model = Arc::clone(&model);
        let page = Arc::new(move |request: &PageRequest<'_>| {
            let shown = match (&credentials, metadata::asked_here(request, listening)) {
                (None, _) => Shown::Nothing,
                (Some(credentials), Ok(())) => Shown::Credentials(credentials),
                (Some(_), Err(hidden)) => Shown::Hidden(hidden),
            };
            metadata::browser_page(&page_model, request.base_url, shown)
        });
        let others = [
            (Part::Admin, homeroom_admin::OPENAPI),
            (Part::Admin, homeroom_apis::OPENAPI),
            (Part::Bulk, homeroom_bulk_api::OPENAPI),
        ];
        let server = &config.server;
        let others = others.into_iter().filter(|(part, _)| server.serves(*part));
        let others: Vec<_> = others.map(|(_, listed)| listed).collect();
        let metadata = Metadata::new(model)
            .with_composites(Arc::clone(&self.composites))
            .with_others(&others)
            .with_waiting_max(config.budgets.metadata_documents as usize)
            .with_browser_page(page);
        let documents = metadata.clone();
        self.metrics.watch_queues(move || vec![documents.queue()]);
        let mut routes = homeroom_access::routes(&self.access);
        routes.extend(probes::routes(&self.ready));
        if server.serves(Part::Admin) {
            routes.extend(homeroom_admin::routes(&self.access));
            routes.extend(homeroom_apis::routes(&self.apis, &self.access));
        }
        if server.serves(Part::Bulk) {
            routes.extend(homeroom_bulk_api::routes(&self.bulk));
        }
        if server.serves(Part::Learning) {
            routes.extend(homeroom_course::routes(&self.courses, origins));
        }
        if server.serves(Part::Data) {
            routes.extend(metadata::routes(&metadata));
            routes.extend(homeroom_data::routes(&self.data, &self.access));
            routes.extend(composites::routes(&self.data, &self.access, &self.composites));
        }
        routes
    }

    /// Returns the front door for [`App::routes`].
    ///
    /// # Errors
    ///
    /// If two routes contradict each other.
    pub fn front_door(
        &self,
        config: &Config,
        limits: Limits,
        credentials: Option<Credentials>,
        listening: SocketAddr,
        origins: &Origins,
    ) -> Result<FrontDoor, Failure> {
        let (access, metrics) = (Arc::clone(&self.access), Arc::clone(&self.metrics));
        FrontDoor::new(
            self.routes(config, credentials, listening, origins),
            access,
            metrics,
            limits,
        )
        .map_err(|e| Failure::because("building the front door", e))
    }
}

/// Shows the queues of the parts among the metrics.
fn watch(metrics: &Metrics, data: &DataApi, access: &Arc<Access>) {
    let store = data.store.clone();
    metrics.watch_queues(move || {
        let loads = store.queues().into_iter();
        let figures = loads.map(|load| BudgetFigures {
            name: load.queue.name(),
            size: load.size,
            used: load.used,
            refused: load.refused,
        });
        figures.collect()
    });
    let (data, access) = (data.clone(), Arc::clone(access));
    metrics.watch_queues(move || data.queues());
    metrics.watch_queues(move || vec![access.key_lookups()]);
}

/// Returns the limits on calls to upstreams.
fn gates(budgets: &BudgetsConfig) -> GateLimits {
    GateLimits {
        calls: budgets.upstream_calls as usize,
        waiting: budgets.upstream_waiting as usize,
        wait: budgets.upstream_wait.0,
        streams: budgets.upstream_streams as usize,
    }
}

/// Rejects a store whose documents belong to another standard: documents that do not fit would be
/// served unchanged, and the next write would lose parts of them.
fn keep_standard(store: &Store, standard: &Standard) -> Result<(), Failure> {
    let (ours, replace) = (standard.name(), standard.change_store);
    let other = store.keep_standard(ours.clone(), replace);
    match other.map_err(|e| Failure::because("opening the store", e))? {
        None => Ok(()),
        Some(theirs) => Err(Failure::Failed(format!(
            "opening the store: its documents are of {theirs}, but standard.version is {ours}; \
             set standard.version to {} (--standard-version {}), or set standard.change_store to \
             true to make this a store of {ours} from now on",
            theirs.version, theirs.version
        ))),
    }
}

/// Opens the configured store.
///
/// # Errors
///
/// Says why it cannot be opened.
pub fn open_store(config: &Config) -> Result<Store, Failure> {
    Store::open(&store_options(config)).map_err(|e| Failure::because("opening the store", e))
}

/// Returns the options with which the configured store is opened.
pub fn store_options(config: &Config) -> Options {
    let mut options = Options::new(config.store.place());
    options.page_bytes = config.store.page_bytes;
    options.queue = config.store.queue as usize;
    options.queue_time = config.store.queue_time.0;
    options.list_queue = config.budgets.store_lists as usize;
    options.scan_queue = config.budgets.store_scans as usize;
    options.list_connections = config.budgets.store_list_connections as usize;
    options.scan_connections = config.budgets.store_scan_connections as usize;
    options.probes = config.budgets.store_probes as usize;
    options.list_deadline = config.store.list_deadline.0;
    options.cache_kib = config.store.cache_kib.unwrap_or(options.cache_kib);
    options.wal_bytes_max = config.store.log_bytes();
    if let Some(documents) = config.store.recent_documents {
        options.recent_documents = documents as usize;
    }
    options
}

/// Refuses a place at which there is no store, for commands that must not make one.
///
/// # Errors
///
/// Names the place, and says what to do.
pub fn refuse_absent(config: &Config) -> Result<(), Failure> {
    let place = config.store.place();
    match (Store::is_at(&place), &place) {
        (Ok(true), _) => Ok(()),
        (Ok(false), StoreUrl::Sqlite(file)) => Err(Failure::Failed(format!(
            "there is no store at {}; choose another folder with --data-dir, or create a store with \
             homeroom serve or homeroom load",
            file.display()
        ))),
        (Ok(false), StoreUrl::Postgres(url)) => Err(Failure::Failed(format!(
            "there is no store in {url}; choose another database with --store, or create a store \
             with homeroom serve or homeroom load"
        ))),
        (Err(error), _) => Err(Failure::because("looking for the store", error)),
    }
}

/// Returns a snapshot of the configured store, whether or not a server has it open.
///
/// # Errors
///
/// Says why it cannot be read.
pub fn snapshot(config: &Config) -> Result<Snapshot, Failure> {
    snapshot_within(config, SnapshotOptions::default().time_max)
}

/// Does the same as [`snapshot`] with a time limit for reading.
///
/// # Errors
///
/// As for [`snapshot`].
pub fn snapshot_within(config: &Config, time_max: Duration) -> Result<Snapshot, Failure> {
    let options = SnapshotOptions { time_max, ..SnapshotOptions::default() };
    let place = config.store.place();
    if let StoreUrl::Sqlite(_) = &place {
        refuse_absent(config)?;
    }
    Snapshot::open(&place, &options).map_err(|e| Failure::because("reading the store", e))
}

/// Formats an error with all its causes.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
