//! What the store and the process say about themselves, once a second.

use std::time::{Duration, Instant};

use homeroom_store::{Sql, Store, StoreUrl};

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
    pub written: Option<u64>,
}

/// The position in PostgreSQL's log and the size of its database.
const ON_POSTGRES: &str = "SELECT CAST(pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS bigint), \
     CAST(pg_database_size(current_database()) AS bigint)";

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
            written: written().filter(|_| !is_postgres),
        };
        if is_postgres {
            let (log, file) = on_postgres(&store).await.unwrap_or_default();
            sample.log_bytes = log - *log_start.get_or_insert(log);
            sample.file_bytes = file;
        }
        samples.push(sample);
    }
    samples
}

async fn on_postgres(store: &Store) -> Option<(u64, u64)> {
    let rows = store.query(Sql::new(ON_POSTGRES, vec![])).await.ok()?;
    let number = |at: usize| u64::try_from(rows.first()?.get(at)?.as_integer()?).ok();
    Some((number(0)?, number(1)?))
}

/// Returns the bytes that this process has had the kernel write, where the system counts them.
fn written() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok())
}
