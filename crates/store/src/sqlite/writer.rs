//! The single writer: takes the jobs that have arrived, runs them in one transaction, and answers
//! when the commit is on disk. If a plan's writes fail, the transaction is repeated without them.
#![expect(
    clippy::disallowed_methods,
    reason = "a checkpoint that could not be done is tried again later"
)]

mod page_cache;
mod recent;
mod repeat;
mod run;
mod target_cache;
mod trouble;
mod write;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::counters::LAST_ID;
use crate::commits::Phase;
use crate::error::StoreError;
use crate::fair::Next;
use crate::plan::Write;
use crate::queue::{Arrivals, Group, Queue};
use crate::row::Count;
use crate::sqlite::checkpoint::{self, Checkpointer};
use crate::sqlite::erase;
use crate::sqlite::error::of_commit;
use crate::sqlite::reach::{ChangedTies, KnownTies};
use crate::sqlite::recent::Positions;
use crate::sqlite::shared::Shared;
use crate::sqlite::statements::write_counts;
use crate::sqlite::writer::page_cache::PageCache;
use crate::sqlite::writer::recent::RecentWriter;
use crate::store::{Job, Options};

/// The writer's page cache as a multiple of a reading connection's: it looks up every identity and
/// every target, wherever they are in the file.
const CACHE: u32 = 4;
/// Pause between two attempts to write to a disk that has failed.
const PAUSE: Duration = Duration::from_secs(1);

/// Rows of each table that an idle writer moves there in one transaction, and that any transaction
/// may move.
const MOVED_MAX: usize = 8_192;
/// Rows that a writer moves in one transaction when the store is closed and no job waits.
const MOVED_AT_CLOSE_MAX: usize = 131_072;
/// Pause between two such transactions, in which jobs come first.
const MOVED_PAUSE: Duration = Duration::from_millis(1);
/// Longest time that moving rows takes when the store is closed; the next start finds the others.
const MOVED_TIME_MAX: Duration = Duration::from_secs(5);
/// Number of rows that are gone from memory from which on readers of older states are ended.
const GONE_MAX: usize = 16_384;
/// Transactions between two looks at that, and at the size of the file.
const GONE_EACH: u32 = 16;

/// Starts the writer of a file whose identities and edges have been moved up to `positions`.
pub(crate) fn start(
    connection: Connection,
    shared: Arc<Shared>,
    positions: Positions,
    options: &Options,
) -> Result<Queue, StoreError> {
    let cache_kib = options.cache_kib.saturating_mul(CACHE);
    let waiting = Arc::clone(&shared.waiting);
    let locked = Arc::clone(&shared);
    let writer = Writer {
        last_id: connection.query_row(LAST_ID, [], |row| row.get(0))?,
        last_change_version: shared.newest_change_version.load(Ordering::Acquire),
        begun: (0, 0),
        written: vec![],
        tally: HashMap::new(),
        targets: target_cache::TargetCache::default(),
        ties: KnownTies::default(),
        changed_ties: ChangedTies::default(),
        access_version: None,
        recent: RecentWriter::new(&shared.file.recent, positions, options.recent_documents),
        transactions: 0,
        page_cache: PageCache::of(&connection, cache_kib)?,
        connection,
        checkpointer: Checkpointer::start(&shared, options.wal_bytes_max)?,
        shared,
        log_may_shrink: true,
        postponed: None,
        is_troubled: false,
    };
    Queue::start(options.queue, waiting, move |arrivals| {
        writer.work(&arrivals);
        locked.file.unlock();
    })
}

/// The writer's state; jobs see it while they run.
pub(crate) struct Writer {
    connection: Connection,
    shared: Arc<Shared>,
    last_id: i64,
    last_change_version: i64,
    /// The last number and change version when the open transaction began.
    begun: (i64, i64),
    /// The writes of each plan in the open transaction, to repeat it.
    written: Vec<Vec<Write>>,
    /// Changes of the kept counts that are not written yet.
    tally: HashMap<Count, i64>,
    targets: target_cache::TargetCache,
    /// Where ties lead, as far as it was looked up and nothing has changed it.
    ties: KnownTies,
    changed_ties: ChangedTies,
    /// The version of clients and their rights, as long as nothing may have changed it.
    access_version: Option<i64>,
    /// Identities and edges, in memory and in their tables.
    recent: RecentWriter,
    /// Number of transactions since readers of older states were looked at.
    transactions: u32,
    page_cache: PageCache,
    checkpointer: Checkpointer,
    /// Whether something was written since the idle writer last looked at the log, or memory is to be given back.
    log_may_shrink: bool,
    /// When readers last prevented the log from restarting.
    postponed: Option<Instant>,
    /// Whether the disk has failed since the last successful write.
    is_troubled: bool,
}

impl Writer {
    /// Runs the jobs that arrive until all senders are gone, then closes the file.
    fn work(mut self, arrivals: &Arrivals) {
        let mut group: Vec<Box<dyn Job>> = vec![];
        while let Some(first) = self.wait(arrivals) {
            self.begun = (self.last_id, self.last_change_version);
            self.recent.begin();
            let begun = Instant::now();
            let mut ended = self.shared.file.check_place().and_then(|()| {
                self.connection.execute_batch("BEGIN IMMEDIATE").map_err(Into::into)
            });
            let mut of_group = Group::of(&*first);
            let mut next = Some(first);
            while let Some(mut job) = next.take() {
                if ended.is_ok() && job.is_wanted() {
                    // A panic in one plan must not end the writer.
                    let run = AssertUnwindSafe(|| self.run(&mut *job));
                    ended = catch_unwind(run)
                        .unwrap_or_else(|_| Err(StoreError::Failed("a plan panicked".into())));
                }
                group.push(job);
                next = arrivals.next_of(&mut of_group);
            }
            self.shared.commits.note(Phase::Plans, begun.elapsed());
            let mut ended = ended.and_then(|()| self.commit());
            if let Err(error) = ended {
                tracing::error!(%error, jobs = group.len(), "a transaction was lost");
                if !self.connection.is_autocommit() {
                    _ = self.connection.execute_batch("ROLLBACK");
                }
                self.forget();
                ended = Err(self.settle(error));
                self.shared.ties.settle();
            } else {
                self.writes_work();
                self.shared
                    .newest_change_version
                    .store(self.last_change_version, Ordering::Release);
                self.committed();
                // Only now does each read that begins show the commit.
                self.shared.ties.settle();
                self.checkpointer.log_has_grown();
                self.log_may_shrink = true;
                // A write to a file that nobody will find again is not acknowledged.
                ended = self.shared.file.check_place().map_err(|error| {
                    tracing::error!(%error, jobs = group.len(), "a transaction may be lost");
                    StoreError::Unsure
                });
            }
            self.written.clear();
            self.shared.waiting.fetch_sub(group.len(), Ordering::Relaxed);
            for job in group.drain(..) {
                job.answer(ended.clone());
            }
            erase::serve(&self.connection, &self.shared);
            if self.checkpointer.wants_restart() {
                if self.postponed.is_none_or(|since| since.elapsed() > checkpoint::POSTPONED) {
                    let is_done = checkpoint::restart(&self.connection, &self.shared);
                    self.postponed = (!is_done).then(Instant::now);
                }
                self.checkpointer.restarted();
            }
        }
        self.move_rest();
        // Two checkpoints at once would be in each other's way.
        drop(self.checkpointer);
        checkpoint::finish(&self.connection, &self.shared);
    }

    /// Waits for a job. If none comes for a while, it moves what is in memory to the tables, empties a
    /// log that has grown, and retries a disk that has failed.
    fn wait(&mut self, arrivals: &Arrivals) -> Option<Box<dyn Job>> {
        let mut is_moving = false;
        while self.log_may_shrink || self.is_troubled || is_moving {
            let time = match (self.is_troubled, is_moving) {
                (true, _) => PAUSE,
                (false, true) => MOVED_PAUSE,
                (false, false) => checkpoint::IDLE,
            };
            match arrivals.next_within(time) {
                Next::One(job) => return Some(job),
                Next::Closed => return None,
                Next::Nothing => {
                    self.try_again();
                    is_moving =
                        self.recent.is_filled() && !self.is_troubled && self.move_some(MOVED_MAX);
                    if !is_moving {
                        let is_given_back = self.give_memory_back();
                        let is_shrunk = checkpoint::shrink(&self.connection, &self.shared);
                        self.log_may_shrink = !is_shrunk || !is_given_back;
                    }
                }
            }
        }
        arrivals.next()
    }

    /// Notes that a transaction is durable.
    fn committed(&mut self) {
        self.shared.probes.committed();
        self.recent.committed();
        self.transactions += 1;
        if self.transactions >= GONE_EACH {
            self.transactions = 0;
            if self.recent.gone() > GONE_MAX {
                self.shared.probes.end_stale();
            }
            if let Err(error) = self.page_cache.grow(&self.connection) {
                tracing::warn!(%error, "the writer's page cache stays as it is");
            }
        }
    }

    /// Moves some of what is in memory to the tables, in a transaction of its own. Returns whether it
    /// could.
    fn move_some(&mut self, most: usize) -> bool {
        self.begun = (self.last_id, self.last_change_version);
        self.recent.begin();
        let moved = self
            .shared
            .file
            .check_place()
            .and_then(|()| Ok(self.connection.execute_batch("BEGIN IMMEDIATE")?))
            .and_then(|()| self.recent.move_up_to(&self.connection, self.last_id, most))
            .and_then(|()| self.connection.execute_batch("COMMIT").map_err(of_commit));
        match moved {
            Ok(()) => {
                self.committed();
                self.checkpointer.log_has_grown();
                true
            }
            Err(error) => {
                tracing::warn!(%error, "identities and edges stay in memory");
                if !self.connection.is_autocommit() {
                    _ = self.connection.execute_batch("ROLLBACK");
                }
                self.recent.undo();
                self.settle(error);
                false
            }
        }
    }

    /// Moves what is in memory to the tables, as far as time permits.
    fn move_rest(&mut self) {
        let begun = Instant::now();
        while self.recent.is_filled()
            && begun.elapsed() < MOVED_TIME_MAX
            && self.move_some(MOVED_AT_CLOSE_MAX)
        {}
    }

    /// Forgets what only a large load needs, and the pages in memory: the system still has most of
    /// them. Returns whether it was everything: readers keep what they remember as long as they ask for it.
    fn give_memory_back(&mut self) -> bool {
        self.targets.shrink();
        self.ties.shrink();
        let is_everything = self.shared.ties.shrink();
        // A thread that reads nothing more would keep what it could see.
        self.shared.probes.end_stale();
        self.recent.give_memory_back();
        if let Err(error) = self.connection.execute_batch("PRAGMA shrink_memory") {
            tracing::warn!(%error, "an idle writer keeps its pages in memory");
        }
        is_everything
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        write_counts(&self.connection, self.tally.drain())?;
        self.recent.end(&self.connection, self.last_id)?;
        self.shared.ties.forget(&std::mem::take(&mut self.changed_ties));
        let begun = Instant::now();
        self.connection.execute_batch("COMMIT").map_err(of_commit)?;
        self.shared.commits.note(Phase::Commit, begun.elapsed());
        Ok(())
    }
}
