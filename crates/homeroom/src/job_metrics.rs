//! Metrics of jobs. Kinds are few, and owners are never a label.
#![expect(clippy::disallowed_methods, reason = "an age is measured at the moment of a scrape")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use homeroom_http::BudgetFigures;
use homeroom_jobs::{Figures, Jobs, State};
use homeroom_store::ChangedAt;

/// The jobs of a store at the moment of a scrape; none if the store cannot be read.
pub struct Queued(Option<Figures>);

impl Queued {
    /// Counts them.
    pub async fn read(jobs: &Jobs) -> Self {
        Self(jobs.figures().await.ok())
    }

    /// Returns their lines.
    pub fn lines(&self) -> String {
        self.0.as_ref().map(|figures| written(figures, ChangedAt::now())).unwrap_or_default()
    }

    /// Returns the figures of their queue.
    pub fn figures(&self, jobs: &Jobs) -> BudgetFigures {
        let groups = self.0.iter().flat_map(|figures| &figures.groups);
        let queued = groups.filter(|group| group.state == State::Queued);
        BudgetFigures {
            name: "jobs",
            size: jobs.limits().queued_max.into(),
            used: queued.map(|group| group.count).sum(),
            refused: self.0.as_ref().map_or(0, |figures| figures.refusals.full),
        }
    }
}

/// Source: OpenMetrics 1.0, text format.
fn written(figures: &Figures, now: ChangedAt) -> String {
    let mut out = String::from(
        "# HELP homeroom_jobs Jobs that are kept, by kind and state.\n# TYPE homeroom_jobs gauge\n",
    );
    let mut oldest: BTreeMap<&str, ChangedAt> = BTreeMap::new();
    for group in &figures.groups {
        let (kind, state) = (escaped(&group.kind), group.state.name());
        _ = writeln!(out, "homeroom_jobs{{kind=\"{kind}\",state=\"{state}\"}} {}", group.count);
        if group.state == State::Queued {
            oldest.insert(&group.kind, group.oldest);
        }
    }
    out.push_str(
        "# HELP homeroom_jobs_oldest_queued_seconds Age of the oldest queued job.\n\
         # TYPE homeroom_jobs_oldest_queued_seconds gauge\n",
    );
    for (kind, queued) in oldest {
        let (kind, seconds) = (escaped(kind), now.0.saturating_sub(queued.0).max(0) / 1_000_000);
        _ = writeln!(out, "homeroom_jobs_oldest_queued_seconds{{kind=\"{kind}\"}} {seconds}");
    }
    out.push_str(
        "# HELP homeroom_jobs_refused Jobs that were not queued: too many waiting, or too large.\n\
         # TYPE homeroom_jobs_refused counter\n",
    );
    for (reason, count) in [("full", figures.refusals.full), ("large", figures.refusals.large)] {
        _ = writeln!(out, "homeroom_jobs_refused_total{{reason=\"{reason}\"}} {count}");
    }
    out
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use homeroom_jobs::{Group, Refusals};

    use super::*;

    #[test]
    fn jobs_are_counted_by_kind_and_state_and_the_oldest_has_an_age() {
        let group = |kind: &str, state, count, oldest| Group {
            kind: kind.to_owned(),
            state,
            count,
            oldest: ChangedAt(oldest),
        };
        let groups =
            vec![group("a\"b", State::Dead, 1, 0), group("import", State::Queued, 2, 3_000_000)];
        let figures = Figures { groups, refusals: Refusals { full: 4, large: 0 } };

        let text = written(&figures, ChangedAt(10_500_000));

        for line in [
            "homeroom_jobs{kind=\"a\\\"b\",state=\"dead\"} 1\n",
            "homeroom_jobs{kind=\"import\",state=\"queued\"} 2\n",
            "homeroom_jobs_oldest_queued_seconds{kind=\"import\"} 7\n",
            "homeroom_jobs_refused_total{reason=\"full\"} 4\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
