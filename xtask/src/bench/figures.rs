//! The figures of the rounds, and the table made from them.

use std::fmt::Write as _;

use super::load::Run;
use super::machine::{cpu_seconds, spread};

/// A load and what it cost the server.
pub struct Measured {
    pub run: Run,
    pub cpu_micros: f64,
}

/// Runs a load and measures the CPU time per request of the server's processes.
pub fn measure(
    pids: &[u32],
    load: impl FnOnce() -> Result<Run, String>,
) -> Result<Measured, String> {
    let before = cpu_seconds(pids)?;
    let run = load()?;
    let cpu = cpu_seconds(pids)? - before;
    Ok(Measured { cpu_micros: cpu * 1e6 / run.requests.max(1.0), run })
}

/// Rows in the order of their first value, with one value per round.
#[derive(Default)]
pub struct Figures {
    rows: Vec<(String, usize, Vec<f64>)>,
}

impl Figures {
    /// Adds a round's value, shown with this many decimals.
    pub fn push(&mut self, name: &str, digits: usize, value: f64) {
        match self.rows.iter_mut().find(|(known, ..)| known == name) {
            Some((_, _, values)) => values.push(value),
            None => self.rows.push((name.to_owned(), digits, vec![value])),
        }
    }

    /// Adds the rate of a load.
    pub fn rate(&mut self, name: &str, load: &Measured) {
        self.push(&format!("{name}, requests/s"), 0, load.run.rate);
    }

    /// Adds rate, latency and errors of a load.
    pub fn load(&mut self, name: &str, load: &Measured) {
        self.rate(name, load);
        self.push(&format!("{name}, p99 ms"), 1, load.run.p99_ms);
        self.push(
            &format!("{name}, requests that ended otherwise than expected"),
            0,
            load.run.errors,
        );
    }

    /// Returns the median of a row.
    pub fn median(&self, name: &str) -> Option<f64> {
        let (_, _, values) = self.rows.iter().find(|(known, ..)| known == name)?;
        Some(spread(values).0)
    }

    /// Writes the rows with median, least and greatest value.
    pub fn write(&self, table: &mut String) {
        for (name, digits, values) in &self.rows {
            row(table, name, values, *digits);
        }
    }
}

/// Returns a table of two builds' figures: medians, and the median, least and greatest ratio of the
/// rounds.
pub fn ratios(present: &Figures, other: &Figures) -> String {
    let mut table = String::from(
        "| what | other build | this build | this : other, median | least – greatest |\n\
         |---|---:|---:|---:|---:|\n",
    );
    for (name, digits, values) in &present.rows {
        let Some((_, _, before)) = other.rows.iter().find(|(known, ..)| known == name) else {
            continue;
        };
        let ratios: Vec<f64> = values.iter().zip(before).map(|(now, then)| now / then).collect();
        let (median, least, greatest) = spread(&ratios);
        if median.is_nan() {
            continue;
        }
        let (before, now) = (spread(before).0, spread(values).0);
        _ = writeln!(
            table,
            "| {name} | {before:.digits$} | {now:.digits$} | {median:.3} | {least:.3} – {greatest:.3} |"
        );
    }
    table
}

/// Writes one row.
pub fn row(table: &mut String, what: &str, values: &[f64], digits: usize) {
    let (median, least, greatest) = spread(values);
    _ = writeln!(table, "| {what} | {median:.digits$} | {least:.digits$} – {greatest:.digits$} |");
}
