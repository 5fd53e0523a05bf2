//! Commits: what the player sends while content runs is saved.

mod acknowledged;
mod sent;
mod shared;
mod traced;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use homeroom_store::{Answer, Decision, Plan, Write};

pub(crate) use self::acknowledged::Acknowledged;
pub(crate) use self::sent::{COMMIT_BYTES_MAX, Commit};
use self::sent::{Checked, WARNINGS_MAX, check};
use self::shared::share;
use self::traced::Noted;
pub(crate) use self::traced::Traced;

use crate::courses::Courses;
use crate::error::Error;
use crate::items::{self, Items};
use crate::launch_record::Launch;
use crate::row::{Columns, Row, asks_of, json_column, read, rows_of, write, writes_of};
use crate::run_time::{
    ACTIVITY_BYTES_MAX, ActivityState, Completion, Forgotten, Held, LaunchState, Own, Place,
    Progress, Session, Turn, apply, attempt_limit, finish, whole,
};
use crate::settings::Settings;
use crate::shown::shown;
use crate::sql;
use crate::version::Version;
use crate::watch::{Watch, changes};

/// Most bytes of the values of all activities of an instance, with their names.
const STATES_BYTES_MAX: usize = 16 << 20;
/// Most bytes of the attempts of an instance that have ended and are kept with all that they held.
const ENDED_BYTES_MAX: usize = 16 << 20;
/// Most attempts at an activity that are kept.
const ATTEMPTS_MAX: i64 = 100;

impl Courses {
    /// Applies a commit. Returns when it is durable.
    ///
    /// A commit that was saved before is acknowledged and changes nothing. What a page has left that is gone
    /// comes by way of a later launch of the same registration, and is applied as its own launch's.
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
        let left = commit.left.clone();
        let checked = check(commit, &version, &start);
        let Some(registration) = launch.registration.clone().filter(|_| launch.is_tracked()) else {
            let Checked { sequence, warnings, .. } = checked;
            let superseded = BTreeMap::new();
            let is_recorded = false;
            return Ok(Acknowledged { sequence, saved: now, warnings, superseded, is_recorded });
        };
        let instance = launch.instance;
        let mut of_launch = vec![registration.as_str().into(), instance.into()];
        of_launch.extend([launch.created.into(), launch.id.as_str().into()]);
        let mut ask = vec![read(sql::COMMIT_REGISTRATION, of_launch)];
        if let Some(left) = &left {
            let arguments = vec![registration.as_str().into(), left.as_str().into()];
            ask.push(read(sql::LAUNCH_OF, arguments));
        }
        for (activity, _) in &checked.parts {
            let arguments =
                vec![registration.as_str().into(), instance.into(), activity.as_str().into()];
            ask.push(read(sql::COMMIT_ACTIVITY, arguments));
        }
        // Whether the course is completed depends on all activities, where there are several.
        let is_single = version.tree.launchable().len() == 1;
        if !is_single {
            let arguments = vec![registration.as_str().into(), instance.into()];
            ask.push(read(sql::ACTIVITIES, arguments));
        }
        let watch = Arc::new(self.watch(&version, now).await?);
        let ask = asks_of(&registration, ask);
        let launch = launch.clone();
        let decide = move |found: Vec<Answer>| {
            let (registration, watch) = (&registration, &watch);
            let save = Save { registration, instance, launch: &launch, now, watch };
            match save.decide(&version, checked.clone(), found) {
                Ok((writes, done)) => Decision::Write(writes_of(registration, writes), done),
                Err(error) => Decision::Refuse(error),
            }
        };
        let (done, is_noticed) = self.run(Plan { ask, decide }).await?;
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
    launch: &'a Launch,
    now: i64,
    watch: &'a Watch,
}

impl Save<'_> {
    /// Returns the launch whose page has left a commit.
    ///
    /// # Errors
    ///
    /// [`Error::Ended`] if it is none of this incarnation of the registration.
    fn left(&self, found: Option<Answer>) -> Result<Launch, Error> {
        let rows = rows_of(found);
        let left = Launch::of(rows.first().ok_or_else(Launch::ended)?)?;
        let is_of_it =
            left.instance == self.instance && left.incarnation == self.launch.incarnation;
        if is_of_it { Ok(left) } else { Err(Launch::ended()) }
    }

    /// Decides on a commit. The second part of the result is whether somebody is to be told.
    fn decide(
        &self,
        version: &Version,
        mut commit: Checked,
        found: Vec<Answer>,
    ) -> Result<(Vec<Write>, (Acknowledged, bool)), Error> {
        let mut found = found.into_iter();
        let rows = rows_of(found.next());
        let row = rows.first().ok_or_else(|| Error::no_registration(self.registration))?;
        let mut row = Columns::of(row, "a registration");
        let mut progress: Progress = row.json()?;
        let (first_access, completed) = (row.some_number()?, row.some_number()?);
        let own_settings: Settings = row.json()?;
        if row.text()? != self.launch.incarnation {
            return Err(Launch::ended());
        }
        let result: Option<LaunchState> = row.some_json()?;
        let left = if commit.is_left { Some(self.left(found.next())?) } else { None };
        let launch = left.as_ref().unwrap_or(self.launch);
        let result = left.as_ref().map_or(result.as_ref(), |left| left.result.as_ref());
        let mut done = Acknowledged {
            sequence: commit.sequence,
            saved: self.now,
            warnings: vec![],
            superseded: BTreeMap::new(),
            is_recorded: launch.is_tracked(),
        };
        if !launch.is_tracked() {
            return Ok((vec![], (done, false)));
        }
        let is_watched = self.watch.is_on(&own_settings);
        let keeps = self.watch.keeps(&own_settings);
        // An older Homeroom has not written down what was reached.
        let is_unwritten = keeps && completed.is_some() && progress.reached.is_none();
        let place = Place {
            launch: &launch.id,
            created: launch.created,
            session: &commit.session,
            sequence: commit.sequence,
            part: commit.part,
            is_left: commit.is_left,
        };
        let turn = progress.turn(place, self.now).map_err(|Forgotten| {
            let message = "this page was opened so long ago that it is not known what of it was \
                           saved; nothing more is saved: open the course again";
            Error::Forgotten(message.into())
        })?;
        let known = progress.launches.get(&launch.id);
        let number = match turn {
            Turn::New(number) => number,
            // Of a player without sessions two pages have the same numbers: it is not known whether this was
            // saved.
            Turn::Known(_) if commit.session.is_empty() && !commit.is_left => {
                return Err(Error::Forgotten(format!(
                    "number {} of this launch was saved before, perhaps for another page; open the \
                     course again",
                    commit.sequence
                )));
            }
            Turn::Known(sequence) => {
                (done.sequence, done.saved) = (sequence, known.map_or(self.now, |one| one.last));
                return Ok((vec![], (done, false)));
            }
        };
        done.sequence = progress.sessions.get(&number).map_or(0, |session| session.sequence);
        let was_open = known.is_some_and(|known| !known.is_ended);
        let known = known.or(result).cloned().unwrap_or_default();
        let gone = progress.trim(number);
        let mut sessions = std::mem::take(&mut progress.sessions);
        let own = Own {
            number,
            sessions: &sessions,
            is_left: commit.is_left,
            is_closing: commit.is_closing,
            activity: "",
            standard: version.standard,
            resets: self.watch.resets(&own_settings),
            limit: attempt_limit(version.standard, &version.tree),
            room: STATES_BYTES_MAX,
        };
        let mut launched = self.launched(known, &commit, own);
        let mut noted = std::mem::take(&mut commit.noted);
        share(&mut progress, &commit, version, own, (&mut done, &mut noted));
        let needs_before = is_watched || is_unwritten;
        let all = (&mut done, &mut noted);
        let mut played = self.play(version, &commit, own, found, needs_before, all)?;
        keep_held(&mut sessions, number, &mut played);
        keep_ended(&mut progress, &mut played, &mut done)?;
        let of = |states| whole(version.standard, &version.tree, states);
        let after = (!played.touched.is_empty()).then(|| of(&played.states));
        let before = needs_before.then(|| of(&played.before));
        if let Some(before) = before.filter(|_| is_unwritten) {
            progress.reach(before, &played.before, keeps);
        }
        let told_before = before.map(|before| progress.told(before));
        if let Some(after) = after {
            progress.reach(after, &played.states, keeps);
        }
        let told_after = after.map(|after| progress.told(after));
        for (id, time) in &played.settled {
            let of =
                if *id == launch.id { Some(&mut launched) } else { progress.launches.get_mut(id) };
            if let Some(of) = of {
                of.time = of.time.saturating_add(*time);
            }
        }
        let time = launched.time.saturating_add(played.time_after);
        launched.time = time.saturating_sub(played.time_before);
        if done.superseded.is_empty() {
            launched.outcome = after.or(launched.outcome);
        }
        let is_open = !launched.is_ended;
        progress.launches.insert(launch.id.clone(), launched);
        progress.sessions = sessions;
        let is_completed = after.is_some_and(|after| after.completion == Completion::Completed);
        let mut arguments = self.key();
        arguments.push(json_column(&progress, "a registration")?);
        arguments.push(self.now.into());
        arguments.push(first_access.unwrap_or(self.now).into());
        arguments.push(completed.or(is_completed.then_some(self.now)).into());
        let mut writes = vec![write(sql::COMMIT_SAVE, arguments)];
        writes.extend(self.activities(&mut played)?);
        for (id, launch) in gone {
            let arguments =
                vec![self.registration.into(), id.into(), json_column(&launch, "a launch")?];
            writes.push(write(sql::LAUNCH_RESULT, arguments));
        }
        writes.extend(self.trace(launch, number, &mut commit, noted));
        let mut arguments = vec![launch.id.as_str().into()];
        match (was_open, is_open) {
            (false, true) => {
                arguments.extend(self.key());
                writes.push(write(sql::SESSION_BEGUN, arguments));
            }
            (true, false) => writes.push(write(sql::SESSION_ENDED, arguments)),
            _ => {}
        }
        let mut told = vec![];
        if is_watched {
            let changed = told_before.zip(told_after).map_or(0, |(old, new)| changes(old, new));
            let subject = (self.registration, self.instance);
            told = self.watch.notices(&own_settings, subject, changed, commit.is_final);
            writes.extend(told.iter().map(|notice| notice.write(self.now)));
        }
        done.warnings.extend(commit.warnings);
        done.warnings.truncate(WARNINGS_MAX);
        Ok((writes, (done, !told.is_empty())))
    }

    /// Returns the write of what the trace of a launch keeps of a commit of a session, if anything.
    fn trace(
        &self,
        launch: &Launch,
        session: u32,
        commit: &mut Checked,
        noted: Noted,
    ) -> Option<Write> {
        let calls = std::mem::take(&mut commit.calls).text(noted)?;
        let place = Traced { session, sequence: commit.sequence, part: commit.part.0 };
        let arguments = vec![
            launch.id.as_str().into(),
            place.number().into(),
            self.registration.into(),
            self.now.into(),
            calls.into(),
        ];
        Some(write(sql::TRACE_ADD, arguments))
    }

    fn key(&self) -> Vec<homeroom_store::Value> {
        vec![self.registration.into(), self.instance.into()]
    }

    /// Returns what a launch has done with a commit.
    fn launched(&self, mut launched: LaunchState, commit: &Checked, own: Own<'_>) -> LaunchState {
        let is_new = launched.first == 0;
        let is_of_it = |number: &u32| {
            own.sessions.get(number).is_some_and(|session| session.launch == own.launch())
        };
        if commit.is_closing && own.sessions.keys().any(|at| is_of_it(at) && own.is_before(*at)) {
            // The page has gone, and a later one of the launch is there.
            return launched;
        }
        if is_new {
            launched.first = self.now;
        }
        if !commit.is_left {
            launched.last = self.now;
            launched.is_ended = commit.is_final;
            launched.is_timed_out = false;
        } else if is_new || commit.is_final {
            // The page is gone, even if it has not said so.
            launched.last = if is_new { self.now } else { launched.last };
            launched.is_ended = true;
            launched.is_timed_out = !commit.is_final;
        }
        launched
    }

    /// Applies a commit to the states of its activities, which were found, and reads those of the others.
    fn play(
        &self,
        version: &Version,
        commit: &Checked,
        own: Own<'_>,
        mut found: impl Iterator<Item = Answer>,
        needs_before: bool,
        (done, noted): (&mut Acknowledged, &mut Noted),
    ) -> Result<Played, Error> {
        let mut played = Played::default();
        let asked: Vec<Vec<Row>> = commit.parts.iter().map(|_| rows_of(found.next())).collect();
        let all = rows_of(found.next());
        let mut sizes = BTreeMap::new();
        for row in &all {
            let mut row = Columns::of(row, "an activity");
            let (id, bytes) = (row.text()?, row.text()?.len());
            sizes.insert(id, bytes);
        }
        let whole: usize = sizes.values().sum();
        for ((id, applied), rows) in commit.parts.iter().zip(asked) {
            let state = match played.states.entry(id.clone()) {
                Entry::Vacant(unread) => {
                    let found = state_of(rows.first())?;
                    if needs_before && !rows.is_empty() {
                        played.before.insert(id.clone(), found.clone());
                    }
                    unread.insert(found)
                }
                Entry::Occupied(read) => read.into_mut(),
            };
            let others = whole.saturating_sub(sizes.get(id).copied().unwrap_or(0));
            let room = STATES_BYTES_MAX.saturating_sub(others);
            let items = Items::before(state, applied, own.number);
            let change = apply(state, applied.clone(), Own { activity: id, room, ..own }, self.now);
            if change.is_over {
                let message = "the course allows no other attempt; nothing of this one is recorded";
                done.warnings.push(message.into());
                done.is_recorded = false;
                noted.settle(id, &applied.cmi, &[], &state.cmi);
                continue;
            }
            if change.held.is_none() {
                // What is held until content sets something counts with that commit.
                noted.settle(id, &applied.cmi, &change.saved, &state.cmi);
            }
            for name in &change.superseded {
                noted.not_saved(id, name);
            }
            if let Some(activity) = version.tree.find(id) {
                finish(state, version.standard, activity);
            }
            played.time_before = played.time_before.saturating_add(change.time_before);
            played.time_after = played.time_after.saturating_add(change.time_after);
            if change.left_out > 0 {
                let message = format!("{} values of interactions are left out", change.left_out);
                done.warnings.push(message);
            }
            for name in change.refused.iter().take(WARNINGS_MAX) {
                let shown = shown(name);
                done.warnings.push(format!(
                    "there is no room for {shown}; it is left out: an activity has at most \
                     {ACTIVITY_BYTES_MAX} bytes, and all of a registration {STATES_BYTES_MAX}"
                ));
            }
            played.settled.extend(change.settled);
            played.held.push((id.clone(), change.held));
            if let Some(before) = items {
                let after = Items::of(state);
                played.items.push((id.clone(), before, after, change.ended.is_some()));
            }
            if let Some(attempt) = change.ended {
                played.ended.push((id.clone(), attempt));
            }
            if !change.superseded.is_empty() {
                done.supersede(id, change.superseded);
            }
            if !played.touched.contains(id) {
                played.touched.push(id.clone());
            }
        }
        for row in all {
            let mut row = Columns::of(&row, "an activity");
            let id = row.text()?;
            if let Entry::Vacant(unread) = played.states.entry(id.clone()) {
                let state = unread.insert(row.json()?);
                if needs_before {
                    played.before.insert(id, state.clone());
                }
            }
        }
        Ok(played)
    }

    /// Returns the writes of the activities that were touched, and of their attempts that have ended.
    fn activities(&self, played: &mut Played) -> Result<Vec<Write>, Error> {
        let mut writes = vec![];
        for id in &played.touched {
            let mut arguments = self.key();
            arguments.extend([id.as_str().into(), json_column(&played.states[id], "an activity")?]);
            writes.push(write(sql::COMMIT_STATE, arguments));
        }
        for (id, before, after, has_ended) in std::mem::take(&mut played.items) {
            let mut key = self.key();
            key.push(id.into());
            writes.extend(after.writes(&before, &key, has_ended));
        }
        for (id, attempt) in &played.ended {
            let number = i64::from(attempt.attempts);
            let mut arguments = self.key();
            arguments.push(id.as_str().into());
            if Items::of(attempt).is_empty() {
                writes.extend(items::removal(&arguments, number, number));
            }
            let mut old = arguments.clone();
            arguments.extend([number.into(), self.now.into(), json_column(attempt, "an attempt")?]);
            writes.push(write(sql::ATTEMPT_ADD, arguments));
            if number > ATTEMPTS_MAX {
                writes.extend(items::removal(&old, 1, number - ATTEMPTS_MAX));
                old.push((number - ATTEMPTS_MAX).into());
                writes.push(write(sql::ATTEMPTS_OLD_DELETE, old));
            }
        }
        Ok(writes)
    }
}

/// What a commit has made of the activities.
#[derive(Debug, Default)]
struct Played {
    states: BTreeMap<String, ActivityState>,
    /// The states before, where these are needed.
    before: BTreeMap<String, ActivityState>,
    touched: Vec<String>,
    /// Attempts that have ended because new ones began.
    ended: Vec<(String, ActivityState)>,
    /// The interactions and objectives of an activity before and afterwards, and whether an attempt has ended.
    items: Vec<(String, Items, Items, bool)>,
    /// For each activity: what the page has said before content set anything; `None` once content has set
    /// something.
    held: Vec<(String, Option<Held>)>,
    /// Times of launches that an older Homeroom has kept with the activities.
    settled: Vec<(String, u64)>,
    /// The session's time on the activities that were touched, before and afterwards.
    time_before: u64,
    time_after: u64,
}

/// Keeps with a session what its page has said of activities whose content has set nothing.
fn keep_held(sessions: &mut BTreeMap<u32, Session>, number: u32, played: &mut Played) {
    let Some(session) = sessions.get_mut(&number) else { return };
    for (id, held) in std::mem::take(&mut played.held) {
        match held {
            Some(held) => _ = session.held.insert(id, held),
            None => _ = session.held.remove(&id),
        }
    }
}

/// Adds the attempts that have ended to those of the instance: without details, once these take up too much.
fn keep_ended(
    progress: &mut Progress,
    played: &mut Played,
    done: &mut Acknowledged,
) -> Result<(), Error> {
    for (_, attempt) in &mut played.ended {
        let bytes = json_column(attempt, "an attempt")?.as_text().map_or(0, str::len);
        if progress.ended_bytes.saturating_add(bytes) <= ENDED_BYTES_MAX {
            progress.ended_bytes += bytes;
            continue;
        }
        attempt.shorten();
        done.warnings.push(format!(
            "the attempt that has ended is kept with its status, score and time alone: a registration \
             has at most {ENDED_BYTES_MAX} bytes of such attempts"
        ));
    }
    Ok(())
}

fn state_of(row: Option<&Row>) -> Result<ActivityState, Error> {
    row.map_or_else(|| Ok(ActivityState::default()), |row| Columns::of(row, "an activity").json())
}
