//! The figures that goals can name, and where they are in the files.

use serde::Deserialize as _;
use serde_json::Value;

use crate::capacity::{AtLeast, Verdict};
use homeroom_load::outcome::{Outcomes, outages};

/// The kind of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureKind {
    /// A time in milliseconds.
    Time,
    /// A share of the requests, as a fraction of 1.
    Share,
    /// A rate in requests per second.
    Rate,
}

/// Units, each with its factor to the kind's own unit.
pub type Units = &'static [(&'static str, f64)];

/// Each kind with its name and its units; the first unit is its own.
pub const KINDS: &[(FigureKind, &str, Units)] = &[
    (
        FigureKind::Time,
        "a time",
        &[("ms", 1.0), ("s", 1e3), ("us", 1e-3), ("µs", 1e-3), ("min", 6e4)],
    ),
    (FigureKind::Share, "a share", &[("%", 0.01)]),
    (FigureKind::Rate, "a rate", &[("/s", 1.0), ("/min", 1.0 / 60.0)]),
];

impl FigureKind {
    /// Returns the kind's name.
    pub fn words(self) -> &'static str {
        KINDS.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, words, _)| words)
    }

    /// Returns the kind's units.
    pub fn units(self) -> Units {
        KINDS.iter().find(|(kind, ..)| *kind == self).map_or(&[], |(.., units)| units)
    }

    /// Formats a value with its unit.
    pub fn shown(self, value: f64) -> String {
        match self {
            Self::Time => format!("{value:.1} ms"),
            Self::Share => format!("{:.3} %", value * 100.0),
            Self::Rate => format!("{value:.1}/s"),
        }
    }
}

/// Where a figure is in a file.
#[derive(Debug, Clone, Copy)]
enum Location {
    /// At this JSON pointer.
    At(&'static str),
    /// At this JSON pointer, as a share of all requests.
    OfAll(&'static str),
    /// The outcomes without service, as a share of all requests.
    Outage,
    /// The mean of the stages' goodput, weighted by their time.
    Goodput,
}

use FigureKind::{Rate, Share, Time};
use Location::{At, Goodput, OfAll, Outage};

const FIGURES: &[(&str, FigureKind, Location)] = &[
    ("mean", Time, At("/response_ms/mean")),
    ("p50", Time, At("/response_ms/p50")),
    ("p75", Time, At("/response_ms/p75")),
    ("p90", Time, At("/response_ms/p90")),
    ("p95", Time, At("/response_ms/p95")),
    ("p98", Time, At("/response_ms/p98")),
    ("p99", Time, At("/response_ms/p99")),
    ("p99.9", Time, At("/response_ms/p99_9")),
    ("max", Time, At("/response_ms/max")),
    ("service.mean", Time, At("/service_ms/mean")),
    ("service.p50", Time, At("/service_ms/p50")),
    ("service.p95", Time, At("/service_ms/p95")),
    ("service.p99", Time, At("/service_ms/p99")),
    ("service.max", Time, At("/service_ms/max")),
    ("send_lag.p99", Time, At("/send_lag_ms/p99")),
    ("send_lag.max", Time, At("/send_lag_ms/max")),
    ("failed", Share, OfAll("/requests/failed")),
    ("late", Share, OfAll("/requests/late")),
    ("outage", Share, Outage),
    ("goodput", Rate, Goodput),
    ("stable", Rate, At("/stable/rate")),
    ("stable.low", Rate, At("/stable/low")),
    ("stable.high", Rate, At("/stable/high")),
    ("burst", Rate, At("/burst/rate")),
    ("failure", Rate, At("/failure/rate")),
];

/// Returns the names of all figures, those of runs first.
pub fn known() -> Vec<&'static str> {
    FIGURES.iter().map(|(name, ..)| *name).collect()
}

/// Returns a figure's name from the table, and its kind.
pub fn find(name: &str) -> Option<(&'static str, FigureKind)> {
    FIGURES.iter().find(|(known, ..)| *known == name).map(|(known, kind, _)| (*known, *kind))
}

/// Returns the names of the figures that a file has.
pub fn present(file: &Value) -> Vec<&'static str> {
    known().into_iter().filter(|name| measure(file, name).is_some()).collect()
}

/// A level that a capacity file only bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The highest value that it may have.
    pub high: f64,
    /// Why no more is known, in a few words.
    pub why: String,
}

/// Returns the bound of a figure that is only a least value: no rate above it was found to fail, or
/// the generator or its host was the limit. A failing target that held nothing has no bound.
pub fn bound(file: &Value, name: &str) -> Option<Bound> {
    let (.., place) = FIGURES.iter().find(|(known, ..)| *known == name)?;
    let At(pointer) = place else { return None };
    let level = file.pointer(pointer.strip_suffix("/rate")?)?;
    let verdict = verdict(file);
    let held = level.get("rate").and_then(Value::as_f64).is_some_and(|rate| rate > 0.0);
    if verdict == Some(Verdict::TargetFailing) && !held {
        return None;
    }
    let limited = verdict.filter(|verdict| verdict.is_at_least());
    let at_least = level.get("at_least").and_then(|why| AtLeast::deserialize(why).ok());
    let high = match level.get("high")? {
        Value::Null => f64::INFINITY,
        high if at_least.is_some() => high.as_f64()?,
        high if name == "stable" && limited.is_some() => high.as_f64()?,
        _ => return None,
    };
    let why = match (verdict, at_least) {
        (Some(Verdict::Clean) | None, Some(why)) => why.words(),
        (Some(Verdict::Clean) | None, None) => "no higher rate was found to fail",
        (Some(verdict), _) => verdict.name(),
    };
    Some(Bound { high, why: why.into() })
}

/// Returns the verdict of a capacity file.
pub fn verdict(file: &Value) -> Option<Verdict> {
    serde_json::from_value(file.get("verdict")?.clone()).ok()
}

/// Returns a figure of a file, in the unit of its kind.
pub fn measure(file: &Value, name: &str) -> Option<f64> {
    let number = |pointer: &str| file.pointer(pointer).and_then(Value::as_f64);
    let all = || number("/requests/total").filter(|total| *total > 0.0);
    let (.., place) = FIGURES.iter().find(|(known, ..)| *known == name)?;
    match place {
        At(pointer) => number(pointer),
        OfAll(pointer) => Some(number(pointer)? / all()?),
        Outage => {
            let outcomes: Outcomes =
                serde_json::from_value(file.pointer("/outcomes")?.clone()).ok()?;
            Some(outages(&outcomes) as f64 / all()?)
        }
        Goodput => {
            let mut sum = (0.0, 0.0);
            for stage in file.pointer("/stages")?.as_array()? {
                let seconds = stage.get("seconds")?.as_f64()?;
                sum.0 += stage.get("goodput")?.as_f64()? * seconds;
                sum.1 += seconds;
            }
            (sum.1 > 0.0).then_some(sum.0 / sum.1)
        }
    }
}
