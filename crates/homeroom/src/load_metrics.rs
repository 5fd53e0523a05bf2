//! Metrics of loads: what became of the items, by resource. They equal the summaries of the loads
//! that this process did.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use homeroom_bulk::Summary;

/// Counts of all loads since the process started.
#[derive(Debug, Default)]
pub struct LoadMetrics(Mutex<BTreeMap<(String, &'static str), u64>>);

impl LoadMetrics {
    /// Adds the outcome of a load; a dry run has none.
    pub fn add(&self, summary: &Summary) {
        if summary.dry_run {
            return;
        }
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (resource, tally) in &summary.resources {
            for (outcome, count) in tally.outcomes().into_iter().filter(|(_, count)| *count > 0) {
                *counts.entry((resource.clone(), outcome)).or_default() += count;
            }
        }
    }

    /// Returns the lines of the metrics.
    ///
    /// Source: OpenMetrics 1.0, text format.
    pub fn lines(&self) -> String {
        let mut out = String::from(
            "# HELP homeroom_load_items Items of loads, by resource and outcome.\n\
             # TYPE homeroom_load_items counter\n",
        );
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for ((resource, outcome), count) in counts.iter() {
            _ = writeln!(
                out,
                "homeroom_load_items_total{{resource=\"{resource}\",outcome=\"{outcome}\"}} {count}"
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use homeroom_bulk::Tally;

    use super::*;

    #[test]
    fn the_items_of_all_loads_are_added_up() {
        let metrics = LoadMetrics::default();
        let tally = Tally { loaded: 2, rejected: 1, ..Tally::default() };
        let summary = Summary {
            resources: BTreeMap::from([("ed-fi/students".to_owned(), tally)]),
            ..Summary::default()
        };

        metrics.add(&summary);
        metrics.add(&summary);
        metrics.add(&Summary { dry_run: true, ..summary });

        let text = metrics.lines();
        let line = |outcome: &str, count: u64| {
            format!(
                "homeroom_load_items_total{{resource=\"ed-fi/students\",outcome=\"{outcome}\"}} {count}\n"
            )
        };
        assert!(text.ends_with(&(line("loaded", 4) + &line("rejected", 2))), "{text}");
    }
}
