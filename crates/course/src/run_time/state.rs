//! What is saved of an attempt.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::reached::Reached;
use super::status::Outcome;

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
    /// The time of the attempt in sessions that are no longer told apart, in hundredths of a second.
    pub(crate) earlier: u64,
    /// The time of all attempts before this one, likewise.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) past: u64,
    /// The time of each session, by its number.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) sessions: BTreeMap<u32, Spell>,
    /// The launch of the latest session.
    pub(crate) launch: String,
    /// The latest session; 0 if there was none.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) latest: u32,
    /// The session that has begun the attempt.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) begun_by: u32,
    /// The session that has begun to set values: a value that `set_by` does not list is its own, so that
    /// nothing is noted for each value of an activity that is played once.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) origin: u32,
    /// The session that has set a value, by the element's name, where it is another one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) set_by: BTreeMap<String, u32>,
    /// Interactions whose places other sessions have taken, by the session that has set them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) beside: BTreeMap<u32, BTreeMap<String, String>>,
    /// The time of the last session, as an older Homeroom has written it.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) session: u64,
    /// Whether content has told that time.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) is_told: bool,
    /// When that session began.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) begun: i64,
    /// Whether content has ended the latest session.
    pub(crate) is_finished: bool,
    /// What its exit was, if it has ended.
    pub(crate) exit: String,
    /// When content has ended it, if it has.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) ended: i64,
    /// Whether what it has said of its status, its score and its objectives counts for itself alone, since the global
    /// objectives were forgotten.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) is_withheld: bool,
}

/// What a session has spent on an activity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Spell {
    /// Its time in hundredths of a second: as content says, or else from its first commit to its last one.
    pub(crate) time: u64,
    /// Whether content has told it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) is_told: bool,
    /// When it began.
    pub(crate) begun: i64,
    /// Until when its time is measured; 0 where an older Homeroom has written it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) measured: i64,
    /// Whether it belongs to an attempt before this one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) is_past: bool,
    /// Whether it has begun an attempt. A session begins one at most, unless it says which.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) has_begun: bool,
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

    /// Returns the session that has set a value.
    pub(crate) fn setter(&self, name: &str) -> u32 {
        self.set_by.get(name).copied().unwrap_or(self.origin)
    }

    /// Returns whether a session belongs to an attempt before this one.
    pub(crate) fn is_past(&self, session: u32) -> bool {
        self.sessions.get(&session).is_some_and(|spell| spell.is_past)
    }

    /// Returns whether a session belongs to this attempt.
    pub(crate) fn has_session(&self, session: u32) -> bool {
        self.sessions.get(&session).is_some_and(|spell| !spell.is_past)
    }

    /// Returns the latest session and when that began, for their order.
    pub(crate) fn latest_begun(&self) -> (u32, i64) {
        let spell = self.sessions.get(&self.latest);
        (self.latest, spell.map_or(self.begun, |spell| spell.begun))
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

    /// Forgets all but statuses, scores and times.
    pub(crate) fn shorten(&mut self) {
        self.cmi.retain(|name, value| {
            let is_short = value.len() <= SHORT_BYTES_MAX;
            let is_of_entry = name.contains(|letter: char| letter.is_ascii_digit());
            is_short && !is_of_entry && SHORT.iter().any(|end| name.ends_with(end))
        });
        self.beside.clear();
        self.former.clear();
        self.set_by.clear();
    }

    /// Forgets what it has come to for global objectives, until content says it again.
    pub(crate) fn withhold(&mut self) {
        self.former.clear();
        self.is_withheld = true;
    }

    /// Returns the time of the attempt, in hundredths of a second.
    pub(crate) fn time(&self) -> u64 {
        let own = self.sessions.values().filter(|spell| !spell.is_past);
        own.fold(self.earlier.saturating_add(self.session), |all, spell| {
            all.saturating_add(spell.time)
        })
    }

    /// Returns the time of all attempts, in hundredths of a second.
    pub(crate) fn time_of_all(&self) -> u64 {
        let before = self.sessions.values().filter(|spell| spell.is_past);
        before.fold(self.past.saturating_add(self.time()), |all, spell| {
            all.saturating_add(spell.time)
        })
    }
}

/// What is kept of an attempt when the next one begins.
const OUTCOMES: [&str; 4] =
    ["success_status", "score.scaled", "completion_status", "progress_measure"];
/// What is kept of an attempt for which there is no room, and the most bytes of a value of it.
const SHORT: [&str; 9] =
    ["_status", ".scaled", ".raw", ".min", ".max", ".progress_measure", ".exit", "_time", ".entry"];
const SHORT_BYTES_MAX: usize = 100;
/// Most objectives of earlier attempts of which the outcomes are kept.
const FORMER_OBJECTIVES_MAX: usize = 100;

fn former_id(number: usize) -> String {
    format!("cmi.objectives.{number}.id")
}

/// What the launches and activities of an instance share.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Progress {
    /// What each launch has done, if one of its sessions is kept.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) launches: BTreeMap<String, LaunchState>,
    /// The sessions that were opened last, by number.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) sessions: BTreeMap<u32, Session>,
    /// How many sessions there have been: the number of the last one.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) begun: u32,
    /// Sessions that were opened until then may have been forgotten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) forgotten: Option<i64>,
    /// The session that has told last what follows.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) told_by: u32,
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
    /// The bytes of the attempts that have ended and were kept with all that they held.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) ended_bytes: usize,
    /// What the course has been completed with, where that is not taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reached: Option<Reached>,
}

/// Where the player's own text has the global objectives that it knows.
const GLOBALS_OF_PLAYER: &str = "globalObjectiveMap";

impl Progress {
    /// Takes note of what has come of the course. `keeps`: whether what is completed stays so.
    pub(crate) fn reach(
        &mut self,
        found: Outcome,
        states: &BTreeMap<String, ActivityState>,
        keeps: bool,
    ) {
        let attempts = states.values().map(|state| u64::from(state.attempts)).sum();
        self.reached = Reached::after(self.reached, found, attempts).filter(|_| keeps);
    }

    /// Returns what has come of the course as its registration tells it: what was reached, or what the
    /// activities say.
    pub(crate) fn told(&self, found: Outcome) -> Outcome {
        self.reached.map_or(found, Reached::outcome)
    }

    /// Forgets the global objectives and shared data.
    pub(crate) fn forget_globals(&mut self) {
        self.global_objectives.clear();
        self.shared_data.clear();
        let text = self.sequencing.as_deref().unwrap_or_default();
        if let Ok(Value::Object(mut player)) = serde_json::from_str(text)
            && player.contains_key(GLOBALS_OF_PLAYER)
        {
            player.insert(GLOBALS_OF_PLAYER.to_owned(), Map::new().into());
            self.sequencing = Some(Value::Object(player).to_string());
        }
    }
}

/// What a launch has done, and what it has come to.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct LaunchState {
    /// The greatest number that was accepted, as an older Homeroom has written it.
    #[serde(default, skip_serializing_if = "is_default")]
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
    /// The time of its sessions, in hundredths of a second.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) time: u64,
    /// What had come of the course at its last commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<Outcome>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Whether a value is that of a member that is not there.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A page of a launch that has saved something.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Session {
    /// The launch that was opened.
    pub(crate) launch: String,
    /// Its id; empty for a player that sends none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) id: String,
    /// The greatest number of its commits of which every part has come.
    pub(crate) sequence: i64,
    /// A later commit of which parts are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) partial: Option<Partial>,
    /// When its page was opened, as far as the server knows.
    pub(crate) opened: i64,
    /// The activity at which the learner had left the course then, to go on there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resumes: Option<String>,
    /// The activities whose content it has begun, and that has set nothing yet.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) held: BTreeMap<String, Held>,
}

/// What a page has said of an activity whose content has set nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Held {
    /// When it has said so first.
    pub(crate) begun: i64,
    /// The ids of the objectives that content has got from the manifest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) cmi: BTreeMap<String, String>,
}

/// A commit that comes in parts, of which some are missing.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(crate) struct Partial {
    /// Its number.
    pub(super) sequence: i64,
    /// How many parts it has.
    pub(super) parts: u16,
    /// Those that have come.
    pub(super) got: Vec<u16>,
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
