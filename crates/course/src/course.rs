//! Courses and their versions, as they are stored.

use homeroom_blobs::{BlobId, Blobs};
use homeroom_store::{Answer, Ask, ChangedAt, Decision, Plan, Sql, Write};

use crate::courses::Courses;
use crate::error::Error;
use crate::package::{Activity, Finding, Standard};
use crate::removal::removal;
use crate::row::{Columns, Row, rows_of, write};
use crate::settings::Settings;
use crate::sql;
use crate::version::{About, Version};

/// A course.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Course {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) newest: i64,
    pub(crate) created: i64,
    pub(crate) updated: i64,
    pub(crate) tags: Vec<String>,
    pub(crate) settings: Settings,
}

impl Course {
    pub(crate) fn of(row: &Row) -> Result<Self, Error> {
        let mut row = Columns::of(row, "a course");
        Ok(Self {
            id: row.text()?,
            title: row.text()?,
            newest: row.number()?,
            created: row.number()?,
            updated: row.number()?,
            tags: row.json()?,
            settings: row.json()?,
        })
    }
}

/// A file of a version.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CourseFile {
    pub(crate) path: String,
    pub(crate) blob: String,
    pub(crate) start: i64,
    pub(crate) bytes: i64,
    pub(crate) tag: String,
    pub(crate) updated: i64,
}

impl CourseFile {
    pub(crate) fn of(row: &Row) -> Result<Self, Error> {
        let mut row = Columns::of(row, "a file of a course");
        Ok(Self {
            path: row.text()?,
            blob: row.text()?,
            start: row.number()?,
            bytes: row.number()?,
            tag: row.text()?,
            updated: row.number()?,
        })
    }

    /// Returns the write that adds or replaces it.
    pub(crate) fn put(&self, course: &str, version: i64) -> Write {
        let arguments = vec![
            course.into(),
            version.into(),
            self.path.as_str().into(),
            self.blob.as_str().into(),
            self.start.into(),
            self.bytes.into(),
            self.tag.as_str().into(),
            self.updated.into(),
        ];
        write(sql::FILE_PUT, arguments)
    }
}

impl Courses {
    /// Finds a course.
    pub(crate) async fn course(&self, id: &str) -> Result<Course, Error> {
        let row = self.row(sql::COURSE, vec![id.into()]).await?;
        Course::of(&row.ok_or_else(|| Error::no_course(id))?)
    }

    /// Returns all versions of a course, the oldest first.
    pub(crate) async fn versions(&self, course: &str) -> Result<Vec<Version>, Error> {
        let rows = self.list(sql::VERSIONS, vec![course.into()]).await?;
        rows.iter().map(Version::of).collect()
    }

    /// Removes a course with its versions, and the registrations for it.
    pub(crate) async fn delete_course(&self, id: &str, now: i64) -> Result<(), Error> {
        let course = self.course(id).await?;
        loop {
            let arguments = vec![id.into(), 500.into()];
            let ids = self.list(sql::REGISTRATION_IDS_OF_COURSE, arguments).await?;
            for row in &ids {
                let registration = Columns::of(row, "a registration").text()?;
                self.write(removal(&registration)).await?;
            }
            if ids.is_empty() {
                break;
            }
        }
        for version in self.versions(id).await? {
            self.remove_version(&version, now).await?;
        }
        self.write(vec![write(sql::COURSE_DELETE, vec![course.id.into()])]).await?;
        self.forget(id);
        Ok(())
    }

    /// Removes a version; the newest one that is left becomes the course's.
    pub(crate) async fn delete_version(
        &self,
        course: &str,
        version: i64,
        now: i64,
    ) -> Result<(), Error> {
        let all = self.versions(course).await?;
        let found = all.iter().find(|one| one.version == version);
        let found = found.ok_or_else(|| Error::no_course(course))?;
        if all.len() == 1 {
            return self.delete_course(course, now).await;
        }
        let arguments = vec![course.into(), version.into()];
        let row = self.row(sql::REGISTRATIONS_OF_VERSION, arguments).await?;
        let uses = row.and_then(|row| row.first()?.as_integer()).unwrap_or(0);
        if uses > 0 {
            return Err(Error::Conflict(format!(
                "version {version} is used by {uses} registrations; delete those first"
            )));
        }
        self.remove_version(found, now).await?;
        let left = all.iter().filter(|one| one.version != version).max_by_key(|one| one.version);
        if let Some(left) = left {
            let arguments =
                vec![course.into(), left.title.as_str().into(), left.version.into(), now.into()];
            self.write(vec![write(sql::COURSE_RENEW, arguments)]).await?;
        }
        self.forget(course);
        Ok(())
    }

    async fn remove_version(&self, version: &Version, now: i64) -> Result<(), Error> {
        let key = || vec![version.course.as_str().into(), version.version.into()];
        let blobs = self.list(sql::FILE_BLOBS, key()).await?;
        let mut writes = vec![write(sql::FILES_DELETE, key()), write(sql::VERSION_DELETE, key())];
        let of_files = blobs.iter().filter_map(|row| row.first()?.as_text().map(str::to_owned));
        for blob in of_files.chain(version.package.clone()) {
            if let Some(id) = blob_id(&blob) {
                writes.push(Blobs::removal(id, ChangedAt(now)));
            }
        }
        self.write(writes).await
    }

    /// Adds a version of a course, or the course with its first version. `writes` belong to it.
    pub(crate) async fn add_version(
        &self,
        new: NewVersion,
        writes: Vec<Write>,
        now: i64,
    ) -> Result<i64, Error> {
        let course = new.course.clone();
        let ask = vec![Ask::Part(Sql::new(sql::COURSE, vec![course.as_str().into()]))];
        let decide = move |found: Vec<Answer>| -> Decision<i64, Error> {
            let rows = rows_of(found.into_iter().next());
            let known = match rows.first().map(Course::of).transpose() {
                Ok(known) => known,
                Err(error) => return Decision::Refuse(error),
            };
            if known.is_some() && !new.may_renew {
                return Decision::Refuse(Error::Conflict(format!(
                    "there is a course {} already; ask for a new version of it with \
                     mayCreateNewVersion=true",
                    crate::error::shown(&new.course)
                )));
            }
            let version = known.as_ref().map_or(0, |known| known.newest + 1);
            let mut all = writes.clone();
            all.extend(new.writes(known.is_some(), version, now));
            Decision::Write(all, version)
        };
        let version = self.run(Plan { ask, decide }).await?;
        self.forget(&course);
        Ok(version)
    }
}

/// A version that is to be added.
#[derive(Debug, Clone)]
pub(crate) struct NewVersion {
    pub(crate) course: String,
    /// Whether it may become a new version of a course that is there.
    pub(crate) may_renew: bool,
    pub(crate) standard: Standard,
    pub(crate) title: String,
    pub(crate) tree: Activity,
    pub(crate) about: About,
    pub(crate) findings: Vec<Finding>,
    pub(crate) tags: Vec<String>,
    pub(crate) package: Option<String>,
    pub(crate) files: Vec<CourseFile>,
}

impl NewVersion {
    fn writes(&self, is_known: bool, version: i64, now: i64) -> Vec<Write> {
        let text = |value: &dyn Fn() -> Result<String, serde_json::Error>| {
            value().unwrap_or_else(|_| "null".into())
        };
        let course = self.course.as_str();
        let mut all = vec![];
        if is_known {
            let arguments =
                vec![course.into(), self.title.as_str().into(), version.into(), now.into()];
            all.push(write(sql::COURSE_RENEW, arguments));
        } else {
            let tags = text(&|| serde_json::to_string(&self.tags));
            let arguments = vec![
                course.into(),
                self.title.as_str().into(),
                version.into(),
                now.into(),
                tags.into(),
            ];
            all.push(write(sql::COURSE_ADD, arguments));
        }
        let arguments = vec![
            course.into(),
            version.into(),
            self.standard.name().into(),
            self.title.as_str().into(),
            text(&|| serde_json::to_string(&self.tree)).into(),
            text(&|| serde_json::to_string(&self.about)).into(),
            text(&|| serde_json::to_string(&self.findings)).into(),
            self.package.clone().into(),
            now.into(),
        ];
        all.push(write(sql::VERSION_ADD, arguments));
        all.extend(self.files.iter().map(|file| file.put(course, version)));
        all
    }
}

/// Returns the id of a blob by its text.
pub(crate) fn blob_id(text: &str) -> Option<BlobId> {
    homeroom_store::Uuid::read(text).map(BlobId)
}
