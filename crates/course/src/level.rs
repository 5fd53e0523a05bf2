//! What holds for all courses, or for those of one standard: settings, subscriptions, the server's secret.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as STANDARD_BASE64;
use homeroom_store::Sql;

use crate::courses::Courses;
use crate::error::Error;
use crate::row::{Columns, json_column, write};
use crate::settings::{Changing, KNOWN, Known, Levels, POST_BACK_SECRET, Settings};
use crate::signature::SECRET_PREFIX;
use crate::sql;
use crate::subscription::{SUBSCRIPTIONS_MAX, Subscription};
use crate::version::Version;

/// How long they are kept in memory without being read again, in microseconds.
const TIME: i64 = 2_000_000;

/// The settings of levels by their names.
pub(crate) type ByLevel = BTreeMap<String, Settings>;

/// The name of the level of all courses, in the table.
const ALL: &str = "";
/// The name under which the server's own secrets are kept, which is no level.
const OWN: &str = "#server";
/// The name of the secret of tokens of pages.
const PAGE_SECRET: &str = "PageSecret";
/// Bytes of a secret of the server's own.
const SECRET_BYTES: usize = 32;
/// The names of sources in the API.
const DEFAULT: &str = "default";
const APPLICATION: &str = "application";
const STANDARD: &str = "learningStandardForApplication";

/// A level above the courses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// All courses.
    Application,
    /// The courses of a standard, and perhaps only those with one activity, or with several.
    Standard(&'static str, Option<bool>),
}

impl Level {
    /// Returns its name in the table.
    fn name(self) -> String {
        match self {
            Self::Application => ALL.into(),
            Self::Standard(standard, None) => standard.into(),
            Self::Standard(standard, Some(true)) => format!("{standard}/single"),
            Self::Standard(standard, Some(false)) => format!("{standard}/multi"),
        }
    }

    /// Returns it with the levels above, the nearest first.
    fn with_above(self) -> Vec<(&'static str, Self)> {
        let mut all = vec![];
        if let Self::Standard(standard, parts) = self {
            if parts.is_some() {
                all.push((STANDARD, self));
            }
            all.push((STANDARD, Self::Standard(standard, None)));
        }
        all.push((APPLICATION, Self::Application));
        all
    }
}

impl Courses {
    /// Returns the settings of all levels above the courses, from memory if they were read lately.
    async fn by_level(&self, now: i64) -> Result<Arc<ByLevel>, Error> {
        {
            let known = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((found, read)) = &*known
                && (*read..read.saturating_add(TIME)).contains(&now)
            {
                return Ok(Arc::clone(found));
            }
        }
        let mut all = ByLevel::new();
        for row in self.rows(sql::LEVELS, vec![]).await? {
            let mut row = Columns::of(&row, "settings");
            all.insert(row.text()?, row.json()?);
        }
        let all = Arc::new(all);
        let mut known = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((Arc::clone(&all), now));
        Ok(all)
    }

    /// Returns the settings of a level and of those above it, the nearest first, and last the defaults that only
    /// some standards have.
    pub(crate) async fn level(&self, level: Level, now: i64) -> Result<Levels, Error> {
        let all = self.by_level(now).await?;
        let of = |level: Level| all.get(&level.name()).cloned().unwrap_or_default();
        let mut levels: Levels =
            level.with_above().into_iter().map(|(source, level)| (source, of(level))).collect();
        if let Level::Standard(standard, _) = level
            && standard.starts_with("SCORM2004")
        {
            let own =
                |known: &Known| Some((known.name.to_owned(), known.default_of_2004?.to_owned()));
            levels.push((DEFAULT, KNOWN.iter().filter_map(own).collect()));
        }
        Ok(levels)
    }

    /// Returns the settings of the levels above a course, the nearest first.
    pub(crate) async fn levels_above(&self, version: &Version, now: i64) -> Result<Levels, Error> {
        let is_single = version.tree.launchable().len() == 1;
        self.level(Level::Standard(version.standard.name(), Some(is_single)), now).await
    }

    /// Returns the settings of all levels of a version of a course, the nearest first.
    pub(crate) async fn levels_of(&self, version: &Version, now: i64) -> Result<Levels, Error> {
        let mut all =
            vec![("course", version.settings.clone()), ("course", version.course_settings.clone())];
        all.extend(self.levels_above(version, now).await?);
        Ok(all)
    }

    /// Returns the secret with which the server signs what it posts, where settings name no other.
    pub(crate) async fn signing_secret(&self, now: i64) -> Result<String, Error> {
        self.own_secret(POST_BACK_SECRET, now).await
    }

    /// Returns the secret with which tokens of pages are signed. No answer shows it.
    pub(crate) async fn page_secret(&self, now: i64) -> Result<String, Error> {
        self.own_secret(PAGE_SECRET, now).await
    }

    /// Returns a secret of the server, which is made when it is first needed.
    async fn own_secret(&self, name: &'static str, now: i64) -> Result<String, Error> {
        let known = self.by_level(now).await?;
        if let Some(secret) = known.get(OWN).and_then(|own| own.get(name)) {
            return Ok(secret.clone());
        }
        let mut bytes = [0; SECRET_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| {
            Error::Store(homeroom_store::StoreError::Failed(format!("no random bytes: {error}")))
        })?;
        let new = format!("{SECRET_PREFIX}{}", STANDARD_BASE64.encode(bytes));
        let made = self.change(Sql::new(sql::LEVEL, vec![OWN.into()]), move |row| {
            let mut own: Settings = match row {
                Some(row) => Columns::of(row, "settings").json()?,
                None => Settings::new(),
            };
            if let Some(secret) = own.get(name) {
                // Another node has made it.
                return Ok((vec![], secret.clone()));
            }
            own.insert(name.to_owned(), new.clone());
            let arguments = vec![OWN.into(), json_column(&own, "settings")?, now.into()];
            Ok((vec![write(sql::LEVEL_PUT, arguments)], new.clone()))
        });
        let secret = made.await?;
        *self.levels.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(secret)
    }

    /// Returns the subscriptions, from memory if they were read lately.
    pub(crate) async fn subscriptions(&self, now: i64) -> Result<Arc<Vec<Subscription>>, Error> {
        {
            let known = self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((found, read)) = &*known
                && (*read..read.saturating_add(TIME)).contains(&now)
            {
                return Ok(Arc::clone(found));
            }
        }
        let rows = self.rows(sql::SUBSCRIPTIONS, vec![SUBSCRIPTIONS_MAX.into()]).await?;
        let all = rows.iter().map(Subscription::of).collect::<Result<Vec<_>, _>>()?;
        let all = Arc::new(all);
        let mut known = self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((Arc::clone(&all), now));
        Ok(all)
    }

    /// Finds a subscription.
    pub(crate) async fn subscription(&self, id: &str) -> Result<Option<Subscription>, Error> {
        let row = self.row(sql::SUBSCRIPTION, vec![id.into()]).await?;
        row.as_ref().map(Subscription::of).transpose()
    }

    /// Forgets what is in memory of subscriptions.
    pub(crate) fn forget_subscriptions(&self) {
        *self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Changes the settings of a level.
    pub(crate) async fn change_level(
        &self,
        level: Level,
        change: Arc<Changing>,
        now: i64,
    ) -> Result<(), Error> {
        let name = level.name();
        let ask = Sql::new(sql::LEVEL, vec![name.as_str().into()]);
        let changed = self.change(ask, move |row| {
            let mut settings: Settings = match row {
                Some(row) => Columns::of(row, "settings").json()?,
                None => Settings::new(),
            };
            change(&mut settings)?;
            let settings = json_column(&settings, "settings")?;
            let arguments = vec![name.as_str().into(), settings, now.into()];
            Ok((vec![write(sql::LEVEL_PUT, arguments)], ()))
        });
        changed.await?;
        *self.levels.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }
}
