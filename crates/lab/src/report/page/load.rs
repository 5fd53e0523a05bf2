//! A chart of throughput against response time, with the levels that a search found.

use super::super::chart::{Across, Axis, Dot, Dots, Frame, Mark, Scatter, Shape};
use super::super::levels::{self, Named};
use super::super::markup::Markup;
use super::super::{Report, assessment, published, thin, words};
use crate::capacity::{Capacity, TrialVerdict};
use homeroom_load::run::RunFile;

/// The most stages whose dots are labelled.
const STAGES_NAMED_MAX: usize = 16;

/// Writes the chart and, for a search, its trials.
pub fn write(page: &mut Markup, report: &Report) {
    let dots = match report.capacity {
        Some(capacity) => trials(capacity),
        None => stages(report.run),
    };
    let places = || dots.iter().flat_map(|dots| &dots.each);
    let greatest_x = places().map(|dot| dot.x).fold(0.0, f64::max);
    let levels = report.capacity.map(levels::named).into_iter().flatten();
    let levels: Vec<Named> = levels.filter(|of| of.level.rate > 0.0).collect();
    let greatest_x = levels.iter().map(|of| of.level.rate).fold(greatest_x, f64::max);
    let times = || places().map(|dot| dot.y).filter(|y| y.is_finite() && *y > 0.0);
    let (least, greatest) =
        (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max).max(1e-3));
    let mut marks: Vec<Mark> = (levels.iter())
        .map(|of| Mark {
            at: Across::X(of.level.rate),
            name: format!("{} {}", of.name, of.value()),
            look: of.look,
        })
        .collect();
    let y = Axis::times("response time", least, greatest);
    if y.high() >= assessment::MEAN_MS_MAX {
        marks.push(Mark {
            at: Across::Y(assessment::MEAN_MS_MAX),
            name: "limit 1 s".into(),
            look: "limit",
        });
    }
    let says = match report.capacity {
        Some(_) => {
            "Each dot is a trial: where the dots rise steeply, the server is at its limit. \
             The vertical lines are the three levels."
        }
        None => {
            "A joined dot is a stage, a speck a second of the run: where they rise steeply, the \
                server is at its limit."
        }
    };
    let frame = Frame {
        id: "load-chart".into(),
        title: "Response time by throughput".into(),
        says: says.into(),
        x: Axis::from_zero("answers a second", greatest_x),
        y,
        marks,
        small: false,
    };
    let headings = ["What", "Answers/s", "Response time ms"].map(String::from);
    Scatter { frame, dots, headings }.figure(page);
    if let Some(capacity) = report.capacity {
        levels::trials(capacity).html(page);
        if let Some(knee) = capacity.knee {
            let says =
                format!("The knee of the answers a second lies at {}/s.", words::figure(knee));
            page.leaf("p", &[], &says);
        }
        if let Some(forecast) = levels::forecast(capacity) {
            forecast.html(page);
        }
    }
}

fn stages(run: &RunFile) -> Vec<Dots> {
    let slices = thin::slices(run.intervals.len(), thin::SLICES_MAX);
    let seconds = slices.into_iter().filter_map(|slice| {
        let first = run.intervals.get(slice.start)?;
        let part = &run.intervals[slice];
        let answered: u64 = part.iter().map(|interval| interval.answered).sum();
        let mean = thin::slice(part.iter().map(|of| (of.mean_ms, of.answered as f64)))?;
        let (x, name) = (answered as f64 / part.len() as f64, words::clock(first.at_s));
        Some(Dot { name: format!("from {name}"), label: String::new(), x, y: mean.mean })
    });
    let stage = |at: usize, y: f64, label: bool| {
        let stage = &run.stages[at];
        let load = assessment::load(&stage.stage.load);
        let x = stage.answered_per_s;
        let label = if label { assessment::short_load(&stage.stage.load) } else { String::new() };
        Dot { name: load, label, x, y }
    };
    let sent = || {
        let all = run.stages.iter().take(published::STAGES_MAX).enumerate();
        all.filter(|(_, stage)| stage.requests.total > 0)
    };
    let named = run.stages.len() <= STAGES_NAMED_MAX;
    let p99 = sent().map(|(at, of)| stage(at, of.response_ms.p99, false)).collect();
    let mean = sent().map(|(at, of)| stage(at, of.response_ms.mean, named)).collect();
    let dots =
        |name: &str, shape, joined, dots| Dots { name: name.into(), shape, joined, each: dots };
    vec![
        dots("a second (mean)", Shape::Speck, false, seconds.collect()),
        dots("stage, p99", Shape::Triangle, true, p99),
        dots("stage, mean", Shape::Circle, true, mean),
    ]
}

fn trials(capacity: &Capacity) -> Vec<Dots> {
    use TrialVerdict::{Failed, Passed, Undecided, VoidGenerator, VoidHost};
    let of = |name: &str, stage_verdicts: &[TrialVerdict], shape| {
        let dots = capacity.trials.iter().filter(|tried| stage_verdicts.contains(&tried.verdict));
        let dots = dots.map(|tried| Dot {
            name: format!("{} at {}/s", tried.phase.words(), words::figure(tried.rate)),
            label: String::new(),
            x: tried.goodput,
            y: tried.mean_ms.value,
        });
        Dots { name: name.into(), shape, joined: false, each: dots.collect() }
    };
    vec![
        of("void or undecided", &[Undecided, VoidGenerator, VoidHost], Shape::Diamond),
        of("goal missed", &[Failed], Shape::Cross),
        of("goal kept", &[Passed], Shape::Circle),
    ]
}
