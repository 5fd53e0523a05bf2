//! Keeps the write-ahead log short without making the writer wait.
//!
//! A thread of its own copies pages back (PASSIVE), so that the writer's commits stay even. Under
//! unbroken load that never lets the log begin anew, so beyond a size the writer is asked for one
//! restart between two transactions; most pages are copied by then and it is short.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use crate::error::StoreError;
use crate::sqlite::Shared;

/// Pause between two looks at the log.
const PAUSE: Duration = Duration::from_millis(50);
/// Fewest bytes in the log that are worth a checkpoint.
const BYTES_MIN: u64 = 4 << 20;

/// A running checkpointer; it ends when this is dropped.
pub(crate) struct Checkpointer {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

pub(crate) fn start(
    shared: &Shared,
    restart: Arc<AtomicBool>,
    wal_bytes_max: u64,
) -> Result<Checkpointer, StoreError> {
    let connection = Connection::open(&shared.path)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "cache_size", -512)?;
    let page_bytes: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let (stop, stopped) = channel();
    let wal = shared.log_file();
    let thread = std::thread::Builder::new()
        .name("store-checkpoint".into())
        .spawn(move || {
            let wal_bytes_max = i64::try_from(wal_bytes_max).unwrap_or(i64::MAX);
            let mut done = (0, 0);
            while stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                let bytes = std::fs::metadata(&wal).map_or(0, |file| file.len());
                if bytes < BYTES_MIN {
                    continue;
                }
                let Some((log, copied)) = passive(&connection) else { continue };
                if (log, copied) != done && log * page_bytes > wal_bytes_max {
                    restart.store(true, Ordering::Release);
                }
                done = (log, copied);
            }
        })
        .map_err(|error| StoreError::Failed(error.to_string()))?;
    Ok(Checkpointer { stop: Some(stop), thread: Some(thread) })
}

/// Copies what can be copied; gives the frames in the log and those copied.
fn passive(connection: &Connection) -> Option<(i64, i64)> {
    connection
        .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| Ok((row.get(1)?, row.get(2)?)))
        .inspect_err(|error| tracing::warn!(%error, "a checkpoint failed"))
        .ok()
}

/// Lets the log begin anew; readers that are still in it postpone that to the next time.
pub(crate) fn restart(connection: &Connection) {
    _ = connection.busy_timeout(Duration::from_millis(20));
    let done =
        connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get::<_, i64>(0));
    _ = connection.busy_timeout(Duration::from_secs(5));
    match done {
        Ok(0) => {}
        Ok(_) => tracing::debug!("readers postpone the restart of the write-ahead log"),
        Err(error) => tracing::warn!(%error, "the write-ahead log could not be restarted"),
    }
}

/// Copies the whole log back and empties it, before the file is closed.
pub(crate) fn finish(connection: &Connection) {
    if let Err(error) = connection.execute_batch("PRAGMA optimize") {
        tracing::warn!(%error, "the statistics could not be renewed");
    }
    if !truncate(connection) {
        tracing::warn!("readers keep the write-ahead log; the next start takes it in");
    }
}

/// Copies the whole log back and empties its file; false where readers are in the way.
fn truncate(connection: &Connection) -> bool {
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(row.get::<_, i64>(0)? == 0))
        .inspect_err(|error| tracing::warn!(%error, "the write-ahead log could not be emptied"))
        .unwrap_or(false)
}
