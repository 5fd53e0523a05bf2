//! A chart of how requests ended over time.

use super::super::chart::{Axis, Frame, Layer, Stacked};
use super::super::markup::Markup;
use super::super::{thin, words};
use super::over_time;
use homeroom_load::outcome::{self, CLASSES, Outcomes};
use homeroom_load::run::RunFile;

/// Writes the chart; `id` and `of` distinguish several runs, for programs and for readers.
pub fn chart(page: &mut Markup, id: &str, of: &str, run: &RunFile) {
    if run.intervals.is_empty() {
        page.leaf("p", &[], "The run file has no rows by second.");
        return;
    }
    let slices: Vec<Vec<f64>> = thin::slices(run.intervals.len(), thin::SLICES_MAX)
        .into_iter()
        .map(|slice| by_class(run, slice))
        .collect();
    let greatest = slices.iter().map(|slice| slice.iter().sum()).fold(0.0, f64::max);
    let layers = CLASSES.iter().enumerate().filter_map(|(at, (name, _))| {
        let values: Vec<f64> = slices.iter().map(|slice| slice[at]).collect();
        let seen = values.iter().any(|value| *value > 0.0);
        seen.then(|| Layer {
            name: (*name).into(),
            legend: legend(name, at, &run.outcomes),
            look: format!("k{at}"),
            values,
        })
    });
    let frame = Frame {
        id: format!("{id}-outcomes"),
        title: format!("Responses by outcome{of}"),
        says: says(run),
        x: over_time::clock(run),
        y: Axis::from_zero("responses a second", greatest),
        marks: over_time::marks(run),
        small: false,
    };
    Stacked { frame, at: over_time::moments(run), layers: layers.collect() }.figure(page);
}

/// Returns how many requests per second ended in each class, in a slice.
fn by_class(run: &RunFile, slice: std::ops::Range<usize>) -> Vec<f64> {
    let seconds = slice.len() as f64;
    let mut sums = vec![0.0; CLASSES.len()];
    for interval in &run.intervals[slice] {
        for (sum, (_, count)) in sums.iter_mut().zip(outcome::by_class(&interval.outcomes)) {
            *sum += count as f64 / seconds;
        }
    }
    sums
}

fn legend(name: &str, at: usize, outcomes: &Outcomes) -> String {
    let classes = outcome::by_class(outcomes);
    let all: u64 = classes.iter().map(|(_, count)| count).sum();
    let count = classes[at].1;
    format!("{name}: {} ({})", words::count(count), words::percent(words::share(count, all)))
}

fn says(run: &RunFile) -> String {
    let outages = words::share(outcome::outages(&run.outcomes), run.requests.total);
    let errors = words::share(run.requests.failed, run.requests.total);
    format!(
        "Outage {}: no service at all (503, 504, time-out, refused). Error {}: all that did not \
         end as expected.",
        words::percent(outages),
        words::percent(errors)
    )
}
