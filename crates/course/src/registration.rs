//! Registrations and their instances, as they are stored.

use std::collections::BTreeMap;

use homeroom_store::{Answer, Decision, Plan, Sql, Uuid, Write};

use crate::course::Course;
use crate::courses::Courses;
use crate::error::Error;
use crate::learner::{Learner, NamedLearner};
use crate::row::{Columns, Row, json_column, read, rows_of, write};
use crate::run_time::{ActivityState, Progress};
use crate::settings::Settings;
use crate::sql;
use crate::tags::{Tagged, clean};

/// An instance of a registration: one attempt at the whole course.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Registration {
    pub(crate) id: String,
    pub(crate) instance: i64,
    pub(crate) course: String,
    pub(crate) version: i64,
    pub(crate) learner: String,
    pub(crate) created: i64,
    pub(crate) updated: i64,
    pub(crate) first_access: Option<i64>,
    pub(crate) last_access: Option<i64>,
    pub(crate) completed: Option<i64>,
    pub(crate) progress: Progress,
    pub(crate) settings: Settings,
    pub(crate) tags: Vec<String>,
    /// Another one after it was reset, or removed and created again: launches belong to one.
    pub(crate) incarnation: String,
    /// The id under which xAPI knows it; empty for those that were made before there was one.
    pub(crate) xapi: String,
}

impl Registration {
    pub(crate) fn of(row: &Row) -> Result<Self, Error> {
        let mut row = Columns::of(row, "a registration");
        Ok(Self {
            id: row.text()?,
            instance: row.number()?,
            course: row.text()?,
            version: row.number()?,
            learner: row.text()?,
            created: row.number()?,
            updated: row.number()?,
            first_access: row.some_number()?,
            last_access: row.some_number()?,
            completed: row.some_number()?,
            progress: row.json()?,
            settings: row.json()?,
            tags: row.json()?,
            incarnation: row.text()?,
            xapi: row.text()?,
        })
    }
}

/// Returns the writes that forget global objectives and shared data, from the rows of an instance and of its
/// activities.
fn without_globals(id: &str, found: Vec<Answer>, now: i64) -> Result<Vec<Write>, Error> {
    let mut found = found.into_iter();
    let rows = rows_of(found.next());
    let mut instance = Registration::of(rows.first().ok_or_else(|| Error::no_registration(id))?)?;
    instance.progress.forget_globals();
    let key = || vec![id.into(), instance.instance.into()];
    let mut arguments = key();
    arguments.extend([json_column(&instance.progress, "a registration")?, now.into()]);
    let mut writes = vec![write(sql::REGISTRATION_PROGRESS, arguments)];
    for row in rows_of(found.next()) {
        let mut row = Columns::of(&row, "an activity");
        let (activity, mut state) = (row.text()?, row.json::<ActivityState>()?);
        state.withhold();
        let mut arguments = key();
        arguments.extend([activity.into(), json_column(&state, "an activity")?]);
        writes.push(write(sql::COMMIT_STATE, arguments));
    }
    Ok(writes)
}

/// An attempt at an activity that has ended, since a new one began.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EndedAttempt {
    pub(crate) number: i64,
    pub(crate) ended: i64,
    pub(crate) state: ActivityState,
}

/// A registration that is to be added.
#[derive(Debug, Clone)]
pub(crate) struct NewRegistration {
    pub(crate) id: String,
    pub(crate) course: String,
    pub(crate) version: Option<i64>,
    pub(crate) learner: NamedLearner,
    pub(crate) settings: Settings,
    pub(crate) tags: Vec<String>,
    /// Tags that are added to those of the course.
    pub(crate) course_tags: Vec<String>,
    pub(crate) xapi: String,
}

impl NewRegistration {
    fn row(&self, instance: i64, version: i64, now: i64) -> Write {
        let settings = serde_json::to_string(&self.settings).unwrap_or_else(|_| "{}".into());
        let tags = crate::tags::column(&self.tags);
        let arguments = vec![
            self.id.as_str().into(),
            instance.into(),
            self.course.as_str().into(),
            version.into(),
            self.learner.id.as_str().into(),
            now.into(),
            settings.into(),
            tags.into(),
            Uuid::new().to_string().into(),
            self.xapi.as_str().into(),
        ];
        write(sql::REGISTRATION_ADD, arguments)
    }

    /// Returns the writes that add it, from the rows of the course, the registration and the learner.
    fn writes(&self, found: Vec<Answer>, now: i64) -> Result<Vec<Write>, Error> {
        let mut found = found.into_iter();
        let (course, known) = (rows_of(found.next()), rows_of(found.next()));
        let course = course.first().ok_or_else(|| Error::no_course(&self.course))?;
        let course = Course::of(course)?;
        if let Some(known) = known.first().map(Registration::of).transpose()? {
            if known.course == self.course && known.learner == self.learner.id {
                return Ok(vec![]);
            }
            return Err(Error::Conflict(format!(
                "there is a registration {} already, of another learner or for another course",
                crate::shown::shown(&self.id)
            )));
        }
        let learner = rows_of(found.next()).first().map(Learner::of).transpose()?;
        let learner = self.learner.clone().joined(learner)?;
        let version = self.version.unwrap_or(course.current);
        let mut all = vec![learner.put(now), self.row(0, version, now)];
        let tags = clean([course.tags.as_slice(), &self.course_tags].concat())?;
        all.extend(Tagged::Course.put(&course.id, &course.tags, &tags, now));
        Ok(all)
    }
}

impl Courses {
    /// Finds the newest instance of a registration, or another one.
    pub(crate) async fn registration(
        &self,
        id: &str,
        instance: Option<i64>,
    ) -> Result<Registration, Error> {
        let row = match instance {
            None => self.row(sql::REGISTRATION, vec![id.into()]).await?,
            Some(instance) => self.row(sql::INSTANCE, vec![id.into(), instance.into()]).await?,
        };
        Registration::of(&row.ok_or_else(|| Error::no_registration(id))?)
    }

    /// Returns the states of the activities of an instance.
    pub(crate) async fn states(
        &self,
        id: &str,
        instance: i64,
    ) -> Result<BTreeMap<String, ActivityState>, Error> {
        let rows = self.list(sql::ACTIVITIES, vec![id.into(), instance.into()]).await?;
        let mut states = BTreeMap::new();
        for row in &rows {
            let mut row = Columns::of(row, "an activity");
            states.insert(row.text()?, row.json()?);
        }
        Ok(states)
    }

    /// Returns the attempts at the activities of an instance that have ended, since new ones began.
    pub(crate) async fn ended_attempts(
        &self,
        id: &str,
        instance: i64,
    ) -> Result<BTreeMap<String, Vec<EndedAttempt>>, Error> {
        let rows = self.list(sql::ATTEMPTS, vec![id.into(), instance.into()]).await?;
        let mut all: BTreeMap<String, Vec<EndedAttempt>> = BTreeMap::new();
        for row in &rows {
            let mut row = Columns::of(row, "an attempt");
            let activity = row.text()?;
            let attempt =
                EndedAttempt { number: row.number()?, ended: row.number()?, state: row.json()? };
            all.entry(activity).or_default().push(attempt);
        }
        Ok(all)
    }

    /// Begins an instance again as if nothing had been done, with the newest version of the course: what was
    /// saved, its launches and their calls are removed, and its launches have ended.
    pub(crate) async fn reset(&self, id: &str, now: i64) -> Result<(), Error> {
        let known = self.registration(id, None).await?;
        let newest = self.course(&known.course).await?.current;
        let ask = Sql::new(sql::REGISTRATION, vec![id.into()]);
        self.change(ask, move |row| {
            let row = row.ok_or_else(|| Error::no_registration(&known.id))?;
            let found = Registration::of(row)?;
            if found.course != known.course || found.instance != known.instance {
                let message = "the registration has just been changed; ask again".to_owned();
                return Err(Error::Conflict(message));
            }
            let key = || vec![found.id.as_str().into(), found.instance.into()];
            let mut arguments = key();
            arguments.extend([now.into(), newest.into()]);
            arguments.push(Uuid::new().to_string().into());
            let mut writes: Vec<Write> = [
                sql::ACTIVITIES_OF_INSTANCE_DELETE,
                sql::ATTEMPTS_OF_INSTANCE_DELETE,
                sql::INTERACTIONS_OF_INSTANCE_DELETE,
                sql::OBJECTIVES_OF_INSTANCE_DELETE,
                sql::TRACES_OF_INSTANCE_DELETE,
                sql::LAUNCHES_OF_INSTANCE_DELETE,
                sql::SESSIONS_OF_INSTANCE_DELETE,
            ]
            .into_iter()
            .map(|text| write(text, key()))
            .collect();
            writes.push(write(sql::REGISTRATION_RESET, arguments));
            Ok((writes, ()))
        })
        .await?;
        self.launch_cache.forget(id);
        Ok(())
    }

    /// Forgets the shared data and the global objectives of a registration: what activities have said of these until
    /// now counts for themselves alone.
    pub(crate) async fn reset_global(&self, id: &str, now: i64) -> Result<(), Error> {
        let known = self.registration(id, None).await?;
        let key = || vec![known.id.as_str().into(), known.instance.into()];
        let ask = vec![read(sql::INSTANCE, key()), read(sql::ACTIVITIES, key())];
        let id = known.id.clone();
        let decide = move |found: Vec<Answer>| match without_globals(&id, found, now) {
            Ok(writes) => Decision::Write(writes, ()),
            Err(error) => Decision::Refuse(error),
        };
        self.run(Plan { ask, decide }).await
    }

    /// Adds a registration. The same registration again changes nothing.
    pub(crate) async fn register(&self, new: NewRegistration, now: i64) -> Result<(), Error> {
        let ask = vec![
            read(sql::COURSE, vec![new.course.as_str().into()]),
            read(sql::REGISTRATION, vec![new.id.as_str().into()]),
            read(sql::LEARNER, vec![new.learner.id.as_str().into()]),
        ];
        if let Some(version) = new.version {
            // A version that is not there is refused before the plan.
            self.version(&new.course, version, now).await?;
        }
        let decide = move |found: Vec<Answer>| -> Decision<(), Error> {
            match new.writes(found, now) {
                Ok(writes) => Decision::Write(writes, ()),
                Err(error) => Decision::Refuse(error),
            }
        };
        self.run(Plan { ask, decide }).await
    }

    /// Adds an instance to a registration: a new attempt at the newest version of the course.
    pub(crate) async fn add_instance(&self, id: &str, now: i64) -> Result<i64, Error> {
        let known = self.registration(id, None).await?;
        let course = self.course(&known.course).await?;
        let new = NewRegistration {
            id: known.id,
            course: known.course,
            version: None,
            learner: NamedLearner { id: known.learner, ..NamedLearner::default() },
            settings: known.settings,
            tags: known.tags,
            course_tags: vec![],
            xapi: known.xapi,
        };
        let ask = Sql::new(sql::REGISTRATION, vec![id.into()]);
        self.change(ask, move |row| {
            let row = row.ok_or_else(|| Error::no_registration(&new.id))?;
            let instance = Registration::of(row)?.instance + 1;
            Ok((vec![new.row(instance, course.current, now)], instance))
        })
        .await
    }
}
