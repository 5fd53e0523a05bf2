//! The one writer: takes what has arrived, runs it in one transaction, a savepoint a plan, and
//! answers when the commit is on disk.

use std::collections::HashMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params};

use crate::error::StoreError;
use crate::id::DocumentId;
use crate::plan::{
    Answer, Ask, Decide, Decision, NewDocument, Plan, ROUNDS_MAX, Ran, Refused, Tombstone, Write,
};
use crate::row::{References, Row};
use crate::sql::{Sql, Value};
use crate::sqlite::{BLOCK_BITS, Shared, checkpoint, probe};

/// Most jobs in one transaction: bounds both the wait of the first and the size of a transaction.
const GROUP_MAX: usize = 256;

/// What the writer runs.
pub(crate) trait Job: Send {
    /// Runs inside the group's transaction. An error means that the transaction is lost.
    fn run(&mut self, writer: &mut Writer) -> Result<(), StoreError>;
    /// Answers, after the commit or its failure.
    fn finish(self: Box<Self>, committed: Result<(), StoreError>);
}

/// The way to the writer.
pub(crate) struct WriterHandle {
    shared: Arc<Shared>,
    jobs: Option<SyncSender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl WriterHandle {
    /// Starts the writer; `queue` bounds the jobs that wait.
    pub(crate) fn start(
        connection: Connection,
        lock: File,
        shared: Arc<Shared>,
        queue: usize,
        wal_bytes_max: u64,
    ) -> Result<Self, StoreError> {
        let (jobs, arrivals) = sync_channel(queue);
        let handle = Arc::clone(&shared);
        let restart = Arc::new(AtomicBool::new(false));
        let checkpointer = checkpoint::start(&shared, Arc::clone(&restart), wal_bytes_max)?;
        let next = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let last_id = next("SELECT coalesce(max(id), 0) FROM doc")?;
        let writer = Writer {
            last_id,
            last_change_version: shared.newest_change_version.load(Ordering::Acquire),
            tally: HashMap::new(),
            connection,
            shared,
            restart,
        };
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || {
                writer.work(&arrivals);
                drop(checkpointer);
                drop(lock);
            })
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self { shared: handle, jobs: Some(jobs), thread: Some(thread) })
    }

    /// Hands a job over without waiting for a place in the queue.
    pub(crate) fn offer(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        jobs.try_send(job).map_err(|error| {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
            match error {
                TrySendError::Full(_) => StoreError::Busy,
                TrySendError::Disconnected(_) => StoreError::Closed,
            }
        })
    }

    /// Hands a job over and waits for a place in the queue.
    pub(crate) fn push(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        jobs.send(job).map_err(|_| {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
            StoreError::Closed
        })
    }
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

/// The writer's state; jobs see it while they run.
pub(crate) struct Writer {
    connection: Connection,
    shared: Arc<Shared>,
    last_id: i64,
    last_change_version: i64,
    /// Changes of the kept counts, by kind and block, not yet written.
    tally: HashMap<(u16, i64), i64>,
    restart: Arc<AtomicBool>,
}

impl Writer {
    fn work(mut self, arrivals: &Receiver<Box<dyn Job>>) {
        let mut group: Vec<Box<dyn Job>> = Vec::with_capacity(GROUP_MAX);
        while let Ok(first) = arrivals.recv() {
            let before = (self.last_id, self.last_change_version);
            let mut ended = self.connection.execute_batch("BEGIN IMMEDIATE").map_err(Into::into);
            let mut next = Some(first);
            while let Some(mut job) = next.take() {
                if ended.is_ok() {
                    // A fault in one decision must not end the writer.
                    let run = AssertUnwindSafe(|| job.run(&mut self));
                    ended = catch_unwind(run)
                        .unwrap_or_else(|_| Err(StoreError::Failed("a plan panicked".into())));
                }
                group.push(job);
                if group.len() < GROUP_MAX {
                    next = arrivals.try_recv().ok();
                }
            }
            let ended = ended.and_then(|()| self.commit());
            if let Err(error) = &ended {
                tracing::error!(%error, jobs = group.len(), "a transaction was lost");
                if !self.connection.is_autocommit() {
                    _ = self.connection.execute_batch("ROLLBACK");
                }
                (self.last_id, self.last_change_version) = before;
                self.tally.clear();
            } else {
                self.shared
                    .newest_change_version
                    .store(self.last_change_version, Ordering::Release);
            }
            self.shared.waiting.fetch_sub(group.len(), Ordering::Relaxed);
            for job in group.drain(..) {
                job.finish(ended.clone());
            }
            if self.restart.swap(false, Ordering::AcqRel) {
                checkpoint::restart(&self.connection);
            }
        }
        _ = self.connection.execute_batch("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)");
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let mut upsert = self.connection.prepare_cached(
            "INSERT INTO tally (kind, block, n) VALUES (?1, ?2, ?3)
             ON CONFLICT (kind, block) DO UPDATE SET n = n + excluded.n",
        )?;
        for ((kind, block), n) in self.tally.drain().filter(|(_, n)| *n != 0) {
            upsert.execute(params![kind, block, n])?;
        }
        drop(upsert);
        self.connection.execute_batch("COMMIT")?;
        Ok(())
    }

    /// Runs one plan. The inner result is the plan's own; the outer is the transaction's.
    #[expect(clippy::type_complexity, reason = "two ways to fail are two results")]
    pub(crate) fn run_plan<D: Decide>(
        &mut self,
        mut plan: Plan<D>,
    ) -> Result<Result<Ran<D::Done>, Refused<D::Refusal>>, StoreError> {
        let mut ask = std::mem::take(&mut plan.ask);
        for _ in 0..ROUNDS_MAX {
            let found = ask.iter().map(|ask| self.answer(ask)).collect::<Result<_, _>>()?;
            match plan.decide.decide(found) {
                Decision::Refuse(refusal) => return Ok(Err(Refused::Decision(refusal))),
                Decision::Ask(more) => ask = more,
                Decision::Write(writes, value) if writes.is_empty() => {
                    return Ok(Ok(Ran { value, change_version: 0 }));
                }
                Decision::Write(writes, value) => {
                    return Ok(match self.write_all(writes)? {
                        Ok(change_version) => Ok(Ran { value, change_version }),
                        Err(error) => Err(Refused::Store(error)),
                    });
                }
            }
        }
        Ok(Err(Refused::Store(StoreError::Failed("a plan asked too many rounds".into()))))
    }

    fn write_all(&mut self, writes: Vec<Write>) -> Result<Result<i64, StoreError>, StoreError> {
        let before = (self.last_id, self.last_change_version);
        let mut tally = vec![];
        self.connection.prepare_cached("SAVEPOINT plan")?.execute([])?;
        let done: Result<(), StoreError> =
            writes.into_iter().try_for_each(|write| self.write(write, &mut tally));
        match done {
            Ok(()) => {
                self.connection.prepare_cached("RELEASE plan")?.execute([])?;
                for (place, n) in tally {
                    *self.tally.entry(place).or_default() += n;
                }
                Ok(Ok(self.last_change_version))
            }
            // A full disk or an I/O error has taken the whole transaction with it.
            Err(error) if self.connection.is_autocommit() => Err(error),
            Err(error) => {
                self.connection.execute_batch("ROLLBACK TO plan; RELEASE plan")?;
                (self.last_id, self.last_change_version) = before;
                Ok(Err(error))
            }
        }
    }

    fn answer(&self, ask: &Ask) -> Result<Answer, StoreError> {
        let connection = &self.connection;
        Ok(match ask {
            Ask::Document(key) => Answer::Document(probe::by_key(connection, *key)?),
            Ask::DocumentByUuid(uuid) => Answer::Document(probe::by_uuid(connection, *uuid)?),
            Ask::Target(key) => Answer::Target(probe::target(connection, *key)?),
            Ask::Referrers(id) => Answer::Referrers(probe::referrers(connection, *id)?),
            Ask::Sql(sql) => Answer::Rows(rows(connection, sql)?),
        })
    }

    fn write(
        &mut self,
        write: Write,
        tally: &mut Vec<((u16, i64), i64)>,
    ) -> Result<(), StoreError> {
        match write {
            Write::Create(new) => self.create(new, tally),
            Write::Replace { old, old_references, new } => self.replace(old, &old_references, &new),
            Write::Delete { row, alias, tombstone } => {
                self.delete(&row, alias.map(|key| key.0), &tombstone, tally)
            }
            Write::Sql(sql) => {
                self.connection
                    .prepare_cached(sql.text)?
                    .execute(rusqlite::params_from_iter(&sql.arguments))?;
                Ok(())
            }
        }
    }

    fn create(
        &mut self,
        mut new: NewDocument,
        tally: &mut Vec<((u16, i64), i64)>,
    ) -> Result<(), StoreError> {
        self.last_id += 1;
        self.last_change_version += 1;
        let id = self.last_id;
        new.references.name_itself(DocumentId(id));
        let packed = new.references.pack();
        self.connection
            .prepare_cached(
                "INSERT INTO doc (id, uuid, kind, key, cv, modified, refs, body)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                id,
                new.uuid.0,
                new.kind.0,
                new.key.0,
                self.last_change_version,
                new.modified,
                packed,
                new.body
            ])?;
        if let Some(alias) = new.alias {
            self.connection
                .prepare_cached("INSERT INTO alias (key, id) VALUES (?1, ?2)")?
                .execute(params![alias.0, id])?;
        }
        for target in References::targets(&packed) {
            self.edge(target, new.kind.0, id)?;
        }
        tally.push(((new.kind.0, id >> BLOCK_BITS), 1));
        Ok(())
    }

    fn replace(
        &mut self,
        old: DocumentId,
        old_references: &[u8],
        new: &NewDocument,
    ) -> Result<(), StoreError> {
        self.last_change_version += 1;
        let packed = new.references.pack();
        self.connection
            .prepare_cached(
                "UPDATE doc SET cv = ?2, modified = ?3, refs = ?4, body = ?5 WHERE id = ?1",
            )?
            .execute(params![old.0, self.last_change_version, new.modified, packed, new.body])?;
        let before = References::targets(old_references);
        let after = References::targets(&packed);
        for gone in before.iter().filter(|target| after.binary_search(target).is_err()) {
            self.remove_edge(*gone, new.kind.0, old.0)?;
        }
        for come in after.iter().filter(|target| before.binary_search(target).is_err()) {
            self.edge(*come, new.kind.0, old.0)?;
        }
        Ok(())
    }

    fn delete(
        &mut self,
        row: &Row,
        alias: Option<[u8; 16]>,
        tombstone: &Tombstone,
        tally: &mut Vec<((u16, i64), i64)>,
    ) -> Result<(), StoreError> {
        self.last_change_version += 1;
        for target in References::targets(&row.references) {
            self.remove_edge(target, row.kind.0, row.id.0)?;
        }
        self.connection.prepare_cached("DELETE FROM doc WHERE id = ?1")?.execute([row.id.0])?;
        if let Some(alias) = alias {
            self.connection.prepare_cached("DELETE FROM alias WHERE key = ?1")?.execute([alias])?;
        }
        self.connection
            .prepare_cached(
                "INSERT INTO tomb (cv, kind, uuid, key, key_values, modified)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                self.last_change_version,
                row.kind.0,
                row.uuid.0,
                row.key.0,
                tombstone.key_values,
                tombstone.modified
            ])?;
        tally.push(((row.kind.0, row.id.0 >> BLOCK_BITS), -1));
        Ok(())
    }

    fn edge(&self, target: DocumentId, kind: u16, source: i64) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("INSERT INTO ref (target, kind, source) VALUES (?1, ?2, ?3)")?
            .execute(params![target.0, kind, source])?;
        Ok(())
    }

    fn remove_edge(&self, target: DocumentId, kind: u16, source: i64) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("DELETE FROM ref WHERE target = ?1 AND kind = ?2 AND source = ?3")?
            .execute(params![target.0, kind, source])?;
        Ok(())
    }
}

/// Runs a statement and reads all its rows.
pub(crate) fn rows(connection: &Connection, sql: &Sql) -> Result<Vec<Vec<Value>>, StoreError> {
    let mut statement = connection.prepare_cached(sql.text)?;
    let columns = statement.column_count();
    let mut found = statement.query(rusqlite::params_from_iter(&sql.arguments))?;
    let mut out = vec![];
    while let Some(row) = found.next()? {
        let mut values = Vec::with_capacity(columns);
        for at in 0..columns {
            values.push(match row.get_ref(at)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::Integer(number),
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the store's columns hold no fractions"
                )]
                ValueRef::Real(number) => Value::Integer(number as i64),
                ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
            });
        }
        out.push(values);
    }
    Ok(out)
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
