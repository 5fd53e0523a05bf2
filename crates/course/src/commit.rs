//! Commits: what the player sends while content runs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use homeroom_store::{Answer, Ask, Decision, Plan, Sql, Write};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::courses::Courses;
use crate::error::Error;
use crate::launch_record::Launch;
use crate::row::{Columns, Row, asks_of, rows_of, write, writes_of};
use crate::run_time::{
    ActivityState, Applied, Completion, Elements, LaunchState, Progress, Refusal, apply, finish,
    global_objectives, whole,
};
use crate::settings::Settings;
use crate::sql;
use crate::version::Version;
use crate::watch::{Watch, changes};

/// Most bytes of a commit.
pub(crate) const COMMIT_BYTES_MAX: usize = 1 << 20;
/// Most activities of a commit.
const ACTIVITIES_MAX: usize = 50;
/// Most bytes of the player's own text.
const SEQUENCING_BYTES_MAX: usize = 256 << 10;
/// Most global objectives and buckets of shared data of an instance.
const SHARED_MAX: usize = 1_000;
/// Most bytes of calls of one commit.
const CALLS_BYTES_MAX: usize = 256 << 10;
/// Most warnings of an answer.
const WARNINGS_MAX: usize = 50;
/// Most characters of an activity's identifier in a commit.
const ACTIVITY_CHARS_MAX: usize = 4_000;

/// A commit as it is sent.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Commit {
    sequence: i64,
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

/// What a commit says about one activity.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Part {
    #[serde(default)]
    activity: Option<String>,
    #[serde(default)]
    cmi: Map<String, Value>,
    #[serde(default)]
    exit: bool,
    #[serde(default)]
    attempt: Option<String>,
}

/// What a commit has come to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Acknowledged {
    /// The greatest sequence number that was accepted of the launch.
    pub(crate) sequence: i64,
    /// When that was saved.
    pub(crate) saved: i64,
    /// What was left out, or is longer than it should be.
    pub(crate) warnings: Vec<String>,
}

/// What a commit says about the activity with which the next launch begins.
#[derive(Debug, Clone, Default, PartialEq)]
enum Suspended {
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
        if commit.sequence < 1 {
            return Err(Error::Invalid("sequence is a whole number from 1".into()));
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
struct Checked {
    sequence: i64,
    parts: Vec<(String, Applied)>,
    is_final: bool,
    suspended: Suspended,
    sequencing: Option<String>,
    global_objectives: Map<String, Value>,
    shared_data: BTreeMap<String, String>,
    calls: Option<String>,
    warnings: Vec<String>,
}

fn check(commit: Commit, version: &Version, start: &str) -> Checked {
    let mut warnings = vec![];
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
            continue;
        }
        let mut cmi = BTreeMap::new();
        for (name, value) in part.cmi {
            let value = match value {
                Value::String(text) => text,
                Value::Null => continue,
                Value::Object(_) | Value::Array(_) => {
                    warn("a value is neither a text nor a number; it is left out".into());
                    continue;
                }
                other => other.to_string(),
            };
            match Elements::shipped().check(version.standard, &name, &value) {
                Ok(()) => _ = cmi.insert(name, value),
                Err(Refusal::Silent) => {}
                Err(Refusal::Out(warning)) => warn(warning),
                Err(Refusal::Kept(warning)) => {
                    warn(warning);
                    cmi.insert(name, value);
                }
            }
        }
        let is_new_attempt = part.attempt.as_deref() == Some("new");
        parts.push((id, Applied { cmi, is_exit: part.exit, is_new_attempt }));
    }
    let mut objectives = commit.global_objectives;
    if !objectives.is_empty() {
        let declared = global_objectives(version.standard, &version.tree, &BTreeMap::new());
        objectives.retain(|id, _| declared.contains_key(id));
    }
    let calls = (!commit.calls.is_empty()).then(|| Value::Array(commit.calls).to_string());
    Checked {
        sequence: commit.sequence,
        parts,
        is_final: commit.r#final,
        suspended: commit.suspended,
        sequencing: commit.sequencing,
        global_objectives: objectives,
        shared_data: commit.shared_data,
        calls: calls.filter(|calls| calls.len() <= CALLS_BYTES_MAX),
        warnings,
    }
}

impl Courses {
    /// Applies a commit. Returns when it is durable.
    ///
    /// A commit whose number is not greater than all before it is acknowledged and changes nothing.
    pub(crate) async fn commit(
        &self,
        launch: &Launch,
        commit: Commit,
        now: i64,
    ) -> Result<Acknowledged, Error> {
        let version = self.version(&launch.course, launch.version, now).await?;
        let start = if launch.options.start.is_empty() {
            version.first().map(|first| first.id.clone()).unwrap_or_default()
        } else {
            launch.options.start.clone()
        };
        let checked = check(commit, &version, &start);
        let Some(registration) = launch.registration.clone().filter(|_| launch.is_tracked()) else {
            let Checked { sequence, warnings, .. } = checked;
            return Ok(Acknowledged { sequence, saved: now, warnings });
        };
        let (launch_id, instance) = (launch.id.clone(), launch.instance);
        let mut ask = vec![Ask::Part(Sql::new(
            sql::COMMIT_REGISTRATION,
            vec![registration.as_str().into(), instance.into()],
        ))];
        for (activity, _) in &checked.parts {
            let arguments =
                vec![registration.as_str().into(), instance.into(), activity.as_str().into()];
            ask.push(Ask::Part(Sql::new(sql::COMMIT_ACTIVITY, arguments)));
        }
        // Whether the course is completed depends on all activities, where there are several.
        let is_single = version.tree.launchable().len() == 1;
        if !is_single {
            let arguments = vec![registration.as_str().into(), instance.into()];
            ask.push(Ask::Part(Sql::new(sql::ACTIVITIES, arguments)));
        }
        let watch = Arc::new(self.watch(&version, now).await?);
        let ask = asks_of(&registration, ask);
        let decide = move |found: Vec<Answer>| {
            let (registration, watch) = (&registration, &watch);
            let save = Save { registration, instance, launch: &launch_id, now, watch };
            match save.decide(&version, checked.clone(), found) {
                Ok((writes, done)) => Decision::Write(writes_of(registration, writes), done),
                Err(error) => Decision::Refuse(error),
            }
        };
        let (done, is_noticed) = self.run_apart(Plan { ask, decide }).await?;
        if is_noticed {
            self.noticed.notify_one();
        }
        Ok(done)
    }
}

/// Where and when a commit is saved.
struct Save<'a> {
    registration: &'a str,
    instance: i64,
    launch: &'a str,
    now: i64,
    watch: &'a Watch,
}

impl Save<'_> {
    /// Decides on a commit. The second part of the result is whether somebody is to be told.
    fn decide(
        &self,
        version: &Version,
        commit: Checked,
        found: Vec<Answer>,
    ) -> Result<(Vec<Write>, (Acknowledged, bool)), Error> {
        let mut found = found.into_iter();
        let rows = rows_of(found.next());
        let row = rows.first().ok_or_else(|| Error::no_registration(self.registration))?;
        let mut row = Columns::of(row, "a registration");
        let mut progress: Progress = row.json()?;
        let (first_access, completed) = (row.some_number()?, row.some_number()?);
        let own: Settings = row.json()?;
        let is_watched = self.watch.is_on(&own);
        let known = progress.launches.get(self.launch);
        if let Some(known) = known.filter(|known| known.sequence >= commit.sequence) {
            let (sequence, saved) = (known.sequence, known.last);
            return Ok((vec![], (Acknowledged { sequence, saved, warnings: vec![] }, false)));
        }
        let first = known.map_or(self.now, |known| known.first);
        let was_open = known.is_some_and(|known| !known.is_ended);
        let launched = LaunchState {
            sequence: commit.sequence,
            first,
            last: self.now,
            is_ended: commit.is_final,
            is_timed_out: false,
        };
        progress.launches.insert(self.launch.to_owned(), launched);
        progress.trim();
        if let Suspended::Is(suspended) = commit.suspended {
            progress.suspended = suspended.filter(|id| version.tree.find(id).is_some());
        }
        if let Some(sequencing) = commit.sequencing {
            progress.sequencing = Some(sequencing);
        }
        progress.global_objectives.extend(commit.global_objectives);
        progress.shared_data.extend(commit.shared_data);
        if progress.global_objectives.len() > SHARED_MAX || progress.shared_data.len() > SHARED_MAX
        {
            let message = format!("there are at most {SHARED_MAX} objectives and buckets");
            return Err(Error::TooLarge(message));
        }
        let mut states: BTreeMap<String, ActivityState> = BTreeMap::new();
        let mut before: BTreeMap<String, ActivityState> = BTreeMap::new();
        let mut touched = vec![];
        for (id, applied) in commit.parts {
            let rows = rows_of(found.next());
            let state = match states.entry(id.clone()) {
                Entry::Vacant(unread) => {
                    let found = state_of(rows.first())?;
                    if is_watched && !rows.is_empty() {
                        before.insert(id.clone(), found.clone());
                    }
                    unread.insert(found)
                }
                Entry::Occupied(read) => read.into_mut(),
            };
            apply(state, applied, self.launch, self.now);
            if let Some(activity) = version.tree.find(&id) {
                finish(state, version.standard, activity);
            }
            if !touched.contains(&id) {
                touched.push(id);
            }
        }
        for row in rows_of(found.next()) {
            let mut row = Columns::of(&row, "an activity");
            let id = row.text()?;
            if let Entry::Vacant(unread) = states.entry(id.clone()) {
                let state = unread.insert(row.json()?);
                if is_watched {
                    before.insert(id, state.clone());
                }
            }
        }
        let of = |states| whole(version.standard, &version.tree, states);
        let is_asked = (completed.is_none() || is_watched) && !touched.is_empty();
        let after = is_asked.then(|| of(&states));
        let is_completed = completed.is_none()
            && after.is_some_and(|after| after.completion == Completion::Completed);
        let completed = if is_completed { Some(self.now) } else { completed };
        let text = |value: Result<String, serde_json::Error>| {
            value.map_err(|_| Error::damaged("a registration"))
        };
        let key = || vec![self.registration.into(), self.instance.into()];
        let mut writes = vec![];
        let mut arguments = key();
        arguments.push(text(serde_json::to_string(&progress))?.into());
        arguments.push(self.now.into());
        arguments.push(first_access.unwrap_or(self.now).into());
        arguments.push(completed.into());
        writes.push(write(sql::COMMIT_SAVE, arguments));
        for id in touched {
            let mut arguments = key();
            arguments.push(id.as_str().into());
            arguments.push(text(serde_json::to_string(&states[&id]))?.into());
            writes.push(write(sql::COMMIT_STATE, arguments));
        }
        if let Some(calls) = commit.calls {
            let arguments = vec![
                self.launch.into(),
                commit.sequence.into(),
                self.registration.into(),
                self.now.into(),
                calls.into(),
            ];
            writes.push(write(sql::TRACE_ADD, arguments));
        }
        match (was_open, commit.is_final) {
            (false, false) => {
                let mut arguments = vec![self.launch.into()];
                arguments.extend(key());
                writes.push(write(sql::SESSION_BEGUN, arguments));
            }
            (true, true) => writes.push(write(sql::SESSION_ENDED, vec![self.launch.into()])),
            _ => {}
        }
        let mut told = vec![];
        if is_watched {
            let changed = after.map_or(0, |after| changes(of(&before), after));
            told = self.watch.notices(
                &own,
                (self.registration, self.instance),
                changed,
                commit.is_final,
            );
            writes.extend(told.iter().map(|notice| notice.write(self.now)));
        }
        let (sequence, warnings) = (commit.sequence, commit.warnings);
        let done = Acknowledged { sequence, saved: self.now, warnings };
        Ok((writes, (done, !told.is_empty())))
    }
}

fn state_of(row: Option<&Row>) -> Result<ActivityState, Error> {
    row.map_or_else(|| Ok(ActivityState::default()), |row| Columns::of(row, "an activity").json())
}
