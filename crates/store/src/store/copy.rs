//! Copies of a store: backups, what puts one back, and the look for damage before either.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::StoreError;
use crate::snapshot::Snapshot;
use crate::sql::Sql;
use crate::store::across;
use crate::store::handle::{Engine, Store};
use crate::store::options::{Health, Restored};
use crate::store::restoring::{BackingUp, Restoring};
use crate::store::url::StoreUrl;
use crate::{postgres, sqlite};

impl Store {
    /// Copies the store to a new file while it is in use. The copy is checked and marked: the
    /// process that opens it first makes it continue above everything that this store may have
    /// issued.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] when the file exists or cannot be written; otherwise the store's
    /// own.
    pub fn backup(&self, to: &Path) -> Result<(), StoreError> {
        struct Plainly;
        impl BackingUp for Plainly {
            fn look(&mut self, copy: &StoreUrl) -> Result<Vec<String>, StoreError> {
                Store::check(copy).map(|health| health.problems)
            }
        }
        self.backup_with(to, &mut Plainly)
    }

    /// Does the same as [`Store::backup`], and lets the caller check the copy before it gets its
    /// name. Problems that it returns count as an error.
    ///
    /// # Errors
    ///
    /// The same as [`Store::backup`], and those of `backing_up`.
    pub fn backup_with(&self, to: &Path, backing_up: &mut dyn BackingUp) -> Result<(), StoreError> {
        match (&*self.engine, self.url()) {
            (Engine::Sqlite(sqlite), _) => sqlite::backup(&sqlite.shared, to, backing_up),
            (Engine::Postgres(_), StoreUrl::Postgres(url)) => across::backup(url, to, backing_up),
            (Engine::Postgres(_), StoreUrl::Sqlite(_)) => Err(StoreError::Closed),
        }
    }

    /// Puts a backup in the place of the store at `to`, which no process may have open; a database
    /// must be empty or unused. Returns the name under which a replaced file is kept, if there was
    /// one. Whatever happens meanwhile, the store at `to` is either the old one or the backup. The
    /// restored store continues above everything that the replaced one may have issued.
    ///
    /// # Errors
    ///
    /// [`StoreError::InUse`] when a process has the store open; [`StoreError::Unusable`] when
    /// `from` is not a good backup, the files cannot be written, or a database is in use.
    pub fn restore(from: &Path, to: &StoreUrl) -> Result<Option<PathBuf>, StoreError> {
        struct Plainly;
        impl Restoring for Plainly {
            fn look(&mut self, copy: &StoreUrl) -> Result<Vec<String>, StoreError> {
                Store::check(copy).map(|health| health.problems)
            }

            fn settle(
                &mut self,
                _: &Snapshot,
                _: Result<&Snapshot, &StoreError>,
            ) -> Result<Vec<Sql>, StoreError> {
                Ok(vec![])
            }
        }
        Self::restore_with(from, to, &mut Plainly).map(|restored| restored.kept)
    }

    /// Does the same as [`Store::restore`], and lets the caller check and adjust.
    ///
    /// # Errors
    ///
    /// The same as [`Store::restore`], and those of `restoring`.
    pub fn restore_with(
        from: &Path,
        to: &StoreUrl,
        restoring: &mut dyn Restoring,
    ) -> Result<Restored, StoreError> {
        match to {
            StoreUrl::Sqlite(to) => sqlite::restore(from, to, restoring),
            StoreUrl::Postgres(to) => across::restore(from, to, restoring),
        }
    }

    /// Makes a store that was put back to an earlier state by other means continue above everything
    /// that may have been issued. A file must not be open; nodes on a PostgreSQL store may keep
    /// running.
    ///
    /// # Errors
    ///
    /// [`StoreError::InUse`] when a process has the file open; [`StoreError::Unusable`] when it is
    /// not a store or has counted too far.
    pub fn raise(url: &StoreUrl) -> Result<Restored, StoreError> {
        let (backup_version, goes_on_after) = match url {
            StoreUrl::Sqlite(path) => sqlite::raise(path)?,
            StoreUrl::Postgres(url) => postgres::raise(url)?,
        };
        Ok(Restored { kept: None, backup_version, replaced_version: None, goes_on_after })
    }

    /// Looks for damage in a store, whether or not it is open, by comparing the tables. The
    /// documents' texts can be checked only against the model.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] when it is not a store.
    pub fn check(url: &StoreUrl) -> Result<Health, StoreError> {
        Self::check_within(url, CHECK_TIME_MAX)
    }

    /// Returns whether there is a store at a place; makes none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Away`] when the database cannot be reached.
    pub fn is_at(url: &StoreUrl) -> Result<bool, StoreError> {
        match url {
            StoreUrl::Sqlite(path) => Ok(path.exists()),
            StoreUrl::Postgres(url) => postgres::is_made(url),
        }
    }

    /// Does the same as [`Store::check`], as far as time permits.
    ///
    /// # Errors
    ///
    /// The same as [`Store::check`].
    pub fn check_within(url: &StoreUrl, time_max: Duration) -> Result<Health, StoreError> {
        match url {
            StoreUrl::Sqlite(path) => sqlite::check(path, time_max),
            StoreUrl::Postgres(url) => postgres::check(url, time_max),
        }
    }
}

/// Default time limit of a check for damage.
const CHECK_TIME_MAX: Duration = Duration::from_hours(1);
