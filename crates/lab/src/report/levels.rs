//! The result of a capacity search in words, tables and findings.

use std::fmt::Write as _;

use crate::capacity::{AtLeast, Capacity, Level, Phase, TrialVerdict, Verdict};

use super::assessment::{Finding, Judgement};
use super::table::{Cell, Part, Table, markdown_text};
use super::words;

/// The longest reason that is shown, in characters.
const REASON_CHARS_MAX: usize = 600;

/// A level with its name and meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// Its CSS class.
    pub look: &'static str,
    /// What it means.
    pub meaning: String,
    /// The level.
    pub level: Level,
}

impl Named {
    /// Returns its value: `391/s`, `≥ 391/s` for a least value, or a note that it was not found.
    pub fn value(&self) -> String {
        let rate = words::figure(self.level.rate);
        match (self.level.found, self.level.rate > 0.0) {
            (true, _) => format!("{rate}/s"),
            (false, true) => format!("≥ {rate}/s"),
            (false, false) => "not found".into(),
        }
    }

    /// Returns the interval of the true value.
    pub fn interval(&self) -> String {
        let low = words::figure(self.level.low);
        match self.level.high {
            Some(high) => format!("{low} to {}", words::figure(high)),
            None => format!("{low} or more"),
        }
    }
}

/// Returns the three levels, in order.
pub fn named(capacity: &Capacity) -> [Named; 3] {
    let goals = &capacity.constants.goals;
    let goal = match (goals.stable.mean_ms, goals.stable.p99_ms) {
        (_, Some(p99)) => format!("99 % within {}", words::time_ms(p99)),
        (Some(mean), None) => format!("mean response below {}", words::time_ms(mean)),
        (None, None) => format!("at most {} not ok", words::percent(goals.stable.not_ok)),
    };
    let window = |level: Level| words::duration(level.window_s);
    let burst = format!(
        "Held for {} from idle, at most {} not ok.",
        window(capacity.levels.burst()),
        words::percent(goals.burst_not_ok)
    );
    let failure = format!(
        "Breaks within {}: more than {} not ok, or far fewer answers than before.",
        window(capacity.levels.failure()),
        words::percent(goals.failure_not_ok)
    );
    let level = |name, look, meaning, level| Named { name, look, meaning, level };
    [
        level("Stable", "stable", format!("Held indefinitely: {goal}."), capacity.levels.stable()),
        level("Burst", "burst", burst, capacity.levels.burst()),
        level("Failure", "failure", failure, capacity.levels.failure()),
    ]
}

/// Returns the answer in one sentence without a full stop.
pub fn headline(capacity: &Capacity) -> String {
    let stable = capacity.levels.stable();
    let rate = words::figure(stable.rate);
    let at_least = || format!("Holds at least {rate} requests/s");
    match capacity.verdict {
        Verdict::TargetFailing => "No load was held".into(),
        _ if stable.rate <= 0.0 => "No load was confirmed".into(),
        _ if let Some(why @ (AtLeast::Void | AtLeast::Short)) = stable.at_least => {
            format!("{}: {}", at_least(), why.words())
        }
        _ if !stable.found || stable.high.is_none() => at_least(),
        Verdict::Clean => format!("Holds {rate} requests/s"),
        Verdict::GeneratorLimited
        | Verdict::HostNoisy
        | Verdict::LimitOfSearch
        | Verdict::OutOfTime
        | Verdict::TargetUnsteady
        | Verdict::Interrupted => at_least(),
    }
}

/// Returns how the answer is rated.
pub fn judgement(capacity: &Capacity) -> Judgement {
    match capacity.verdict {
        Verdict::Clean => Judgement::Held,
        Verdict::TargetFailing => Judgement::NotHeld,
        Verdict::LimitOfSearch
        | Verdict::TargetUnsteady
        | Verdict::OutOfTime
        | Verdict::Interrupted => Judgement::Partly,
        Verdict::GeneratorLimited | Verdict::HostNoisy => Judgement::NotJudged,
    }
}

/// Returns the meaning of the verdict, and how many trials and how much time it took.
pub fn lead(capacity: &Capacity) -> String {
    let meaning = capacity.verdict.meaning();
    let trials = words::some(capacity.trials.len() as u64, "trial");
    let time = words::duration(capacity.seconds.round());
    format!("{}: {meaning} From {trials} in {time}.", capacity.verdict.name())
}

/// Returns the full answer as Markdown: headline, meaning of the verdict, reasons.
pub fn answer(capacity: &Capacity) -> String {
    let mut says = format!("**{}.**\n\n{}\n", headline(capacity), lead(capacity));
    for (at, reason) in capacity.reasons.iter().enumerate() {
        let reason = markdown_text(&words::cut(reason, REASON_CHARS_MAX));
        let _ = writeln!(says, "{}- {reason}", if at == 0 { "\n" } else { "" });
    }
    says
}

/// Returns whether the answer can be relied on, with regard to the generator and its host.
pub fn findings(capacity: &Capacity) -> [(&'static str, Finding); 2] {
    let void = |of: TrialVerdict| {
        capacity.trials.iter().filter(|tried| tried.verdict == of).count() as u64
    };
    let ceiling = match capacity.generator_ceiling {
        Some(rate) => format!("sends up to {}/s; ", words::figure(rate)),
        None => String::new(),
    };
    let lag = capacity.self_check.map_or_else(String::new, |check| {
        format!("own lag {} (p99); ", words::time_ms(check.lag_p99_ms))
    });
    let generator = capacity.verdict != Verdict::GeneratorLimited;
    let host = capacity.verdict != Verdict::HostNoisy;
    let finding = |good, says: &str, because| Finding { good, says: says.into(), because };
    let void_words = |of| format!("{} void because of it", words::some(void(of), "trial"));
    [
        (
            "Generator",
            finding(
                generator,
                if generator { "Not the limit" } else { "The limit" },
                format!("{ceiling}{lag}{}", void_words(TrialVerdict::VoidGenerator)),
            ),
        ),
        (
            "Host",
            finding(
                host,
                if host { "Quiet enough" } else { "Noisy" },
                void_words(TrialVerdict::VoidHost),
            ),
        ),
    ]
}

/// Returns a table of the levels, one row each.
pub fn levels(capacity: &Capacity) -> Table {
    let yes = |is: bool| if is { "yes" } else { "no" };
    let rows = named(capacity).into_iter().map(|of| {
        vec![
            Cell::Text(of.name.into()),
            Cell::Figure(of.level.rate),
            Cell::Figure(of.level.low),
            of.level.high.map_or(Cell::Nothing, Cell::Figure),
            Cell::Text(of.level.at_least.map_or_else(
                || yes(of.level.found).into(),
                |why| format!("at least: {}", why.words()),
            )),
            Cell::Text(capacity.verdict.name().into()),
            Cell::Text(of.meaning),
        ]
    });
    let columns = ["Level", "Requests/s", "Low", "High", "Found", "Verdict", "Meaning"];
    Table {
        id: "levels".into(),
        caption: "Levels".into(),
        columns: columns.map(String::from).to_vec(),
        parts: vec![Part { heading: String::new(), rows: rows.collect() }],
        notes: vec![
            (
                "Low, High",
                "the interval in which the level lies; without High, no higher rate was \
                found to miss it"
                    .into(),
            ),
            ("Found", "at least: the highest rate that a trial is known to have kept".into()),
        ],
    }
}

/// Returns a table of the trials, in order.
pub fn trials(capacity: &Capacity) -> Table {
    let rows = capacity.trials.iter().enumerate().map(|(at, tried)| {
        let [_, median, p95, p99] = tried.percentiles_ms;
        vec![
            Cell::Text((at + 1).to_string()),
            Cell::Text(phase(tried.phase).into()),
            Cell::Text(trial_verdict(tried.verdict).into()),
            Cell::Figure(tried.rate),
            Cell::Figure(tried.seconds),
            Cell::Figure(tried.goodput),
            Cell::Figure(tried.mean_ms.value),
            Cell::Text(format!(
                "{} to {}",
                words::figure(tried.mean_ms.low),
                words::figure(tried.mean_ms.high)
            )),
            Cell::Figure(median),
            Cell::Figure(p95),
            Cell::Figure(p99),
            Cell::Percent(tried.not_ok_share),
            Cell::Text(tried.why.clone()),
        ]
    });
    let columns = [
        "Trial",
        "Phase",
        "Stable goal",
        "Asked/s",
        "Seconds",
        "Good/s",
        "Mean ms",
        "Interval",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "Not ok %",
        "Why",
    ];
    Table {
        id: "trials".into(),
        caption: "Trials".into(),
        columns: columns.map(String::from).to_vec(),
        parts: vec![Part { heading: String::new(), rows: rows.collect() }],
        notes: vec![
            (
                "Mean ms, Interval",
                "after the warm-up, with the interval that holds the true mean".into(),
            ),
            ("Good/s", "expected answers per second, while sending".into()),
        ],
    }
}

/// Returns the forecast for more concurrent clients, if there is one.
pub fn forecast(capacity: &Capacity) -> Option<Table> {
    let forecast = capacity.usl.as_ref()?;
    let rows = forecast.rows.iter().map(|(clients, rate)| {
        vec![
            Cell::Text(words::figure(*clients)),
            Cell::Figure(rate.value),
            Cell::Figure(rate.low),
            Cell::Figure(rate.high),
        ]
    });
    Some(Table {
        id: "forecast".into(),
        caption: forecast.label.clone(),
        columns: ["Requests at a time", "Answers/s", "Low", "High"].map(String::from).to_vec(),
        parts: vec![Part { heading: String::new(), rows: rows.collect() }],
        notes: vec![(
            "Measured",
            format!(
                "up to {} at a time; the rest is a forecast",
                words::figure(forecast.measured_to)
            ),
        )],
    })
}

/// Returns a trial's verdict about the stable goal, in a word.
pub fn trial_verdict(verdict: TrialVerdict) -> &'static str {
    match verdict {
        TrialVerdict::Passed => "kept",
        TrialVerdict::Failed => "missed",
        TrialVerdict::Undecided => "undecided",
        TrialVerdict::VoidGenerator => "void: generator",
        TrialVerdict::VoidHost => "void: host",
    }
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::SelfCheck => "self-check",
        Phase::Bracket => "bracket",
        Phase::Narrow => "narrow",
        Phase::Confirm => "confirm",
        Phase::Above => "above",
        Phase::Lift => "lift",
        Phase::Healthy => "healthy",
        Phase::Unhealthy => "unhealthy",
        Phase::Check => "check",
        Phase::Rest => "rest",
    }
}
