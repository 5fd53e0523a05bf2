//! Charts of requests, responses and response times over time.

use super::super::assessment;
use super::super::chart::{Across, Axis, Frame, Line, Lines, Mark};
use super::super::markup::Markup;
use super::super::thin::{self, Slice};
use super::super::words;
use homeroom_load::run::{Interval, RunFile};

/// The most stages that are marked in charts over time.
const STAGES_MARKED_MAX: usize = 40;

/// Writes the charts; `id` and `of` distinguish several runs, for programs and for readers.
pub fn write(page: &mut Markup, id: &str, of: &str, run: &RunFile) {
    if run.intervals.is_empty() {
        page.leaf("p", &[], "The run file has no rows by second.");
        return;
    }
    rates(id, of, run).figure(page);
    times(id, of, run).figure(page);
    in_flight(id, of, run).figure(page);
}

/// Returns the beginning of each slice of a run, and the end of the last.
pub fn moments(run: &RunFile) -> Vec<f64> {
    let slices = thin::slices(run.intervals.len(), thin::SLICES_MAX);
    let mut at: Vec<f64> = slices.iter().map(|slice| run.intervals[slice.start].at_s).collect();
    at.push(run.intervals.last().map_or(0.0, |last| last.at_s + 1.0));
    at
}

/// Returns the time axis.
pub fn clock(run: &RunFile) -> Axis {
    Axis::clock(run.intervals.last().map_or(0.0, |last| last.at_s + 1.0))
}

/// Returns a mark where each stage begins.
pub fn marks(run: &RunFile) -> Vec<Mark> {
    if run.stages.len() < 2 || run.stages.len() > STAGES_MARKED_MAX {
        return vec![];
    }
    let marks = run.stages.iter().map(|stage| Mark {
        at: Across::X(stage.start_s),
        name: assessment::short_load(&stage.stage.load),
        look: "stage",
    });
    marks.collect()
}

fn line(run: &RunFile, name: &str, value: impl Fn(&Interval) -> (f64, f64)) -> Line {
    let slices = thin::slices(run.intervals.len(), thin::SLICES_MAX).into_iter();
    let values = slices.map(|slice| thin::slice(run.intervals[slice].iter().map(&value)));
    Line { name: name.into(), values: values.collect() }
}

fn greatest(lines: &[Line]) -> f64 {
    values(lines).map(|slice| slice.greatest).fold(0.0, f64::max)
}

fn values(lines: &[Line]) -> impl Iterator<Item = &Slice> {
    lines.iter().flat_map(|line| line.values.iter().flatten())
}

fn rates(id: &str, of: &str, run: &RunFile) -> Lines {
    let lines = vec![
        line(run, "Requests", |of| (of.due as f64, 1.0)),
        line(run, "Responses", |of| (of.answered as f64, 1.0)),
        line(run, "As expected", |of| (of.ok as f64, 1.0)),
    ];
    let frame = Frame {
        id: format!("{id}-rates"),
        title: format!("Requests and responses{of}"),
        says: "Where responses fall below requests, the server falls behind; where expected \
            responses fall below all responses, it returns errors."
            .into(),
        x: clock(run),
        y: Axis::from_zero("a second", greatest(&lines)),
        marks: marks(run),
        small: false,
    };
    Lines {
        frame,
        at: moments(run),
        series: lines,
        shown: |rate| format!("{}/s", words::figure(rate)),
    }
}

fn times(id: &str, of: &str, run: &RunFile) -> Lines {
    let mut lines = vec![
        line(run, "Mean", |of| (of.mean_ms, of.answered as f64)),
        line(run, "Median", |of| (of.p50_ms, of.answered as f64)),
        line(run, "p99", |of| (of.p99_ms, of.answered as f64)),
        line(run, "Greatest", |of| (of.max_ms, of.answered as f64)),
    ];
    let least = values(&lines).map(|slice| slice.mean).filter(|mean| *mean > 0.0);
    let least = least.fold(f64::INFINITY, f64::min);
    let y = Axis::times("response time", least, greatest(&lines));
    // For the line of the greatest value, a range adds nothing.
    for slice in lines[3].values.iter_mut().flatten() {
        (slice.mean, slice.least) = (slice.greatest, slice.greatest);
    }
    let mut marks = marks(run);
    if y.high() >= assessment::MEAN_MS_MAX {
        let limit = Across::Y(assessment::MEAN_MS_MAX);
        marks.push(Mark { at: limit, name: "limit 1 s".into(), look: "limit" });
    }
    let frame = Frame {
        id: format!("{id}-times"),
        title: format!("Response time{of}"),
        says: "From the moment at which a request was due, of the answers that came in each \
               second; the mean of a held load stays below the line at 1 s."
            .into(),
        x: clock(run),
        y,
        marks,
        small: false,
    };
    Lines { frame, at: moments(run), series: lines, shown: words::time_ms }
}

fn in_flight(id: &str, of: &str, run: &RunFile) -> Lines {
    let lines = vec![line(run, "Under way", |of| (of.in_flight as f64, 1.0))];
    let frame = Frame {
        id: format!("{id}-in-flight"),
        title: format!("Requests under way{of}"),
        says: "Sent and not answered. While it stays level the server keeps up; while it grows, \
               everybody waits longer and longer."
            .into(),
        x: clock(run),
        y: Axis::from_zero("requests", greatest(&lines)),
        marks: marks(run),
        small: false,
    };
    Lines { frame, at: moments(run), series: lines, shown: words::figure }
}
