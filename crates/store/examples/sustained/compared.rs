//! The same clients with and without a part's commits beside them, in short periods that alternate.

use crate::figures::{Figures, Second, as_float, quantile};

/// The least share of the rate without commits that there must be with them.
const RATE_MIN: f64 = 0.85;
/// The longest 99th percentile of the commits, in milliseconds.
const P99_MS_MAX: f64 = 25.0;
/// The shortest period, in seconds.
const SECONDS_MIN: u64 = 15;
/// The fewest copies of the log into the file that each period of a store in a file must have.
const CHECKPOINTS_MIN: u64 = 3;

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
        if seconds < SECONDS_MIN || count < 2 {
            return Err(format!(
                "{run_seconds} s have no two periods of {seconds} s, each of at least {SECONDS_MIN} s"
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

    /// Prints rates and times of each kind of request without and with commits, and of the commits. Returns what
    /// misses its bound; `log` are the seconds of a store whose log is copied into its file.
    pub fn judge(self, figures: &Figures, log: Option<&[Second]>) -> Vec<String> {
        let mut missed = vec![];
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
            let rates = self.values(&by_second, rate);
            row(&format!("{name}/s"), 0, &rates, required);
            if !required.is_empty() {
                let kept = middle(&ratios(&rates)).unwrap_or(f64::NAN);
                let holds = kept >= RATE_MIN;
                missed.extend((!holds).then(|| format!("{name}: {kept:.3} of the rate without")));
            }
            for (share, shown) in [(500, "p50"), (990, "p99")] {
                let values = self.values(&by_second, |times| quantile(times, share));
                row(&format!("{name}, {shown} ms"), 3, &values, "");
            }
        }
        let commits = figures.parts.sorted();
        row("commits of a part/s", 0, &self.values(&commits, rate), "");
        let mut times = self.counted(&commits);
        times.sort_unstable();
        let p99 = if times.is_empty() { f64::NAN } else { quantile(&times, 990) };
        println!(
            "| their p99 ms, of all counted seconds with them | | {p99:.3} | | {P99_MS_MAX} ms at most |"
        );
        let holds = p99 <= P99_MS_MAX;
        missed.extend((!holds).then(|| format!("p99 of the commits: {p99:.3} ms")));
        if let Some(log) = log {
            let seconds = usize::try_from(self.seconds).unwrap_or(usize::MAX);
            let of = |period: &[Second]| period.iter().map(|second| second.checkpoints).sum();
            let fewest: u64 = log.chunks_exact(seconds).map(of).min().unwrap_or(0);
            println!(
                "| checkpoints in a period, fewest | {fewest} | | | {CHECKPOINTS_MIN} at least |"
            );
            let holds = fewest >= CHECKPOINTS_MIN;
            missed.extend((!holds).then(|| format!("{fewest} checkpoints in a period: too short")));
        }
        println!();
        missed
    }

    /// Returns all times of the periods with commits, but for the first second of each.
    fn counted(self, by_second: &[Vec<u32>]) -> Vec<u32> {
        let seconds = usize::try_from(self.seconds).unwrap_or(usize::MAX);
        let periods = (0..self.count).zip(by_second.chunks(seconds));
        let with = periods.filter(|(period, _)| has_commits(*period));
        with.flat_map(|(_, some)| some.get(1..).unwrap_or_default().concat()).collect()
    }
}

/// Returns whether a period has commits.
fn has_commits(period: u64) -> bool {
    matches!(period % 4, 1 | 2)
}

/// Returns the ratios of neighbours; without commits there may be no value, and then no ratio.
fn ratios([without, with]: &[Vec<f64>; 2]) -> Vec<f64> {
    let ratios = without.iter().zip(with).map(|(without, with)| with / without);
    ratios.filter(|ratio| ratio.is_finite()).collect()
}

/// Prints a row.
fn row(what: &str, digits: usize, values: &[Vec<f64>; 2], required: &str) {
    let [without, with] = values;
    println!(
        "| {what} | {} | {} | {} | {required} |",
        spread(without, digits),
        spread(with, digits),
        spread(&ratios(values), 3)
    );
}

/// Returns the median of values.
fn middle(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(f64::midpoint(sorted[(sorted.len() - 1) / 2], upper))
}

/// Writes median, least and greatest of values.
fn spread(values: &[f64], digits: usize) -> String {
    let Some(median) = middle(values) else { return String::new() };
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{median:.digits$} ({least:.digits$} – {greatest:.digits$})")
}
