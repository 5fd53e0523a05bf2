//! What the store and the process say about themselves, once a second.

use std::time::{Duration, Instant};

use homeroom_store::{Phase, Sql, Store, StoreUrl};

/// What is known at one moment.
#[derive(Default, Clone, Copy)]
pub struct Sample {
    pub log_bytes: u64,
    pub file_bytes: u64,
    pub commits: u64,
    pub commit_time: Duration,
    pub checkpoints: u64,
    pub checkpoint_time: Duration,
    pub restart_time: Duration,
    /// Syncs of the log: SQLite has one for each commit.
    pub log_syncs: Option<u64>,
    /// SQLite: syncs of the file in the background.
    pub file_syncs: u64,
    pub file_sync_time: Duration,
    pub written: Option<u64>,
}

/// The position in PostgreSQL's log and the size of its database.
const ON_POSTGRES: &str = "SELECT CAST(pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS bigint), \
     CAST(pg_database_size(current_database()) AS bigint)";
/// Syncs of PostgreSQL's log, and the bytes of the log that were generated with those of pages that were written. Not
/// every version of PostgreSQL has these columns.
const WRITTEN_ON_POSTGRES: &str = "SELECT CAST(wal_sync AS bigint), \
     CAST(wal_bytes AS bigint) + (SELECT CAST((buffers_checkpoint + buffers_clean + buffers_backend) * \
     CAST(current_setting('block_size') AS bigint) AS bigint) FROM pg_stat_bgwriter) FROM pg_stat_wal";

/// Looks at the store once a second.
pub async fn sample(store: Store, begun: Instant, seconds: u64) -> Vec<Sample> {
    let is_postgres = matches!(store.url(), StoreUrl::Postgres(_));
    let mut samples: Vec<Sample> = vec![];
    let mut log_start = None;
    for second in 0..=seconds {
        let moment = begun + Duration::from_secs(second);
        tokio::time::sleep(moment.saturating_duration_since(Instant::now())).await;
        let load = store.load();
        let mut sample = Sample {
            log_bytes: load.log_bytes,
            file_bytes: load.file_bytes,
            commits: load.commits,
            commit_time: load.commit_time,
            checkpoints: load.checkpoints,
            checkpoint_time: load.checkpoint_time,
            restart_time: load.restart_time,
            log_syncs: Some(load.commits),
            file_syncs: 0,
            file_sync_time: Duration::ZERO,
            written: written(),
        };
        if let Some(sync) = store.phases().iter().find(|times| times.phase == Phase::Sync) {
            (sample.file_syncs, sample.file_sync_time) = (sync.count(), sync.sum);
        }
        if is_postgres {
            let (log, file) = two(&store, ON_POSTGRES).await.unwrap_or_default();
            sample.log_bytes = log.saturating_sub(*log_start.get_or_insert(log));
            sample.file_bytes = file;
            (sample.log_syncs, sample.written) = two(&store, WRITTEN_ON_POSTGRES).await.unzip();
        }
        samples.push(sample);
    }
    samples
}

/// Returns the two numbers that a statement finds, where it can be run.
async fn two(store: &Store, statement: &'static str) -> Option<(u64, u64)> {
    let rows = store.query(Sql::new(statement, vec![])).await.ok()?;
    let number = |at: usize| u64::try_from(rows.first()?.get(at)?.as_integer()?).ok();
    Some((number(0)?, number(1)?))
}

/// Returns the bytes that this process has had the kernel write, where the system counts them.
fn written() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok())
}
