//! The tables in the published form, with the columns that other reports print, so that figures can
//! be compared directly.

use crate::statistics::{TAIL_MIN, has_tail};
use homeroom_load::outcome;
use homeroom_load::run::{Latency, Requests, RunFile, StageResult};

use super::assessment;
use super::server::{self, Role};
use super::table::{Cell, Part, Table};
use super::words::{self, share};

/// The columns of [`samples`] after the label.
pub const SAMPLES_COLUMNS: [&str; 11] = [
    "Samples",
    "Error %",
    "Throughput",
    "Average",
    "Std dev",
    "p75",
    "p90",
    "p95",
    "p98",
    "p99",
    "p99.9",
];

/// The most stages that get a row.
pub const STAGES_MAX: usize = 500;
/// The most steps that get a row.
pub const STEPS_MAX: usize = 2_500;

/// Returns the table with the columns of [`SAMPLES_COLUMNS`]: the run, each stage, each step.
pub fn samples(run: &RunFile) -> Table {
    let rate = run.answered_per_s();
    let total = vec![samples_row("Total".into(), run.requests, rate, &run.response_ms)];
    let stages = run.stages.iter().take(STAGES_MAX).enumerate().map(|(at, stage)| {
        let label = format!("{}: {}", at + 1, assessment::short_load(&stage.stage.load));
        samples_row(label, stage.requests, stage.answered_per_s, &stage.response_ms)
    });
    let steps = run.steps.iter().take(STEPS_MAX).map(|step| {
        let label = if step.group.is_empty() || step.name.contains(&step.group) {
            step.name.clone()
        } else {
            format!("{}: {}", step.group, step.name)
        };
        samples_row(label, step.requests, step.answered_per_s, &step.response_ms)
    });
    let mut parts = vec![Part { heading: "The run".into(), rows: total }];
    parts.push(Part { heading: "Stages".into(), rows: stages.collect() });
    parts.push(Part { heading: "Steps".into(), rows: steps.collect() });
    parts.retain(|part| !part.rows.is_empty());
    let mut columns = vec![String::new()];
    columns.extend(SAMPLES_COLUMNS.map(String::from));
    Table {
        id: "samples".into(),
        caption: "Samples, errors, throughput and response times".into(),
        columns,
        parts,
        notes: samples_notes(run),
    }
}

fn samples_row(label: String, of: Requests, rate: f64, response: &Latency) -> Vec<Cell> {
    let mut row = vec![
        Cell::Text(label),
        Cell::Count(of.total),
        Cell::Percent(share(of.failed, of.total)),
        Cell::Figure(rate),
    ];
    let Latency { mean, sd, p75, p90, p95, p98, p99, p99_9, .. } = *response;
    row.extend([mean, sd].map(Cell::Figure));
    let percentiles =
        [(0.75, p75), (0.9, p90), (0.95, p95), (0.98, p98), (0.99, p99), (0.999, p99_9)];
    row.extend(percentiles.map(|(share, value)| percentile(value, share, of.total)));
    row
}

/// Returns a percentile of `of` requests; empty if too few of them lie beyond it.
pub fn percentile(value: f64, share: f64, of: u64) -> Cell {
    if has_tail(of, share) { Cell::Figure(value) } else { Cell::Nothing }
}

/// Returns a note on which percentiles are left out, and why.
pub fn too_few() -> (&'static str, String) {
    ("An empty percentile", format!("fewer than {TAIL_MIN:.0} requests lie beyond it"))
}

fn samples_notes(run: &RunFile) -> Vec<(&'static str, String)> {
    let mut notes = vec![
        ("Samples", "requests that were due; none is left out".into()),
        ("Error %", FAILED.into()),
        ("Throughput", "answers of any status that came during sending, per second".into()),
        (
            "Average, Std dev, p75 to p99.9",
            "response time in milliseconds, from the moment at which a request was due to the end \
                of the \
             answer; a request without an answer counts with the time after which it was given up"
                .into(),
        ),
    ];
    notes.push(too_few());
    let left_out =
        run.stages.len().saturating_sub(STAGES_MAX) + run.steps.len().saturating_sub(STEPS_MAX);
    if left_out > 0 {
        notes.push(("Left out", format!("{left_out} rows; the run file has them all")));
    }
    notes
}

/// Returns the transactional table: for each stage, how its requests ended and what the server
/// used.
pub fn transactional(run: &RunFile) -> Table {
    let mut columns = vec![
        "Stage",
        "Load",
        "Duration",
        "Requests/s",
        "Responses/s",
        "Mean ms",
        "95 % ms",
        "Max ms",
    ];
    columns.extend(outcome::CLASSES.iter().map(|(class, _)| *class));
    columns.extend(["Outage %", "Error %"]);
    columns.extend(server::COLUMNS.iter().map(|(heading, _, _)| *heading));
    let rows = run.stages.iter().take(STAGES_MAX).enumerate();
    let rows = rows.map(|(at, stage)| transactional_row(run, at + 1, stage)).collect();
    Table {
        id: "transactional".into(),
        caption: "Stages: load, response, outcome, server".into(),
        columns: columns.into_iter().map(String::from).collect(),
        parts: vec![Part { heading: String::new(), rows }],
        notes: transactional_notes(run),
    }
}

fn transactional_row(run: &RunFile, number: usize, stage: &StageResult) -> Vec<Cell> {
    let total = stage.requests.total;
    let mut row = vec![
        Cell::Text(number.to_string()),
        Cell::Text(assessment::load(&stage.stage.load)),
        Cell::Text(words::duration(stage.seconds)),
        per_second(total, stage.seconds),
        Cell::Figure(stage.answered_per_s),
        Cell::Figure(stage.response_ms.mean),
        percentile(stage.response_ms.p95, 0.95, total),
        Cell::Figure(stage.response_ms.max),
    ];
    row.extend(outcome::by_class(&stage.outcomes).into_iter().map(|(_, count)| Cell::Count(count)));
    row.push(Cell::Percent(share(outcome::outages(&stage.outcomes), total)));
    row.push(Cell::Percent(share(stage.requests.failed, total)));
    row.extend(
        server::COLUMNS.iter().map(|(_, place, series)| server_cell(run, stage, *place, series)),
    );
    row
}

fn server_cell(run: &RunFile, stage: &StageResult, place: Role, series: &str) -> Cell {
    match server::at(run, place) {
        Some(watched) if !watched.within.is_empty() => Cell::Text("in process".into()),
        Some(watched) => server::mean(watched, series, stage).map_or(Cell::Nothing, Cell::Figure),
        None => Cell::Nothing,
    }
}

fn transactional_notes(run: &RunFile) -> Vec<(&'static str, String)> {
    let mut notes = vec![
        ("Requests/s", "requests that were due, per second".into()),
        ("Responses/s", "answers of any status that came during the stage, per second".into()),
        (
            "Mean, 95 %, Max ms",
            "response time in milliseconds, from the moment at which a request was due".into(),
        ),
        (
            "2xx to Refused",
            "how many requests ended this way; Refused includes closed, garbled and never sent"
                .into(),
        ),
        ("Outage %", "requests without any service (503, 504, time-out, refused), of all".into()),
        ("Error %", FAILED.into()),
    ];
    notes.push(("Web, Database", server_note(run)));
    notes
}

fn server_note(run: &RunFile) -> String {
    let (web, database) = (server::at(run, Role::Web), server::at(run, Role::Database));
    if web.is_none() && database.is_none() {
        return "neither was watched".into();
    }
    let mut says =
        String::from("means over the stage; CPU in per cent of one core, memory resident in MB");
    match database {
        Some(of) if !of.within.is_empty() => {
            says += "; in process: the database runs in the web server's process";
        }
        Some(_) => {}
        None => says += "; database: not watched",
    }
    if web.is_none() {
        says += "; web: not watched";
    }
    says
}

/// The definition of an error in both tables.
const FAILED: &str =
    "requests that did not end as their step expects (status, checks, no answer), of all";

fn per_second(count: u64, seconds: f64) -> Cell {
    if seconds > 0.0 { Cell::Figure(count as f64 / seconds) } else { Cell::Nothing }
}
