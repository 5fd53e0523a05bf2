//! Commits as the player sends them, and what of them can be used.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::traced::{Calls, Noted};
use crate::error::Error;
use crate::package::Activity;
use crate::run_time::{Applied, Attempt, Elements, Refusal, global_objectives};
use crate::version::Version;

/// Most bytes of a commit.
pub(crate) const COMMIT_BYTES_MAX: usize = 1 << 20;
/// Most warnings of an answer.
pub(super) const WARNINGS_MAX: usize = 50;
/// Most activities of a commit.
const ACTIVITIES_MAX: usize = 50;
/// Most bytes of the player's own text.
const SEQUENCING_BYTES_MAX: usize = 256 << 10;
/// Most characters of an activity's identifier in a commit.
const ACTIVITY_CHARS_MAX: usize = 4_000;
/// Most characters of the ids of a session and of a launch.
const ID_CHARS_MAX: usize = 64;
/// The greatest number of a commit.
const SEQUENCE_MAX: i64 = i32::MAX as i64;
/// Most parts of a commit.
const PARTS_MAX: u16 = 256;

/// A commit as it is sent.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Commit {
    /// The number of the commit within its session.
    sequence: i64,
    /// The page that sends it; a player of an older Homeroom says none.
    #[serde(default)]
    session: String,
    /// Which part of the commit this is, from 0.
    #[serde(default)]
    part: u16,
    /// How many parts it has.
    #[serde(default = "one")]
    parts: u16,
    /// The launch whose page, now gone, has left this commit in the journal.
    #[serde(default)]
    pub(super) left: Option<String>,
    /// Whether the page goes, and says nothing after this unless it comes back.
    #[serde(default)]
    closing: bool,
    #[serde(flatten)]
    one: Part,
    #[serde(default)]
    r#final: bool,
    #[serde(default)]
    suspended: Suspended,
    #[serde(default)]
    sequencing: Option<String>,
    #[serde(default, rename = "globalObjectives")]
    global_objectives: Map<String, Value>,
    #[serde(default, rename = "sharedData")]
    shared_data: BTreeMap<String, String>,
    #[serde(default)]
    activities: Vec<Part>,
    #[serde(default)]
    calls: Vec<Value>,
}

fn one() -> u16 {
    1
}

/// What a commit says about one activity.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Part {
    #[serde(default)]
    activity: Option<String>,
    #[serde(default)]
    cmi: Map<String, Value>,
    #[serde(default)]
    exit: bool,
    /// `new`, or the number of the attempt.
    #[serde(default)]
    attempt: Option<Value>,
}

/// What a commit says about the activity with which the next launch begins.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Suspended {
    /// Nothing: it stays.
    #[default]
    Stays,
    /// It is this one from now on, or none.
    Is(Option<String>),
}

impl<'de> Deserialize<'de> for Suspended {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Option::<String>::deserialize(from).map(Self::Is)
    }
}

impl Commit {
    /// Reads a commit.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] says what is wrong with it; no value is shown.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Error> {
        let commit: Self = serde_json::from_slice(body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let what = if error.is_data() {
                "a member is missing or of another type: sequence is a whole number, cmi an object"
            } else {
                "it is no JSON"
            };
            Error::Invalid(format!(
                "the commit cannot be read at line {line}, column {column}: {what}"
            ))
        })?;
        let least = i64::from(commit.left.is_none());
        if !(least..=SEQUENCE_MAX).contains(&commit.sequence) {
            let message = format!("sequence is a whole number from {least} to {SEQUENCE_MAX}");
            return Err(Error::Invalid(message));
        }
        let is_id = |text: &str| {
            text.len() <= ID_CHARS_MAX
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        };
        if !is_id(&commit.session) || !commit.left.as_deref().is_none_or(is_id) {
            let message = format!(
                "session and left are at most {ID_CHARS_MAX} letters, digits, hyphens, \
                 underscores and points"
            );
            return Err(Error::Invalid(message));
        }
        if commit.part >= commit.parts || commit.parts > PARTS_MAX {
            let message = format!("part is less than parts, which is at most {PARTS_MAX}");
            return Err(Error::Invalid(message));
        }
        if commit.activities.len() > ACTIVITIES_MAX {
            let message = format!("a commit is about at most {ACTIVITIES_MAX} activities");
            return Err(Error::Invalid(message));
        }
        if commit.sequencing.as_ref().is_some_and(|text| text.len() > SEQUENCING_BYTES_MAX) {
            let message = format!("sequencing has at most {SEQUENCING_BYTES_MAX} bytes");
            return Err(Error::TooLarge(message));
        }
        Ok(commit)
    }
}

/// A commit whose values were checked.
#[derive(Debug, Clone)]
pub(super) struct Checked {
    pub(super) sequence: i64,
    pub(super) session: String,
    pub(super) part: (u16, u16),
    pub(super) is_left: bool,
    pub(super) is_closing: bool,
    pub(super) parts: Vec<(String, Applied)>,
    pub(super) is_final: bool,
    pub(super) suspended: Suspended,
    pub(super) sequencing: Option<String>,
    pub(super) global_objectives: Map<String, Value>,
    pub(super) shared_data: BTreeMap<String, String>,
    pub(super) calls: Calls,
    /// What of it cannot be used.
    pub(super) noted: Noted,
    pub(super) warnings: Vec<String>,
}

pub(super) fn check(mut commit: Commit, version: &Version, start: &str) -> Checked {
    let (mut warnings, mut noted) = (vec![], Noted::default());
    let mut parts: Vec<(String, Applied)> = vec![];
    let is_said = commit.one.activity.is_some()
        || !commit.one.cmi.is_empty()
        || commit.one.exit
        || commit.one.attempt.is_some();
    let one = is_said.then_some(commit.one);
    let mut warn = |warning: String| {
        if warnings.len() < WARNINGS_MAX {
            warnings.push(warning);
        }
    };
    for part in one.into_iter().chain(commit.activities) {
        let id = part.activity.unwrap_or_else(|| start.to_owned());
        if id.chars().count() > ACTIVITY_CHARS_MAX || version.tree.find(&id).is_none() {
            warn("an activity of the commit is not in the course; it is left out".into());
            for name in part.cmi.keys() {
                noted.not_saved(&id, name);
            }
            continue;
        }
        let mut cmi = BTreeMap::new();
        for (name, value) in part.cmi {
            let value = match value {
                Value::String(text) => text,
                Value::Null => continue,
                Value::Object(_) | Value::Array(_) => {
                    warn("a value is neither a text nor a number; it is left out".into());
                    noted.not_saved(&id, &name);
                    continue;
                }
                other => other.to_string(),
            };
            match Elements::shipped().check(version.standard, &name, &value) {
                Ok(()) => _ = cmi.insert(name, value),
                Err(Refusal::Silent) => noted.not_saved(&id, &name),
                Err(Refusal::Out(warning)) => {
                    warn(warning);
                    noted.not_saved(&id, &name);
                }
                Err(Refusal::Kept(warning)) => {
                    warn(warning);
                    cmi.insert(name, value);
                }
            }
        }
        let attempt = attempt_of(part.attempt.as_ref());
        parts.push((id, Applied { cmi, is_exit: part.exit, attempt }));
    }
    let mut objectives = commit.global_objectives;
    let mut is_declared = |is_declared: bool, what: &str, id: &str| {
        if !is_declared {
            noted.not_saved(&version.tree.id, &format!("{what}.{id}"));
        }
        is_declared
    };
    if !objectives.is_empty() {
        let declared = global_objectives(version.standard, &version.tree, &BTreeMap::new());
        objectives.retain(|id, _| is_declared(declared.contains_key(id), "globalObjectives", id));
    }
    if !commit.shared_data.is_empty() {
        let declared = buckets(&version.tree);
        let data = &mut commit.shared_data;
        data.retain(|id, _| is_declared(declared.contains(id.as_str()), "sharedData", id));
    }
    let calls = Calls::of(commit.calls);
    if calls.left_out > 0 {
        warn(format!("{} calls are left out of the trace: a commit has too many", calls.left_out));
    }
    Checked {
        sequence: commit.sequence,
        session: commit.session,
        part: (commit.part, commit.parts),
        is_left: commit.left.is_some(),
        is_closing: commit.closing,
        parts,
        is_final: commit.r#final,
        suspended: commit.suspended,
        sequencing: commit.sequencing,
        global_objectives: objectives,
        shared_data: commit.shared_data,
        calls,
        noted,
        warnings,
    }
}

/// Returns the buckets of shared data that the manifest names.
fn buckets(tree: &Activity) -> BTreeSet<&str> {
    let mut all = BTreeSet::new();
    let mut left = vec![tree];
    while let Some(activity) = left.pop() {
        all.extend(activity.data_maps.iter().filter_map(|map| map["target"].as_str()));
        left.extend(&activity.children);
    }
    all
}

fn attempt_of(said: Option<&Value>) -> Attempt {
    match said {
        Some(Value::String(word)) if word == "new" => Attempt::New,
        Some(number) => number
            .as_u64()
            .and_then(|number| u32::try_from(number).ok())
            .map_or(Attempt::Known, Attempt::Number),
        None => Attempt::Known,
    }
}
