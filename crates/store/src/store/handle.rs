//! An open store, and the plans that run in it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::commits::{Phase, PhaseTimes};
use crate::errand::Errand;
use crate::error::StoreError;
use crate::id::{KindId, Uuid};
use crate::plan::{Answer, Ask, Decide, Decision, Plan, Ran, Refused, Write};
use crate::postgres::{self, Postgres};
use crate::snapshot::{Snapshot, SnapshotOptions};
use crate::sql::Sql;
use crate::sqlite::{self, FileId, Sqlite};
use crate::store::job::{Job, Outcome, PlanJob};
use crate::store::options::{Options, StoreLoad};
use crate::store::submitted::Submitted;
use crate::store::temporary::TemporaryFolder;
use crate::store::url::StoreUrl;
use crate::waiting::QueueLoad;

/// An open store; clones share it. It is closed by [`Store::close`], or when the last clone is
/// dropped.
#[derive(Clone)]
pub struct Store {
    pub(super) engine: Arc<Engine>,
    url: StoreUrl,
    pub(super) list_deadline: Duration,
    queue_time: Duration,
    // Declared after `engine`, so that the folder is removed after the files are closed.
    folder: Option<Arc<TemporaryFolder>>,
}

/// Where an open store is kept.
pub(super) enum Engine {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({})", self.url)
    }
}

impl Store {
    /// Opens a store, creating and migrating it as needed.
    ///
    /// # Errors
    ///
    /// [`StoreError::InUse`] when another process has the file open, [`StoreError::FromTheFuture`],
    /// [`StoreError::Unusable`] with what is wrong with the location.
    pub fn open(options: &Options) -> Result<Self, StoreError> {
        let engine = match &options.url {
            StoreUrl::Sqlite(path) => Engine::Sqlite(sqlite::open(path, options)?),
            StoreUrl::Postgres(url) => Engine::Postgres(postgres::open(url, options, None)?),
        };
        Ok(Self::new(engine, options))
    }

    fn new(engine: Engine, options: &Options) -> Self {
        Self {
            engine: Arc::new(engine),
            url: options.url.clone(),
            list_deadline: options.list_deadline,
            queue_time: options.queue_time,
            folder: None,
        }
    }

    /// Creates an SQLite store in a folder of its own, which is removed with the last clone. For
    /// tests and trials.
    ///
    /// # Errors
    ///
    /// The same as [`Store::open`].
    pub fn temporary(kinds: &[String]) -> Result<Self, StoreError> {
        let folder = TemporaryFolder::new()?;
        let mut store = Self::open(&Options::for_file(folder.0.join("homeroom.db")))?;
        store.folder = Some(Arc::new(folder));
        store.kinds(kinds)?;
        Ok(store)
    }

    /// Creates a store in a PostgreSQL schema of its own, which is dropped with the last clone. For
    /// tests and trials. If the options name a file, it does the same as [`Store::open`].
    ///
    /// # Errors
    ///
    /// The same as [`Store::open`].
    pub fn temporary_on(options: &Options, kinds: &[String]) -> Result<Self, StoreError> {
        let StoreUrl::Postgres(url) = &options.url else { return Self::open(options) };
        let schema = format!("homeroom_{}", Uuid::new());
        let engine = Engine::Postgres(postgres::open(url, options, Some(&schema))?);
        let mut store = Self::new(engine, options);
        store.url = StoreUrl::Postgres(url.with_schema(&schema));
        store.kinds(kinds)?;
        Ok(store)
    }

    /// Returns where the store is.
    pub fn url(&self) -> &StoreUrl {
        &self.url
    }

    /// Returns the numbers of kinds by name, in the given order; a new name gets a new number.
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

    /// Runs a plan: all of it, durably, or none. A plan that is abandoned before its turn is not
    /// run.
    ///
    /// # Errors
    ///
    /// [`Refused`]: the plan's own refusal, or the store's error; [`StoreError::Busy`] when too many
    /// wait, or when the plan's turn came too late.
    pub async fn run<D: Decide>(&self, plan: Plan<D>) -> Result<Ran<D::Done>, Refused<D::Refusal>> {
        let (reply, answer) = oneshot::channel();
        let (errand, _waiting) = Errand::awaited();
        let errand = errand.within(self.queue_time);
        let job = PlanJob::new(vec![plan], errand, move |outcomes: Vec<Outcome<D>>| {
            _ = reply.send(outcomes);
        });
        match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.writer.offer(Box::new(job))?,
            Engine::Postgres(postgres) => postgres.offer(Box::new(job))?,
        }
        let mut outcomes = answer.await.map_err(|_| StoreError::Closed)?;
        outcomes.pop().unwrap_or(Err(Refused::Store(StoreError::Closed)))
    }

    /// Does the same as [`Store::run`], for threads that may block.
    ///
    /// # Errors
    ///
    /// The same as [`Store::run`].
    pub fn run_blocking<D: Decide>(
        &self,
        plan: Plan<D>,
    ) -> Result<Ran<D::Done>, Refused<D::Refusal>> {
        let mut outcomes = self.run_all_blocking(vec![plan]);
        outcomes.pop().unwrap_or(Err(Refused::Store(StoreError::Closed)))
    }

    /// Runs many plans one after the other, independently: a refused plan does not affect the
    /// others. Outcomes are in the order of the plans.
    pub fn run_all_blocking<D: Decide>(&self, plans: Vec<Plan<D>>) -> Vec<Outcome<D>> {
        self.submit(plans).wait()
    }

    /// Does the same without waiting for the outcomes, so that the next plans can be made
    /// meanwhile. Waits for room in the writer's queue.
    pub fn submit<D: Decide>(&self, plans: Vec<Plan<D>>) -> Submitted<D> {
        submit(plans, |job| match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.writer.push(job),
            Engine::Postgres(postgres) => postgres.push(job),
        })
    }

    /// Makes sure that the bytes of rows that were deleted before this call are no longer in the store's
    /// files. Writes wait meanwhile, as long as it takes to fill all free pages.
    ///
    /// SQLite: where readers still use the write-ahead log, it is emptied when they have ended. PostgreSQL
    /// decides itself when it reuses the space of deleted rows; nothing is done.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn erase_deleted(&self) -> Result<(), StoreError> {
        let Engine::Sqlite(sqlite) = &*self.engine else { return Ok(()) };
        let erased = sqlite.shared.erasures.ask();
        // The writer looks after each of its transactions.
        let decide = |_: Vec<Answer>| -> Decision<(), StoreError> { Decision::Write(vec![], ()) };
        let ran = self.run(Plan { ask: vec![], decide }).await;
        if let Err(Refused::Decision(error) | Refused::Store(error)) = ran {
            return Err(error);
        }
        erased.await.map_err(|_| StoreError::Closed)?
    }

    /// Returns why nothing can be written at the moment, if so.
    ///
    /// SQLite: the disk is full or fails, or the file was moved or replaced. Reads continue, and
    /// the store notices by itself when it can write again. PostgreSQL: the last attempt to reach
    /// it failed. A successful read ends that.
    pub fn trouble(&self) -> Option<StoreError> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                let known = sqlite.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner);
                known.clone().or_else(|| sqlite.shared.file.displaced())
            }
            Engine::Postgres(postgres) => postgres.trouble(),
        }
    }

    /// Returns the path of the open file, with links resolved, and the file's identity; [`None`]
    /// where the store is not a file, or is closed.
    pub fn file(&self) -> Option<(PathBuf, FileId)> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                Some((sqlite.shared.file.path.clone(), sqlite.shared.file.file_id()?))
            }
            Engine::Postgres(_) => None,
        }
    }

    /// Returns how busy the store is at the moment.
    pub fn load(&self) -> StoreLoad {
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                let bytes = |file: &Path| std::fs::metadata(file).map_or(0, |about| about.len());
                let times = |phase| sqlite.shared.commits.times(phase);
                let commits = times(Phase::Commit);
                let checkpoints = [Phase::Copy, Phase::Restart].map(times);
                StoreLoad {
                    waiting: sqlite.writer.waiting(),
                    log_bytes: bytes(&sqlite.shared.file.log_file()),
                    file_bytes: bytes(&sqlite.shared.file.path),
                    commits: commits.count(),
                    commit_time: commits.sum,
                    checkpoints: checkpoints.iter().map(PhaseTimes::count).sum(),
                    checkpoint_time: checkpoints.iter().map(|times| times.sum).sum(),
                    restart_time: times(Phase::Restart).sum,
                    forgotten: sqlite.shared.commits.forgotten(),
                }
            }
            Engine::Postgres(postgres) => {
                let commits = postgres.times(Phase::Commit);
                let waiting = postgres.waiting();
                StoreLoad {
                    waiting,
                    log_bytes: 0,
                    file_bytes: 0,
                    commits: commits.count(),
                    commit_time: commits.sum,
                    checkpoints: 0,
                    checkpoint_time: Duration::ZERO,
                    restart_time: Duration::ZERO,
                    forgotten: postgres.forgotten(),
                }
            }
        }
    }

    /// Returns how long the phases of writing took since the store was opened: those that its kind of store has.
    pub fn phases(&self) -> Vec<PhaseTimes> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                Phase::ALL.map(|phase| sqlite.shared.commits.times(phase)).into()
            }
            Engine::Postgres(postgres) => {
                [Phase::Plans, Phase::Commit].map(|phase| postgres.times(phase)).into()
            }
        }
    }

    /// Returns how full the store's queues are.
    pub fn queues(&self) -> Vec<QueueLoad> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => {
                let mut all = vec![sqlite.writer.load()];
                all.extend(sqlite.lister.loads());
                all
            }
            Engine::Postgres(postgres) => postgres.queues(),
        }
    }

    /// Closes the store for all its clones. Accepted work is finished; in a file, the write-ahead
    /// log is merged and the lock is released. From then on everything is answered
    /// [`StoreError::Closed`]. Waits for reads, but no longer than their deadline. Closing twice
    /// has no further effect.
    pub fn close(&self) {
        match &*self.engine {
            Engine::Sqlite(sqlite) => sqlite.close(),
            Engine::Postgres(postgres) => postgres.close(),
        }
    }

    /// Takes a snapshot, on a connection of its own.
    ///
    /// # Errors
    ///
    /// The same as [`Snapshot::open`].
    pub fn snapshot_blocking(&self, options: &SnapshotOptions) -> Result<Snapshot, StoreError> {
        Snapshot::open(&self.url, options)
    }

    /// Returns the state that the threads of the embedded engine share.
    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Arc<sqlite::Shared> {
        match &*self.engine {
            Engine::Sqlite(sqlite) => &sqlite.shared,
            Engine::Postgres(_) => panic!("the store is not embedded"),
        }
    }
}

/// Makes a job of plans and puts it into a writer's queue.
pub(super) fn submit<D: Decide>(
    plans: Vec<Plan<D>>,
    push: impl FnOnce(Box<dyn Job>) -> Result<(), StoreError>,
) -> Submitted<D> {
    let count = plans.len();
    let (reply, answer) = std::sync::mpsc::sync_channel(1);
    let errand = Errand::default();
    let job =
        PlanJob::new(plans, errand, move |outcomes: Vec<Outcome<D>>| _ = reply.send(outcomes));
    Submitted { count, answer: push(Box::new(job)).map(|()| answer) }
}
