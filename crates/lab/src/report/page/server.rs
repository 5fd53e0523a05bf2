//! The server's resource use: charts over time, means by stage.

use std::collections::BTreeMap;

use super::super::chart::{Axis, Frame, Line, Lines};
use super::super::markup::Markup;
use super::super::published::STAGES_MAX;
use super::super::server;
use super::super::table::{Cell, Part, Table};
use super::super::{assessment, thin, words};
use super::over_time;
use homeroom_load::run::{RunFile, Series, Watched};

/// The most charts of the server; one for each kind of series.
const CHARTS_MAX: usize = 24;
/// The most lines in a chart.
const LINES_MAX: usize = 8;
/// The most slices of a small chart.
const SLICES_MAX: usize = 120;

/// Writes the watched series.
pub fn write(page: &mut Markup, run: &RunFile) {
    if run.server.is_empty() {
        page.leaf(
            "p",
            &[],
            "No process of the server was watched, so nothing is known of its \
                             processor and memory.",
        );
        return;
    }
    for watched in run.server.iter().filter(|watched| !watched.trouble.is_empty()) {
        page.element("p", &[("class", "trouble")], |m| {
            m.text("Readings are incomplete for ");
            m.outside(&words::name(&watched.name));
            m.text(": ");
            m.outside(&words::cut(&watched.trouble, 600));
        });
    }
    let kinds = kinds(run);
    page.element("div", &[("class", "pairs")], |m| {
        for (nth, (kind, lines)) in kinds.iter().take(CHARTS_MAX).enumerate() {
            chart(run, nth, kind, lines).figure(m);
        }
    });
    if kinds.len() > CHARTS_MAX {
        let rest = kinds.len() - CHARTS_MAX;
        page.leaf("p", &[], &format!("{rest} more series are in the run file."));
    }
    means(run, &kinds).html(page);
}

/// A kind of series and what was watched for it. The kinds of the published tables come first, the
/// others by name.
type SeriesGroup<'a> = (&'a str, Vec<(&'a Watched, &'a Series)>);

fn kinds(run: &RunFile) -> Vec<SeriesGroup<'_>> {
    let mut kinds: BTreeMap<(usize, &str), Vec<(&Watched, &Series)>> = BTreeMap::new();
    for watched in &run.server {
        for series in &watched.series {
            let known = server::COLUMNS.iter().position(|(_, _, name)| *name == series.name);
            let place = (known.unwrap_or(usize::MAX), series.name.as_str());
            kinds.entry(place).or_default().push((watched, series));
        }
    }
    kinds.into_iter().map(|((_, name), lines)| (name, lines)).collect()
}

fn chart(run: &RunFile, nth: usize, kind: &str, of: &[(&Watched, &Series)]) -> Lines {
    let end = of.iter().flat_map(|(_, series)| &series.points).map(|(at, _)| *at);
    let run_end = run.intervals.last().map_or(0.0, |last| last.at_s + 1.0);
    let end = end.filter(|at| at.is_finite()).fold(run_end, f64::max).max(1.0);
    let longest = of.iter().map(|(_, series)| series.points.len()).max().unwrap_or(0);
    let count = longest.clamp(1, SLICES_MAX);
    let at: Vec<f64> = (0..=count).map(|at| end * at as f64 / count as f64).collect();
    let lines: Vec<Line> = (of.iter().take(LINES_MAX))
        .map(|(watched, series)| Line { name: watched.name.clone(), values: values(series, &at) })
        .collect();
    let greatest = lines.iter().flat_map(|line| line.values.iter().flatten());
    let greatest = greatest.map(|slice| slice.greatest).fold(0.0, f64::max);
    let (title, unit) = server::wording(kind);
    let most = of.len().saturating_sub(LINES_MAX);
    let says = if most > 0 {
        format!("{most} more processes are in the run file.")
    } else {
        format!("Greatest {}.", format!("{} {unit}", words::figure(greatest)).trim_end())
    };
    let frame = Frame {
        id: format!("server-{}", nth + 1),
        title: words::name(&title),
        says,
        x: Axis::clock(end),
        y: Axis::from_zero(unit, greatest),
        marks: over_time::marks(run)
            .into_iter()
            .map(|mark| super::super::chart::Mark { name: String::new(), ..mark })
            .collect(),
        small: true,
    };
    Lines { frame, at, series: lines, shown: words::figure }
}

/// Returns the points in each slice.
fn values(series: &Series, at: &[f64]) -> Vec<Option<thin::Slice>> {
    let mut slices: Vec<Vec<(f64, f64)>> = vec![vec![]; at.len() - 1];
    for (moment, value) in &series.points {
        let after = at.partition_point(|start| start <= moment);
        if let Some(slice) = after.checked_sub(1).map(|at| at.min(slices.len() - 1)) {
            slices[slice].push((*value, 1.0));
        }
    }
    slices.into_iter().map(|slice| thin::slice(slice.into_iter())).collect()
}

fn means(run: &RunFile, kinds: &[SeriesGroup]) -> Table {
    let stages = run.stages.iter().take(STAGES_MAX);
    let watched = kinds.iter().take(CHARTS_MAX).flat_map(|(kind, of)| {
        of.iter().take(LINES_MAX).map(move |(watched, _)| (*kind, *watched))
    });
    let watched: Vec<(&str, &Watched)> = watched.collect();
    let rows = stages.enumerate().map(|(at, stage)| {
        let label = format!("{}: {}", at + 1, assessment::short_load(&stage.stage.load));
        let mut row = vec![Cell::Text(label)];
        row.extend(watched.iter().map(|(kind, watched)| {
            server::mean(watched, kind, stage).map_or(Cell::Nothing, Cell::Figure)
        }));
        row
    });
    let mut columns = vec!["Stage".to_owned()];
    columns.extend(watched.iter().map(|(kind, watched)| {
        let (title, unit) = server::wording(kind);
        format!("{} {title} {unit}", watched.name).trim_end().to_owned()
    }));
    Table {
        id: "server-means".into(),
        caption: "Means of what was watched, by stage".into(),
        columns,
        parts: vec![Part { heading: String::new(), rows: rows.collect() }],
        notes: vec![],
    }
}
