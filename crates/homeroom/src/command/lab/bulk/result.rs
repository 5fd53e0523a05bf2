//! The figures of a measurement of loads.
#![expect(clippy::disallowed_methods, reason = "a measurement has its moment")]

use std::collections::BTreeMap;

use homeroom_http::Timestamp;
use serde::Serialize;

use super::measure::{Cause, Measured, Records};

/// Version of the form of the file.
const FORMAT: u32 = 1;
/// Share of the time that something must be busy to bound a load.
const BUSY: f64 = 0.8;

/// Share of the time of an upload that must go into the transfer for that to bound it.
const TRANSFER: f64 = 0.5;
/// Share of the looks at the writer in which it must wait for the disk, for the disk to bound a load.
const WAITS: f64 = 0.3;
/// Seconds that a load must take for its speed to be compared: a shorter one is bounded by its start.
const COMPARED_SECONDS: f64 = 0.5;
/// Most causes that a sentence names.
const CAUSES_MAX: usize = 3;

/// All that was measured.
#[derive(Debug, Serialize)]
pub(super) struct BulkResult {
    format: u32,
    generator_version: &'static str,
    /// Moment in microseconds since 1970.
    pub taken: i64,
    /// Number of cores that a load could use.
    pub cores: usize,
    /// What was measured, in a sentence.
    pub method: &'static str,
    /// Each mode.
    pub modes: Vec<ModeResult>,
    /// How the numbers of records of the modes differ, and why.
    pub difference: String,
}

/// A mode.
#[derive(Debug, Serialize)]
pub(super) struct ModeResult {
    /// Its name.
    pub mode: String,
    /// Each interchange, one after the other into the same store.
    pub interchanges: Vec<Row>,
    /// Everything at once, into an empty store.
    pub total: Row,
    /// The interchange with the most records per second. Descriptors are left out, and so is what was
    /// loaded in less than half a second, as long as two took longer.
    pub fastest: Option<String>,
    /// The interchange with the fewest.
    pub slowest: Option<String>,
    /// The interchanges that were loaded too quickly for their speeds to be compared.
    pub too_short: Vec<String>,
}

/// A load.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    /// Name of the interchange.
    pub interchange: String,
    /// Whether it is left out of comparisons of speed.
    pub is_descriptors: bool,
    /// Number of documents that the load added.
    pub documents: u64,
    /// Number of records before the load.
    pub records_before: u64,
    /// Number of records after it.
    pub records_after: u64,
    /// Number of records that it added.
    pub records: u64,
    /// Number of records of the input that were rejected.
    pub rejected: u64,
    /// Why they were, the most frequent cause first.
    pub causes: Vec<Cause>,
    /// Seconds that the load took until everything was on disk; for an upload, from its start to its end.
    pub seconds: f64,
    /// For an upload: how many of them were not those of the load in the server.
    pub transfer_seconds: Option<f64>,
    /// Seconds from the start of its process to its end.
    pub process_seconds: f64,
    /// Documents per second.
    pub documents_per_second: f64,
    /// Records per second.
    pub records_per_second: f64,
    /// CPU seconds by thread.
    pub cpu_seconds: BTreeMap<String, f64>,
    /// Greatest anonymous memory in megabytes.
    pub anonymous_mb: f64,
    /// Bytes read from disk.
    pub read_bytes: u64,
    /// Bytes written to disk.
    pub written_bytes: u64,
    /// Bytes that the programs of this machine sent to each other meanwhile.
    pub network_bytes: u64,
    /// What bounded the load.
    pub bound_by: String,
}

/// Returns the moment.
pub(super) fn now() -> i64 {
    Timestamp::now().0
}

impl BulkResult {
    pub(super) fn new(taken: i64, cores: Option<usize>, modes: Vec<ModeResult>) -> Self {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            format: FORMAT,
            generator_version: env!("CARGO_PKG_VERSION"),
            taken,
            cores: cores.unwrap_or(all).min(all),
            method: "All records were counted, an interchange was loaded, and all records were counted \
                     again; a record is a document or an item of a collection. Then everything was \
                     loaded at once into an empty store.",
            difference: difference(&modes),
            modes,
        }
    }
}

/// Says how the numbers of records differ between the modes.
fn difference(modes: &[ModeResult]) -> String {
    let [first, others @ ..] = modes else { return String::new() };
    let differs = |other: &&ModeResult| other.total.records != first.total.records;
    let told = |other: &ModeResult| {
        format!(
            "{} stored {} records and refused {}{}; {} stored {} and refused {}{}.",
            first.mode,
            first.total.records,
            first.total.rejected,
            reasons(&first.total.causes),
            other.mode,
            other.total.records,
            other.total.rejected,
            reasons(&other.total.causes)
        )
    };
    let differences: Vec<String> = others.iter().filter(differs).map(told).collect();
    match (others.is_empty(), differences.is_empty()) {
        (true, _) => String::new(),
        (false, true) => "All modes stored the same number of records.".into(),
        (false, false) => differences.join(" "),
    }
}

/// Lists the most frequent causes in brackets.
fn reasons(causes: &[Cause]) -> String {
    let told = causes
        .iter()
        .take(CAUSES_MAX)
        .map(|cause| format!("{} {}", cause.count, cause.what.trim_end_matches('.')));
    match told.collect::<Vec<_>>() {
        told if told.is_empty() => String::new(),
        told => format!(" ({})", told.join("; ")),
    }
}

impl ModeResult {
    /// Says which interchanges were left out when the fastest and the slowest were looked for.
    pub(super) fn left_out(&self) -> Option<String> {
        (!self.too_short.is_empty()).then(|| {
            format!(
                "loaded in less than {COMPARED_SECONDS} s and not compared: {}",
                self.too_short.join(", ")
            )
        })
    }

    pub(super) fn new(mode: String, interchanges: Vec<Row>, total: Row) -> Self {
        let mut compared: Vec<&Row> =
            interchanges.iter().filter(|row| !row.is_descriptors && row.records > 0).collect();
        let (long, short): (Vec<&Row>, Vec<&Row>) =
            compared.iter().partition(|row| row.seconds >= COMPARED_SECONDS);
        let mut too_short = vec![];
        if long.len() > 1 {
            too_short = short.iter().map(|row| row.interchange.clone()).collect();
            compared = long;
        }
        compared.sort_by(|a, b| a.records_per_second.total_cmp(&b.records_per_second));
        let name = |row: Option<&&Row>| row.map(|row| row.interchange.clone());
        let (slowest, fastest) = (name(compared.first()), name(compared.last()));
        Self { mode, interchanges, total, fastest, slowest, too_short }
    }
}

impl Row {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    pub(super) fn new(
        interchange: &str,
        is_descriptors: bool,
        before: Records,
        after: Records,
        measured: Measured,
    ) -> Self {
        let documents = after.documents.saturating_sub(before.documents);
        let records = after.records.saturating_sub(before.records);
        let each_second = |count: u64| count as f64 / measured.seconds.max(1e-9);
        Self {
            interchange: interchange.to_owned(),
            is_descriptors,
            documents,
            records_before: before.records,
            records_after: after.records,
            records,
            rejected: measured.rejected,
            causes: measured.causes.clone(),
            seconds: measured.seconds,
            transfer_seconds: measured.transfer_seconds,
            process_seconds: measured.process_seconds,
            documents_per_second: each_second(documents),
            records_per_second: each_second(records),
            bound_by: bound_by(&measured),
            cpu_seconds: measured.cpu,
            anonymous_mb: measured.anonymous_mb,
            read_bytes: measured.read_bytes,
            written_bytes: measured.written_bytes,
            network_bytes: measured.network_bytes,
        }
    }
}

/// Says what a thread of this name does.
fn who(thread: &str) -> String {
    match thread {
        "load-reader" => "the readers, which parse and validate".into(),
        "store-writer" => "the writer".into(),
        // Linux keeps the first 15 bytes of a name.
        "store-checkpoin" => "the checkpoints, which copy the log into the store".into(),
        "homeroom" | "control-request" => "the planner, which hands records on".into(),
        name if name.starts_with("tokio-") => {
            "the server's threads, which take requests and hand records on".into()
        }
        name => format!("the thread {name}"),
    }
}

/// Names what was busy for most of the time of a load.
fn bound_by(measured: &Measured) -> String {
    let all: f64 = measured.cpu.values().sum();
    let (name, most) = measured
        .cpu
        .iter()
        .max_by(|a, b| a.1.total_cmp(b.1))
        .map_or(("", 0.0), |(name, seconds)| (name.as_str(), *seconds));
    let who = who(name);
    #[expect(clippy::cast_precision_loss, reason = "there are few")]
    let cores = measured.cores as f64;
    let seconds = measured.process_seconds;
    if let Some(transfer) = measured.transfer_seconds.filter(|sent| *sent >= TRANSFER * seconds) {
        return format!(
            "transfer and waiting, {:.0} % of the time: files were sent, or the load had not begun, or its \
             end was not known yet",
            transfer / seconds * 100.0
        );
    }
    if most >= BUSY * seconds {
        format!("CPU of {who}")
    } else if all >= BUSY * seconds * cores {
        format!("CPU, most of it of {who}")
    } else if measured.disk_share >= WAITS {
        format!(
            "the disk, for which the writer waited in {:.0} % of the looks",
            measured.disk_share * 100.0
        )
    } else if measured.seconds < seconds / 2.0 {
        "the start of the process".into()
    } else if all >= BUSY * seconds {
        "one core: its steps waited for each other".into()
    } else {
        "waits: for the server, the disk, or each other".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(seconds: f64, process_seconds: f64, cpu: &[(&str, f64)], disk: f64) -> Measured {
        let cpu = cpu.iter().map(|(name, seconds)| ((*name).to_owned(), *seconds)).collect();
        Measured {
            seconds,
            process_seconds,
            cores: 2,
            cpu,
            disk_share: disk,
            ..Measured::default()
        }
    }

    #[test]
    fn what_bounds_a_load_is_what_was_busy_or_waited_for() {
        let busy = [("load-reader", 9.0), ("store-writer", 5.0)];
        let only = |name| measured(10.0, 10.1, &[("load-reader", 7.0), (name, 9.5)], 0.0);
        let sent = Measured { transfer_seconds: Some(6.0), ..measured(10.0, 10.0, &busy, 0.0) };
        for (measured, told) in [
            (sent, "transfer and waiting, 60 % of the time"),
            (measured(10.0, 10.1, &busy, 0.0), "CPU of the readers, which parse and validate"),
            (only("homeroom"), "CPU of the planner"),
            (only("store-checkpoin"), "CPU of the checkpoints, which copy"),
            (only("tokio-rt-worker"), "CPU of the server's threads, which take requests"),
            (only("x"), "CPU of the thread x"),
            (measured(10.0, 10.1, &[("store-writer", 4.0)], 0.5), "the disk, for which"),
            (measured(0.1, 0.9, &[("load-reader", 0.1)], 0.0), "the start of the process"),
        ] {
            let bound = bound_by(&measured);
            assert!(bound.starts_with(told), "{bound}");
        }
    }

    #[test]
    fn the_fastest_and_the_slowest_are_those_of_all_if_too_few_took_long_enough() {
        let row = |name: &str, records, seconds| {
            let after = Records { documents: records, records };
            Row::new(name, false, Records::default(), after, measured(seconds, 1.0, &[], 0.0))
        };
        let (slow, fast) = (row("Slow", 10, 0.4), row("Fast", 1_000, 0.1));
        let (long, longer) = (row("Long", 100, 1.0), row("Longer", 300, 2.0));
        let total = row("All at once", 1, 1.0);
        let of = |rows: &[&Row]| {
            let rows = rows.iter().map(|row| (*row).clone()).collect();
            let mode = ModeResult::new("trusted".to_owned(), rows, total.clone());
            let left_out = mode.left_out();
            (mode.fastest.unwrap(), mode.slowest.unwrap(), left_out)
        };

        let few = of(&[&slow, &fast, &long]);
        let enough = of(&[&slow, &long, &fast, &longer]);

        assert_eq!(few, ("Fast".to_owned(), "Slow".to_owned(), None));
        let left_out = "loaded in less than 0.5 s and not compared: Slow, Fast";
        assert_eq!(enough, ("Longer".to_owned(), "Long".to_owned(), Some(left_out.to_owned())));
    }

    #[test]
    fn a_difference_between_modes_is_explained_by_what_was_refused() {
        let mode = |mode: &str, records, causes: Vec<Cause>| {
            let rejected = causes.iter().map(|cause| cause.count).sum();
            let after = Records { documents: records, records };
            let measured = Measured { rejected, causes, ..measured(1.0, 1.0, &[], 0.0) };
            let row = Row::new("All at once", false, Records::default(), after, measured);
            ModeResult::new(mode.to_owned(), vec![], row)
        };
        let cause = Cause { what: "Not authorized.".into(), count: 3 };

        let told = difference(&[mode("trusted", 10, vec![]), mode("service", 7, vec![cause])]);

        assert_eq!(
            told,
            "trusted stored 10 records and refused 0; service stored 7 and refused 3 (3 Not authorized)."
        );
    }
}
