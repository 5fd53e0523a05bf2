//! The verdict on a run: what load was held, whether the generator was the limit, whether the host
//! was quiet.

use std::fmt::Write as _;

use homeroom_load::outcome::{Outcome, Outcomes, unfinished};
use homeroom_load::run::{RunFile, StageResult};
use homeroom_load::stage::Load;

use super::pace;
use super::words::{self, share};

/// The mean response time in milliseconds below which a load counts as held.
pub const MEAN_MS_MAX: f64 = 1_000.0;
/// The largest share of requests that may fail while a load is held.
pub const FAILED_SHARE_MAX: f64 = 0.001;
/// The largest growth of waiting time from a stage's beginning to its end, in seconds.
pub const GROWTH_S_MAX: f64 = 0.25;
/// The 99th percentile of the generator's own lag, in milliseconds, above which it is the limit.
pub const LAG_MS_MAX: f64 = 5.0;
/// The share of a core used by a sending thread above which the generator is the limit.
pub const GENERATOR_SHARE_MAX: f64 = 0.8;
/// The share of processor time taken by the host above which nothing is said about the server.
pub const STEAL_SHARE_MAX: f64 = 0.05;
/// The share of requests that waited for a connection from which the connections limit the load.
pub const LATE_SHARE_NOTED: f64 = 0.01;

/// The most stages that are named for not having been held.
pub const STAGES_NAMED_MAX: usize = 40;

/// The fewest requests for a meaningful 99.9th percentile.
pub const SAMPLES_MIN: u64 = 5_000;

/// The verdict on a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// The verdict in one word: held, partly, not, or not judged.
    pub judgement: Judgement,
    /// The answer in one sentence without a full stop.
    pub headline: String,
    /// Whether each stage was held, and why not.
    pub stages: Vec<StageVerdict>,
    /// Whether the generator was the limit.
    pub generator: Finding,
    /// Whether the host was quiet.
    pub host: Finding,
    /// Whether there were enough connections.
    pub connections: Finding,
    /// Whether there were enough requests for percentiles.
    pub samples: Finding,
}

/// The verdict in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// Every stage was held.
    Held,
    /// Lower loads were held, higher ones not.
    Partly,
    /// Not even the lowest load was held.
    NotHeld,
    /// The generator or the host disturbed the run, or nothing was sent.
    NotJudged,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whether the check passed.
    pub good: bool,
    /// The result in a few words.
    pub says: String,
    /// The figures behind it.
    pub because: String,
}

/// The verdict on a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageVerdict {
    /// Its load in words: `200 requests/s`.
    pub load: String,
    /// Why it was not held; empty if it was.
    pub why_not: Vec<String>,
}

impl StageVerdict {
    /// Returns whether the stage was held.
    pub fn held(&self) -> bool {
        self.why_not.is_empty()
    }
}

/// Judges a run.
pub fn judge(run: &RunFile) -> Assessment {
    let stages: Vec<StageVerdict> =
        run.stages.iter().map(|stage| judge_stage(run, stage)).collect();
    let (generator, host) = (judge_generator(run), judge_host(run));
    let (mut judgement, mut headline) = said(run, &stages);
    if run.requests.total > 0 && judgement != Judgement::Held {
        let spoilt = match (generator.good, host.good) {
            (true, true) => None,
            (false, _) => Some("the generator was the limit"),
            (true, false) => Some("the host was noisy"),
        };
        if let Some(why) = spoilt {
            let at_least = if judgement == Judgement::Partly {
                best(run, &stages).map(|stage| format!("At least {}", load(&sent(stage))))
            } else {
                None
            };
            headline = format!("{}: {why}", at_least.unwrap_or_else(|| "Not judged".into()));
            judgement = Judgement::NotJudged;
        }
    }
    if let Some(seconds) = run.interrupted_s {
        let (first, rest) = headline.split_at(1);
        let after = words::duration(rounded(seconds));
        headline = format!("Interrupted after {after}: {}{rest}", first.to_lowercase());
    }
    let (connections, samples) = (judge_connections(run), judge_samples(run));
    Assessment { judgement, headline, stages, generator, host, connections, samples }
}

/// Returns the full answer as Markdown: the headline, and why stages were not held.
pub fn answer(run: &RunFile) -> String {
    let assessment = judge(run);
    let mut says = format!("**{}.**\n", assessment.headline);
    let not_held = assessment.stages.iter().filter(|stage| !stage.held()).take(STAGES_NAMED_MAX);
    for (at, stage) in not_held.enumerate() {
        let (before, why) = (if at == 0 { "\n" } else { "" }, stage.why_not.join(", "));
        let _ = writeln!(says, "{before}- At {}: {why}.", stage.load);
    }
    says
}

/// Says what an interruption cut off, if the run was interrupted.
pub fn interruption(run: &RunFile) -> Option<String> {
    run.interrupted_s?;
    let planned: f64 = run.plan.iter().map(|stage| stage.duration.as_secs_f64()).sum();
    let of = words::duration(planned.round());
    let sent = words::duration(rounded(run.seconds()));
    let mut says = format!("{sent} of {of} were sent");
    let cut_off = unfinished(&run.outcomes);
    if cut_off > 0 {
        let requests = words::some(cut_off, "request");
        _ = write!(says, "; {requests} without an answer by then, neither right nor failed");
    }
    Some(says)
}

/// Formats a load in words.
pub fn load(load: &Load) -> String {
    match *load {
        Load::Rate { from, to } if same(from, to) => format!("{} requests/s", words::figure(from)),
        Load::Rate { from, to } => {
            format!("{} to {} requests/s", words::figure(from), words::figure(to))
        }
        Load::Users { from, to } if from == to => words::some(u64::from(from), "client"),
        Load::Users { from, to } => {
            format!("{} to {}", words::count(from.into()), words::some(to.into(), "client"))
        }
    }
}

/// Formats a load as briefly as possible: `200/s`.
pub fn short_load(of: &Load) -> String {
    load(of).replace(" requests/s", "/s")
}

/// Says which of a search's runs is shown.
pub fn shown_run(run: &RunFile) -> String {
    match run.plan.first() {
        Some(stage) => format!("the run at {}", short_load(&stage.load)),
        None => "the run".into(),
    }
}

fn said(run: &RunFile, stages: &[StageVerdict]) -> (Judgement, String) {
    if run.requests.total == 0 || stages.is_empty() {
        return (Judgement::NotJudged, "Nothing was sent".into());
    }
    let best = best(run, stages).map(|stage| load(&sent(stage)));
    let worst = run.stages.iter().zip(stages).filter(|(_, assessment)| !assessment.held());
    let worst = worst.min_by(|(a, _), (b, _)| size(a).total_cmp(&size(b)));
    match (best, worst) {
        (Some(best), None) => (Judgement::Held, format!("Held {best}")),
        (Some(best), Some((_, not))) => {
            let not = not.load.trim_end_matches(" requests/s").trim_end_matches(" clients");
            (Judgement::Partly, format!("Held {best}, not {not}"))
        }
        (None, not) => {
            let not = not.map_or_else(String::new, |(_, assessment)| assessment.load.clone());
            (Judgement::NotHeld, format!("Did not hold {not}"))
        }
    }
}

/// Returns the stage with the greatest load that was held, provided that all lower loads were held
/// too.
fn best<'a>(run: &'a RunFile, stages: &[StageVerdict]) -> Option<&'a StageResult> {
    let mut by_load: Vec<(&StageResult, bool)> =
        run.stages.iter().zip(stages.iter().map(StageVerdict::held)).collect();
    // Among equal loads the one that failed comes first: the load was not held then.
    by_load.sort_by(|a, b| size(a.0).total_cmp(&size(b.0)).then(a.1.cmp(&b.1)));
    by_load.into_iter().take_while(|(_, held)| *held).last().map(|(stage, _)| stage)
}

/// Returns a stage's load as far as it was reached: an interrupted ramp never reached its end.
fn sent(stage: &StageResult) -> Load {
    let share = stage.seconds / stage.stage.duration.as_secs_f64().max(1e-9);
    match stage.stage.load {
        Load::Rate { from, to } if share < 1.0 => {
            Load::Rate { from, to: from + (to - from) * share }
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in between")]
        Load::Users { from, to } if share < 1.0 => {
            let reached = f64::from(from) + (f64::from(to) - f64::from(from)) * share;
            Load::Users { from, to: reached.round() as u32 }
        }
        whole => whole,
    }
}

fn size(stage: &StageResult) -> f64 {
    match sent(stage) {
        Load::Rate { from, to } => from.max(to),
        Load::Users { from, to } => from.max(to).into(),
    }
}

fn judge_stage(run: &RunFile, stage: &StageResult) -> StageVerdict {
    let mut why_not = vec![];
    let failed = share(stage.requests.failed, stage.requests.total);
    if stage.requests.total == 0 {
        why_not.push("nothing was sent".into());
    }
    if failed > FAILED_SHARE_MAX {
        why_not.push(format!("{} failed", words::percent(failed)));
    }
    if stage.response_ms.mean >= MEAN_MS_MAX {
        why_not.push(format!("mean response {}", words::time_ms(stage.response_ms.mean)));
    }
    let unsent = counted(&stage.outcomes, Outcome::Unsent);
    if unsent > 0 {
        why_not.push(format!("{} never sent", words::some(unsent, "request")));
    }
    if let Some(growth) = growth_s(run, stage).filter(|growth| *growth > GROWTH_S_MAX) {
        why_not.push(format!("the wait grew by {}", words::time_ms(growth * 1e3)));
    }
    why_not.extend(pace::fell_behind(run, stage));
    StageVerdict { load: load(&sent(stage)), why_not }
}

/// Returns how much longer a request waits at the end of a constant stage than at its beginning, in
/// seconds: the requests in flight divided by the rate (Little's law), last third minus first
/// third.
fn growth_s(run: &RunFile, stage: &StageResult) -> Option<f64> {
    let Load::Rate { from, to } = stage.stage.load else { return None };
    let end = stage.start_s + stage.seconds;
    let inside: Vec<f64> = run
        .intervals
        .iter()
        .filter(|interval| interval.at_s >= stage.start_s && interval.at_s + 1.0 <= end + 0.01)
        .map(|interval| interval.in_flight as f64)
        .collect();
    let third = inside.len() / 3;
    if third < 2 || !same(from, to) || from <= 0.0 {
        return None;
    }
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    Some((mean(&inside[inside.len() - third..]) - mean(&inside[..third])) / from)
}

fn judge_generator(run: &RunFile) -> Finding {
    let busy = run.generator.cpu_share_max;
    // Lag while every connection waits is due to the server, or to too few connections.
    let lag = run.own_lag_ms.p99;
    let no_room = share(counted(&run.outcomes, Outcome::NoRoom), run.requests.total);
    let good = lag <= LAG_MS_MAX && busy <= GENERATOR_SHARE_MAX && no_room <= FAILED_SHARE_MAX;
    let says = if good { "Not the limit" } else { "The generator was the limit" };
    let mut because = format!(
        "its own lag p99 {}, busiest thread {} of a core",
        words::time_ms(lag),
        words::percent(busy)
    );
    if no_room > 0.0 {
        let more = "of the requests found no socket, port or address on this machine";
        _ = write!(because, ", {} {more}", words::percent(no_room));
    }
    Finding { good, says: says.into(), because }
}

fn judge_host(run: &RunFile) -> Finding {
    let steal = run.generator.steal_share;
    let good = steal <= STEAL_SHARE_MAX;
    let says = if good { "Quiet" } else { "Noisy" };
    let because = format!("others took {} of the processor time", words::percent(steal));
    Finding { good, says: says.into(), because }
}

fn judge_connections(run: &RunFile) -> Finding {
    let late = share(run.requests.late, run.requests.total);
    let connections = words::some(run.facts.settings.connections.into(), "connection");
    let good = late < LATE_SHARE_NOTED;
    let says = if good { "Enough" } else { "All were waiting at times" };
    let because = if run.requests.late == 0 {
        format!("no request waited for one of {connections}")
    } else {
        format!("{} of the requests waited for one of {connections}", words::percent(late))
    };
    Finding { good, says: says.into(), because }
}

fn judge_samples(run: &RunFile) -> Finding {
    let good = run.requests.total >= SAMPLES_MIN;
    let says = if good { "Enough" } else { "Few" };
    let requests = words::some(run.requests.total, "request");
    let because = match run.requests.total {
        total if total >= SAMPLES_MIN => format!("{requests}, enough for p99.9"),
        total if total >= 500 => format!("{requests}: p99.9 says little"),
        _ => format!("{requests}: high percentiles say little"),
    };
    Finding { good, says: says.into(), because }
}

fn counted(outcomes: &Outcomes, outcome: Outcome) -> u64 {
    outcomes.get(&outcome.name()).copied().unwrap_or(0)
}

/// Rounds a time of more than ten seconds to the second, since nobody presses a key more precisely.
fn rounded(seconds: f64) -> f64 {
    if seconds < 10.0 { seconds } else { seconds.round() }
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < f64::EPSILON * a.abs().max(1.0)
}
