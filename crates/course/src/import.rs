//! Imports: from a file that was handed in to a version of a course.

use std::fmt::Write as _;

use homeroom_blobs::{Blob, Written};
use homeroom_client::{Error as Lost, Request, Url};
use homeroom_jobs::{Failed, Job, JobId, NewJob, Running, State};
use homeroom_store::{ChangedAt, Write};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::course::{CourseFile, NewVersion, blob_id};
use crate::courses::Courses;
use crate::error::Error;
use crate::notice::{COURSE_IMPORT, NewNotice, POST_BACK, bit, receiver};
use crate::package::{Finding, Level, Package, Standard, Unpacking, read, web_link};
use crate::version::About;

/// The name of the kind of jobs.
pub(crate) const IMPORT: &str = "course-import";
/// The owner's kind of blobs.
pub(crate) const PACKAGE: &str = "course-package";
const CONTENT: &str = "course-content";
/// Most warnings in the answer about a job.
const WARNINGS_MAX: usize = 100;
/// Most bytes of a course's id.
pub(crate) const ID_BYTES_MAX: usize = 1_024;

/// What an import needs to know.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Import {
    pub(crate) course: String,
    #[serde(default)]
    pub(crate) may_renew: bool,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    /// The name of the file.
    #[serde(default)]
    pub(crate) name: String,
    /// The blob of the file that was handed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) blob: Option<String>,
    /// The address from which it is fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// A page elsewhere, which is the course.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) link: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// What is said about it, which holds before what the package says.
    #[serde(default, skip_serializing_if = "About::is_empty")]
    pub(crate) about: About,
    /// Where its end is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) postback: Option<String>,
}

/// Why an import has failed.
#[derive(Debug)]
enum Why {
    /// The package cannot be played; the text says why.
    Package(String),
    /// Something here failed; another attempt may succeed.
    Here(Error),
}

impl From<Error> for Why {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid(message) | Error::Conflict(message) => Self::Package(message),
            other => Self::Here(other),
        }
    }
}

impl Courses {
    /// Does an import job.
    pub(crate) async fn import_job_run(&self, job: &Running, now: i64) -> Result<Value, Failed> {
        let import: Import = serde_json::from_value(job.input.clone())
            .map_err(|error| Failed::ForGood(format!("the job cannot be read: {error}")))?;
        let id = job.id.to_string();
        match self.import(&import, now).await {
            Ok(done) => {
                let told = self.tell_end(&import, &id, "Success", now).await;
                told.map_err(|error| Failed::Again(error.to_string()))?;
                Ok(done)
            }
            Err(Why::Package(message)) => {
                self.drop_package(&import, now).await;
                let told = self.tell_end(&import, &id, "Failed", now).await;
                told.map_err(|error| Failed::Again(error.to_string()))?;
                Err(Failed::ForGood(message))
            }
            Err(Why::Here(error)) => Err(Failed::Again(error.to_string())),
        }
    }

    /// Notes that those who want to know are told how an import has ended.
    async fn tell_end(
        &self,
        import: &Import,
        job: &str,
        how: &'static str,
        now: i64,
    ) -> Result<(), Error> {
        let mut notices = vec![];
        let mut add = |target: &str, url: &str| {
            notices.push(NewNotice {
                target: target.to_owned(),
                topic: COURSE_IMPORT,
                subject: (job.to_owned(), 0),
                changes: bit(how),
                receiver: receiver(url),
            });
        };
        if let Some(url) = &import.postback {
            add(POST_BACK, url);
        }
        for one in self.subscriptions(now).await?.iter() {
            if one.wants(COURSE_IMPORT, &[how]) {
                add(&one.id, &one.definition.url);
            }
        }
        if !notices.is_empty() {
            self.write(notices.iter().map(|notice| notice.write(now)).collect()).await?;
            self.noticed.notify_one();
        }
        Ok(())
    }

    /// Queues an import.
    pub(crate) async fn enqueue_import(
        &self,
        import: &Import,
        owner: &str,
        now: i64,
    ) -> Result<JobId, Error> {
        let input = serde_json::to_value(import).map_err(|_| Error::damaged("a job"))?;
        let job = NewJob::new(IMPORT, owner, input);
        Ok(self.jobs.enqueue(job, ChangedAt(now)).await?)
    }

    /// Finds an import job.
    pub(crate) async fn import_job(&self, id: &str) -> Result<Job, Error> {
        let unknown = || Error::Unknown(format!("import job {}", crate::shown::shown(id)));
        let id: JobId = id.parse().map_err(|_| unknown())?;
        let job = self.jobs.find(id).await?;
        job.filter(|job| job.kind == IMPORT).ok_or_else(unknown)
    }

    /// Removes the file that was handed in for an import that comes to nothing.
    pub(crate) async fn drop_package(&self, import: &Import, now: i64) {
        if let Some(id) = import.blob.as_deref().and_then(blob_id)
            && let Err(error) = self.blobs.remove(id, ChangedAt(now)).await
        {
            tracing::warn!(%error, "the package of a failed import is still there");
        }
    }

    /// Imports a package and returns what was made of it. It may run again after a crash.
    async fn import(&self, import: &Import, now: i64) -> Result<Value, Why> {
        if let Some(link) = &import.link {
            let title = import.title.clone().unwrap_or_else(|| link.clone());
            let new = NewVersion {
                course: import.course.clone(),
                may_renew: import.may_renew,
                standard: Standard::WebLink,
                tree: web_link(link, &title),
                title,
                about: import.about.clone(),
                findings: vec![],
                tags: import.tags.clone(),
                package: None,
                files: vec![],
            };
            let version = self.add_version(new, vec![], now).await?;
            return Ok(json!({ "course": import.course, "version": version, "warnings": [] }));
        }
        let blob = match (&import.blob, &import.url) {
            (Some(blob), _) => {
                let id = blob_id(blob).ok_or_else(|| Why::Package("the file is gone".into()))?;
                let found = self.blobs.find(id).await.map_err(Error::from)?;
                found.ok_or_else(|| Why::Package("the file is gone".into()))?
            }
            (None, Some(url)) => {
                // The file becomes a blob with the version that is made of it, and else is swept.
                let written = self.fetched(url, PACKAGE, now).await?;
                let row = written.row(ChangedAt(now)).map_err(Error::from)?;
                return self.import_blob(import, written.into_blob(), vec![row], now).await;
            }
            (None, None) => return Err(Why::Package("there is nothing to import".into())),
        };
        if let Some(done) = self.imported_before(import, &blob).await? {
            return Ok(done);
        }
        self.import_blob(import, blob, vec![], now).await
    }

    /// Returns the result of an earlier run of the same job, if there was one.
    async fn imported_before(&self, import: &Import, blob: &Blob) -> Result<Option<Value>, Why> {
        let id = blob.id.to_string();
        let versions = self.versions(&import.course).await?;
        let found = versions.iter().find(|version| version.package.as_deref() == Some(&id));
        Ok(found.map(|found| {
            json!({ "course": found.course, "version": found.version, "warnings": warnings(&found.findings) })
        }))
    }

    pub(crate) async fn import_file(
        &self,
        import: &Import,
        blob: Blob,
        now: i64,
    ) -> Result<Value, Error> {
        self.import_blob(import, blob, vec![], now).await.map_err(|why| match why {
            Why::Package(message) => Error::Invalid(message),
            Why::Here(error) => error,
        })
    }

    /// Imports a file. `writes` belong to the version that is made of it.
    async fn import_blob(
        &self,
        import: &Import,
        blob: Blob,
        mut writes: Vec<Write>,
        now: i64,
    ) -> Result<Value, Why> {
        let file = self.blobs.open(&blob).await.map_err(Error::from)?;
        let (name, limits) = (import.name.clone(), self.limits);
        let package = blocking(move || read(file, &name, limits)).await?;
        if !package.is_playable() {
            return Err(Why::Package(package.failure()));
        }
        let Package { standard, tree, languages, description, findings, unpacking } = package;
        let (Some(standard), Some(tree), Some(unpacking)) = (standard, tree, unpacking) else {
            return Err(Why::Package("the package cannot be played".into()));
        };
        let mut tree = tree;
        if let (Some(title), Standard::Media) = (&import.title, standard) {
            tree.title.clone_from(title);
        }
        let (written, files) = self.unpack(unpacking, now).await?;
        writes.push(written.row(ChangedAt(now)).map_err(Error::from)?);
        let title = match (&import.title, standard) {
            (Some(title), _) if !title.is_empty() => title.clone(),
            _ => tree.title.clone(),
        };
        let warned = warnings(&findings);
        let new = NewVersion {
            course: import.course.clone(),
            may_renew: import.may_renew,
            standard,
            title,
            tree,
            about: import.about.clone().or(About { languages, description, ..About::default() }),
            findings,
            tags: import.tags.clone(),
            package: Some(blob.id.to_string()),
            files,
        };
        let version = self.add_version(new, writes, now).await?;
        Ok(json!({ "course": import.course, "version": version, "warnings": warned }))
    }

    /// Unpacks a package into one blob.
    async fn unpack(
        &self,
        mut unpacking: Unpacking,
        now: i64,
    ) -> Result<(Written, Vec<CourseFile>), Why> {
        let mut writing = self.blobs.begin(CONTENT).await.map_err(Error::from)?;
        let blob = writing.id().to_string();
        let runtime = tokio::runtime::Handle::current();
        let unpacked = blocking(move || {
            let mut files: Vec<CourseFile> = vec![];
            let mut start = 0_u64;
            let mut hash = Sha256::new();
            let done = unpacking.each(&mut |path, bytes| {
                if !bytes.is_empty() {
                    hash.update(bytes);
                    return runtime
                        .block_on(writing.write(bytes))
                        .map_err(|error| Finding::fail("disk", error.to_string()));
                }
                let end = writing.bytes();
                let digest = std::mem::replace(&mut hash, Sha256::new()).finalize();
                files.push(CourseFile {
                    path: path.to_owned(),
                    blob: blob.clone(),
                    start: i64::try_from(start).unwrap_or(i64::MAX),
                    bytes: i64::try_from(end - start).unwrap_or(i64::MAX),
                    tag: hex(&digest[..16]),
                    updated: now,
                });
                start = end;
                Ok(())
            });
            done.map(|()| (writing, files))
        })
        .await?;
        let (writing, files) = unpacked.map_err(|finding| {
            if finding.code == "disk" {
                Why::Here(Error::Conflict(finding.message))
            } else {
                Why::Package(finding.line_of_text())
            }
        })?;
        let written = writing.finish(ChangedAt(now)).await.map_err(Error::from)?;
        Ok((written, files))
    }

    /// Fetches a file. Addresses of this network are refused, unless the operator permits them.
    pub(crate) async fn fetched(&self, url: &str, kind: &str, now: i64) -> Result<Written, Error> {
        let refused = |why: &dyn std::fmt::Display| {
            Error::Invalid(format!("the URL cannot be fetched: {why}"))
        };
        let address = Url::parse(url).map_err(|error| refused(&error))?;
        let client = self.fetching().map_err(|error| refused(&error))?;
        let answer = client.send(Request::get(address)).await.map_err(|lost| match &lost {
            Lost::Refused { range, .. } => refused(&format!(
                "its host is {range}; the operator may permit such with courses.private_addresses"
            )),
            other => refused(other),
        })?;
        if answer.status() != 200 {
            return Err(refused(&format!("its server answered {}", answer.status())));
        }
        let writing = self.blobs.begin(kind).await?;
        let mut writing = writing.at_most(self.limits.packed_bytes);
        let mut body = answer.into_body();
        while let Some(bytes) = body.part().await.map_err(|error| refused(&error))? {
            writing.write(&bytes).await.map_err(|error| match error {
                homeroom_blobs::BlobError::TooLarge { bytes_max } => {
                    refused(&format!("the file has more than {bytes_max} bytes"))
                }
                other => Error::Blob(other),
            })?;
        }
        Ok(writing.finish(ChangedAt(now)).await?)
    }
}

/// Runs work on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| {
        Error::Store(homeroom_store::StoreError::Failed(format!("the import has stopped: {error}")))
    })
}

fn warnings(findings: &[Finding]) -> Vec<String> {
    let warned = findings.iter().filter(|finding| finding.level == Level::Warn);
    warned.take(WARNINGS_MAX).map(Finding::line_of_text).collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the status of a job in the words of the API.
pub(crate) fn status_of(job: &Job) -> &'static str {
    match job.state {
        State::Queued | State::Running => "RUNNING",
        State::Done => "COMPLETE",
        State::Dead | State::Cancelled => "ERROR",
    }
}

/// The version that a job has made.
pub(crate) fn made(job: &Job) -> Option<(String, i64, Vec<String>)> {
    let result = job.result.as_ref()?;
    let warned = result["warnings"].as_array().into_iter().flatten();
    let warned = warned.filter_map(|text| text.as_str().map(str::to_owned)).collect();
    Some((result["course"].as_str()?.to_owned(), result["version"].as_i64()?, warned))
}
