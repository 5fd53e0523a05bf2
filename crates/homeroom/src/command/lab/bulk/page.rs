//! The report as an HTML page and as text.

use std::fmt::Write as _;

use super::chart::{Bars, chart, escaped};
use super::result::{BulkResult, ModeResult, Row};
use crate::command::terminal::grouped;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:62rem;\
    padding:0 1rem}table{border-collapse:collapse;width:100%;font-size:13px}th,td{padding:.25rem \
    .5rem;text-align:right;border-bottom:1px solid #ddd}th:first-child,td:first-child,td:last-child\
    {text-align:left}svg{width:100%;font:11px system-ui,sans-serif}figcaption{font-weight:600;\
    margin-top:1.5rem}.total{font-weight:600}";

/// Writes the page.
pub(super) fn page(result: &BulkResult) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta \
         http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'\"><meta name=\"viewport\" content=\"width=device-width\"><title>Bulk \
         loading</title><style>{STYLE}</style></head><body><h1>Bulk loading</h1>\n"
    );
    _ = write!(
        out,
        "<p>{} {} cores, version {}.</p>\n<p>{}</p>\n",
        escaped(result.method),
        result.cores,
        env!("CARGO_PKG_VERSION"),
        escaped(&result.difference)
    );
    for mode in &result.modes {
        table(&mut out, mode);
    }
    let modes: Vec<&str> = result.modes.iter().map(|mode| &*mode.mode).collect();
    let seconds = |row: &Row| Some(row.seconds);
    let decimals = |value: f64| format!("{value:.2} s");
    out += &chart("Time", &modes, &bars(result, &seconds), &decimals);
    #[expect(clippy::cast_precision_loss, reason = "a length in pixels")]
    let records = |row: &Row| Some(row.records as f64);
    out += &chart("Records", &modes, &bars(result, &records), &whole);
    let rate = |row: &Row| (!row.is_descriptors).then_some(row.records_per_second);
    out += &chart("Records per second, without descriptors", &modes, &bars(result, &rate), &whole);
    out + "</body></html>\n"
}

/// Writes the summary for the terminal.
pub(super) fn summary(result: &BulkResult) -> String {
    let mut out = String::new();
    for result in &result.modes {
        let ModeResult { mode, total, fastest, slowest, .. } = result;
        _ = writeln!(
            out,
            "{mode}: {} documents/s, {} records/s; {} documents, {} records in {:.1} s, {} rejected; \
             bounded by {}",
            whole(total.documents_per_second),
            whole(total.records_per_second),
            grouped(total.documents),
            grouped(total.records),
            total.seconds,
            grouped(total.rejected),
            total.bound_by
        );
        if let (Some(fastest), Some(slowest)) = (fastest, slowest) {
            _ = writeln!(out, "  fastest interchange {fastest}, slowest {slowest}");
        }
        if let Some(left_out) = result.left_out() {
            _ = writeln!(out, "  {left_out}");
        }
    }
    out
}

fn table(out: &mut String, mode: &ModeResult) {
    _ = write!(
        out,
        "<h2>{}</h2>\n<table><thead><tr><th>Interchange</th><th>Documents/s</th><th>Records/s</th>\
         <th>Documents</th><th>Records before</th><th>Records after</th><th>Records</th>\
         <th>Seconds</th><th>Rejected</th><th>CPU seconds</th><th>By thread</th>\
         <th>Memory, MB</th><th>Read, MB</th><th>Written, MB</th><th>Network, MB</th><th>Bounded by</th></tr></thead><tbody>\n",
        escaped(&mode.mode)
    );
    for row in &mode.interchanges {
        write_row(out, row, "");
    }
    write_row(out, &mode.total, " class=\"total\"");
    out.push_str("</tbody></table>\n");
    if let (Some(fastest), Some(slowest)) = (&mode.fastest, &mode.slowest) {
        _ = writeln!(
            out,
            "<p>The fastest interchange was {}, the slowest {}.</p>",
            escaped(fastest),
            escaped(slowest)
        );
    }
    if let Some(left_out) = mode.left_out() {
        _ = writeln!(out, "<p>Of the others: {}.</p>", escaped(&left_out));
    }
}

fn write_row(out: &mut String, row: &Row, class: &str) {
    let cpu: f64 = row.cpu_seconds.values().sum();
    _ = writeln!(
        out,
        "<tr{class}><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{:.2}</td><td>{}</td><td>{cpu:.2}</td><td>{}</td><td>{:.0}</td><td>{}</td><td>{}</td>\
         <td>{}</td><td>{}</td></tr>",
        escaped(&row.interchange),
        whole(row.documents_per_second),
        whole(row.records_per_second),
        grouped(row.documents),
        grouped(row.records_before),
        grouped(row.records_after),
        grouped(row.records),
        row.seconds,
        grouped(row.rejected),
        escaped(&by_thread(row)),
        row.anonymous_mb,
        grouped(row.read_bytes / 1_000_000),
        grouped(row.written_bytes / 1_000_000),
        grouped(row.network_bytes / 1_000_000),
        escaped(&row.bound_by)
    );
}

/// Lists the CPU seconds of threads that are worth naming, the most first.
fn by_thread(row: &Row) -> String {
    let mut all: Vec<(&String, &f64)> =
        row.cpu_seconds.iter().filter(|(_, seconds)| **seconds >= 0.005).collect();
    all.sort_by(|a, b| b.1.total_cmp(a.1));
    let named = all.iter().map(|(name, seconds)| format!("{name} {seconds:.2}"));
    named.collect::<Vec<_>>().join(", ")
}

/// Returns a row of bars for each interchange and for all at once.
fn bars(result: &BulkResult, value: &dyn Fn(&Row) -> Option<f64>) -> Vec<Bars> {
    let mut names: Vec<&str> = vec![];
    let rows = |mode: &'_ ModeResult| {
        mode.interchanges.iter().chain([&mode.total]).cloned().collect::<Vec<Row>>()
    };
    let all: Vec<Vec<Row>> = result.modes.iter().map(rows).collect();
    for row in all.iter().flatten() {
        if !names.contains(&row.interchange.as_str()) {
            names.push(&row.interchange);
        }
    }
    let of = |name: &str| Bars {
        name: name.to_owned(),
        values: all
            .iter()
            .map(|rows| rows.iter().find(|row| row.interchange == name).and_then(value))
            .collect(),
    };
    names.into_iter().map(of).filter(|bars| bars.values.iter().any(Option::is_some)).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count")]
fn whole(value: f64) -> String {
    grouped(value.round() as u64)
}
