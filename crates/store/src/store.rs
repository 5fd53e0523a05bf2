//! The store as everybody sees it.

mod job;
mod options;
mod read;
mod temporary;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::id::KindId;
use crate::plan::{Answer, Ask, Decide, Decision, Plan, Ran, Refused, Write};
use crate::sql::Sql;
use crate::sqlite::{self, Lister, Sqlite, WriterHandle};
use crate::store::job::{Outcome, PlanJob};
use crate::store::temporary::TemporaryFolder;

pub use options::{Health, Options, StoreLoad};

/// An open store; clones share it. It is closed by [`Store::close`], or when the last one is
/// dropped.
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

    /// Closes the store for all its clones: what was taken on is done, the write-ahead log is
    /// taken into the file, the lock is given back. From then on everything is answered
    /// [`StoreError::Closed`]. Waits, for reads no longer than their deadline; closing twice is
    /// closing once.
    pub fn close(&self) {
        let Engine::Sqlite(sqlite) = &*self.engine;
        sqlite.close();
    }

    /// What the engine's threads share.
    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Arc<sqlite::Shared> {
        let Engine::Sqlite(sqlite) = &*self.engine;
        &sqlite.shared
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

    /// Puts a backup in the place of the store at `to`, which nobody may have open; gives the name
    /// under which the store before is kept, if there was one. Whatever happens meanwhile, the
    /// store at `to` is the one before or the backup.
    ///
    /// # Errors
    ///
    /// [`StoreError::InUse`] when a process has the store open, [`StoreError::Unusable`] when
    /// `from` is no good backup or the files cannot be written.
    pub fn restore(from: &Path, to: &Path) -> Result<Option<PathBuf>, StoreError> {
        sqlite::restore(from, to)
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
