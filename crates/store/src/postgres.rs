//! The store in a PostgreSQL database: one writer at a time over all nodes, and concurrent readers.
//!
//! Nodes share nothing but the database. A writing transaction holds the one row of `counter` until
//! its commit, so ids and change versions are dense and in commit order across nodes, and what a
//! plan has read stays true until it has written. Plans that keep to one lane hold that lane's row of
//! `lane` instead, so documents and lanes are written side by side. All statements keep to the SQL that related
//! databases share.

mod arrive;
mod connection;
mod depart;
mod error;
mod gathered;
mod lane_writers;
mod many;
mod migrate;
mod own_runtime;
mod place;
mod pooling;
mod reach;
mod reads;
mod schema;
mod servers;
mod snapshot;
mod strict;
mod tls;
mod value;
mod views;
mod writer;

pub(crate) use arrive::{Arriving, arrive, prepare};
pub(crate) use connection::SILENCE_MAX;
pub(crate) use depart::depart;
pub(crate) use snapshot::PostgresSnapshot;
pub(crate) use views::{replace_views, views_version};

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_postgres::Row as SqlRow;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use crate::commits::{Commits, Phase, PhaseTimes};
use crate::copies::Counted;
use crate::error::StoreError;
use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::lane::Lane;
use crate::list::{ListQuery, Page};
use crate::postgres::connection::{Connector, Role, Shared};
use crate::postgres::error::{Fault, told};
use crate::postgres::gathered::Gathering;
use crate::postgres::lane_writers::LaneWriters;
use crate::postgres::own_runtime::OwnRuntime;
use crate::postgres::reads::{Lists, Reads};
use crate::postgres::value::{bytes, document, kind, values};
use crate::postgres::writer::{Setup, Writer};
use crate::queue::Queue;
use crate::row::Row;
use crate::select::{self, Asks};
use crate::sql::{Sql, Value};
use crate::store::{Health, Job, ListRequest, ListRequests, Options, PostgresUrl};
use crate::through::{DocumentTest, Passed};
use crate::tie::{Reached, Start, TieState, Way};
use crate::waiting::QueueLoad;

/// Longest time-out of a statement on the server: its milliseconds have 31 bits.
const TIME_MAX: Duration = Duration::from_millis(i32::MAX as u64);

/// An open store in a PostgreSQL database; clones share it.
#[derive(Clone)]
pub(crate) struct Postgres(Arc<Inner>);

struct Inner {
    queue: Queue,
    lanes: LaneWriters,
    reads: Arc<Reads>,
    documents: Arc<Gathering>,
    memory: Arc<reach::Memory>,
    commits: Arc<Commits>,
    runtime: OwnRuntime,
    is_closed: Arc<AtomicBool>,
}

/// Opens the store in a database, migrating it as needed. With `schema`, opens it in a new schema
/// of that name, which is dropped when the store is closed.
pub(crate) fn open(
    url: &PostgresUrl,
    options: &Options,
    schema: Option<&str>,
) -> Result<Postgres, StoreError> {
    let deadline = options.list_deadline;
    let connector = Connector::new(url, schema, deadline, options.strict.is_some())?
        .with_silence_max(options.silence_max);
    let runtime = OwnRuntime::new()?;
    let (migrated, schema) = (connector.clone(), schema.map(str::to_owned));
    let made = schema.clone();
    runtime.wait(async move { migrate::migrate(&migrated, made.as_deref()).await })?;
    let is_closed = Arc::new(AtomicBool::new(false));
    let is_closing = Arc::clone(&is_closed);
    let memory = Arc::<reach::Memory>::default();
    let commits = Arc::<Commits>::default();
    let setup = Setup {
        connector: connector.clone(),
        strict: options.strict,
        is_closing,
        memory: Arc::clone(&memory),
        commits: Arc::clone(&commits),
    };
    let writer = Writer::new(setup.clone(), None, schema)?;
    let waiting = Arc::default();
    let answered = Arc::clone(&waiting);
    let lanes = LaneWriters::new(setup, options.queue, Arc::clone(&waiting));
    let queue =
        Queue::start(options.queue, waiting, move |arrivals| writer.work(&arrivals, &answered))?;
    let reads = Arc::new(Reads::new(connector, runtime.handle(), options));
    let documents = Gathering::new(Arc::clone(&reads));
    let inner = Inner { queue, lanes, reads, documents, memory, commits, runtime, is_closed };
    Ok(Postgres(Arc::new(inner)))
}

/// Looks for damage by comparing the tables, as far as time permits.
pub(crate) fn check(url: &PostgresUrl, time_max: Duration) -> Result<Health, StoreError> {
    let connector = Connector::new(url, None, time_max.min(TIME_MAX), false)?;
    OwnRuntime::new()?.wait(async move { migrate::check(&connector, time_max).await })
}

/// Returns whether a database has the tables of a store, of whatever version.
pub(crate) fn is_made(url: &PostgresUrl) -> Result<bool, StoreError> {
    let connector = Connector::new(url, None, TIME_MAX, false)?;
    OwnRuntime::new()?.wait(async move {
        let connection = connector.connect(Role::List).await.map_err(told)?;
        match schema::find_version(&connection, schema::VERSION).await {
            Ok(found) => Ok(found.is_some()),
            Err(fault) if fault.has_code(&SqlState::UNDEFINED_TABLE) => Ok(false),
            Err(fault) => Err(told(fault)),
        }
    })
}

/// Makes a database continue above everything that may have been issued, whether or not nodes have
/// it open. Returns the newest change version before, and where it continues.
pub(crate) fn raise(url: &PostgresUrl) -> Result<(i64, i64), StoreError> {
    let connector = Connector::new(url, None, TIME_MAX, false)?;
    OwnRuntime::new()?.wait(async move {
        let raised = async {
            let connection = connector.connect(Role::Writer).await?;
            migrate::expect_newest(&connection, connector.shown()).await?;
            place::raise(&connection, Counted::default()).await
        };
        let (before, raised) = raised.await.map_err(told)?;
        Ok((before.change_version, raised.version))
    })
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

impl Inner {
    fn close(&self) {
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.reads.close();
        self.lanes.close();
        self.queue.close();
    }
}

const BY_KEY: &str = "SELECT id, uuid, kind, key, cv, modified, refs, body FROM doc WHERE key = ?1";
const TARGET: &str = "SELECT id, uuid, kind FROM doc WHERE key = ?1 \
     UNION ALL SELECT d.id, d.uuid, d.kind FROM alias a JOIN doc d ON d.id = a.id WHERE a.key = ?1";
const NEWEST: &str = "SELECT cv FROM counter WHERE name = 'writer'";
const BYTES: &str = "SELECT pg_database_size(current_database())";

impl Postgres {
    /// Submits a job without waiting for room in the queue.
    pub(crate) fn offer(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        self.0.queue.offer(job)
    }

    /// Submits a job and waits for room in the queue.
    pub(crate) fn push(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        self.0.queue.push(job)
    }

    /// Submits a job of a lane without waiting for room in its queue.
    pub(crate) fn offer_in(&self, lane: Lane, job: Box<dyn Job>) -> Result<(), StoreError> {
        self.0.lanes.queue(lane)?.offer(job)
    }

    /// Submits a job of a lane and waits for room in its queue.
    pub(crate) fn push_in(&self, lane: Lane, job: Box<dyn Job>) -> Result<(), StoreError> {
        self.0.lanes.queue(lane)?.push(job)
    }

    /// Returns how often plain SQL has made the nodes forget what they remember, by this one.
    pub(crate) fn forgotten(&self) -> u64 {
        self.0.commits.forgotten()
    }

    /// Returns the times of a phase of writing.
    pub(crate) fn times(&self, phase: Phase) -> PhaseTimes {
        self.0.commits.times(phase)
    }

    /// Returns the number of jobs that are not answered yet.
    pub(crate) fn waiting(&self) -> usize {
        self.0.queue.waiting()
    }

    /// Returns how full the queues and the pools of connections are.
    pub(crate) fn queues(&self) -> Vec<QueueLoad> {
        let mut all = vec![self.0.lanes.added_to(self.0.queue.load())];
        all.extend(self.0.reads.loads(self.0.documents.unanswered()));
        all
    }

    /// Finishes the accepted jobs, then answers nothing more.
    pub(crate) fn close(&self) {
        self.0.close();
    }

    /// Returns why the last attempt to reach the database failed, or why it is not written to.
    pub(crate) fn trouble(&self) -> Option<StoreError> {
        self.0.reads.trouble().or_else(|| self.0.memory.outgrown())
    }

    /// Waits for one of the reads, on any thread.
    pub(crate) fn wait<T, F>(&self, read: impl FnOnce(Self) -> F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.0.runtime.wait(read(self.clone()))
    }

    /// Finds a document by its public id.
    pub(crate) async fn document(&self, uuid: Uuid) -> Result<Option<Row>, StoreError> {
        Ok(self.0.documents.find(uuid, false).await?.map(|(row, _)| row))
    }

    /// Finds a document by its identity.
    pub(crate) async fn document_by_key(&self, key: NaturalKey) -> Result<Option<Row>, StoreError> {
        self.probe(BY_KEY, key.0, document).await
    }

    /// Finds the document that has an identity, as its own or as an abstract base's.
    pub(crate) async fn target(
        &self,
        key: NaturalKey,
    ) -> Result<Option<(DocumentId, Uuid, KindId)>, StoreError> {
        self.probe(TARGET, key.0, |row| {
            Ok((DocumentId(row.try_get(0)?), Uuid(bytes(row, 1)?), kind(row, 2)?))
        })
        .await
    }

    async fn probe<T>(
        &self,
        text: &str,
        id: [u8; 16],
        read: impl Fn(&SqlRow) -> Result<T, Fault>,
    ) -> Result<Option<T>, StoreError> {
        let rows = self.0.reads.probe(text, &[&uuid::Uuid::from_bytes(id)]).await?;
        rows.first().map(read).transpose().map_err(told)
    }

    /// Finds a document by its public id, and the version of the ties at that moment.
    pub(crate) async fn document_and_ties(
        &self,
        uuid: Uuid,
    ) -> Result<Option<(Row, TieState)>, StoreError> {
        let before = self.0.memory.newest();
        let found = self.0.documents.find(uuid, true).await?;
        if let Some((_, Some(any))) = found {
            self.0.memory.saw(before, any);
        }
        Ok(found.map(|(row, ties)| (row, TieState(ties))))
    }

    /// Returns whether all ways lead from their numbers to one of some sorted numbers, if that is remembered
    /// for this state of the ties.
    pub(crate) fn all_lead(
        &self,
        state: TieState,
        from: &[(i64, Way)],
        to: &[i64],
    ) -> Option<bool> {
        self.0.memory.all_lead(state.0?, from, to)
    }

    /// Follows ways and returns what each has reached. Results known for this state of the ties are
    /// reused.
    pub(crate) async fn reach(
        &self,
        state: TieState,
        from: &[(Start, Way)],
    ) -> Result<Vec<Reached>, StoreError> {
        match state.0.and_then(|version| self.0.memory.all(version, from)) {
            Some(known) => Ok(known),
            None => reach::look(&self.0.reads, &self.0.memory, from).await,
        }
    }

    /// Tests documents; the results are in the order of `starts`.
    pub(crate) async fn pass(
        &self,
        starts: &[Start],
        test: &DocumentTest,
    ) -> Result<Vec<Passed>, StoreError> {
        let read = |connection| async {
            let lists = Lists(connection);
            lists.on_one_state(select::through::look(&lists, starts, test)).await
        };
        self.0.reads.list(false, read).await
    }

    /// Returns the newest durable change version, whichever node wrote it.
    pub(crate) async fn newest_change_version(&self) -> Result<i64, StoreError> {
        let rows = self.0.reads.probe(NEWEST, &[]).await?;
        let row = rows.first().ok_or_else(|| told(error::damaged("counter")))?;
        row.try_get(0).map_err(|error| told(error.into()))
    }

    /// Returns the size of the database, in bytes.
    pub(crate) async fn bytes(&self) -> Result<u64, StoreError> {
        let rows = self.0.reads.probe(BYTES, &[]).await?;
        let row = rows.first().ok_or_else(|| told(error::damaged("database")))?;
        let bytes: i64 = row.try_get(0).map_err(|error| told(error.into()))?;
        Ok(u64::try_from(bytes).unwrap_or(0))
    }

    /// Returns a page of documents in order of creation.
    pub(crate) async fn list(&self, is_long: bool, query: ListQuery) -> Result<Page, StoreError> {
        let read = |connection| async {
            let lists = Lists(connection);
            if select::is_one_statement(&query) {
                select::list(&lists, &query).await
            } else {
                lists.on_one_state(select::list(&lists, &query)).await
            }
        };
        self.0.reads.list(is_long, read).await
    }

    /// Answers requests on one state of the store, until there are no more.
    pub(crate) async fn serve(
        &self,
        is_long: bool,
        requests: &tokio::sync::Mutex<ListRequests>,
    ) -> Result<(), StoreError> {
        let read = |connection| async {
            let lists = Lists(connection);
            let small = |fault| match fault {
                Fault::Own(error) => select::too_large(error).map_err(Fault::Own),
                other => Err(other),
            };
            lists.on_one_state(select::serve(&lists, small, Coming(requests))).await
        };
        self.0.reads.list(is_long, read).await
    }

    /// Counts what a list would give without `skip` and `limit`.
    pub(crate) async fn count(&self, is_long: bool, query: ListQuery) -> Result<u64, StoreError> {
        let read = |connection| async {
            let lists = Lists(connection);
            if query.is_bounded() {
                lists.on_one_state(select::count(&lists, &query)).await
            } else {
                select::count(&lists, &query).await
            }
        };
        self.0.reads.list(is_long, read).await
    }

    /// Divides a list into runs. Returns the last id of each run except the last.
    pub(crate) async fn cuts(
        &self,
        is_long: bool,
        query: ListQuery,
        parts: u64,
        smallest: u64,
    ) -> Result<Option<Vec<DocumentId>>, StoreError> {
        let query = &query;
        let read = |connection| async move {
            let lists = Lists(connection);
            lists.on_one_state(select::cuts(&lists, query, parts, smallest)).await
        };
        self.0.reads.list(is_long, read).await
    }

    /// Runs a reading statement that is as fast as an index look-up.
    pub(crate) async fn look_up(&self, sql: Sql) -> Result<Vec<Vec<Value>>, StoreError> {
        let arguments: Vec<_> =
            sql.arguments.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = self.0.reads.probe(sql.text, &arguments).await?;
        rows.iter().map(values).collect::<Result<_, _>>().map_err(told)
    }

    /// Runs a reading statement.
    pub(crate) async fn query(
        &self,
        is_long: bool,
        sql: Sql,
    ) -> Result<Vec<Vec<Value>>, StoreError> {
        let sql = &sql;
        let read = |connection: Shared| async move {
            let arguments: Vec<_> =
                sql.arguments.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
            connection.query(sql.text, &arguments).await?.iter().map(values).collect()
        };
        self.0.reads.list(is_long, read).await
    }
}
/// Requests that come while a connection is held; a connection that is lost before the first one
/// leaves them to the next.
struct Coming<'r>(&'r tokio::sync::Mutex<ListRequests>);

impl Asks for Coming<'_> {
    async fn next(&mut self) -> Option<ListRequest> {
        self.0.lock().await.recv().await
    }
}
