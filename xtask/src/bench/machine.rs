//! The machine and its processes.

use std::fs::read_to_string;
use std::process::Command;

/// The ticks per second in `/proc/PID/stat`, the same on every Linux that Homeroom runs on.
const TICKS: f64 = 100.0;

/// Describes processors, memory and kernel.
pub fn describe() -> String {
    let first = |file: &str, name: &str| {
        read_to_string(file)
            .unwrap_or_default()
            .lines()
            .find(|line| line.starts_with(name))
            .and_then(|line| line.split_once(':'))
            .map_or_else(String::new, |(_, value)| value.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{cores} cores ({}), memory {}, Linux {}",
        first("/proc/cpuinfo", "model name"),
        first("/proc/meminfo", "MemTotal"),
        kernel.trim()
    )
}

/// Returns the commit that is measured.
pub fn commit() -> String {
    let said = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    said.map_or_else(
        |_| String::new(),
        |said| String::from_utf8_lossy(&said.stdout).trim().to_owned(),
    )
}

/// Returns the CPU time of processes so far, in seconds.
pub fn cpu_seconds(pids: &[u32]) -> Result<f64, String> {
    let mut seconds = 0.0;
    for pid in pids {
        let stat = read_to_string(format!("/proc/{pid}/stat")).map_err(|e| e.to_string())?;
        seconds += cpu_of(&stat);
    }
    Ok(seconds)
}

/// Returns the CPU time in the text of a `stat` file of a process or thread, in seconds.
pub fn cpu_of(stat: &str) -> f64 {
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    [11, 12].into_iter().filter_map(ticks).sum::<f64>() / TICKS
}

/// Returns median, least and greatest value.
pub fn spread(values: &[f64]) -> (f64, f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => (f64::NAN, f64::NAN, f64::NAN),
        n if n % 2 == 1 => (sorted[n / 2], sorted[0], sorted[n - 1]),
        n => (f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]), sorted[0], sorted[n - 1]),
    }
}
