//! Tables of resources and steps: which were slow, which failed, and how.

use std::collections::BTreeMap;

use super::super::markup::Markup;
use super::super::published::{STEPS_MAX, percentile, too_few};
use super::super::table::{Cell, Part, Table};
use super::super::words::{self, share};
use crate::statistics::has_tail;
use homeroom_load::outcome::Outcomes;
use homeroom_load::run::{RunFile, StepResult};

/// The most kinds of failure that a row names.
const WAYS_MAX: usize = 4;

/// Writes both tables.
pub fn write(page: &mut Markup, run: &RunFile) {
    if run.steps.iter().any(|step| !step.group.is_empty()) {
        resources(run).html(page);
    }
    steps(run).html(page);
}

fn resources(run: &RunFile) -> Table {
    let mut groups: BTreeMap<&str, Vec<&StepResult>> = BTreeMap::new();
    for step in &run.steps {
        groups.entry(&step.group).or_default().push(step);
    }
    let rows = groups.into_iter().take(STEPS_MAX).map(|(group, steps)| {
        let sum = |of: fn(&StepResult) -> u64| steps.iter().map(|step| of(step)).sum::<u64>();
        let (total, failed) = (sum(|step| step.requests.total), sum(|step| step.requests.failed));
        let weighed = steps
            .iter()
            .map(|step| step.response_ms.mean * step.requests.total as f64)
            .sum::<f64>();
        let worst =
            |of: fn(&StepResult) -> f64| steps.iter().map(|step| of(step)).fold(0.0, f64::max);
        let worst_of = |share, of: fn(&StepResult) -> f64| {
            let known = steps.iter().filter(|step| has_tail(step.requests.total, share));
            known.map(|step| of(step)).reduce(f64::max).map_or(Cell::Nothing, Cell::Figure)
        };
        let mut outcomes = Outcomes::new();
        for (name, count) in steps.iter().flat_map(|step| &step.outcomes) {
            *outcomes.entry(name.clone()).or_default() += count;
        }
        let name = if group.is_empty() { "(no resource)" } else { group };
        vec![
            Cell::Text(name.into()),
            Cell::Count(steps.len() as u64),
            Cell::Count(total),
            Cell::Percent(share(failed, total)),
            if total > 0 { Cell::Figure(weighed / total as f64) } else { Cell::Nothing },
            worst_of(0.95, |step| step.response_ms.p95),
            worst_of(0.99, |step| step.response_ms.p99),
            Cell::Figure(worst(|step| step.response_ms.max)),
            Cell::Text(ways(&outcomes)),
        ]
    });
    let columns = [
        "Resource", "Steps", "Requests", "Error %", "Mean ms", "p95 ms", "p99 ms", "Max ms",
        "Ended",
    ];
    let mut notes = vec![(
        "p95, p99",
        "of the resource's slowest step; percentiles of several steps cannot be added up".into(),
    )];
    notes.push(too_few());
    notes.extend(left_out(run));
    Table {
        id: "resource-table".into(),
        caption: "Resources".into(),
        columns: columns.map(String::from).to_vec(),
        parts: vec![Part { heading: String::new(), rows: rows.collect() }],
        notes,
    }
}

fn steps(run: &RunFile) -> Table {
    let rows = run.steps.iter().take(STEPS_MAX).map(|step| {
        let times = &step.response_ms;
        vec![
            Cell::Text(step.name.clone()),
            Cell::Text(step.group.clone()),
            Cell::Text(step.method.clone()),
            Cell::Count(step.requests.total),
            Cell::Count(step.requests.failed),
            Cell::Percent(share(step.requests.failed, step.requests.total)),
            Cell::Figure(times.mean),
            percentile(times.p50, 0.5, step.requests.total),
            percentile(times.p95, 0.95, step.requests.total),
            percentile(times.p99, 0.99, step.requests.total),
            Cell::Figure(times.max),
            Cell::Text(ways(&step.outcomes)),
        ]
    });
    let columns = [
        "Step", "Resource", "Method", "Requests", "Failed", "Error %", "Mean ms", "p50 ms",
        "p95 ms", "p99 ms", "Max ms", "Ended",
    ];
    Table {
        id: "step-table".into(),
        caption: "Steps".into(),
        columns: columns.map(String::from).to_vec(),
        parts: vec![Part { heading: String::new(), rows: rows.collect() }],
        notes: [too_few()].into_iter().chain(left_out(run)).chain(not_done(run)).collect(),
    }
}

/// Returns the steps that could not be done, and the answers that lacked something.
fn not_done(run: &RunFile) -> impl Iterator<Item = (&'static str, String)> {
    let named = |of: fn(&StepResult) -> u64| {
        let mut steps: Vec<&StepResult> = run.steps.iter().filter(|step| of(step) > 0).collect();
        steps.sort_by_key(|step| std::cmp::Reverse(of(step)));
        let rest = steps.len().saturating_sub(WAYS_MAX);
        let first = steps.iter().take(WAYS_MAX);
        let mut words: Vec<String> =
            first.map(|step| format!("{} × {}", step.name, words::count(of(step)))).collect();
        if rest > 0 {
            words.push(format!("{rest} more"));
        }
        words.join(", ")
    };
    let skipped = named(|step| step.skipped);
    let untaken = named(|step| step.untaken);
    let used_up = named(|step| step.requests.total * u64::from(step.is_used_up));
    [
        ("Skipped", skipped, "because a value, a pool entry or a further combination was missing"),
        (
            "Used up",
            used_up,
            "no longer done, because every combination of its values had been used",
        ),
        ("Lacked a value", untaken, "right answers that lacked a value to take"),
    ]
    .into_iter()
    .filter(|(_, steps, _)| !steps.is_empty())
    .map(|(name, steps, why)| (name, format!("{steps}: {why}")))
}

fn left_out(run: &RunFile) -> Option<(&'static str, String)> {
    let rest = run.steps.len().checked_sub(STEPS_MAX).filter(|rest| *rest > 0)?;
    Some(("Left out", format!("{rest} steps; the run file has them all")))
}

/// Formats how requests ended, the most frequent outcome first: `201 × 1,200, 409 × 3`.
fn ways(outcomes: &Outcomes) -> String {
    let mut ways: Vec<(&String, u64)> =
        outcomes.iter().map(|(name, count)| (name, *count)).collect();
    ways.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let rest = ways.len().saturating_sub(WAYS_MAX);
    ways.truncate(WAYS_MAX);
    let mut named: Vec<String> =
        ways.iter().map(|(name, count)| format!("{name} × {}", words::count(*count))).collect();
    if rest > 0 {
        named.push(format!("{rest} more"));
    }
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_status_comes_first_and_then_the_most_frequent() {
        let outcomes = [("201", 1_200), ("409", 3), ("500", 7), ("503", 1), ("timeout", 1)];
        let outcomes: Outcomes = outcomes.map(|(name, count)| (name.into(), count)).into();

        assert_eq!(ways(&outcomes), "201 × 1,200, 500 × 7, 409 × 3, 503 × 1, 1 more");
    }
}
