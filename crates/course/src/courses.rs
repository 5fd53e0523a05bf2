//! The courses of a store, as all its users share them.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use homeroom_blobs::Blobs;
use homeroom_client::Client;
use homeroom_jobs::Jobs;
use homeroom_store::{Answer, Ask, Decide, Decision, Plan, Sql, Store, Value, Write};
use tokio::sync::Notify;

use crate::content_cache::ContentCache;
use crate::error::Error;
use crate::launch_cache::LaunchCache;
use crate::options::Options;
use crate::package::PackageLimits;
use crate::row::{LANE, Row, rows_of};
use crate::settings::Settings;
use crate::sql;
use crate::subscription::Subscription;
use crate::version::Version;

/// How long a version is kept in memory without being read again, in microseconds.
const VERSION_TIME: i64 = 2_000_000;
/// Most versions that are kept in memory.
const VERSIONS_MAX: usize = 256;

/// Versions by course and number, each with the moment at which it was read.
type Versions = HashMap<(String, i64), (Arc<Version>, i64)>;

/// Something with the moment at which it was read.
type Read<T> = Mutex<Option<(Arc<T>, i64)>>;

/// The courses of a store; clones share them.
#[derive(Debug, Clone)]
pub struct Courses {
    pub(crate) store: Store,
    pub(crate) blobs: Blobs,
    pub(crate) jobs: Jobs,
    pub(crate) limits: PackageLimits,
    pub(crate) options: Options,
    /// The settings of the levels above the courses.
    pub(crate) levels: Arc<Read<BTreeMap<String, Settings>>>,
    /// Who wants to be told of changes.
    pub(crate) subscriptions: Arc<Read<Vec<Subscription>>>,
    /// Told when there are notices to be sent.
    pub(crate) noticed: Arc<Notify>,
    /// What requests that leave are sent with, once there was one.
    pub(crate) client: Arc<OnceLock<Client>>,
    /// Bytes of files that were asked for lately.
    pub(crate) content_cache: Arc<ContentCache>,
    versions: Arc<Mutex<Versions>>,
    /// Launches that were read lately.
    pub(crate) launch_cache: Arc<LaunchCache>,
}

impl Courses {
    /// Returns the courses of a store.
    pub fn new(store: Store, jobs: Jobs, blobs: Blobs) -> Self {
        Self {
            store,
            blobs,
            jobs,
            limits: PackageLimits::default(),
            options: Options::default(),
            levels: Arc::default(),
            subscriptions: Arc::default(),
            noticed: Arc::default(),
            client: Arc::default(),
            content_cache: Arc::default(),
            versions: Arc::default(),
            launch_cache: Arc::default(),
        }
    }

    /// Returns the same courses with other limits of packages.
    #[must_use]
    pub fn with_limits(self, limits: PackageLimits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the same courses with other options.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    pub(crate) async fn rows(
        &self,
        text: &'static str,
        arguments: Vec<Value>,
    ) -> Result<Vec<Row>, Error> {
        Ok(self.store.look_up(Sql::new(text, arguments)).await?)
    }

    /// Reads what may be many rows.
    pub(crate) async fn list(
        &self,
        text: &'static str,
        arguments: Vec<Value>,
    ) -> Result<Vec<Row>, Error> {
        Ok(self.store.query(Sql::new(text, arguments)).await?)
    }

    /// Reads what much has to be looked at for.
    pub(crate) async fn scan(
        &self,
        text: &'static str,
        arguments: Vec<Value>,
    ) -> Result<Vec<Row>, Error> {
        Ok(self.store.scan(Sql::new(text, arguments)).await?)
    }

    pub(crate) async fn row(
        &self,
        text: &'static str,
        arguments: Vec<Value>,
    ) -> Result<Option<Row>, Error> {
        Ok(self.rows(text, arguments).await?.into_iter().next())
    }

    /// Runs a plan about courses and jobs.
    pub(crate) async fn run<D>(&self, plan: Plan<D>) -> Result<D::Done, Error>
    where
        D: Decide<Refusal = Error>,
    {
        Ok(self.store.run_in(LANE, plan).await?.value)
    }

    /// Runs a plan that may write blobs, too: their lane comes before that of courses.
    pub(crate) async fn run_with_blobs<D>(&self, plan: Plan<D>) -> Result<D::Done, Error>
    where
        D: Decide<Refusal = Error>,
    {
        Ok(self.store.run_in(homeroom_blobs::LANE, plan).await?.value)
    }

    /// Writes without asking anything first.
    pub(crate) async fn write(&self, writes: Vec<Write>) -> Result<(), Error> {
        self.run(blind(writes)).await
    }

    /// Does the same where there may be blobs among it.
    pub(crate) async fn write_with_blobs(&self, writes: Vec<Write>) -> Result<(), Error> {
        self.run_with_blobs(blind(writes)).await
    }

    /// Asks for one row, changes it, and writes. The future owns what it needs.
    pub(crate) fn change<T, F>(
        &self,
        ask: Sql,
        decide: F,
    ) -> Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>
    where
        T: Send + 'static,
        F: Fn(Option<&Row>) -> Result<(Vec<Write>, T), Error> + Clone + Send + 'static,
    {
        let store = self.store.clone();
        let decide = move |found: Vec<Answer>| {
            let rows = rows_of(found.into_iter().next());
            match decide(rows.first()) {
                Ok((writes, value)) => Decision::Write(writes, value),
                Err(error) => Decision::Refuse(error),
            }
        };
        let plan = Plan { ask: vec![Ask::Rows(LANE.all(), ask)], decide };
        Box::pin(async move { Ok(store.run_in(LANE, plan).await?.value) })
    }

    /// Returns a version of a course, from memory if it was read lately.
    pub(crate) async fn version(
        &self,
        course: &str,
        version: i64,
        now: i64,
    ) -> Result<Arc<Version>, Error> {
        let key = (course.to_owned(), version);
        {
            let versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((found, read)) = versions.get(&key)
                && (*read..read.saturating_add(VERSION_TIME)).contains(&now)
            {
                return Ok(Arc::clone(found));
            }
        }
        let row = self.row(sql::VERSION, vec![course.into(), version.into()]).await?;
        let row = row.ok_or_else(|| Error::no_version(course, version))?;
        let found = Arc::new(Version::of(&row)?);
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if versions.len() >= VERSIONS_MAX {
            versions.clear();
        }
        versions.insert(key, (Arc::clone(&found), now));
        Ok(found)
    }

    /// Forgets what is in memory of a course.
    pub(crate) fn forget(&self, course: &str) {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        versions.retain(|(known, _), _| known != course);
    }
}

/// Returns the plan that asks nothing.
fn blind(writes: Vec<Write>) -> Plan<impl Decide<Done = (), Refusal = Error>> {
    let decide =
        move |_: Vec<Answer>| -> Decision<(), Error> { Decision::Write(writes.clone(), ()) };
    Plan { ask: vec![], decide }
}
