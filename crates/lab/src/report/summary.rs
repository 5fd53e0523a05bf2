//! A summary of about a dozen lines for a terminal.

use std::fmt::Write;

use super::assessment::{self, Assessment, Finding, Judgement};
use super::{Report, levels, words};
use crate::capacity::Capacity;
use crate::statistics::Estimate;
use homeroom_load::outcome;
use homeroom_load::run::RunFile;

/// Whether the terminal output has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Plain text.
    Plain,
    /// Colours and bold type, by ANSI sequences.
    Colour,
}

/// The most stages that get a line.
const STAGES_MAX: usize = 8;
/// The most reasons that are shown.
const REASONS_MAX: usize = 4;
/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 200;
/// The most kinds of outcome that are named.
const OUTCOMES_MAX: usize = 6;

/// Returns the report in a few lines, beginning with the answer.
pub fn summary(report: &Report, paint: Paint) -> String {
    let run = report.run;
    let assessment = assessment::judge(run);
    let (headline, good) = match report.capacity {
        Some(capacity) => {
            (levels::headline(capacity), levels::judgement(capacity) == Judgement::Held)
        }
        None => (assessment.headline.clone(), assessment.judgement == Judgement::Held),
    };
    let mut out = format!("{}\n", coloured(&headline, if good { "1;32" } else { "1;31" }, paint));
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(out, "  {name:<12} {value}");
    };
    row(
        "scenario",
        &format!("{} against {}", words::name(&run.facts.scenario), words::name(&run.facts.target)),
    );
    if let Some(capacity) = report.capacity {
        searched(&mut row, capacity, paint);
    } else {
        ran(&mut row, run, &assessment, paint);
    }
    row("seed", &run.facts.seed.to_string());
    out
}

fn searched(row: &mut impl FnMut(&str, &str), capacity: &Capacity, paint: Paint) {
    row("verdict", &levels::lead(capacity));
    for of in levels::named(capacity) {
        let says = format!("{} ({})", of.value(), of.interval());
        row(&of.name.to_lowercase(), &says);
    }
    let Estimate { value, low, high } = capacity.stable_mean_ms;
    let [value, low, high] = [value, low, high].map(words::time_ms);
    row("mean", &format!("{value} ({low} to {high}) at the stable level"));
    for reason in capacity.reasons.iter().take(REASONS_MAX) {
        row("", &words::cut(reason, REASON_CHARS_MAX));
    }
    for (name, finding) in &levels::findings(capacity) {
        row(&name.to_lowercase(), &said(finding, paint));
    }
}

fn ran(row: &mut impl FnMut(&str, &str), run: &RunFile, assessment: &Assessment, paint: Paint) {
    if let Some(says) = assessment::interruption(run) {
        row("interrupted", &says);
    }
    figures(row, run);
    stages(row, run, assessment);
    for (name, finding) in [
        ("generator", &assessment.generator),
        ("host", &assessment.host),
        ("connections", &assessment.connections),
    ] {
        row(name, &said(finding, paint));
    }
    if !assessment.samples.good {
        row("samples", &said(&assessment.samples, paint));
    }
}

fn figures(row: &mut impl FnMut(&str, &str), run: &RunFile) {
    let failed = words::share(run.requests.failed, run.requests.total);
    row(
        "requests",
        &format!(
            "{} in {}, {} responses/s, {} failed ({})",
            words::count(run.requests.total),
            words::duration(run.seconds().round()),
            words::figure(run.answered_per_s()),
            words::count(run.requests.failed),
            words::percent(failed)
        ),
    );
    for (name, times) in [("response", &run.response_ms), ("service", &run.service_ms)] {
        let [mean, p50, p95, p99, max] =
            [times.mean, times.p50, times.p95, times.p99, times.max].map(words::time_ms);
        row(name, &format!("mean {mean}, p50 {p50}, p95 {p95}, p99 {p99}, max {max}"));
    }
    let seen = outcome::by_class(&run.outcomes).into_iter().filter(|(_, count)| *count > 0);
    let mut seen: Vec<(&str, u64)> = seen.collect();
    seen.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown = seen.iter().take(OUTCOMES_MAX);
    let shown: Vec<String> =
        shown.map(|(class, count)| format!("{class} {}", words::count(*count))).collect();
    row("outcomes", &if shown.is_empty() { words::NOTHING.into() } else { shown.join(", ") });
}

fn stages(row: &mut impl FnMut(&str, &str), run: &RunFile, assessment: &Assessment) {
    if let [only] = &assessment.stages[..] {
        if !only.held() {
            row("not held", &only.why_not.join(", "));
        }
        return;
    }
    for (at, stage) in assessment.stages.iter().take(STAGES_MAX).enumerate() {
        let mean = words::time_ms(run.stages[at].response_ms.mean);
        let says = if stage.held() {
            format!("held, mean {mean}")
        } else {
            format!("not held: {}", stage.why_not.join(", "))
        };
        row(&format!("stage {}", at + 1), &format!("{}: {says}", stage.load));
    }
    if let Some(rest) = run.stages.len().checked_sub(STAGES_MAX).filter(|rest| *rest > 0) {
        row("", &format!("{rest} more stages are in the report"));
    }
}

fn said(finding: &Finding, paint: Paint) -> String {
    let says = finding.says.to_lowercase();
    let says = if finding.good { says } else { coloured(&says, "33", paint) };
    format!("{says}: {}", finding.because)
}

fn coloured(text: &str, code: &str, paint: Paint) -> String {
    match paint {
        Paint::Plain => text.to_owned(),
        Paint::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
    }
}
