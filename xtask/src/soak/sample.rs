//! The state of the server at a moment, as seen from outside.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::Client;
use super::load::Tally;
use super::server::Server;

/// The most rows of the printed table.
const ROWS_MAX: usize = 16;

/// A sample of the server's state.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// The seconds since the load began.
    pub seconds: f64,
    /// The resident memory in KiB.
    pub rss_kib: f64,
    /// The number of open files.
    pub files: usize,
    /// The number of threads.
    pub threads: usize,
    /// The size of the write-ahead log in bytes.
    pub log_bytes: i64,
    /// The size of the store's file in bytes.
    pub store_bytes: u64,
    /// The number of requests in progress.
    pub in_flight: i64,
    /// The number of writes that wait for their answer.
    pub waiting: i64,
    /// The number of answers so far.
    pub answers: u64,
    /// The longest time of an answer since the last sample, in milliseconds.
    pub slowest_ms: f64,
}

impl Sample {
    /// Takes a sample.
    pub fn take(server: &Server, tally: &Tally, at: Duration) -> Result<Self, String> {
        let process = format!("/proc/{}", server.pid());
        let status = std::fs::read_to_string(format!("{process}/status"));
        let status = status.map_err(|error| format!("the process is gone: {error}"))?;
        let number = |name: &str| -> f64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let word = line.and_then(|line| line.split_ascii_whitespace().next());
            word.and_then(|word| word.parse().ok()).unwrap_or(0.0)
        };
        let count = |folder: &str| {
            std::fs::read_dir(format!("{process}/{folder}")).map_or(0, Iterator::count)
        };
        let answer = Client::new(server.admin).send("GET", "/metrics", None);
        let answer = answer.map_err(|error| format!("no metrics: {error}"))?;
        let metrics = String::from_utf8_lossy(&answer.body).into_owned();
        let gauge = |name: &str| -> i64 {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|value| value.parse().ok()).unwrap_or(-1)
        };
        let store = std::fs::metadata(server.data.join("homeroom.db"));
        Ok(Self {
            seconds: at.as_secs_f64(),
            rss_kib: number("VmRSS:"),
            files: count("fd"),
            threads: count("task"),
            log_bytes: gauge("homeroom_store_log_bytes"),
            store_bytes: store.map_or(0, |file| file.len()),
            in_flight: gauge("http_server_active_requests"),
            waiting: gauge("homeroom_store_writes_waiting"),
            answers: tally.total(),
            slowest_ms: tally.slowest.swap(0, Ordering::Relaxed) as f64 / 1_000.0,
        })
    }

    /// Returns the sample as JSON.
    pub fn json(&self) -> Value {
        json!({
            "seconds": self.seconds,
            "rss_kib": self.rss_kib,
            "files": self.files,
            "threads": self.threads,
            "log_bytes": self.log_bytes,
            "store_bytes": self.store_bytes,
            "in_flight": self.in_flight,
            "waiting": self.waiting,
            "answers": self.answers,
            "slowest_ms": self.slowest_ms,
        })
    }
}

/// Prints evenly spaced samples as a Markdown table.
pub fn print(samples: &[Sample], tally: &Tally) {
    println!(
        "| minute | RSS, MiB | files | threads | log, MiB | store, MiB | in flight | answers | slowest, ms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let step = samples.len().div_ceil(ROWS_MAX).max(1);
    for chunk in samples.chunks(step) {
        let Some(last) = chunk.last() else { continue };
        let slowest = chunk.iter().map(|sample| sample.slowest_ms).fold(0.0, f64::max);
        println!(
            "| {:.1} | {:.1} | {} | {} | {:.1} | {:.1} | {} | {} | {:.1} |",
            last.seconds / 60.0,
            last.rss_kib / 1_024.0,
            last.files,
            last.threads,
            last.log_bytes as f64 / 1_048_576.0,
            last.store_bytes as f64 / 1_048_576.0,
            last.in_flight,
            last.answers,
            slowest,
        );
    }
    let strange = tally.strange.load(Ordering::Relaxed);
    println!(
        "\n{} answers; {strange} clients that broke off, were slow or talked nonsense\n",
        tally.total()
    );
}
