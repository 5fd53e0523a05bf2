//! Jobs on each database, kinds and moments.

use std::time::Duration;

use homeroom_jobs::{Job, JobId, Jobs, Kind, Limits, NewJob, Running, State, Taken};
use homeroom_store::{ChangedAt, Options, Store, StoreUrl};
use homeroom_testkit::{Folder, trial};
use serde_json::{Value, json};

/// Longest wait for anything.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// A lease of plans that tests run at moments of their own.
pub const LEASE: Duration = Duration::from_mins(1);

/// The first moment of tests that choose their own.
pub const START: ChangedAt = ChangedAt(1_000_000_000);

/// Returns the moment some seconds after [`START`].
pub fn at(seconds: i64) -> ChangedAt {
    ChangedAt(START.0 + seconds * 1_000_000)
}

/// Returns the jobs of an empty store on each database, with its name.
pub fn on_each() -> Vec<(String, Jobs)> {
    on_each_with(Limits::default())
}

pub fn on_each_with(limits: Limits) -> Vec<(String, Jobs)> {
    let stores = trial::on_each(&[]).unwrap().into_iter();
    stores.map(|(name, store)| (name, Jobs::new(store, limits))).collect()
}

/// Two nodes on the same store: on PostgreSQL two stores, on SQLite one.
pub fn two_nodes() -> Vec<(String, Store, Store)> {
    let two = |(name, first): (String, Store)| {
        let second = match first.url() {
            StoreUrl::Sqlite(_) => first.clone(),
            url @ StoreUrl::Postgres(_) => Store::open(&Options::new(url.clone())).unwrap(),
        };
        (name, first, second)
    };
    trial::on_each(&[]).unwrap().into_iter().map(two).collect()
}

/// A place for a store that several processes open, one after the other or at once.
pub enum SharedPlace {
    File(Folder),
    /// The schema is dropped with the store.
    Database {
        url: String,
        _store: Store,
    },
}

impl SharedPlace {
    pub fn on_each() -> Vec<Self> {
        let database = |options: &Options| {
            let store = Store::temporary_on(options, &[]).unwrap();
            let url = trial::url_of(&store, &options.url.to_string());
            Self::Database { url, _store: store }
        };
        let databases = trial::databases().unwrap();
        let file = std::iter::once(Self::File(Folder::new()));
        file.chain(databases.iter().map(database)).collect()
    }

    pub fn url(&self) -> String {
        match self {
            Self::File(folder) => format!("sqlite:{}", folder.path().join("jobs.db").display()),
            Self::Database { url, .. } => url.clone(),
        }
    }

    /// Returns whether several processes may have it open at once.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Database { .. })
    }

    pub fn open(&self) -> Jobs {
        let store = Store::open(&Options::new(self.url().parse().unwrap())).unwrap();
        Jobs::new(store, Limits::default())
    }
}

/// A kind whose handler is never called.
pub fn kind() -> Kind {
    let handler = |_: Running| async { Ok(Value::Null) };
    Kind { attempts_max: 3, pause: Duration::from_secs(10), ..Kind::new("import", handler) }
}

pub fn new(owner: &str) -> NewJob {
    NewJob::new("import", owner, json!({ "of": owner }))
}

pub async fn find(jobs: &Jobs, id: JobId) -> Job {
    jobs.find(id).await.unwrap().expect("the job is kept")
}

pub async fn take_one(jobs: &Jobs, node: &str, now: ChangedAt) -> Option<Taken> {
    let mut taken = jobs.take(&kind(), node, 1, LEASE, now).await.unwrap();
    assert!(taken.len() <= 1);
    taken.pop()
}

/// Waits until a job is in a state.
pub async fn until(jobs: &Jobs, id: JobId, state: State) -> Job {
    let begun = std::time::Instant::now();
    loop {
        let job = find(jobs, id).await;
        if job.state == state {
            return job;
        }
        assert!(begun.elapsed() < PATIENCE, "not {state:?} in time: {job:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
