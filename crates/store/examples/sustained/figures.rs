//! What is counted while it writes, by second.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Instant;

use crate::mix;
use crate::sample::Sample;

/// The times of one kind of work, in microseconds, by the second in which it ended.
pub struct Times {
    begun: Instant,
    by_second: Mutex<Vec<Vec<u32>>>,
}

impl Times {
    fn new(begun: Instant, seconds: u64) -> Self {
        let seconds = usize::try_from(seconds).expect("fewer seconds than memory");
        Self { begun, by_second: Mutex::new(vec![vec![]; seconds + 1]) }
    }

    /// Notes that something that was asked for then has ended.
    pub fn note(&self, asked: Instant) {
        let took = u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX);
        let second = usize::try_from(self.begun.elapsed().as_secs()).unwrap_or(usize::MAX);
        let mut by_second = self.by_second.lock().expect("nobody panics with it");
        let second = second.min(by_second.len() - 1);
        by_second[second].push(took);
    }

    /// Returns the sorted times of each second; what ended later is in the last one.
    pub fn sorted(&self) -> Vec<Vec<u32>> {
        let mut by_second = self.by_second.lock().expect("nobody panics with it").clone();
        for times in &mut by_second {
            times.sort_unstable();
        }
        by_second
    }
}

/// The counts of a run.
pub struct Figures {
    /// What the clients do: only creates, or the kinds of the mix in their order.
    pub kinds: Vec<(&'static str, Times)>,
    pub parts: Times,
}

/// One second of a run.
pub struct Second {
    pub at: usize,
    /// What the clients have done: creates, or requests of the mix.
    pub requests: usize,
    pub parts: usize,
    /// The median, the 99th and the 99.9th percentile of their times, in milliseconds.
    pub quantiles: [f64; 3],
    /// The 99th percentile of a part's commits, in milliseconds.
    pub parts_p99: f64,
    pub log_bytes: u64,
    pub file_bytes: u64,
    /// Transactions that became durable, and how long that took on average: on SQLite, writing their pages to the log
    /// and syncing it; on PostgreSQL, their last statements, too.
    pub commits: u64,
    pub commit_ms: f64,
    /// Syncs of the log, where they are known.
    pub log_syncs: Option<u64>,
    /// SQLite: syncs of the file, and their mean time.
    pub file_syncs: u64,
    pub file_sync_ms: f64,
    /// Copies of the log into the file, and their mean time.
    pub checkpoints: u64,
    pub checkpoint_ms: f64,
    /// How long the writer waited while the log began anew.
    pub restart_ms: f64,
    /// Bytes written, where they are known: what this process gave to the kernel, or what PostgreSQL's server generated
    /// of its log and wrote of its files, of all its databases.
    pub written: Option<u64>,
}

impl Figures {
    pub fn new(begun: Instant, seconds: u64, is_mix: bool) -> Self {
        let names = if is_mix { &mix::NAMES[..] } else { &["creates"] };
        let kinds = names.iter().map(|name| (*name, Times::new(begun, seconds))).collect();
        Self { kinds, parts: Times::new(begun, seconds) }
    }

    /// Returns what the clients do.
    pub fn what(&self) -> &'static str {
        match self.kinds[..] {
            [(only, _)] => only,
            _ => "requests",
        }
    }

    /// Returns the sorted times of all kinds in each second.
    pub fn all(&self) -> Vec<Vec<u32>> {
        let mut all: Vec<Vec<u32>> = vec![];
        for (_, times) in &self.kinds {
            let times = times.sorted();
            all.resize(all.len().max(times.len()), vec![]);
            for (all, times) in all.iter_mut().zip(times) {
                all.extend(times);
            }
        }
        for times in &mut all {
            times.sort_unstable();
        }
        all
    }

    /// Returns what happened in each second between two samples.
    pub fn seconds(&self, samples: &[Sample]) -> Vec<Second> {
        let (all, parts) = (self.all(), self.parts.sorted());
        let pairs = samples.iter().zip(samples.iter().skip(1)).enumerate();
        pairs
            .map(|(second, (before, after))| {
                let commits = after.commits - before.commits;
                let time = after.commit_time.saturating_sub(before.commit_time);
                let checkpoints = after.checkpoints - before.checkpoints;
                let copying = after.checkpoint_time.saturating_sub(before.checkpoint_time);
                let restarting = after.restart_time.saturating_sub(before.restart_time);
                let (file_syncs, syncing) = (
                    after.file_syncs - before.file_syncs,
                    after.file_sync_time.saturating_sub(before.file_sync_time),
                );
                let log_syncs = after.log_syncs.zip(before.log_syncs);
                let written = after.written.zip(before.written);
                Second {
                    at: second,
                    requests: all[second].len(),
                    parts: parts[second].len(),
                    quantiles: [500, 990, 999].map(|share| quantile(&all[second], share)),
                    parts_p99: quantile(&parts[second], 990),
                    log_bytes: after.log_bytes,
                    file_bytes: after.file_bytes,
                    commits,
                    commit_ms: time.as_secs_f64() * 1_000.0 / as_float(commits.max(1)),
                    log_syncs: log_syncs.map(|(after, before)| after.saturating_sub(before)),
                    file_syncs,
                    file_sync_ms: syncing.as_secs_f64() * 1_000.0 / as_float(file_syncs.max(1)),
                    checkpoints,
                    checkpoint_ms: copying.as_secs_f64() * 1_000.0 / as_float(checkpoints.max(1)),
                    restart_ms: restarting.as_secs_f64() * 1_000.0,
                    written: written.map(|(after, before)| after.saturating_sub(before)),
                }
            })
            .collect()
    }

    /// Describes the whole run, and the slowest and the last minute.
    pub fn whole(&self, seconds: &[Second]) -> String {
        let by_second = self.all();
        let by_second = &by_second[..by_second.len() - 1];
        let mut all = by_second.concat();
        all.sort_unstable();
        let rate = |seconds: &[Vec<u32>]| {
            let requests: usize = seconds.iter().map(Vec::len).sum();
            requests / seconds.len().max(1)
        };
        let slowest = by_second.chunks_exact(60).map(rate).min().unwrap_or_else(|| rate(by_second));
        let last = &by_second[by_second.len().saturating_sub(60)..];
        let [p50, p99, p999] = [500, 990, 999].map(|share| quantile(&all, share));
        let mut text = format!(
            "{} {}/s ({slowest}/s in the slowest minute, {}/s in the last), p50 {p50:.1} ms, \
             p99 {p99:.1} ms, p99.9 {p999:.1} ms",
            rate(by_second),
            self.what(),
            rate(last),
        );
        if let Some(kilobytes) = kilobytes(seconds) {
            _ = write!(text, "; {kilobytes:.1} KB to the disk for each");
        }
        for (name, times) in self.kinds.iter().filter(|_| self.kinds.len() > 1) {
            let mut times = times.sorted().concat();
            times.sort_unstable();
            let (rate, p99) = (times.len() / by_second.len().max(1), quantile(&times, 990));
            _ = write!(text, "; {rate} {name}/s, p99 {p99:.1} ms");
        }
        let mut parts = self.parts.sorted().concat();
        parts.sort_unstable();
        if !parts.is_empty() {
            let (rate, p99) = (parts.len() / by_second.len().max(1), quantile(&parts, 990));
            _ = write!(text, "; {rate} commits of a part/s, p99 {p99:.1} ms");
        }
        text
    }
}

/// Returns the kilobytes that reach the disk for each request of the clients.
fn kilobytes(seconds: &[Second]) -> Option<f64> {
    let written = seconds.iter().map(|second| second.written).sum::<Option<u64>>()?;
    let requests: usize = seconds.iter().map(|second| second.requests).sum();
    Some(as_float(written) / 1_000.0 / as_float(requests.max(1) as u64))
}

/// Returns the time, in milliseconds, within which so many of 1,000 ended.
pub fn quantile(sorted: &[u32], share: usize) -> f64 {
    let at = (sorted.len() * share / 1_000).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(0.0, |micros| f64::from(*micros) / 1_000.0)
}

/// Prints a row for each ten seconds: means of the counts, the worst of the times.
pub fn print(seconds: &[Second], what: &str) {
    println!(
        "| second | {what}/s | p50 ms | worst p99 ms | worst p99.9 ms | log MiB | file MiB | \
         KB each | commits/s | commit ms | log syncs/s | file syncs/s | worst file sync ms | checkpoints/s | \
         checkpoint ms | worst restarts ms/s | part commits/s | their worst p99 ms |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for some in seconds.chunks(10) {
        let Some(last) = some.last() else { continue };
        let mean =
            |of: fn(&Second) -> f64| some.iter().map(of).sum::<f64>() / as_float(some.len() as u64);
        let worst = |of: fn(&Second) -> f64| some.iter().map(of).fold(0.0, f64::max);
        let requests: usize = some.iter().map(|second| second.requests).sum();
        let bytes = kilobytes(some).map_or(String::new(), |kilobytes| format!("{kilobytes:.1}"));
        let log_syncs = some.iter().map(|second| second.log_syncs).sum::<Option<u64>>();
        let log_syncs = log_syncs.map(|syncs| (syncs / some.len() as u64).to_string());
        println!(
            "| {} | {} | {:.1} | {:.1} | {:.1} | {} | {} | {bytes} | {:.0} | {:.2} | {} | {:.1} | {:.0} | \
             {:.1} | {:.0} | {:.0} | {:.0} | {:.1} |",
            last.at + 1,
            requests / some.len(),
            mean(|second| second.quantiles[0]),
            worst(|second| second.quantiles[1]),
            worst(|second| second.quantiles[2]),
            last.log_bytes >> 20,
            last.file_bytes >> 20,
            mean(|second| as_float(second.commits)),
            mean(|second| second.commit_ms),
            log_syncs.unwrap_or_default(),
            mean(|second| as_float(second.file_syncs)),
            worst(|second| second.file_sync_ms),
            mean(|second| as_float(second.checkpoints)),
            worst(|second| second.checkpoint_ms),
            worst(|second| second.restart_ms),
            mean(|second| as_float(second.parts as u64)),
            worst(|second| second.parts_p99),
        );
    }
}

/// The names of the values of a second, as they are written to files; requests of clients that only create are
/// creates.
const NAMES: [&str; 18] = [
    "second",
    "requests",
    "p50Ms",
    "p99Ms",
    "p999Ms",
    "logBytes",
    "fileBytes",
    "bytesWritten",
    "commits",
    "commitMs",
    "logSyncs",
    "fileSyncs",
    "fileSyncMs",
    "checkpoints",
    "checkpointMs",
    "restartMs",
    "partCommits",
    "partCommitsP99Ms",
];

/// Returns the values of a second, in the order of [`NAMES`]; an unknown one is `null`.
fn values(second: &Second) -> [String; 18] {
    let [p50, p99, p999] = second.quantiles;
    let or_null = |known: Option<u64>| known.map_or("null".to_owned(), |known| known.to_string());
    [
        second.at.to_string(),
        second.requests.to_string(),
        format!("{p50:.3}"),
        format!("{p99:.3}"),
        format!("{p999:.3}"),
        second.log_bytes.to_string(),
        second.file_bytes.to_string(),
        or_null(second.written),
        second.commits.to_string(),
        format!("{:.3}", second.commit_ms),
        or_null(second.log_syncs),
        second.file_syncs.to_string(),
        format!("{:.3}", second.file_sync_ms),
        second.checkpoints.to_string(),
        format!("{:.3}", second.checkpoint_ms),
        format!("{:.3}", second.restart_ms),
        second.parts.to_string(),
        format!("{:.3}", second.parts_p99),
    ]
}

/// Returns a JSON object on a line for each second.
pub fn json(seconds: &[Second]) -> String {
    let mut text = String::new();
    for second in seconds {
        let members = NAMES.iter().zip(values(second));
        let members: Vec<String> =
            members.map(|(name, value)| format!("\"{name}\":{value}")).collect();
        _ = writeln!(text, "{{{}}}", members.join(","));
    }
    text
}

/// Returns a table of comma-separated values with a row for each second.
pub fn csv(seconds: &[Second]) -> String {
    let mut text = NAMES.join(",") + "\n";
    for second in seconds {
        let row = values(second).map(|value| if value == "null" { String::new() } else { value });
        text.push_str(&(row.join(",") + "\n"));
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "figures are for people, and far below 2^53")]
pub fn as_float(number: u64) -> f64 {
    number as f64
}
