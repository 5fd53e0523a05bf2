//! What is saved of an attempt.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What the run-time has saved of an activity.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct ActivityState {
    /// How many attempts have begun.
    pub(crate) attempts: u32,
    /// The values of its elements, by full names.
    pub(crate) cmi: BTreeMap<String, String>,
    /// The statuses and scores that earlier attempts have left, by the same names; those of objectives are
    /// numbered anew.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) former: BTreeMap<String, String>,
    /// The time of all sessions before the last, in hundredths of a second.
    pub(crate) earlier: u64,
    /// The launch of the last session.
    pub(crate) launch: String,
    /// The time of the last session, in hundredths of a second: as content says, or else from its first
    /// commit to its last one.
    pub(crate) session: u64,
    /// Whether content has said the time of a session.
    pub(crate) is_told: bool,
    /// When the last session began.
    pub(crate) begun: i64,
    /// Whether content has ended the last session.
    pub(crate) is_finished: bool,
    /// What its exit was, if it has ended.
    pub(crate) exit: String,
}

impl ActivityState {
    /// Returns the value of an element.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.cmi.get(name).map(String::as_str)
    }

    /// Returns the value of an element that is not empty.
    pub(crate) fn some(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Returns the number of an element.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.trim().parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Begins a new attempt: what the last one has said is gone, but for statuses and scores, which
    /// global objectives keep.
    ///
    /// Source: SCORM 2004 Sequencing and Navigation §4.2.1 (objectives are of an attempt, global ones are
    /// not).
    pub(crate) fn begin_anew(&mut self) {
        let last = std::mem::take(&mut self.cmi);
        for name in OUTCOMES {
            let name = format!("cmi.{name}");
            if let Some(value) = last.get(&name) {
                self.former.insert(name, value.clone());
            }
        }
        for number in 0..FORMER_OBJECTIVES_MAX {
            let Some(id) = last.get(&format!("cmi.objectives.{number}.id")) else { break };
            let is_it =
                |at: &usize| self.former.get(&former_id(*at)).is_none_or(|known| known == id);
            let Some(at) = (0..FORMER_OBJECTIVES_MAX).find(is_it) else { break };
            self.former.insert(former_id(at), id.clone());
            for name in OUTCOMES {
                if let Some(value) = last.get(&format!("cmi.objectives.{number}.{name}")) {
                    self.former.insert(format!("cmi.objectives.{at}.{name}"), value.clone());
                }
            }
        }
    }

    /// Returns the time of all its sessions, in hundredths of a second.
    pub(crate) fn time(&self) -> u64 {
        self.earlier.saturating_add(self.session)
    }
}

/// What is kept of an attempt when the next one begins.
const OUTCOMES: [&str; 4] =
    ["success_status", "score.scaled", "completion_status", "progress_measure"];
/// Most objectives of earlier attempts of which the outcomes are kept.
const FORMER_OBJECTIVES_MAX: usize = 100;

fn former_id(number: usize) -> String {
    format!("cmi.objectives.{number}.id")
}

/// What the launches and activities of an instance share.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Progress {
    /// What each launch has done.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) launches: BTreeMap<String, LaunchState>,
    /// The activity with which the next launch begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) suspended: Option<String>,
    /// The player's own text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sequencing: Option<String>,
    /// Global objectives by id.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) global_objectives: Map<String, Value>,
    /// Shared data by id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) shared_data: BTreeMap<String, String>,
}

/// What a launch has done.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct LaunchState {
    /// The greatest sequence number that was accepted.
    pub(crate) sequence: i64,
    /// When its first commit came.
    pub(crate) first: i64,
    /// When its last commit came.
    pub(crate) last: i64,
    /// Whether it has ended.
    #[serde(default)]
    pub(crate) is_ended: bool,
    /// Whether it has ended because nothing came any more.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) is_timed_out: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Most launches of which the sequence numbers are kept.
const LAUNCHES_MAX: usize = 50;

impl Progress {
    /// Drops the launches that have been silent longest, beyond a number.
    pub(crate) fn trim(&mut self) {
        while self.launches.len() > LAUNCHES_MAX {
            let oldest = self.launches.iter().min_by_key(|(_, state)| state.last);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { return };
            self.launches.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_attempt_keeps_the_outcomes_of_the_earlier_ones() {
        let mut state = ActivityState::default();
        let mut set = |values: &[(&str, &str)]| {
            let values =
                values.iter().map(|(name, value)| (format!("cmi.{name}"), (*value).into()));
            state.cmi.extend(values);
            state.begin_anew();
        };

        set(&[("success_status", "passed"), ("location", "7"), ("objectives.0.id", "a")]);
        set(&[
            ("objectives.0.id", "b"),
            ("objectives.0.score.scaled", "0.5"),
            ("objectives.1.id", "a"),
            ("objectives.1.success_status", "failed"),
        ]);

        assert!(state.cmi.is_empty());
        let former: Vec<_> = state.former.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(
            former,
            [
                ("cmi.objectives.0.id", "a"),
                ("cmi.objectives.0.success_status", "failed"),
                ("cmi.objectives.1.id", "b"),
                ("cmi.objectives.1.score.scaled", "0.5"),
                ("cmi.success_status", "passed"),
            ]
        );
    }
}
