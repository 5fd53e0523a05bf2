//! Courses and their versions, as they are stored.

use homeroom_blobs::{BlobId, Blobs};
use homeroom_store::{Answer, ChangedAt, Decision, Plan, Write};

use crate::courses::Courses;
use crate::error::Error;
use crate::package::{Activity, Finding, Standard};
use crate::row::{Columns, Row, read, rows_of, write};
use crate::settings::Settings;
use crate::sql;
use crate::version::{About, Version};

/// A course.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Course {
    pub(crate) id: String,
    pub(crate) title: String,
    /// The version that new registrations get.
    pub(crate) current: i64,
    pub(crate) created: i64,
    pub(crate) updated: i64,
    pub(crate) tags: Vec<String>,
    pub(crate) settings: Settings,
    /// The highest number that a version ever had; none is given twice.
    highest: i64,
}

impl Course {
    pub(crate) fn of(row: &Row) -> Result<Self, Error> {
        let mut row = Columns::of(row, "a course");
        Ok(Self {
            id: row.text()?,
            title: row.text()?,
            current: row.number()?,
            created: row.number()?,
            updated: row.number()?,
            tags: row.json()?,
            settings: row.json()?,
            highest: row.number()?,
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
                self.delete_registration(&registration).await?;
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

    /// Makes a version the one that new registrations get.
    pub(crate) async fn make_current(
        &self,
        course: &str,
        version: i64,
        now: i64,
    ) -> Result<(), Error> {
        let ask = vec![
            read(sql::COURSE, vec![course.into()]),
            read(sql::VERSION, vec![course.into(), version.into()]),
        ];
        let id = course.to_owned();
        let decide = move |found: Vec<Answer>| -> Decision<(), Error> {
            let mut found = found.into_iter().map(|answer| rows_of(Some(answer)));
            let is_course = found.next().is_some_and(|rows| !rows.is_empty());
            let rows = found.next().unwrap_or_default();
            match rows.first().map(Version::of) {
                None if is_course => Decision::Refuse(Error::no_version(&id, version)),
                None => Decision::Refuse(Error::no_course(&id)),
                Some(Err(error)) => Decision::Refuse(error),
                Some(Ok(found)) => Decision::Write(vec![current(&found, now)], ()),
            }
        };
        self.run(Plan { ask, decide }).await?;
        self.forget(course);
        Ok(())
    }

    /// Removes a version that no registration uses. If it was the current one, the latest that is left is.
    pub(crate) async fn delete_version(
        &self,
        course: &str,
        version: i64,
        now: i64,
    ) -> Result<(), Error> {
        self.course(course).await?;
        let key = || vec![course.into(), version.into()];
        let ask = vec![
            read(sql::COURSE, vec![course.into()]),
            read(sql::VERSIONS, vec![course.into()]),
            read(sql::REGISTRATIONS_OF_VERSION, key()),
            read(sql::FILE_BLOBS, key()),
        ];
        let id = course.to_owned();
        let decide = move |found: Vec<Answer>| -> Decision<bool, Error> {
            match version_removal(&id, version, found, now) {
                Ok(Some(writes)) => Decision::Write(writes, false),
                Ok(None) => Decision::Write(vec![], true),
                Err(error) => Decision::Refuse(error),
            }
        };
        if self.run_with_blobs(Plan { ask, decide }).await? {
            return self.delete_course(course, now).await;
        }
        self.forget(course);
        Ok(())
    }

    async fn remove_version(&self, version: &Version, now: i64) -> Result<(), Error> {
        let key = vec![version.course.as_str().into(), version.version.into()];
        let blobs = self.list(sql::FILE_BLOBS, key).await?;
        self.write_with_blobs(removal_of(version, &blobs, now)).await
    }

    /// Adds a version of a course, or the course with its first version. `writes` belong to it.
    pub(crate) async fn add_version(
        &self,
        new: NewVersion,
        writes: Vec<Write>,
        now: i64,
    ) -> Result<i64, Error> {
        let course = new.course.clone();
        let ask = vec![read(sql::COURSE, vec![course.as_str().into()])];
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
                    crate::shown::shown(&new.course)
                )));
            }
            let version = known.as_ref().map_or(0, |known| known.highest + 1);
            let mut all = writes.clone();
            all.extend(new.writes(known.is_some(), version, now));
            Decision::Write(all, version)
        };
        let version = self.run_with_blobs(Plan { ask, decide }).await?;
        self.forget(&course);
        Ok(version)
    }
}

/// Returns the writes that remove a version, from the rows of its course, of all versions, of their uses
/// and of its blobs; none if it is the last.
fn version_removal(
    course: &str,
    version: i64,
    found: Vec<Answer>,
    now: i64,
) -> Result<Option<Vec<Write>>, Error> {
    let mut found = found.into_iter().map(|answer| rows_of(Some(answer)));
    let mut next = || found.next().unwrap_or_default();
    let (known, all, uses, blobs) = (next(), next(), next(), next());
    let known = Course::of(known.first().ok_or_else(|| Error::no_course(course))?)?;
    let all = all.iter().map(Version::of).collect::<Result<Vec<_>, _>>()?;
    let gone = all.iter().find(|one| one.version == version);
    let gone = gone.ok_or_else(|| Error::no_version(course, version))?;
    let Some(left) = all.iter().rfind(|one| one.version != version) else { return Ok(None) };
    let uses = uses.first().map_or(Ok(0), |row| Columns::of(row, "registrations").number())?;
    if uses > 0 {
        return Err(Error::Conflict(format!(
            "version {version} is used by {uses} registrations, which would lose what they have \
             recorded; make another version the current one, which new registrations get, with \
             PUT /courses/{{courseId}}/currentVersion"
        )));
    }
    let mut writes = removal_of(gone, &blobs, now);
    if known.current == version {
        writes.push(current(left, now));
    }
    Ok(Some(writes))
}

/// Returns the write that makes a version the one that new registrations get.
fn current(version: &Version, now: i64) -> Write {
    let arguments = vec![
        version.course.as_str().into(),
        version.title.as_str().into(),
        version.version.into(),
        now.into(),
    ];
    write(sql::COURSE_CURRENT, arguments)
}

/// Returns the writes that remove a version, its files and the blobs of these.
fn removal_of(version: &Version, blobs: &[Row], now: i64) -> Vec<Write> {
    let key = || vec![version.course.as_str().into(), version.version.into()];
    let mut writes = vec![write(sql::FILES_DELETE, key()), write(sql::VERSION_DELETE, key())];
    let of_files = blobs.iter().filter_map(|row| row.first()?.as_text().map(str::to_owned));
    let all = of_files.chain(version.package.clone()).filter_map(|blob| blob_id(&blob));
    writes.extend(all.map(|id| Blobs::removal(id, ChangedAt(now))));
    writes
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
            all.push(write(sql::COURSE_CURRENT, arguments));
            let highest = vec![course.into(), version.into()];
            all.push(write(sql::COURSE_HIGHEST, highest));
        } else {
            let tags = crate::tags::column(&self.tags);
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
