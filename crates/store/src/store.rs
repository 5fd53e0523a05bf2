//! The store as everybody sees it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::id::{DocumentId, KindId, NaturalKey, Uuid};
use crate::list::{Condition, ListQuery, Page};
use crate::plan::{Answer, Ask, Decide, Decision, Plan, Ran, Refused, Write};
use crate::row::Row;
use crate::sql::{Sql, Value};
use crate::sqlite::{self, Lister, Sqlite, WriterHandle};

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// The SQLite file.
    pub path: PathBuf,
    /// Page size in bytes; fixed when the file is made.
    pub page_bytes: u32,
    /// Most plans that wait for the writer; beyond it the answer is [`StoreError::Busy`].
    pub queue: usize,
    /// Longest time a list or count may take, waiting included.
    pub list_deadline: Duration,
    /// Page cache of each reading connection, in KiB.
    pub cache_kib: u32,
    /// Size of the write-ahead log beyond which it is made to begin anew.
    pub wal_bytes_max: u64,
}

impl Options {
    /// The usual options for a file.
    pub fn for_file(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            page_bytes: 4_096,
            queue: 1_024,
            list_deadline: Duration::from_secs(5),
            cache_kib: 16_384,
            wal_bytes_max: 256 << 20,
        }
    }
}

/// How busy a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLoad {
    /// Writes that are not answered yet.
    pub waiting: usize,
    /// Bytes of the write-ahead log's file.
    pub log_bytes: u64,
}

/// How a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Damage that was found, in words; empty when there is none.
    pub problems: Vec<String>,
}

/// An open store; clones share it. It is closed when the last one is dropped.
#[derive(Clone)]
pub struct Store {
    engine: Arc<Engine>,
    list_deadline: Duration,
    // After `engine`, so that the folder goes when the files are closed.
    folder: Option<Arc<TemporaryFolder>>,
}

enum Engine {
    Sqlite(Sqlite),
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Engine::Sqlite(sqlite) = &*self.engine;
        write!(f, "Store({})", sqlite.shared.path.display())
    }
}

impl Store {
    /// Opens a store, making and migrating it as needed.
    ///
    /// # Errors
    ///
    /// [`StoreError::InUse`] when another process has it open, [`StoreError::FromTheFuture`],
    /// [`StoreError::Unusable`] with what is wrong with the place.
    pub fn open(options: &Options) -> Result<Self, StoreError> {
        let (connection, lock) = sqlite::open_file(&options.path, options.page_bytes)?;
        let newest: i64 = connection.query_row(
            "SELECT max(coalesce((SELECT max(cv) FROM tomb), 0),
                        coalesce((SELECT max(m) FROM (SELECT (SELECT max(cv) FROM doc WHERE kind = k.id) AS m FROM kind k)), 0))",
            [],
            |row| row.get(0),
        )?;
        let shared = Arc::new(sqlite::Shared::new(options.path.clone(), newest, options.cache_kib));
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let lister = Lister::start(&shared, cores, (cores / 2).max(1))?;
        let writer = WriterHandle::start(
            connection,
            lock,
            Arc::clone(&shared),
            options.queue,
            options.wal_bytes_max,
        )?;
        Ok(Self {
            engine: Arc::new(Engine::Sqlite(Sqlite { shared, writer, lister })),
            list_deadline: options.list_deadline,
            folder: None,
        })
    }

    /// A new store in a folder of its own, which goes with the last clone; for tests and trials.
    ///
    /// # Errors
    ///
    /// As [`Store::open`].
    pub fn temporary(kinds: &[String]) -> Result<Self, StoreError> {
        let folder = TemporaryFolder::new()?;
        let mut store = Self::open(&Options::for_file(folder.0.join("homeroom.db")))?;
        store.folder = Some(Arc::new(folder));
        store.kinds(kinds)?;
        Ok(store)
    }

    /// Numbers of kinds by name, in the order given; a new name gets a new number.
    ///
    /// # Errors
    ///
    /// The store's own.
    ///
    /// # Panics
    ///
    /// Never: the plan asks for every name that it has written.
    pub fn kinds(&self, names: &[String]) -> Result<Vec<KindId>, StoreError> {
        let all = || Ask::Sql(Sql::new("SELECT name, id FROM kind ORDER BY id", vec![]));
        let wanted = names.to_vec();
        let plan = Plan {
            ask: vec![all()],
            decide: move |found: Vec<Answer>| -> Decision<Vec<KindId>, StoreError> {
                let Some(Answer::Rows(rows)) = found.into_iter().next() else {
                    return Decision::Refuse(StoreError::Closed);
                };
                let mut known: std::collections::HashMap<String, i64> = rows
                    .into_iter()
                    .filter_map(|row| Some((row[0].as_text()?.to_owned(), row[1].as_integer()?)))
                    .collect();
                let mut next = known.values().max().copied().unwrap_or(0);
                let mut writes = vec![];
                let mut kinds = Vec::with_capacity(wanted.len());
                for name in &wanted {
                    let id = *known.entry(name.clone()).or_insert_with(|| {
                        next += 1;
                        writes.push(Write::Sql(Sql::new(
                            "INSERT INTO kind (id, name) VALUES (?1, ?2)",
                            vec![next.into(), name.as_str().into()],
                        )));
                        next
                    });
                    let Ok(id) = u16::try_from(id) else {
                        return Decision::Refuse(StoreError::Failed("too many kinds".into()));
                    };
                    kinds.push(KindId(id));
                }
                Decision::Write(writes, kinds)
            },
        };
        match self.run_blocking(plan) {
            Ok(ran) => Ok(ran.value),
            Err(Refused::Decision(error) | Refused::Store(error)) => Err(error),
        }
    }

    /// Runs a plan: all of it, durably, or none.
    ///
    /// # Errors
    ///
    /// [`Refused`]: the plan's own refusal, or why the store could not.
    pub async fn run<D: Decide>(&self, plan: Plan<D>) -> Result<Ran<D::Done>, Refused<D::Refusal>> {
        let (reply, answer) = oneshot::channel();
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite.writer.offer(Box::new(PlanJob {
            plans: vec![plan],
            count: 1,
            outcomes: vec![],
            reply: Some(move |outcomes: Vec<Outcome<D>>| _ = reply.send(outcomes)),
        }))?;
        let mut outcomes = answer.await.map_err(|_| StoreError::Closed)?;
        outcomes.pop().unwrap_or(Err(Refused::Store(StoreError::Closed)))
    }

    /// As [`Store::run`], for threads that may wait.
    ///
    /// # Errors
    ///
    /// As [`Store::run`].
    pub fn run_blocking<D: Decide>(
        &self,
        plan: Plan<D>,
    ) -> Result<Ran<D::Done>, Refused<D::Refusal>> {
        let mut outcomes = self.run_all_blocking(vec![plan]);
        outcomes.pop().unwrap_or(Err(Refused::Store(StoreError::Closed)))
    }

    /// Runs many plans in one transaction, each by itself: one that is refused takes no other
    /// with it. Outcomes come in the order of the plans.
    pub fn run_all_blocking<D: Decide>(&self, plans: Vec<Plan<D>>) -> Vec<Outcome<D>> {
        let count = plans.len();
        let (reply, answer) = std::sync::mpsc::sync_channel(1);
        let Engine::Sqlite(sqlite) = &*self.engine;
        let pushed = sqlite.writer.push(Box::new(PlanJob {
            plans,
            count,
            outcomes: vec![],
            reply: Some(move |outcomes: Vec<Outcome<D>>| _ = reply.send(outcomes)),
        }));
        pushed.and_then(|()| answer.recv().map_err(|_| StoreError::Closed)).unwrap_or_else(
            |error| (0..count).map(|_| Err(Refused::Store(error.clone()))).collect(),
        )
    }

    /// Finds a document by its public id, at once.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub fn document(&self, uuid: Uuid) -> Result<Option<Row>, StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite::probe_here(&sqlite.shared, |connection| sqlite::by_uuid(connection, uuid))
    }

    /// Finds a document by its identity, at once.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub fn document_by_key(&self, key: NaturalKey) -> Result<Option<Row>, StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite::probe_here(&sqlite.shared, |connection| sqlite::by_key(connection, key))
    }

    /// Finds what carries an identity, as its own or as an abstract base's, at once.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub fn target(
        &self,
        key: NaturalKey,
    ) -> Result<Option<(DocumentId, Uuid, KindId)>, StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite::probe_here(&sqlite.shared, |connection| sqlite::target(connection, key))
    }

    /// Gives a page of documents in order of creation.
    ///
    /// # Errors
    ///
    /// [`StoreError::Deadline`], [`StoreError::Busy`] when too many wait.
    pub async fn list(&self, query: ListQuery) -> Result<Page, StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite
            .lister
            .read(is_long(&query), self.list_deadline, move |c| sqlite::list(c, &query))
            .await
    }

    /// Counts, exactly, what a list would give without `skip` and `limit`.
    ///
    /// # Errors
    ///
    /// As [`Store::list`].
    pub async fn count(&self, query: ListQuery) -> Result<u64, StoreError> {
        let is_long = !query.is_plain() && !is_pointed(&query);
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite.lister.read(is_long, self.list_deadline, move |c| sqlite::count(c, &query)).await
    }

    /// Cuts a kind's documents into at most `parts` runs of at least `smallest`; gives the last id
    /// of each run but the last.
    ///
    /// # Errors
    ///
    /// As [`Store::list`].
    pub async fn cuts(
        &self,
        kind: KindId,
        parts: u64,
        smallest: u64,
    ) -> Result<Vec<DocumentId>, StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite
            .lister
            .read(false, self.list_deadline, move |c| sqlite::cuts(c, kind, parts, smallest))
            .await
    }

    /// Runs a reading statement.
    ///
    /// # Errors
    ///
    /// As [`Store::list`].
    pub async fn query(&self, sql: Sql) -> Result<Vec<Vec<Value>>, StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite.lister.read(false, self.list_deadline, move |c| sqlite::rows(c, &sql)).await
    }

    /// As [`Store::query`], for threads that may wait.
    ///
    /// # Errors
    ///
    /// As [`Store::list`].
    pub fn query_blocking(&self, sql: Sql) -> Result<Vec<Vec<Value>>, StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite.lister.read_blocking(false, self.list_deadline, move |c| sqlite::rows(c, &sql))
    }

    /// The newest change version that is durable.
    pub fn newest_change_version(&self) -> i64 {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite.shared.newest_change_version.load(Ordering::Acquire)
    }

    /// How busy the store is at this moment.
    pub fn load(&self) -> StoreLoad {
        let Engine::Sqlite(sqlite) = &*self.engine;
        StoreLoad {
            waiting: sqlite.shared.waiting.load(Ordering::Relaxed),
            log_bytes: std::fs::metadata(sqlite.shared.log_file()).map_or(0, |file| file.len()),
        }
    }

    /// Copies the store to a new file while it is in use; the copy is checked.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] when the file exists, the store's own otherwise.
    pub fn backup(&self, to: &Path) -> Result<(), StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite::backup(&sqlite.shared.path, to)
    }

    /// Looks for damage in a store's file, whether or not it is open.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] when it is no store.
    pub fn check(path: &Path) -> Result<Health, StoreError> {
        Ok(Health { problems: sqlite::check(path)? })
    }
}

/// Lists that may have to look at every document of their kind.
fn is_long(query: &ListQuery) -> bool {
    !query.conditions.is_empty() && !is_pointed(query)
}

/// Lists of at most one document.
fn is_pointed(query: &ListQuery) -> bool {
    let pointed =
        |c: &Condition| matches!(c, Condition::Key(_) | Condition::Uuid(_) | Condition::Never);
    query.conditions.iter().any(pointed)
}

/// What came of one plan.
type Outcome<D> = Result<Ran<<D as Decide>::Done>, Refused<<D as Decide>::Refusal>>;

struct PlanJob<D: Decide, R> {
    plans: Vec<Plan<D>>,
    count: usize,
    outcomes: Vec<Outcome<D>>,
    reply: Option<R>,
}

impl<D: Decide, R: FnOnce(Vec<Outcome<D>>) + Send> sqlite::Job for PlanJob<D, R> {
    fn run(&mut self, writer: &mut sqlite::Writer) -> Result<(), StoreError> {
        self.outcomes.reserve(self.plans.len());
        for plan in std::mem::take(&mut self.plans) {
            match writer.run_plan(plan) {
                Ok(outcome) => self.outcomes.push(outcome),
                Err(error) => {
                    self.outcomes.push(Err(Refused::Store(error.clone())));
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, committed: Result<(), StoreError>) {
        if let Err(error) = committed {
            self.outcomes = (0..self.count).map(|_| Err(Refused::Store(error.clone()))).collect();
        }
        if let Some(reply) = self.reply.take() {
            reply(self.outcomes);
        }
    }
}

/// A folder that goes with its value.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Result<Self, StoreError> {
        let path = std::env::temp_dir().join(format!("homeroom-{}", Uuid::new()));
        std::fs::create_dir_all(&path).map_err(|error| {
            StoreError::Unusable(format!("cannot create {}: {error}", path.display()))
        })?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}
