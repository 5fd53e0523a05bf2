//! The figures of the rounds, and the table made from them.

use std::fmt::Write as _;

use super::load::Run;
use super::machine::{cpu_seconds, spread};
use crate::house::Done;

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

/// What a figure must be.
#[derive(Clone, Copy)]
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    /// Says it.
    pub fn told(self) -> String {
        match self {
            Self::AtLeast(least) => format!("required: at least {least}"),
            Self::AtMost(most) => format!("required: at most {most}"),
        }
    }

    /// Returns whether a figure keeps it; one that there is not does not.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
        }
    }
}

/// Rows in the order of their first value, with one value per round.
#[derive(Default)]
pub struct Figures {
    rows: Vec<(String, usize, Vec<f64>)>,
    bounds: Vec<(String, Bound)>,
}

impl Figures {
    /// Adds a round's value, shown with this many decimals.
    pub fn push(&mut self, name: &str, digits: usize, value: f64) {
        match self.rows.iter_mut().find(|(known, ..)| known == name) {
            Some((_, _, values)) => values.push(value),
            None => self.rows.push((name.to_owned(), digits, vec![value])),
        }
    }

    /// Adds a round's value, of which all rounds' median must keep a bound.
    pub fn require(&mut self, name: &str, digits: usize, value: f64, bound: Bound) {
        self.push(name, digits, value);
        if !self.bounds.iter().any(|(known, _)| known == name) {
            self.bounds.push((name.to_owned(), bound));
        }
    }

    /// Writes the rows, and then says of which the median misses its bound.
    pub fn judge(&self, table: &mut String) -> Done {
        self.write(table);
        let missed = self.bounds.iter().filter_map(|(name, bound)| {
            let median = self.median(name)?;
            (!bound.holds(median)).then(|| format!("{name}: {median:.2}, {}", bound.told()))
        });
        let missed: Vec<String> = missed.collect();
        if missed.is_empty() { Ok(()) } else { Err(format!("missed:\n{}", missed.join("\n"))) }
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
            let bound = self.bounds.iter().find(|(known, _)| known == name);
            let told = bound.map_or_else(String::new, |(_, bound)| format!(" ({})", bound.told()));
            row(table, &format!("{name}{told}"), values, *digits);
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
