//! What a test found: its windows, where the server crossed a threshold, what it held.

use serde::{Deserialize, Serialize};

use homeroom_load::run::RunFile;

use super::level::Level;
use super::plan::LearnersPlan;
use super::progress::{Posts, Sessions};

/// A test of learners, as in its file: a run with what is particular to learners beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnersFile {
    /// The run.
    #[serde(flatten)]
    pub run: RunFile,
    /// What is particular to learners.
    pub learners: LearnersResult,
}

/// What is particular to a test of learners.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnersResult {
    /// The plan.
    pub plan: LearnersPlan,
    /// Where the server crossed a threshold for the first time.
    pub crossings: Vec<Crossing>,
    /// The most learners at each level but the last.
    pub held: Vec<Held>,
    /// How the number that was found was held, if that was asked for.
    pub hold: Option<Hold>,
    /// The sessions and what became of them.
    pub sessions: Sessions,
    /// The posts of results.
    #[serde(default)]
    pub posts: Posts,
    /// One row per window of ten seconds.
    pub windows: Vec<WindowRow>,
}

/// A window of ten seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WindowRow {
    /// Its beginning, in seconds since the run began.
    pub at_s: f64,
    /// The modelled learners at its end.
    pub users: u32,
    /// The 99th percentile of the response times of requests that were due in it, in milliseconds;
    /// absent if requests had no answer at all.
    pub p99_ms: Option<f64>,
    /// The level of this percentile.
    pub level: Level,
    /// The requests that were due in it.
    pub requests: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Launches a minute.
    pub launches_per_minute: f64,
}

impl WindowRow {
    /// Returns the row of a window with this number, before its counts are known.
    pub fn judged(number: usize, users: u32, p99_ms: f64) -> Self {
        Self {
            at_s: number as f64 * 10.0,
            users,
            p99_ms: p99_ms.is_finite().then_some(p99_ms),
            level: Level::of(p99_ms),
            requests: 0,
            failed: 0,
            launches_per_minute: 0.0,
        }
    }
}

/// The first window at a level that two windows in a row have, or a worse one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Crossing {
    /// The level that was reached.
    pub level: Level,
    /// The window.
    #[serde(flatten)]
    pub window: WindowRow,
    /// The level of the window itself, which is worse than the row's if a level was skipped.
    pub reached: Level,
}

/// How many learners a level held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The level.
    pub level: Level,
    /// The most modelled learners before the level was left.
    pub learners: u32,
    /// Whether the level was never left, so that the server may hold more.
    pub at_least: bool,
}

/// How the number that was found was held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    /// The modelled learners.
    pub learners: u32,
    /// When it began, in seconds since the run began.
    pub from_s: f64,
    /// How many windows it has.
    pub windows: u64,
    /// How many of them were ideal.
    pub ideal: u64,
    /// The greatest 99th percentile of a window, in milliseconds; absent if a window had none.
    pub worst_p99_ms: Option<f64>,
}

/// Returns the first of two windows in a row at this level or a worse one.
pub fn sustained(rows: &[WindowRow], level: Level) -> Option<usize> {
    rows.windows(2).position(|pair| pair.iter().all(|row| row.level >= level))
}

/// Returns how many learners a level held: the most before it was left for good or, if it never was,
/// in any window.
pub fn held(rows: &[WindowRow], level: Level) -> Held {
    let left = Level::ALL
        .into_iter()
        .find(|worse| *worse > level)
        .and_then(|worse| sustained(rows, worse));
    let before = &rows[..left.unwrap_or(rows.len())];
    let learners = before.iter().map(|row| row.users).max().unwrap_or(0);
    Held { level, learners, at_least: left.is_none() }
}

/// Returns the rows of the published table: for each level but the best, where it was reached.
pub fn crossings(rows: &[WindowRow]) -> Vec<Crossing> {
    let of = |level: Level| {
        let window = rows[sustained(rows, level)?];
        Some(Crossing { level, window, reached: window.level })
    };
    Level::ALL[1..].iter().filter_map(|level| of(*level)).collect()
}

/// Completes what is known of a hold with its windows: those that began after it, but not those in
/// which learners still left.
pub fn completed(hold: Hold, rows: &[WindowRow]) -> Hold {
    let of: Vec<&WindowRow> = rows.iter().filter(|row| row.at_s >= hold.from_s).collect();
    let worst = of.iter().map(|row| row.p99_ms.unwrap_or(f64::INFINITY)).fold(0.0, f64::max);
    Hold {
        windows: of.len() as u64,
        ideal: of.iter().filter(|row| row.level == Level::Ideal).count() as u64,
        worst_p99_ms: (worst.is_finite() && !of.is_empty()).then_some(worst),
        ..hold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(p99: &[f64]) -> Vec<WindowRow> {
        let row = |(at, ms): (usize, &f64)| {
            WindowRow::judged(at, 100 * (u32::try_from(at).unwrap() + 1), *ms)
        };
        p99.iter().enumerate().map(row).collect()
    }

    #[test]
    fn a_level_is_reached_where_two_windows_in_a_row_have_it() {
        let rows = rows(&[10.0, 1_500.0, 10.0, 1_300.0, 2_100.0, 9_000.0, f64::INFINITY]);

        let found: Vec<(Level, u32)> =
            crossings(&rows).iter().map(|of| (of.level, of.window.users)).collect();

        assert_eq!(
            found,
            [(Level::Acceptable, 400), (Level::Frustrating, 500), (Level::Unacceptable, 600)]
        );
        let held = |level| held(&rows, level);
        assert_eq!(
            held(Level::Ideal),
            Held { level: Level::Ideal, learners: 300, at_least: false }
        );
        assert_eq!(held(Level::Frustrating).learners, 500);
        assert_eq!(rows[6].p99_ms, None);
    }

    #[test]
    fn a_level_that_is_never_left_holds_at_least_what_was_tried() {
        let rows = rows(&[10.0, 1_500.0, 10.0]);

        assert!(crossings(&rows).is_empty());
        let expected = Held { level: Level::Ideal, learners: 300, at_least: true };
        assert_eq!(held(&rows, Level::Ideal), expected);
    }

    #[test]
    fn a_hold_counts_its_windows_and_its_worst() {
        let rows = rows(&[9_000.0, 10.0, 1_500.0, 20.0]);
        let hold = Hold { learners: 50, from_s: 10.0, ..Hold::default() };

        let hold = completed(hold, &rows);

        assert_eq!((hold.windows, hold.ideal, hold.worst_p99_ms), (3, 2, Some(1_500.0)));
    }
}
