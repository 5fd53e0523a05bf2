//! Goals on the command line: whether a run file or a capacity file meets them.
//!
//! A goal names the condition that must not hold: `p99 > 100ms`, `failed > 0.1%`, `goodput <
//! 5000/s`, `stable < 8000/s`, `outage > 0`. Both kinds of file are read by the names of their
//! members, so files of other versions, and of other programs that use these names, can be checked
//! too.

mod expression;
mod figures;
mod goal_result;
mod junit;

use std::fmt::Write as _;

use serde_json::Value;

pub use expression::{Goal, Operator, ParseError, parse};
pub use figures::{FigureKind, KINDS, Units, known};
pub use goal_result::GoalResult;
pub use junit::junit;

/// Why a goal cannot be checked against a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not a JSON object.
    #[error("this is neither a run file nor a capacity file: {0}")]
    NotAFile(String),
    /// The figure is not in this file.
    #[error("`{goal}`: the file has no `{figure}`; it has: {known}")]
    NotThere {
        /// The goal, as written.
        goal: String,
        /// The name of the figure.
        figure: String,
        /// The names of the figures that the file has.
        known: String,
    },
    /// The file has only a bound, which does not decide the goal.
    #[error("`{goal}`: the file only says at least {bound} ({why})")]
    Bound {
        /// The goal, as written.
        goal: String,
        /// The least value that was held, with its unit.
        bound: String,
        /// Why no more is known.
        why: String,
    },
}

/// Checks a file against goals, in their order.
///
/// # Errors
///
/// [`Error`]: a goal about a figure that is not in the file is not met, and one that asks for more
/// than the file's lower bound is not missed.
pub fn evaluate(file: &str, goals: &[Goal]) -> Result<Vec<GoalResult>, Error> {
    let file: Value =
        serde_json::from_str(file).map_err(|error| Error::NotAFile(error.to_string()))?;
    if !file.is_object() {
        return Err(Error::NotAFile("it is not a JSON object".into()));
    }
    goals
        .iter()
        .map(|goal| {
            let measured = figures::measure(&file, goal.figure).ok_or_else(|| Error::NotThere {
                goal: goal.text.clone(),
                figure: goal.figure.into(),
                known: figures::present(&file).join(", "),
            })?;
            let failed = goal.operator.holds(measured, goal.limit);
            if let Some(bound) = figures::bound(&file, goal.figure)
                && failed
                && !goal.operator.holds(bound.high, goal.limit)
            {
                let (goal, shown) = (goal.text.clone(), goal.kind.shown(measured));
                return Err(Error::Bound { goal, bound: shown, why: bound.why });
            }
            Ok(GoalResult { goal: goal.clone(), measured, failed })
        })
        .collect()
}

/// Returns a line about the verdict of a capacity file; `None` for other files.
pub fn verdict(file: &str) -> Option<String> {
    let verdict = figures::verdict(&serde_json::from_str(file).ok()?)?;
    Some(format!("{}: {}", verdict.name(), verdict.meaning()))
}

/// Formats the rows as a text table.
pub fn table(rows: &[GoalResult]) -> String {
    let mut text = String::new();
    let wide = rows.iter().map(|row| row.goal.text.len()).max().unwrap_or(0);
    for row in rows {
        let word = if row.failed { "FAILED" } else { "kept" };
        let _ = writeln!(text, "{word:<8}{:<wide$}  measured {}", row.goal.text, row.shown());
    }
    let failed = rows.iter().filter(|row| row.failed).count();
    let _ = writeln!(text, "{failed} of {} goals failed", rows.len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{
        "requests": {"total": 10000, "ok": 9980, "failed": 20, "late": 150},
        "response_ms": {"mean": 12.5, "p50": 9.0, "p99": 104.2, "p99_9": 300.0, "max": 900.0},
        "service_ms": {"mean": 11.0, "p99": 99.0},
        "send_lag_ms": {"p99": 0.04},
        "outcomes": {"200": 9980, "409": 8, "503": 7, "timeout": 5},
        "stages": [{"seconds": 1.5, "goodput": 5000.0}, {"seconds": 0.5, "goodput": 4960.0}]
    }"#;
    const CAPACITY: &str = r#"{
        "stable": {"rate": 8123.0, "low": 8000.0, "high": null},
        "burst": {"rate": 9000.0}, "failure": {"rate": 9900.0}
    }"#;

    fn failed(file: &str, goal: &str) -> bool {
        evaluate(file, &[parse(goal).unwrap()]).unwrap()[0].failed
    }

    #[test]
    fn a_run_is_checked_against_each_kind_of_goal() {
        for (goal, expected) in [
            ("p99 > 100ms", true),
            ("p99>0.2s", false),
            ("mean >= 12.5ms", true),
            ("mean > 12.5ms", false),
            ("p99.9 > 250ms", true),
            ("service.p99 > 100ms", false),
            ("send_lag.p99 > 50us", false),
            ("failed > 0.1%", true),
            ("failed > 0.2%", false),
            ("late > 1%", true),
            ("outage > 0", true),
            ("outage > 0.12%", false),
            ("goodput < 5000/s", true),
            ("goodput < 4990/s", false),
        ] {
            assert_eq!(failed(RUN, goal), expected, "{goal}");
        }
    }

    #[test]
    fn goals_for_a_capacity_file_are_checked_against_its_levels() {
        assert!(!failed(CAPACITY, "stable < 8000/s"));
        assert!(failed(CAPACITY, "stable.low <= 8000"));
        assert!(failed(CAPACITY, "failure < 10000/s"));
    }

    #[test]
    fn a_lower_bound_is_not_a_measured_level() {
        let file = |verdict: &str, high: &str| {
            format!(
                r#"{{"verdict": "{verdict}",
                    "stable": {{"rate": 400, "low": 400, "high": {high}, "found": true}},
                    "burst": {{"rate": 450, "low": 450, "high": 480, "found": true}},
                    "failure": {{"rate": 520, "low": 520, "high": null, "found": false}}}}"#
            )
        };
        let judged = |verdict: &str, high: &str, goal: &str| {
            let rows = evaluate(&file(verdict, high), &[parse(goal).unwrap()]);
            rows.map(|rows| rows[0].failed).map_err(|error| error.to_string())
        };
        let only = |goal: &str, bound: &str, why: &str| {
            Err(format!("`{goal}`: the file only says at least {bound} ({why})"))
        };

        for (verdict, high, goal, expected) in [
            (
                "CLEAN",
                "410",
                "failure < 600/s",
                only("failure < 600/s", "520.0/s", "no higher rate was found to fail"),
            ),
            ("CLEAN", "410", "failure < 500/s", Ok(false)),
            ("CLEAN", "410", "failure > 500/s", Ok(true)),
            ("CLEAN", "410", "stable < 500/s", Ok(true)),
            (
                "GENERATOR-LIMITED",
                "null",
                "stable < 500/s",
                only("stable < 500/s", "400.0/s", "GENERATOR-LIMITED"),
            ),
            (
                "HOST-NOISY",
                "600",
                "stable <= 500/s",
                only("stable <= 500/s", "400.0/s", "HOST-NOISY"),
            ),
            // The level is below 600, whatever the host did.
            ("HOST-NOISY", "600", "stable < 700/s", Ok(true)),
            ("HOST-NOISY", "600", "stable < 300/s", Ok(false)),
            ("HOST-NOISY", "600", "burst < 460/s", Ok(true)),
            (
                "TARGET-FAILING",
                "410",
                "failure < 600/s",
                only("failure < 600/s", "520.0/s", "TARGET-FAILING"),
            ),
        ] {
            assert_eq!(judged(verdict, high, goal), expected, "{verdict}, {high}, {goal}");
        }
        let short = r#"{"verdict": "OUT-OF-TIME", "stable":
            {"rate": 400, "low": 400, "high": 600, "found": false, "at_least": "void"}}"#;
        let said = |goal: &str| evaluate(short, &[parse(goal).unwrap()]).map(|rows| rows[0].failed);
        assert!(said("stable < 500/s").is_err() && said("stable < 300/s").is_ok_and(|is| !is));
        assert!(said("stable < 700/s").is_ok_and(|is| is), "it lies below 600");
        let nothing = r#"{"verdict": "TARGET-FAILING", "failure": {"rate": 0, "high": null}}"#;
        assert!(failed(nothing, "failure < 600/s"), "no rate was held at all");
    }

    #[test]
    fn the_verdict_of_a_capacity_file_is_shown() {
        let said = verdict(r#"{"verdict": "HOST-NOISY", "stable": {"rate": 4}}"#);

        assert_eq!(
            said.as_deref(),
            Some("HOST-NOISY: The host was noisy: the server may hold more.")
        );
        assert_eq!((verdict(RUN), verdict(r#"{"verdict": "better"}"#)), (None, None));
    }

    #[test]
    fn a_goal_for_a_missing_figure_is_an_error() {
        let goal = parse("stable < 8000/s").unwrap();

        let error = evaluate(RUN, &[goal]).unwrap_err().to_string();

        assert!(error.contains("the file has no `stable`; it has: "), "{error}");
        assert!(error.contains("p99") && error.contains("goodput"), "{error}");
        assert!(evaluate(CAPACITY, &[parse("stable.high < 1/s").unwrap()]).is_err());
        assert!(matches!(evaluate("[1]", &[]), Err(Error::NotAFile(_))));
        assert!(matches!(evaluate("{", &[]), Err(Error::NotAFile(_))));
    }

    #[test]
    fn shares_of_a_run_without_requests_are_undefined() {
        let empty =
            r#"{"requests": {"total": 0, "ok": 0, "failed": 0, "late": 0}, "outcomes": {}}"#;

        assert!(evaluate(empty, &[parse("failed > 0.1%").unwrap()]).is_err());
    }

    #[test]
    fn a_file_with_absurd_numbers_is_measured_like_any_other() {
        let absurd = r#"{
            "requests": {"total": 1, "failed": 1e308},
            "outcomes": {"503": 18446744073709551615, "504": 18446744073709551615}
        }"#;

        assert!(failed(absurd, "failed > 1%"));
        assert!(failed(absurd, "outage > 1%"));
    }

    #[test]
    fn the_table_names_what_was_measured() {
        let goals = [parse("p99 > 100ms").unwrap(), parse("failed > 1%").unwrap()];

        let text = table(&evaluate(RUN, &goals).unwrap());

        assert_eq!(
            text,
            "FAILED  p99 > 100ms  measured 104.2 ms\n\
             kept    failed > 1%  measured 0.200 %\n\
             1 of 2 goals failed\n"
        );
    }
}
