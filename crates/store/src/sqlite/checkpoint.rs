//! Keeps the write-ahead log short without making the writer wait.
//!
//! A separate thread copies pages back (PASSIVE), so that the writer's commits take even times.
//! Under steady load that never lets the log restart, so beyond a size the writer is asked for one
//! restart between two transactions. The writer copies what is left and waits for the file's sync, so
//! little must be left. SQLite syncs the file only after a copy that has reached the log's end, which one
//! beside a busy writer often does not; what was copied since would be left to that sync. The thread
//! therefore syncs the file itself, and then copies and syncs again and again, without a pause, until it
//! finds only what a few transactions have written meanwhile; then it keeps out of the writer's way.
//! While nothing is written, the thread sleeps; a large log is emptied once.
//!
//! The system tells of a sync that failed only once, and then takes the pages for written. SQLite copies
//! again what the copy before that sync has copied, but not what earlier ones have. So after such an
//! error nothing more is copied and the log is kept until the next start, which copies all of it anew:
//! if all of it were copied, the writer would begin it anew by itself.
#![expect(clippy::disallowed_methods, reason = "the time of a copy is measured, and a wait ends")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::commits::Phase;
use crate::error::StoreError;
use crate::queue::join;
use crate::sqlite::open::BUSY;
use crate::sqlite::shared::Shared;

/// Pause between two checks of the log.
const PAUSE: Duration = Duration::from_millis(50);
/// Smallest log worth a checkpoint, and largest that an idle store keeps, in bytes.
const BYTES_MIN: u64 = 4 << 20;
/// What may be left to copy when the writer is asked to restart the log, in bytes.
const LEFT_MAX: i64 = 1 << 20;
/// Most copies in a row before a restart; a disk that does not keep up gets no further.
const ROUNDS_MAX: u32 = 8;
/// Longest wait for the writer to restart the log; one without work empties it later.
const RESTART_MAX: Duration = Duration::from_millis(500);
/// How long nothing must be written before a large log is emptied.
pub(crate) const IDLE: Duration = Duration::from_secs(2);

/// How long the writer postpones a restart because readers use the log, such as an export.
pub(crate) const POSTPONED: Duration = Duration::from_secs(1);

/// How long the writer waits for readers while jobs may come.
const BRIEF: Duration = Duration::from_millis(20);

/// A running checkpointer; dropping it ends it.
pub(crate) struct Checkpointer {
    /// Holds at most one message: further ones would say the same.
    growth: Option<SyncSender<()>>,
    flags: Arc<Flags>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Flags {
    /// The log is to be restarted.
    restart: AtomicBool,
    /// The writer is asked to restart the log, or does so.
    is_restarting: AtomicBool,
    /// The thread is to end.
    end: AtomicBool,
}

impl Checkpointer {
    pub(crate) fn start(shared: &Arc<Shared>, wal_bytes_max: u64) -> Result<Self, StoreError> {
        let connection = Connection::open(&shared.file.path)?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        connection.pragma_update(None, "cache_size", -512)?;
        let (growth, has_grown) = sync_channel(1);
        let flags = Arc::new(Flags::default());
        let (seen, shared) = (Arc::clone(&flags), Arc::clone(shared));
        let thread = std::thread::Builder::new()
            .name("store-checkpoint".into())
            .spawn(move || work(&connection, &has_grown, &seen, &shared, wal_bytes_max))
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self { growth: Some(growth), flags, thread: Some(thread) })
    }

    /// Signals that there may be something to copy.
    pub(crate) fn log_has_grown(&self) {
        _ = self.growth.as_ref().map(|growth| growth.try_send(()));
    }

    /// Returns whether the log has become so large that it must be restarted; returns true only
    /// once.
    pub(crate) fn wants_restart(&self) -> bool {
        self.flags.restart.swap(false, Ordering::AcqRel)
    }

    /// Tells that the log was restarted, or is not restarted now.
    pub(crate) fn restarted(&self) {
        self.flags.is_restarting.store(false, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.flags.end.store(true, Ordering::Release);
        self.growth = None;
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            join(thread);
        }
    }
}

fn work(
    connection: &Connection,
    has_grown: &Receiver<()>,
    flags: &Flags,
    shared: &Shared,
    wal_bytes_max: u64,
) {
    let page_bytes = connection.query_row("PRAGMA page_size", [], |row| row.get(0));
    let page_bytes: i64 = page_bytes.unwrap_or(4_096);
    let wal_bytes_max = i64::try_from(wal_bytes_max).unwrap_or(i64::MAX);
    let log_file = shared.file.log_file();
    while has_grown.recv().is_ok() {
        std::thread::park_timeout(PAUSE);
        if flags.end.load(Ordering::Acquire) {
            return;
        }
        if file_bytes(&log_file) < BYTES_MIN || is_log_kept(shared) {
            continue;
        }
        shared.probes.end_stale();
        let Some(log) = passive(connection, shared) else { continue };
        if log * page_bytes <= wal_bytes_max {
            continue;
        }
        if !sync(shared) {
            continue;
        }
        let Some(log) = catch_up(connection, shared, log, LEFT_MAX / page_bytes) else { continue };
        // Read in the meantime, so that a log that the writer has restarted is left alone.
        if log * page_bytes > wal_bytes_max {
            ask_for_restart(flags);
        }
    }
}

/// Copies and syncs until a copy has found no more than `left_max` new frames, or no fewer than the one before.
/// Returns the number of frames in the log.
fn catch_up(connection: &Connection, shared: &Shared, mut log: i64, left_max: i64) -> Option<i64> {
    let mut left = i64::MAX;
    for _ in 0..ROUNDS_MAX {
        let longer = passive(connection, shared)?;
        if !sync(shared) {
            return None;
        }
        let new = longer - log;
        log = longer;
        if new <= left_max || new >= left {
            break;
        }
        left = new;
    }
    Some(log)
}

/// Asks the writer to restart the log, and waits for that: a copy at the same time would hold the
/// lock that it needs.
fn ask_for_restart(flags: &Flags) {
    flags.is_restarting.store(true, Ordering::Release);
    flags.restart.store(true, Ordering::Release);
    let begun = Instant::now();
    while flags.is_restarting.load(Ordering::Acquire) && !flags.end.load(Ordering::Acquire) {
        let Some(left) = RESTART_MAX.checked_sub(begun.elapsed()) else { break };
        std::thread::park_timeout(left);
    }
}

fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

/// Empties a log that is larger than an idle store should keep. Returns false if readers prevent
/// it, so that it has to be tried again.
pub(crate) fn shrink(connection: &Connection, shared: &Shared) -> bool {
    let is_small =
        file_bytes(&shared.file.log_file()) <= BYTES_MIN && !shared.erasures.is_log_left();
    if is_small || is_log_kept(shared) {
        return true;
    }
    empty(connection, shared)
}

/// Empties the log. Returns false if readers prevent it, or if the log is kept.
pub(crate) fn empty(connection: &Connection, shared: &Shared) -> bool {
    if is_log_kept(shared) {
        return false;
    }
    _ = connection.busy_timeout(BRIEF);
    let is_empty = shared.probes.while_ended(|| truncate(connection, shared));
    _ = connection.busy_timeout(BUSY);
    if is_empty {
        if shared.erasures.is_log_left() {
            clear_residue(connection, shared);
        }
        shared.erasures.log_is_empty();
    }
    is_empty
}

/// Zeroes what former pages have left between the rows of others. The log is empty, and `connection`
/// is the writer's.
fn clear_residue(connection: &Connection, shared: &Shared) {
    // A page in memory would be written again as it was.
    let cleared = connection
        .execute_batch("PRAGMA shrink_memory")
        .map_err(StoreError::from)
        .and_then(|()| shared.file.clear_residue());
    match cleared {
        Ok(pages) => tracing::debug!(pages, "pages had bytes of former ones, which were zeroed"),
        Err(error) => tracing::warn!(%error, "the bytes of former pages could not be removed"),
    }
}

/// Copies what can be copied. Returns the number of frames in the log.
fn passive(connection: &Connection, shared: &Shared) -> Option<i64> {
    let begun = Instant::now();
    let log = connection
        .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1))
        .inspect_err(|error| tracing::warn!(%error, "a checkpoint failed"))
        .ok();
    shared.commits.note(Phase::Copy, begun.elapsed());
    if log.is_none() {
        sync(shared);
    }
    log
}

/// Syncs what was copied into the file. Returns whether that is on the disk. If it is not, the log is kept.
fn sync(shared: &Shared) -> bool {
    let begun = Instant::now();
    let synced = shared.file.sync();
    shared.commits.note(Phase::Sync, begun.elapsed());
    if let Err(error) = &synced {
        shared.is_log_kept.store(true, Ordering::Release);
        tracing::error!(
            %error,
            "what was copied into the store's file could not be synced; the write-ahead log is kept, and grows, until \
             the next start copies it anew"
        );
    }
    synced.is_ok()
}

fn is_log_kept(shared: &Shared) -> bool {
    shared.is_log_kept.load(Ordering::Acquire)
}

/// Restarts the log. Returns false if readers that still use it prevent that.
pub(crate) fn restart(connection: &Connection, shared: &Shared) -> bool {
    if is_log_kept(shared) {
        return false;
    }
    _ = connection.busy_timeout(BRIEF);
    let begun = Instant::now();
    let done = shared.probes.while_ended(|| {
        connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get::<_, i64>(0))
    });
    _ = connection.busy_timeout(BUSY);
    shared.commits.note(Phase::Restart, begun.elapsed());
    match &done {
        Ok(0) => {}
        Ok(_) => tracing::debug!("readers postpone the restart of the write-ahead log"),
        Err(error) => {
            tracing::warn!(%error, "the write-ahead log could not be restarted");
            sync(shared);
        }
    }
    matches!(done, Ok(0))
}

/// Copies the whole log back and empties it, before the file is closed.
pub(crate) fn finish(connection: &Connection, shared: &Shared) {
    if let Err(error) = connection.execute_batch("PRAGMA optimize") {
        tracing::warn!(%error, "the statistics could not be renewed");
    }
    if !shared.probes.while_ended(|| truncate(connection, shared)) {
        tracing::warn!("the write-ahead log is left; the next start takes it in");
    }
    if is_log_kept(shared)
        && let Err(error) =
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
    {
        tracing::error!(%error, "the write-ahead log cannot be kept");
    }
}

/// Copies the whole log back and empties its file. Returns false if readers prevent it, or the log is kept.
fn truncate(connection: &Connection, shared: &Shared) -> bool {
    if is_log_kept(shared) {
        return false;
    }
    let done = connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(row.get::<_, i64>(0)? == 0));
    done.unwrap_or_else(|error| {
        tracing::warn!(%error, "the write-ahead log could not be emptied");
        sync(shared);
        false
    })
}
