//! Runs a load as a process of its own, samples it, and counts what is in its store.
#![expect(clippy::disallowed_methods, reason = "a load is measured by the clock")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use homeroom_document::json::Json;
use homeroom_store::{Snapshot, SnapshotOptions, Span, StoreUrl};
use serde::Serialize;
use serde_json::Value;

use crate::exit::Failure;
use crate::standard::Standard;

/// Pause between two looks at the process.
const PAUSE: Duration = Duration::from_millis(20);
/// Ticks of the clock by which the kernel counts the time of processes, in a second.
const TICKS: f64 = 100.0;
/// Name of the thread that writes a store.
const WRITER: &str = "store-writer";
/// Longest time for counting the records of a store.
const COUNT_TIME_MAX: Duration = Duration::from_hours(1);

/// What was measured of a load.
#[derive(Debug, Clone, Default)]
pub(super) struct Measured {
    /// Seconds that the load says it took, until everything was on disk; for an upload, from its start to
    /// its end.
    pub seconds: f64,
    /// For an upload: how many of them were not those of the load in the server, but of the transfer and of
    /// waiting for the load to begin.
    pub transfer_seconds: Option<f64>,
    /// Seconds from the start of the process to its end.
    pub process_seconds: f64,
    /// Number of cores that it could use.
    pub cores: usize,
    /// Number of records that were rejected.
    pub rejected: u64,
    /// Why, the most frequent cause first.
    pub causes: Vec<Cause>,
    /// CPU seconds by the names of threads.
    pub cpu: BTreeMap<String, f64>,
    /// Greatest anonymous memory in megabytes.
    pub anonymous_mb: f64,
    /// Bytes read from disk.
    pub read_bytes: u64,
    /// Bytes written to disk.
    pub written_bytes: u64,
    /// Bytes that all programs of the machine sent to each other over the network of the machine
    /// itself.
    pub network_bytes: u64,
    /// Share of the looks at the writer in which it waited for the disk.
    pub disk_share: f64,
}

/// Why records were rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Cause {
    /// What is wrong.
    pub what: String,
    /// Number of records.
    pub count: u64,
}

impl Measured {
    /// Returns what was used after an earlier look at the same process.
    fn since(mut self, before: &Self) -> Self {
        for (name, seconds) in &mut self.cpu {
            *seconds = (*seconds - before.cpu.get(name).copied().unwrap_or_default()).max(0.0);
        }
        self.read_bytes = self.read_bytes.saturating_sub(before.read_bytes);
        self.written_bytes = self.written_bytes.saturating_sub(before.written_bytes);
        self.network_bytes = self.network_bytes.saturating_sub(before.network_bytes);
        self
    }
}

/// How many documents and records there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Records {
    /// Number of documents.
    pub documents: u64,
    /// Number of documents and items of their collections.
    pub records: u64,
}

/// Loads files into the store of a data directory.
///
/// # Errors
///
/// Says how the load ended.
pub(super) fn load(
    files: &[PathBuf],
    data: &Path,
    arguments: &[&str],
    cores: Option<usize>,
) -> Result<Measured, Failure> {
    let failed = |error: std::io::Error| Failure::because("starting a load", error);
    let program = std::env::current_exe().map_err(failed)?;
    let results = data.with_extension("results.jsonl");
    let mut command = on_cores(&program, cores);
    command.arg("load").args(files).arg("--data-dir").arg(data).args(["--json", "--results"]);
    command.arg(&results).args(arguments);
    let measured = while_running(command, None, &results)?;
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Measured { cores: cores.unwrap_or(all).min(all), ..measured })
}

/// Returns a command that may use some cores, or all.
pub(super) fn on_cores(program: &Path, cores: Option<usize>) -> Command {
    let Some(cores) = cores else { return Command::new(program) };
    let mut command = Command::new("taskset");
    command.arg("-c").arg(format!("0-{}", cores.saturating_sub(1))).arg(program);
    command
}

/// Runs a command that prints the summary of a load. Samples the process `sampled`, or its own.
///
/// # Errors
///
/// Says how the command ended.
pub(super) fn while_running(
    mut command: Command,
    sampled: Option<u32>,
    results: &Path,
) -> Result<Measured, Failure> {
    let failed = |error: std::io::Error| Failure::because("starting a load", error);
    let mut before = Seen::default();
    before.look_at_network();
    if let Some(sampled) = sampled {
        before.look(sampled);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn().map_err(failed)?;
    let mut seen = Seen::default();
    while child.try_wait().map_err(failed)?.is_none() {
        seen.look(sampled.unwrap_or(child.id()));
        std::thread::sleep(PAUSE);
    }
    let process_seconds = began.elapsed().as_secs_f64();
    seen.look_at_network();
    let ended = child.wait_with_output().map_err(failed)?;
    _ = std::fs::remove_file(results);
    let told: Value = serde_json::from_slice(&ended.stdout).unwrap_or_default();
    let number = |member: &str| told["summary"][member].as_u64();
    let Some(rejected) = number("rejected") else {
        let message = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
        return Err(Failure::Failed(format!("a load ended with {}: {message}", ended.status)));
    };
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Measured {
        seconds: told["summary"]["seconds"].as_f64().unwrap_or(process_seconds),
        process_seconds,
        cores: all,
        rejected,
        causes: causes(&told["summary"]["causes"]),
        ..seen.measured().since(&before.measured())
    })
}

/// Reads the causes of a summary, the most frequent first.
fn causes(told: &Value) -> Vec<Cause> {
    let cause = |told: &Value| {
        Some(Cause { what: told["what"].as_str()?.to_owned(), count: told["count"].as_u64()? })
    };
    let mut causes: Vec<Cause> = told.as_array().into_iter().flatten().filter_map(cause).collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.count));
    causes
}

impl Records {
    /// Counts the documents and records of a store, without those that a new store has.
    ///
    /// # Errors
    ///
    /// Says why the store cannot be read.
    pub(super) fn of(data: &Path, standard: &Standard) -> Result<Self, Failure> {
        let reading = |error| Failure::because("counting the records", error);
        let options = SnapshotOptions { time_max: COUNT_TIME_MAX, ..SnapshotOptions::default() };
        let url = StoreUrl::Sqlite(data.join("homeroom.db"));
        let snapshot = Snapshot::open(&url, &options).map_err(reading)?;
        let seeded = homeroom_document::seeded(&standard.model, standard.seed);
        let is_of_model = |name: &str| {
            standard.model.named(name).is_some_and(|resource| !seeded.contains(&resource.id))
        };
        let mut counted = Self::default();
        for (name, kind) in snapshot.kinds().map_err(reading)? {
            if !is_of_model(&name) {
                continue;
            }
            let mut last = None;
            loop {
                let page = snapshot.documents(kind, Span::Whole, last.as_ref()).map_err(reading)?;
                counted.documents += page.len() as u64;
                for row in &page {
                    counted.records +=
                        Json::read(row.body.as_bytes()).map_or(1, |json| 1 + items(&json));
                }
                match page.into_iter().next_back() {
                    Some(row) => last = Some(row),
                    None => break,
                }
            }
        }
        Ok(counted)
    }
}

/// Counts the items of all collections in a value.
fn items(value: &Json<'_>) -> u64 {
    match value {
        Json::Array(all) => all.len() as u64 + all.iter().map(items).sum::<u64>(),
        Json::Object(members) => members.iter().map(|(_, value)| items(value)).sum(),
        _ => 0,
    }
}

/// What was seen of a process while it ran.
#[derive(Debug, Default)]
struct Seen {
    /// Name and CPU seconds of each thread.
    threads: BTreeMap<String, (String, f64)>,
    measured: Measured,
    /// Looks at the writer, and those in which it waited for the disk.
    writer: (u32, u32),
}

impl Seen {
    /// Looks at a process; one that has ended changes nothing.
    fn look(&mut self, process: u32) {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{process}/task")) else { return };
        for task in tasks.flatten() {
            let read = |file: &str| std::fs::read_to_string(task.path().join(file)).ok();
            if let (Some(name), Some(stat)) = (read("comm"), read("stat")) {
                let id = task.file_name().to_string_lossy().into_owned();
                if name.trim() == WRITER {
                    self.writer.0 += 1;
                    self.writer.1 += u32::from(waits_for_disk(&stat));
                }
                self.threads.insert(id, (name.trim().to_owned(), cpu_of(&stat)));
            }
        }
        let line = |file: &str, name: &str| -> Option<f64> {
            let text = std::fs::read_to_string(format!("/proc/{process}/{file}")).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().next()?.parse().ok()
        };
        let now = &mut self.measured;
        now.read_bytes = line("io", "read_bytes:").map_or(now.read_bytes, whole);
        now.written_bytes = line("io", "write_bytes:").map_or(now.written_bytes, whole);
        let anonymous = line("status", "RssAnon:").map_or(0.0, |kib| kib / 1024.0);
        now.anonymous_mb = now.anonymous_mb.max(anonymous);
    }

    /// Reads how much went over the loopback device.
    fn look_at_network(&mut self) {
        let Ok(devices) = std::fs::read_to_string("/proc/net/dev") else { return };
        let line = devices.lines().find_map(|line| line.trim().strip_prefix("lo:"));
        let received = line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok());
        self.measured.network_bytes = received.unwrap_or_default();
    }

    fn measured(self) -> Measured {
        let mut measured = self.measured;
        let (looks, waits) = self.writer;
        measured.disk_share = f64::from(waits) / f64::from(looks.max(1));
        for (name, seconds) in self.threads.into_values() {
            *measured.cpu.entry(name).or_default() += seconds;
        }
        measured
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count")]
fn whole(number: f64) -> u64 {
    number as u64
}

/// Whether a line of `/proc/…/stat` is of a thread in uninterruptible sleep, as one is that waits
/// for a disk.
fn waits_for_disk(stat: &str) -> bool {
    fields_of(stat).first() == Some(&"D")
}

/// Returns the fields of a line of `/proc/…/stat` after the name, which may have blanks.
fn fields_of(stat: &str) -> Vec<&str> {
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after.split_ascii_whitespace().collect()
}

/// Returns the CPU seconds in a line of `/proc/…/stat`.
fn cpu_of(stat: &str) -> f64 {
    let fields = fields_of(stat);
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    [11, 12].into_iter().filter_map(ticks).sum::<f64>() / TICKS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_document_or_an_item_at_any_depth() {
        let json = Json::read(br#"{"a":[{"b":[{},{}]},{}],"c":{"d":[{}]},"e":1}"#).unwrap();

        assert_eq!(items(&json), 5);
    }

    #[test]
    fn the_time_of_a_thread_is_that_of_user_and_system() {
        let stat = "7 (a b) c) S 1 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0 0 0 0";

        assert!((cpu_of(stat) - 2.0).abs() < 1e-9);
        assert!(!waits_for_disk(stat) && waits_for_disk("7 (a b) c) D 1 1"));
    }

    #[test]
    fn causes_are_told_by_their_counts() {
        let told = serde_json::json!([
            {"what": "a", "count": 2, "hint": "h"}, {"what": "b", "count": 40}, {"count": 1}
        ]);

        let causes = causes(&told);

        let told: Vec<_> = causes.iter().map(|c| (c.what.as_str(), c.count)).collect();
        assert_eq!(told, [("b", 40), ("a", 2)]);
    }
}
