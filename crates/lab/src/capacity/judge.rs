//! Judges one trial.

use super::constants::{Constants, StableGoal, Voiding};
use crate::statistics::{
    Estimate, batch_means, binomial_cdf, littles_gap, mann_kendall, median, mser5, theil_sen,
};
use crate::trial::Trial;
use homeroom_load::record::{BIN_SECONDS, Bin};

/// How many standard deviations two numbers in flight may differ by chance.
const BY_CHANCE: f64 = 2.0;

/// The verdict of a trial about a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialVerdict {
    /// The goal was kept.
    Passed,
    /// The goal was missed.
    Failed,
    /// The result is too close to the goal to decide.
    Undecided,
    /// The generator was the limit.
    VoidGenerator,
    /// The host took processor time, or ran slower than at the start.
    VoidHost,
}

impl TrialVerdict {
    /// Returns whether the trial says nothing about the server.
    pub fn is_void(self) -> bool {
        matches!(self, Self::VoidGenerator | Self::VoidHost)
    }
}

/// The figures of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    /// Requests that were due.
    pub due: u64,
    /// Requests that did not end as expected.
    pub not_ok: u64,
    /// The least share of these in any third of the trial; a single bad moment does not raise it.
    pub not_ok_throughout: f64,
    /// Mean response time in milliseconds after the warm-up.
    pub mean_ms: Estimate,
    /// The rise of the response time over the trial in milliseconds; 0 if it may be chance.
    pub growth_ms: f64,
    /// Expected answers per second while sending; what was still waiting at the end does not count.
    pub goodput: f64,
    /// Requests waiting at the end, as a share of those due.
    pub left_share: f64,
    /// The share of the due requests by which answers fall behind; 0 if they keep up.
    pub behind: f64,
    /// The mean number of waiting requests.
    pub waiting: f64,
    /// The gap in Little's law, as a share.
    pub little_gap: f64,
}

impl Figures {
    /// Returns the share that did not end as expected.
    pub fn not_ok_share(&self) -> f64 {
        if self.due == 0 { 0.0 } else { self.not_ok as f64 / self.due as f64 }
    }
}

/// Returns the figures of a trial, and whether its series settled.
pub fn figures(trial: &Trial, constants: &Constants) -> (Figures, bool) {
    let due: u64 = trial.bins.iter().map(|bin| bin.due).sum();
    let not_ok: u64 = trial.bins.iter().map(|bin| bin.not_ok).sum();
    let left = trial.bins.last().map_or(0, |bin| bin.waiting);
    let seconds = (trial.bins.len() as f64 * BIN_SECONDS).max(BIN_SECONDS);
    let means = filled_means(&trial.bins);
    let cut = mser5(&means);
    let sums: Vec<(f64, u64)> = trial.bins.iter().map(|bin| (bin.sum_ms, bin.due)).collect();
    let steady = &sums[cut.unwrap_or(0).min(sums.len())..];
    let mean_ms = batch_means(steady, constants.batches, constants.confidence).unwrap_or_default();
    let waiting = trial.bins.iter().map(|bin| bin.waiting as f64).sum::<f64>()
        / trial.bins.len().max(1) as f64;
    let all_ms: f64 = trial.bins.iter().map(|bin| bin.sum_ms).sum();
    let figures = Figures {
        due,
        not_ok,
        not_ok_throughout: throughout(&trial.bins),
        mean_ms,
        growth_ms: growth_ms(&means, constants),
        goodput: due.saturating_sub(not_ok).saturating_sub(left) as f64 / seconds,
        left_share: if due == 0 { 0.0 } else { left as f64 / due as f64 },
        behind: behind(&trial.bins),
        waiting,
        little_gap: littles_gap(waiting, 1.0 / seconds, all_ms / 1e3),
    };
    (figures, cut.is_some())
}

/// Judges a trial by a goal, and says why.
pub fn judge(
    trial: &Trial,
    goal: &StableGoal,
    constants: &Constants,
    (figures, settled): (&Figures, bool),
) -> (TrialVerdict, String) {
    let (verdict, why) = against(trial, goal, constants, figures, settled);
    match void(trial, figures, &constants.voiding, verdict == TrialVerdict::Passed) {
        Some(void) => void,
        None => (verdict, why),
    }
}

/// Returns the verdict and the reason if the trial says nothing about the server.
pub fn void(
    trial: &Trial,
    figures: &Figures,
    rules: &Voiding,
    passed: bool,
) -> Option<(TrialVerdict, String)> {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    if trial.sent_share < rules.sent_share {
        let why = format!("only {} of the requests were sent", percent(trial.sent_share));
        return Some((TrialVerdict::VoidGenerator, why));
    }
    if trial.no_room_share > rules.no_room_share {
        let share = percent(trial.no_room_share);
        let why =
            format!("this machine had no socket, port or address for {share} of the requests");
        return Some((TrialVerdict::VoidGenerator, why));
    }
    if passed {
        return None;
    }
    // A host that takes time also makes the generator late, so its signs are checked first.
    if trial.steal_share > rules.steal_share {
        let why = format!("the host took {} of the processor time", percent(trial.steal_share));
        return Some((TrialVerdict::VoidHost, why));
    }
    if trial.spin_share > 0.0 && trial.spin_share < rules.spin_share {
        let why = format!("this machine ran at {} of its speed", percent(trial.spin_share));
        return Some((TrialVerdict::VoidHost, why));
    }
    let lag = trial.lag_p99_ms;
    if lag > rules.lag_ms && lag > rules.lag_share_of_mean * figures.mean_ms.value {
        let why = format!("the generator sent late, {lag:.1} ms at the 99th percentile");
        return Some((TrialVerdict::VoidGenerator, why));
    }
    if trial.generator_share > rules.generator_share {
        let why = format!("the generator used {} of its cores", percent(trial.generator_share));
        return Some((TrialVerdict::VoidGenerator, why));
    }
    None
}

fn against(
    trial: &Trial,
    goal: &StableGoal,
    constants: &Constants,
    figures: &Figures,
    settled: bool,
) -> (TrialVerdict, String) {
    let mut undecided = None;
    let share = figures.not_ok_share();
    if figures.due == 0 {
        return (TrialVerdict::Undecided, "no request was due".into());
    }
    if share > goal.not_ok {
        let why = format!("{:.2} % not ok, {:.2} % allowed", share * 100.0, goal.not_ok * 100.0);
        let chance = 1.0 - binomial_cdf(figures.not_ok - 1, figures.due, goal.not_ok);
        if chance < constants.not_ok_p {
            return (TrialVerdict::Failed, why);
        }
        undecided = Some(why);
    }
    let growth_limit = goal.growth * goal.limit_ms();
    if figures.growth_ms > growth_limit {
        let why = format!(
            "response times rose by {:.0} ms in {:.0} s, {growth_limit:.0} ms allowed",
            figures.growth_ms, trial.seconds
        );
        return (TrialVerdict::Failed, why);
    }
    if figures.behind > goal.behind {
        let why = format!(
            "answers fell behind by {:.1} % of what was asked, {:.1} % allowed",
            figures.behind * 100.0,
            goal.behind * 100.0
        );
        return (TrialVerdict::Failed, why);
    }
    let mean = figures.mean_ms;
    let shown = format!("mean {:.0} ms ({:.0} to {:.0})", mean.value, mean.low, mean.high);
    if let Some(limit) = goal.mean_ms {
        if mean.low >= limit {
            return (TrialVerdict::Failed, format!("{shown}, limit {limit:.0} ms"));
        }
        if mean.high >= limit {
            undecided.get_or_insert(format!("{shown}, limit {limit:.0} ms"));
        }
    }
    for (limit, found, which) in [
        (goal.p99_ms, median_window(trial), "p99 of the median window"),
        (goal.worst_p99_ms, worst_window(trial), "p99 of the worst window"),
    ] {
        if let Some(limit) = limit.filter(|limit| found > *limit) {
            return (TrialVerdict::Failed, format!("{which} {found:.0} ms, limit {limit:.0} ms"));
        }
    }
    if !trial.drained {
        return (TrialVerdict::Failed, "requests were still waiting when the drain ended".into());
    }
    // A series that never settles but stays far below its limit is enough.
    if !settled && mean.high > 0.5 * goal.limit_ms() {
        undecided.get_or_insert("response times did not settle".into());
    }
    match undecided {
        Some(why) => (TrialVerdict::Undecided, why),
        None => (TrialVerdict::Passed, format!("{shown}, {:.2} % not ok", share * 100.0)),
    }
}

fn median_window(trial: &Trial) -> f64 {
    if trial.windows_p99_ms.is_empty() {
        trial.percentiles_ms[3]
    } else {
        median(&trial.windows_p99_ms)
    }
}

fn worst_window(trial: &Trial) -> f64 {
    trial.windows_p99_ms.iter().copied().fold(median_window(trial), f64::max)
}

/// Returns the least share that is not ok in any third.
fn throughout(bins: &[Bin]) -> f64 {
    let third = bins.len().div_ceil(3).max(1);
    let share = |bins: &[Bin]| {
        let (due, not_ok) =
            bins.iter().fold((0, 0), |(due, not_ok), bin| (due + bin.due, not_ok + bin.not_ok));
        if due == 0 { 0.0 } else { not_ok as f64 / due as f64 }
    };
    bins.chunks(third).map(share).reduce(f64::min).unwrap_or(0.0)
}

/// Returns by how much answers fall behind, as a share of what is due in a quarter: the requests
/// that wait throughout the last quarter, beyond the most that waited at any time in the first
/// half. A queue that grows evenly counts with exactly its growth. A queue that came and went or
/// came at the end does not count, nor do the requests that a steady server always has in flight.
fn behind(bins: &[Bin]) -> f64 {
    let (first, second) = bins.split_at(bins.len() / 2);
    let quarter = &second[second.len() / 2..];
    let before = first.iter().map(|bin| bin.waiting).max().unwrap_or(0);
    let least = quarter.iter().map(|bin| bin.waiting).min().unwrap_or(0);
    let more = least.saturating_sub(before) as f64;
    // The difference of two numbers in flight, each scattered like a Poisson count.
    let chance = BY_CHANCE * ((before + least) as f64).sqrt();
    let due: u64 = quarter.iter().map(|bin| bin.due).sum();
    (more - chance).max(0.0) / due.max(1) as f64
}

/// Returns the mean response time of each bin; a bin without due requests repeats the one before.
fn filled_means(bins: &[Bin]) -> Vec<f64> {
    let mut last = bins.iter().find(|bin| bin.due > 0).map_or(0.0, mean_of);
    bins.iter()
        .map(|bin| {
            if bin.due > 0 {
                last = mean_of(bin);
            }
            last
        })
        .collect()
}

fn mean_of(bin: &Bin) -> f64 {
    bin.sum_ms / bin.due as f64
}

/// Returns the rise over the series by the median slope, if the Mann–Kendall test finds it
/// significant; at most what is left of it at the end, since a queue that came and went is not
/// growth.
fn growth_ms(means: &[f64], constants: &Constants) -> f64 {
    let length = means.len().div_ceil(constants.batches.max(2)).max(1);
    let batches: Vec<f64> = means.chunks_exact(length).map(crate::statistics::mean).collect();
    if mann_kendall(&batches).p_rising >= constants.growth_p {
        return 0.0;
    }
    let few = (batches.len() / 6).max(1);
    let (start, end) = (&batches[..few], &batches[batches.len() - few..]);
    let left = crate::statistics::mean(end) - crate::statistics::mean(start);
    (theil_sen(&batches) * means.len() as f64 / length as f64).min(left).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a steady trial of ten seconds at 400/s with this response time, rising by this much.
    fn trial(ms: f64, rise_ms: f64, not_ok_of_40: u64) -> Trial {
        let bins = (0..100)
            .map(|place| {
                let wave = f64::from(place % 7) * 0.01 * ms;
                let ms = ms + wave + rise_ms * f64::from(place) / 100.0;
                Bin { due: 40, not_ok: not_ok_of_40, sum_ms: ms * 40.0, waiting: 4 }
            })
            .collect();
        Trial {
            rate: 400.0,
            seconds: 10.0,
            bins,
            sent_share: 1.0,
            spin_share: 1.0,
            lag_p99_ms: 0.05,
            drained: true,
            ..Trial::default()
        }
    }

    fn said(trial: &Trial) -> (TrialVerdict, String) {
        let constants = Constants::default();
        let (figures, settled) = figures(trial, &constants);
        judge(trial, &constants.goals.stable, &constants, (&figures, settled))
    }

    #[test]
    fn a_trial_is_judged_by_mean_growth_and_errors() {
        for (trial, expected, word) in [
            (trial(20.0, 0.0, 0), TrialVerdict::Passed, "mean 21 ms"),
            (trial(1_100.0, 0.0, 0), TrialVerdict::Failed, "limit 1000 ms"),
            (trial(20.0, 400.0, 0), TrialVerdict::Failed, "rose by"),
            (trial(20.0, 100.0, 0), TrialVerdict::Passed, "mean"),
            (trial(20.0, 0.0, 1), TrialVerdict::Failed, "2.50 % not ok, 0.10 % allowed"),
            (Trial { drained: false, ..trial(20.0, 0.0, 0) }, TrialVerdict::Failed, "drain"),
            (Trial::default(), TrialVerdict::VoidGenerator, "0.0 % of the requests were sent"),
        ] {
            let (verdict, why) = said(&trial);
            assert_eq!(verdict, expected, "{why}");
            assert!(why.contains(word), "{why}");
        }
    }

    #[test]
    fn a_small_excess_of_errors_is_undecided_until_it_is_significant() {
        let mut few = trial(20.0, 0.0, 0);
        few.bins[3].not_ok = 6;
        let mut many = trial(20.0, 0.0, 0);
        many.bins[3].not_ok = 14;

        assert_eq!(said(&few).0, TrialVerdict::Undecided);
        assert_eq!(said(&many).0, TrialVerdict::Failed);
    }

    #[test]
    fn a_failed_trial_is_void_if_generator_or_host_may_be_the_cause() {
        let failed = || trial(1_100.0, 0.0, 0);
        let errs = || trial(2.0, 0.0, 1);
        for (trial, expected) in [
            (Trial { steal_share: 0.06, ..failed() }, TrialVerdict::VoidHost),
            (Trial { spin_share: 0.89, ..failed() }, TrialVerdict::VoidHost),
            (Trial { generator_share: 0.81, ..failed() }, TrialVerdict::VoidGenerator),
            (Trial { lag_p99_ms: 150.0, ..failed() }, TrialVerdict::VoidGenerator),
            (Trial { lag_p99_ms: 6.0, ..errs() }, TrialVerdict::VoidGenerator),
            (Trial { sent_share: 0.98, ..failed() }, TrialVerdict::VoidGenerator),
            (Trial { no_room_share: 0.002, ..errs() }, TrialVerdict::VoidGenerator),
            (Trial { no_room_share: 0.001, ..errs() }, TrialVerdict::Failed),
            // A lag of 6 ms does not explain 1,100 ms, and a missing score says nothing.
            (Trial { lag_p99_ms: 6.0, ..failed() }, TrialVerdict::Failed),
            (Trial { spin_share: 0.0, ..failed() }, TrialVerdict::Failed),
        ] {
            let (verdict, why) = said(&trial);
            assert_eq!(verdict, expected, "{why}");
        }
    }

    #[test]
    fn a_pass_with_a_late_generator_counts_unless_fewer_requests_were_sent() {
        let passed = || trial(20.0, 0.0, 0);

        assert_eq!(said(&Trial { lag_p99_ms: 15.0, ..passed() }).0, TrialVerdict::Passed);
        assert_eq!(said(&Trial { steal_share: 0.3, ..passed() }).0, TrialVerdict::Passed);
        assert_eq!(said(&Trial { sent_share: 0.9, ..passed() }).0, TrialVerdict::VoidGenerator);
    }

    #[test]
    fn a_temporary_queue_is_not_growth() {
        let mut hump = trial(20.0, 0.0, 0);
        for (place, bin) in hump.bins.iter_mut().enumerate().skip(30).take(60) {
            let ms = 20.0 * (place - 30) as f64;
            bin.sum_ms += if place < 85 { ms * 40.0 } else { 0.0 };
        }

        let (figures, _) = figures(&hump, &Constants::default());

        assert!(figures.growth_ms < 50.0, "{}", figures.growth_ms);
    }

    #[test]
    fn windows_are_judged_against_a_percentile_goal() {
        let constants = Constants::default();
        let goal = StableGoal::p99(1_200.0);
        let verdict = |windows: &[f64]| {
            let trial = Trial { windows_p99_ms: windows.to_vec(), ..trial(20.0, 0.0, 0) };
            let (figures, settled) = figures(&trial, &constants);
            judge(&trial, &goal, &constants, (&figures, settled)).0
        };

        assert_eq!(verdict(&[300.0, 2_000.0, 1_100.0]), TrialVerdict::Passed);
        assert_eq!(verdict(&[300.0, 2_500.0, 1_100.0]), TrialVerdict::Failed);
        assert_eq!(verdict(&[1_300.0, 1_300.0, 1_100.0]), TrialVerdict::Failed);
    }

    #[test]
    fn goodput_excludes_failed_and_waiting_requests() {
        let mut trial = trial(20.0, 0.0, 1);
        trial.bins[99].waiting = 400;

        let (figures, _) = figures(&trial, &Constants::default());

        assert!((figures.goodput - (4_000.0 - 100.0 - 400.0) / 10.0).abs() < 1e-9);
        assert!((figures.not_ok_throughout - 0.025).abs() < 1e-3);
    }

    /// Returns a trial of some seconds at a rate, against a server that answers `speed` requests
    /// per second. Each request takes its turn in the queue and then `ms` milliseconds.
    fn answered(rate: u64, speed: u64, ms: u64, seconds: u64) -> Trial {
        let bins = 10 * seconds;
        let waiting = |bin: u64| {
            let of_queue = (bin + 1) * rate.saturating_sub(speed) / 10;
            of_queue + (rate * ms / 1_000).min((bin + 1) * rate / 10)
        };
        let mut trial = trial(1.0, 0.0, 0);
        (trial.rate, trial.seconds) = (rate as f64, seconds as f64);
        trial.bins = (0..bins)
            .map(|bin| {
                let queue_s = (bin * rate.saturating_sub(speed)) as f64 / 10.0 / speed as f64;
                let (due, sum_ms) = (rate / 10, (ms as f64 + 1e3 * queue_s) * (rate / 10) as f64);
                Bin { due, not_ok: 0, sum_ms, waiting: waiting(bin) }
            })
            .collect();
        trial
    }

    #[test]
    fn even_a_short_trial_fails_if_answers_fall_behind() {
        for (rate, speed, ms, seconds, expected) in [
            // After two seconds the queue is 0.2 s long and the mean is 0.1 s.
            (25_600, 23_002, 1, 2, TrialVerdict::Failed),
            (25_600, 25_200, 1, 2, TrialVerdict::Failed),
            (25_600, 25_600, 1, 2, TrialVerdict::Passed),
            // Behind by less than a hundredth.
            (25_600, 25_500, 1, 2, TrialVerdict::Passed),
            (400, 390, 5, 45, TrialVerdict::Failed),
            (400, 398, 5, 45, TrialVerdict::Passed),
            // Many requests in flight at the end, but no more than in the middle.
            (400, 400, 900, 5, TrialVerdict::Passed),
            (25_600, 25_600, 500, 2, TrialVerdict::Passed),
        ] {
            let (verdict, why) = said(&answered(rate, speed, ms, seconds));
            assert_eq!(verdict, expected, "{rate}/s, {speed}/s answered: {why}");
        }
    }

    #[test]
    fn a_short_stall_at_the_end_is_not_falling_behind() {
        let mut few = trial(20.0, 0.0, 0);
        few.bins.iter_mut().for_each(|bin| bin.due = 1);
        few.bins[75..].iter_mut().for_each(|bin| bin.waiting = 10);
        let mut stall = trial(20.0, 0.0, 0);
        stall.bins[80..].iter_mut().for_each(|bin| bin.waiting = 80);
        let mut early = stall.clone();
        early.bins[75..].iter_mut().for_each(|bin| bin.waiting = 80);

        assert_eq!(said(&few).0, TrialVerdict::Passed);
        assert_eq!(said(&stall).0, TrialVerdict::Passed);
        assert_eq!(said(&early).0, TrialVerdict::Failed);
    }
}
