//! Ends sessions that have said nothing for a while: learners close windows, and phones sleep.

use std::collections::BTreeMap;
use std::sync::Arc;

use homeroom_store::{Answer, ChangedAt, Decision, Plan, Write};

use crate::courses::Courses;
use crate::error::Error;
use crate::options::micros;
use crate::row::{Columns, asks_of, json_column, read, rows_of, write, writes_of};
use crate::run_time::{ActivityState, Completion, Progress, finish, time_out, whole};
use crate::settings::Settings;
use crate::sql;
use crate::version::Version;
use crate::watch::{Watch, changes};

/// Sessions that are read at a time.
const AT_A_TIME: i64 = 200;

/// A session that has said nothing for a while.
#[derive(Debug, Clone)]
struct Silent {
    launch: String,
    registration: String,
    instance: i64,
}

impl Courses {
    /// Ends the sessions in which nothing was saved for longer than the operator allows. Returns how many.
    ///
    /// What content has not ended counts as suspended: the learner resumes at the next launch. A commit
    /// that comes later opens the session again.
    ///
    /// # Errors
    ///
    /// The store's own.
    pub async fn end_silent_sessions(&self, now: ChangedAt) -> Result<usize, Error> {
        let now = now.0;
        let since = now.saturating_sub(micros(self.options.silence));
        let (mut last, mut ended, mut is_noticed) = (String::new(), 0, false);
        loop {
            let arguments = vec![last.as_str().into(), since.into(), AT_A_TIME.into()];
            let rows = self.list(sql::SESSIONS_SILENT, arguments).await?;
            for row in &rows {
                let mut row = Columns::of(row, "a session");
                let silent = Silent {
                    launch: row.text()?,
                    registration: row.text()?,
                    instance: row.number()?,
                };
                last.clone_from(&silent.launch);
                let registration = silent.registration.clone();
                match self.end_session(silent, since, now).await {
                    Ok(Some(told)) => {
                        ended += 1;
                        is_noticed |= told;
                    }
                    Ok(None) => {}
                    Err(error @ Error::Damaged(_)) => {
                        tracing::warn!(registration, %error, "a silent session cannot be ended");
                    }
                    Err(error) => return Err(error),
                }
            }
            if rows.is_empty() {
                break;
            }
        }
        if is_noticed {
            self.noticed.notify_one();
        }
        Ok(ended)
    }

    /// Ends a session, unless it has said something by now. Returns whether somebody is to be told, or
    /// nothing if it goes on or had ended already.
    async fn end_session(
        &self,
        silent: Silent,
        since: i64,
        now: i64,
    ) -> Result<Option<bool>, Error> {
        let gone = write(sql::SESSION_ENDED, vec![silent.launch.as_str().into()]);
        let found = self.registration(&silent.registration, Some(silent.instance)).await;
        let version = match &found {
            Ok(found) => self.version(&found.course, found.version, now).await,
            Err(error) => Err(error.clone()),
        };
        let version = match version {
            Ok(version) => version,
            Err(Error::Unknown(_)) => {
                self.write(vec![gone]).await?;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let watch = self.watch(&version, now).await?;
        let key = || vec![silent.registration.as_str().into(), silent.instance.into()];
        let ask = vec![read(sql::SILENT_REGISTRATION, key()), read(sql::ACTIVITIES, key())];
        let ask = asks_of(&silent.registration, ask);
        let end = Arc::new(End { silent, version, watch, since, now });
        let decide = move |found: Vec<Answer>| match end.decide(found, gone.clone()) {
            Ok((writes, told)) => {
                Decision::Write(writes_of(&end.silent.registration, writes), told)
            }
            Err(error) => Decision::Refuse(error),
        };
        self.run(Plan { ask, decide }).await
    }
}

/// The end of a session.
struct End {
    silent: Silent,
    version: Arc<Version>,
    watch: Watch,
    since: i64,
    now: i64,
}

impl End {
    fn decide(&self, found: Vec<Answer>, gone: Write) -> Result<(Vec<Write>, Option<bool>), Error> {
        let mut found = found.into_iter();
        let rows = rows_of(found.next());
        let Some(row) = rows.first() else { return Ok((vec![gone], None)) };
        let mut row = Columns::of(row, "a registration");
        let mut progress: Progress = row.json()?;
        let (_, completed) = (row.some_number()?, row.some_number()?);
        let own: Settings = row.json()?;
        let Silent { launch, registration, instance } = &self.silent;
        match progress.launches.get_mut(launch) {
            Some(known) if !known.is_ended && known.last >= self.since => {
                return Ok((vec![], None));
            }
            Some(known) if !known.is_ended => {
                known.is_ended = true;
                known.is_timed_out = true;
            }
            _ => return Ok((vec![gone], None)),
        }
        let mut states: BTreeMap<String, ActivityState> = BTreeMap::new();
        for row in rows_of(found.next()) {
            let mut row = Columns::of(&row, "an activity");
            states.insert(row.text()?, row.json()?);
        }
        let Version { standard, tree, .. } = &*self.version;
        let keeps = self.watch.keeps(&own);
        let before = whole(*standard, tree, &states);
        if completed.is_some() && progress.reached.is_none() {
            // An older Homeroom has not written it down.
            progress.reach(before, &states, keeps);
        }
        let told_before = progress.told(before);
        let mut writes = vec![gone];
        for (id, state) in &mut states {
            if state.launch != *launch || !time_out(state) {
                continue;
            }
            if let Some(activity) = tree.find(id) {
                finish(state, *standard, activity);
            }
            let arguments = vec![
                registration.as_str().into(),
                (*instance).into(),
                id.as_str().into(),
                json_column(state, "an activity")?,
            ];
            writes.push(write(sql::COMMIT_STATE, arguments));
        }
        let after = whole(*standard, tree, &states);
        progress.reach(after, &states, keeps);
        let told_after = progress.told(after);
        if let Some(known) = progress.launches.get_mut(launch)
            && states.values().all(|state| state.launch.is_empty() || state.launch == *launch)
        {
            known.outcome = Some(after);
        }
        let is_completed = after.completion == Completion::Completed;
        let completed = completed.or(is_completed.then_some(self.now));
        let arguments = vec![
            registration.as_str().into(),
            (*instance).into(),
            json_column(&progress, "a registration")?,
            self.now.into(),
            completed.into(),
        ];
        writes.push(write(sql::SESSION_TIMED_OUT, arguments));
        let subject = (registration.as_str(), *instance);
        let told = self.watch.notices(&own, subject, changes(told_before, told_after), true);
        writes.extend(told.iter().map(|notice| notice.write(self.now)));
        Ok((writes, Some(!told.is_empty())))
    }
}
