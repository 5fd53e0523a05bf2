//! Single files of a version: added, replaced, removed, with the blobs that nothing needs afterwards.

use homeroom_blobs::{Blobs, Written};
use homeroom_store::{Answer, Ask, ChangedAt, Decision, Plan, Write};

use crate::course::{CourseFile, blob_id};
use crate::courses::Courses;
use crate::error::Error;
use crate::import::hex;
use crate::row::{Columns, json_column, read, rows_of, write};
use crate::sql;
use crate::version::{About, Version};

/// What becomes of a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// It is replaced.
    Lax,
    /// It stays, and the new one is refused.
    Reject,
    /// Only a file that is there is replaced.
    Strict,
}

impl Policy {
    fn check(self, is_there: bool) -> Result<(), Error> {
        match (self, is_there) {
            (Self::Reject, true) => Err(Error::Conflict(
                "there is such a file already; send updateAssetPolicy=lax to replace it".into(),
            )),
            (Self::Strict, false) => Err(Error::Unknown(
                "file of this name, and updateAssetPolicy=strict only replaces files".into(),
            )),
            _ => Ok(()),
        }
    }
}

impl Courses {
    /// Returns whether files of a version are below a path.
    pub(crate) async fn is_folder(
        &self,
        course: &str,
        version: i64,
        path: &str,
    ) -> Result<bool, Error> {
        // The letter after a slash is a zero.
        let (first, last) = (format!("{path}/"), format!("{path}0"));
        let arguments = vec![course.into(), version.into(), first.into(), last.into()];
        Ok(self.row(sql::FILE_BETWEEN, arguments).await?.is_some())
    }

    /// Adds a file to a version, or replaces it.
    ///
    /// # Errors
    ///
    /// The file is refused as the policy says; its bytes are then swept.
    pub(crate) async fn put_file(
        &self,
        (course, version): (&str, i64),
        path: String,
        written: Written,
        policy: Policy,
        now: ChangedAt,
    ) -> Result<(), Error> {
        let row = written.row(now)?;
        let blob = written.into_blob();
        let file = CourseFile {
            path,
            blob: blob.id.to_string(),
            start: 0,
            bytes: i64::try_from(blob.bytes).unwrap_or(i64::MAX),
            tag: hex(&blob.sha256[..16]),
            updated: now.0,
        };
        let ask = asks(course, version, &file.path);
        let course = course.to_owned();
        let decide = move |found: Vec<Answer>| -> Decision<(), Error> {
            let old = match Old::of(&course, version, found) {
                Ok(old) => old,
                Err(error) => return Decision::Refuse(error),
            };
            if let Err(error) = policy.check(old.is_there) {
                return Decision::Refuse(error);
            }
            let mut writes = vec![row.clone(), file.put(&course, version)];
            writes.extend(old.removal(now));
            Decision::Write(writes, ())
        };
        self.run_with_blobs(Plan { ask, decide }).await
    }

    /// Removes a file of a version.
    pub(crate) async fn delete_file(
        &self,
        course: &str,
        version: i64,
        path: &str,
        now: i64,
    ) -> Result<(), Error> {
        let ask = asks(course, version, path);
        let (course, path) = (course.to_owned(), path.to_owned());
        let decide = move |found: Vec<Answer>| -> Decision<(), Error> {
            let old = match Old::of(&course, version, found) {
                Ok(old) => old,
                Err(error) => return Decision::Refuse(error),
            };
            if !old.is_there {
                return Decision::Refuse(Error::Unknown("such file in the course".into()));
            }
            let key = vec![course.as_str().into(), version.into(), path.as_str().into()];
            let mut about = old.about.clone();
            about.changed = now;
            let about = match json_column(&about, "a version of a course") {
                Ok(about) => vec![course.as_str().into(), version.into(), about],
                Err(error) => return Decision::Refuse(error),
            };
            let mut writes = vec![write(sql::FILE_DELETE, key), write(sql::VERSION_ABOUT, about)];
            writes.extend(old.removal(ChangedAt(now)));
            Decision::Write(writes, ())
        };
        self.run_with_blobs(Plan { ask, decide }).await
    }
}

/// What is there of a file: its version, itself, and the other files of its blob.
fn asks(course: &str, version: i64, path: &str) -> Vec<Ask> {
    let of_version = vec![course.into(), version.into()];
    let of_file = || vec![course.into(), version.into(), path.into()];
    vec![
        read(sql::VERSION, of_version),
        read(sql::FILE, of_file()),
        read(sql::FILES_OF_SAME_BLOB, of_file()),
    ]
}

/// A file that is replaced or removed.
#[derive(Debug)]
struct Old {
    is_there: bool,
    /// What is known of its version.
    about: About,
    /// Its blob, if no other file is in it: those of a package share one.
    unused: Option<String>,
}

impl Old {
    fn of(course: &str, version: i64, found: Vec<Answer>) -> Result<Self, Error> {
        let mut found = found.into_iter().map(|answer| rows_of(Some(answer)));
        let mut next = || found.next().unwrap_or_default();
        let (known, file, others) = (next(), next(), next());
        let known = known.first().ok_or_else(|| Error::no_version(course, version))?;
        let about = Version::of(known)?.about;
        let file = file.first().map(CourseFile::of).transpose()?;
        let others = others.first().map_or(Ok(0), |row| Columns::of(row, "files").number())?;
        let unused = file.as_ref().filter(|_| others == 0).map(|file| file.blob.clone());
        Ok(Self { is_there: file.is_some(), about, unused })
    }

    /// Returns the write that removes its blob.
    fn removal(&self, now: ChangedAt) -> Option<Write> {
        let id = blob_id(self.unused.as_deref()?)?;
        Some(Blobs::removal(id, now))
    }
}
