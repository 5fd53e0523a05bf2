//! Checks that nothing grew, failed or panicked. Pure: from samples and counts to findings.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::load::Tally;
use super::sample::Sample;

/// The share of the time at the beginning that does not count, because caches still fill.
const WARM_UP: f64 = 0.25;
/// The most that resident memory may grow per minute, in KiB: room for tombstones in the page
/// caches and for live tokens, both of which expire.
const RSS_KIB_A_MINUTE_MAX: f64 = 256.0;
/// The most by which open files and threads may exceed their number after the warm-up, since
/// connections come and go.
const FILES_MORE_MAX: usize = 24;
const THREADS_MORE_MAX: usize = 8;
/// The longest write-ahead log in bytes: the size at which it starts over, and one group of writes
/// more.
const LOG_BYTES_MAX: i64 = 300 << 20;

/// A check and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    what: &'static str,
    found: String,
    bound: String,
    /// Whether the check passed.
    pub holds: bool,
}

impl Finding {
    /// Returns the finding as JSON.
    pub fn json(&self) -> Value {
        json!({"check": self.what, "found": self.found, "bound": self.bound, "holds": self.holds})
    }
}

/// Judges a soak. `last` is a sample after the load had ended; `stored` is how many documents there
/// should be and how many there are.
pub fn judge(
    samples: &[Sample],
    last: Option<&Sample>,
    tally: &Tally,
    stored: Result<&(u64, u64), &String>,
    log: &[String],
) -> Vec<Finding> {
    let mut findings = vec![];
    let mut add = |what, found: String, bound: String, holds| {
        findings.push(Finding { what, found, bound, holds });
    };
    let count = |at: usize| tally.answers[at].load(Ordering::Relaxed);
    add("answers", tally.total().to_string(), "some".into(), tally.total() > 0);
    add("answers 5xx", count(5).to_string(), "0".into(), count(5) == 0);
    add("answers 4xx", count(4).to_string(), "0".into(), count(4) == 0);
    let broken = tally.broken.load(Ordering::Relaxed);
    add("requests without an answer", broken.to_string(), "0".into(), broken == 0);
    let bad = log.iter().filter(|line| line.contains("panicked") || line.contains("\"ERROR\""));
    let bad: Vec<&String> = bad.collect();
    add("panics and errors in the log", bad.len().to_string(), "0".into(), bad.is_empty());
    let (should, are) = stored.copied().unwrap_or((0, u64::MAX));
    add("documents at the end", are.to_string(), should.to_string(), should == are);
    let end = samples.last().map_or(0.0, |last| last.seconds);
    let warm: Vec<&Sample> = samples.iter().filter(|one| one.seconds >= end * WARM_UP).collect();
    let (Some(first), Some(last)) = (warm.first(), last) else {
        add("samples", samples.len().to_string(), "some".into(), false);
        return findings;
    };
    let points: Vec<(f64, f64)> = warm.iter().map(|s| (s.seconds / 60.0, s.rss_kib)).collect();
    let grows = slope(&points);
    let bound = format!("{RSS_KIB_A_MINUTE_MAX:.0}");
    add("memory, KiB a minute", format!("{grows:.1}"), bound, grows <= RSS_KIB_A_MINUTE_MAX);
    let files = warm.iter().map(|one| one.files).max().unwrap_or(0);
    let most = first.files + FILES_MORE_MAX;
    add("open files, most", files.to_string(), most.to_string(), files <= most);
    let threads = warm.iter().map(|one| one.threads).max().unwrap_or(0);
    let most = first.threads + THREADS_MORE_MAX;
    add("threads, most", threads.to_string(), most.to_string(), threads <= most);
    let bytes = samples.iter().map(|one| one.log_bytes).max().unwrap_or(0);
    add("log, most bytes", bytes.to_string(), LOG_BYTES_MAX.to_string(), bytes <= LOG_BYTES_MAX);
    add("in flight at the end", last.in_flight.to_string(), "0".into(), last.in_flight == 0);
    add("writes waiting at the end", last.waiting.to_string(), "0".into(), last.waiting == 0);
    for complaint in tally.complaints.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        eprintln!("complaint: {complaint}");
    }
    bad.iter().take(10).for_each(|line| eprintln!("log: {line}"));
    findings
}

/// Prints the findings as a Markdown table.
pub fn print(findings: &[Finding]) {
    println!("| check | found | at most, or exactly | holds |\n|---|---|---|---|");
    for Finding { what, found, bound, holds } in findings {
        println!("| {what} | {found} | {bound} | {} |", if *holds { "yes" } else { "NO" });
    }
}

/// Returns the slope of the best-fitting line (least squares); 0 for fewer than two points.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let both: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    if spread > 0.0 { both / spread } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(minute: f64, rss_kib: f64) -> Sample {
        Sample {
            seconds: minute * 60.0,
            rss_kib,
            files: 20,
            threads: 12,
            log_bytes: 0,
            store_bytes: 0,
            in_flight: 0,
            waiting: 0,
            answers: 1,
            slowest_ms: 1.0,
        }
    }

    fn failing(samples: &[Sample], log: &[String]) -> Vec<&'static str> {
        let tally = Tally::default();
        tally.answers[2].fetch_add(5, Ordering::Relaxed);
        let findings = judge(samples, samples.last(), &tally, Ok(&(3, 3)), log);
        findings.iter().filter(|one| !one.holds).map(|one| one.what).collect()
    }

    #[test]
    fn filling_caches_is_not_growth_and_a_leak_is() {
        let filled = |minute: f64| (minute * 9_000.0).min(40_000.0) + (minute % 2.0) * 500.0;
        let steady: Vec<Sample> = (1..30).map(|m| sample(m.into(), filled(m.into()))).collect();
        let leak: Vec<Sample> =
            (1..30).map(|m| sample(m.into(), filled(m.into()) + 300.0 * f64::from(m))).collect();

        assert_eq!(failing(&steady, &[]), Vec::<&str>::new());
        assert_eq!(failing(&leak, &[]), ["memory, KiB a minute"]);
    }

    #[test]
    fn a_panic_a_file_left_open_and_a_request_that_never_ends_are_found() {
        let mut samples: Vec<Sample> = (1..30).map(|m| sample(m.into(), 1_000.0)).collect();
        let at = samples.len() - 1;
        (samples[at].files, samples[at].in_flight) = (99, 1);

        let found = failing(&samples, &["thread 'x' panicked at y".to_owned()]);

        assert_eq!(
            found,
            ["panics and errors in the log", "open files, most", "in flight at the end"]
        );
    }
}
