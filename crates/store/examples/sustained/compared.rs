//! The same clients with and without a part's commits beside them, in short periods that alternate.

use crate::figures::{Figures, as_float, quantile};

/// The least share of the rate without commits that there must be with them.
const RATE_MIN: f64 = 0.85;
/// The longest 99th percentile of the commits, in milliseconds.
const P99_MS_MAX: f64 = 25.0;

/// Periods of equal length. In each four, commits come in the second and the third, so what grows with time
/// favours neither.
#[derive(Debug, Clone, Copy)]
pub struct Periods {
    /// The length of one, of which the first second does not count.
    pub seconds: u64,
    /// How many there are; an even number.
    pub count: u64,
}

impl Periods {
    /// Divides a run into periods.
    pub fn of(run_seconds: u64, seconds: u64) -> Result<Self, String> {
        let count = run_seconds / seconds.max(1) / 2 * 2;
        if seconds < 3 || count < 2 {
            return Err(format!(
                "{run_seconds} s have no two periods of {seconds} s, each of at least 3 s"
            ));
        }
        Ok(Self { seconds, count })
    }

    /// Returns the periods with commits: the seconds of begin and end of each.
    pub fn with_commits(self) -> impl Iterator<Item = (u64, u64)> {
        let with = (0..self.count).filter(|period| has_commits(*period));
        with.map(move |period| (period * self.seconds, (period + 1) * self.seconds))
    }

    /// Returns the value of each period, those without commits first, in the order of their pairs.
    fn values(self, by_second: &[Vec<u32>], value: impl Fn(&[u32]) -> f64) -> [Vec<f64>; 2] {
        let mut values = [vec![], vec![]];
        let seconds = usize::try_from(self.seconds).unwrap_or(usize::MAX);
        for (period, some) in (0..self.count).zip(by_second.chunks(seconds)) {
            let mut times = some.get(1..).unwrap_or_default().concat();
            times.sort_unstable();
            values[usize::from(has_commits(period))].push(value(&times));
        }
        values
    }

    /// Prints rates and times of each kind of request without and with commits, and of the commits.
    pub fn print(self, figures: &Figures) {
        println!(
            "\n{} periods of {} s, by turns without and with commits of a part; medians (least – greatest). \
             The ratio is that of neighbours.\n\n\
             | | without | with | with : without | required |\n|---|---:|---:|---:|---|",
            self.count, self.seconds
        );
        let counted = as_float(self.seconds - 1);
        let rate = |times: &[u32]| as_float(times.len() as u64) / counted;
        let all = figures.all();
        let kinds = figures.kinds.iter().filter(|_| figures.kinds.len() > 1);
        let kinds = kinds.map(|(name, times)| (*name, times.sorted()));
        for (name, by_second) in std::iter::once((figures.what(), all)).chain(kinds) {
            let required = format!("{RATE_MIN} at least");
            let required = if name == figures.what() { required.as_str() } else { "" };
            row(&format!("{name}/s"), 0, &self.values(&by_second, rate), required);
            for (share, shown) in [(500, "p50"), (990, "p99")] {
                let values = self.values(&by_second, |times| quantile(times, share));
                row(&format!("{name}, {shown} ms"), 3, &values, "");
            }
        }
        let commits = figures.parts.sorted();
        row("commits of a part/s", 0, &self.values(&commits, rate), "");
        let p99 = self.values(&commits, |times| quantile(times, 990));
        row("their p99 ms", 3, &p99, &format!("{P99_MS_MAX} ms at most"));
        println!();
    }
}

/// Returns whether a period has commits.
fn has_commits(period: u64) -> bool {
    matches!(period % 4, 1 | 2)
}

/// Prints a row; without commits there may be no value, and then no ratio.
fn row(what: &str, digits: usize, [without, with]: &[Vec<f64>; 2], required: &str) {
    let ratios = without.iter().zip(with).map(|(without, with)| with / without);
    let ratios: Vec<f64> = ratios.filter(|ratio| ratio.is_finite()).collect();
    println!(
        "| {what} | {} | {} | {} | {required} |",
        spread(without, digits),
        spread(with, digits),
        spread(&ratios, 3)
    );
}

/// Writes median, least and greatest of values.
fn spread(values: &[f64], digits: usize) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(least), Some(greatest)) = (sorted.first(), sorted.last()) else {
        return String::new();
    };
    let upper = sorted[sorted.len() / 2];
    let median = f64::midpoint(sorted[(sorted.len() - 1) / 2], upper);
    format!("{median:.digits$} ({least:.digits$} – {greatest:.digits$})")
}
