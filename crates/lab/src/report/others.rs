//! Tables that are shown beside runs: a comparison, a gate.

use crate::compare::Comparison;
use crate::gate;

use super::table::{Cell, Part, Table};
use super::words;

/// Returns a comparison of A and B, one row per figure.
pub fn comparison(of: &Comparison) -> Table {
    let rows = of.rows.iter().map(|row| {
        let change = |end: fn(&crate::statistics::Estimate) -> f64| {
            row.change.as_ref().map_or(Cell::Nothing, |change| Cell::Figure(end(change)))
        };
        vec![
            Cell::Text(row.name.clone()),
            Cell::Figure(row.a),
            Cell::Figure(row.b),
            change(|change| change.value),
            change(|change| change.low),
            change(|change| change.high),
            Cell::Text(row.verdict.word().into()),
        ]
    });
    let [a, b] = of.names.each_ref().map(|name| words::name(name));
    let mut columns = vec!["Figure".to_owned(), format!("A: {a}"), format!("B: {b}")];
    columns.extend(["Change", "Low", "High", "B is"].map(String::from));
    Table {
        id: "comparison".into(),
        caption: format!("Comparison: {}", of.says()),
        columns,
        parts: vec![Part { heading: String::new(), rows: rows.collect() }],
        notes: vec![(
            "Change, Low, High",
            format!(
                "B over A, for errors B less A, with its interval at {}; A ran {} times, B {} times, \
                 in turns",
                words::percent(of.settings.confidence),
                of.a.len(),
                of.b.len()
            ),
        )],
    }
}

/// Returns the goals of a gate and whether they were met.
pub fn gate(rows: &[gate::GoalResult]) -> Table {
    let cells = rows.iter().map(|row| {
        vec![
            Cell::Text(row.goal.text.clone()),
            Cell::Text(row.shown()),
            Cell::Text(if row.failed { "failed" } else { "passed" }.into()),
        ]
    });
    let failed = rows.iter().filter(|row| row.failed).count() as u64;
    Table {
        id: "gate".into(),
        caption: format!("Gate: {} of {} failed", failed, words::some(rows.len() as u64, "goal")),
        columns: ["Fails if", "Measured", "Result"].map(String::from).to_vec(),
        parts: vec![Part { heading: String::new(), rows: cells.collect() }],
        notes: vec![],
    }
}
