//! What `homeroom course` asks of the process that owns the store.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use homeroom_blobs::Blob;
use homeroom_store::ChangedAt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use crate::answers::{Answers, Position};
use crate::clock;
use crate::course::Course;
use crate::courses::Courses;
use crate::error::Error;
use crate::import::{Import, PACKAGE};
use crate::launch_record::LaunchOptions;
use crate::learner::NamedLearner;
use crate::registration::NewRegistration;
use crate::report::moment;
use crate::sample::{SAMPLE_ID, sample_package};
use crate::settings::Settings;
use crate::sql;
use crate::version::About;

/// Most bytes of a trace that is shown; of a longer one the newest commits.
const TRACE_BYTES_MAX: usize = 32 << 20;
/// Most interactions and objectives that are read at a time, and bytes after which no more of them are read.
const ANSWERS_AT_A_TIME: usize = 1_000;
const ANSWERS_BYTES_MAX: usize = 32 << 20;
/// The id of the sample's learner and registration.
const SAMPLE_LEARNER: &str = "sample";

fn import_of(course: &str, name: &str, blob: &Blob) -> Import {
    Import {
        course: course.to_owned(),
        may_renew: true,
        tags: vec![],
        name: name.to_owned(),
        blob: Some(blob.id.to_string()),
        url: None,
        link: None,
        title: None,
        about: About::default(),
        postback: None,
    }
}

/// A command's request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoursesRequest {
    /// Imports a file as a course, or as a new version of it.
    Add {
        /// The file; its path is absolute.
        file: PathBuf,
        /// The course's id.
        id: String,
    },
    /// Makes a version of a course the current one.
    Use {
        /// The course's id.
        id: String,
        /// The version's number.
        version: i64,
    },
    /// Lists courses after an id.
    List {
        /// Most courses.
        limit: u32,
    },
    /// Shows how the interactions and objectives of a course went.
    Answers {
        /// The course's id.
        id: String,
    },
    /// Shows the launches of a registration, or the calls of one of them.
    Trace {
        /// The registration.
        registration: String,
        /// The launch; none for a list of all.
        launch: Option<String>,
    },
}

impl Courses {
    /// Does what a command asks.
    ///
    /// # Errors
    ///
    /// Says what could not be done.
    pub async fn manage(&self, request: CoursesRequest) -> Result<Value, Error> {
        match request {
            CoursesRequest::Add { file, id } => self.add_file(&file, &id).await,
            CoursesRequest::Use { id, version } => {
                self.make_current(&id, version, clock::now()).await?;
                Ok(json!({ "course": id, "version": version }))
            }
            CoursesRequest::List { limit } => self.list_all(limit).await,
            CoursesRequest::Answers { id } => self.all_answers(&id).await,
            CoursesRequest::Trace { registration, launch } => {
                self.traced(&registration, launch.as_deref()).await
            }
        }
    }

    /// Makes sure that the sample course is there with a registration for it, and returns the path of a
    /// launch of that.
    ///
    /// # Errors
    ///
    /// Says what could not be done.
    pub async fn launch_sample(&self) -> Result<String, Error> {
        let now = clock::now();
        if let Err(Error::Unknown(_)) = self.course(SAMPLE_ID).await {
            let mut writing = self.blobs.begin(PACKAGE).await?;
            writing.write(&sample_package()).await?;
            let blob =
                self.blobs.keep(writing.finish(ChangedAt(now)).await?, ChangedAt(now)).await?;
            self.import_file(&import_of(SAMPLE_ID, "library.zip", &blob), blob, now).await?;
        }
        let learner = NamedLearner {
            id: SAMPLE_LEARNER.into(),
            first_name: Some("Sam".into()),
            last_name: Some("Sample".into()),
            ..NamedLearner::default()
        };
        let new = NewRegistration {
            id: SAMPLE_LEARNER.into(),
            course: SAMPLE_ID.into(),
            version: None,
            learner,
            settings: Settings::new(),
            tags: vec![],
            course_tags: vec![],
            xapi: String::new(),
        };
        self.register(new, now).await?;
        let found = self.registration(SAMPLE_LEARNER, None).await?;
        let version = (found.course.as_str(), found.version);
        let (options, day) = (LaunchOptions::default(), 86_400);
        let secret = self.add_launch(Some(&found), version, &options, day, now).await?;
        Ok(format!("/play/{secret}"))
    }

    async fn add_file(&self, file: &Path, id: &str) -> Result<Value, Error> {
        if id.trim().is_empty() || id.len() > crate::import::ID_BYTES_MAX {
            return Err(Error::Invalid("the id is empty or too long".into()));
        }
        let now = clock::now();
        let blob = self.keep_file(file, now).await?;
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        let import = import_of(id, &name.unwrap_or_default(), &blob);
        let unused = blob.id;
        let imported = self.import_file(&import, blob, now).await;
        if imported.is_err() {
            self.blobs.remove(unused, ChangedAt(now)).await?;
        }
        imported
    }

    async fn keep_file(&self, file: &Path, now: i64) -> Result<Blob, Error> {
        let unreadable = |error: std::io::Error| {
            Error::Invalid(format!("{} cannot be read: {error}", file.display()))
        };
        let mut from = tokio::fs::File::open(file).await.map_err(unreadable)?;
        let mut writing = self.blobs.begin(PACKAGE).await?.at_most(self.limits.packed_bytes);
        let mut buffer = vec![0; 256 << 10];
        loop {
            let read = from.read(&mut buffer).await.map_err(unreadable)?;
            if read == 0 {
                break;
            }
            writing.write(&buffer[..read]).await?;
        }
        let written = writing.finish(ChangedAt(now)).await?;
        Ok(self.blobs.keep(written, ChangedAt(now)).await?)
    }

    async fn list_all(&self, limit: u32) -> Result<Value, Error> {
        let rows = self.list(sql::COURSES_FIRST, vec![i64::from(limit).into()]).await?;
        let mut shown = vec![];
        for row in &rows {
            let course = Course::of(row)?;
            let version = self.version(&course.id, course.current, clock::now()).await?;
            shown.push(json!({
                "id": course.id,
                "title": version.title,
                "version": version.version,
                "standard": version.standard.name(),
                "activities": version.tree.launchable().len(),
                "updated": moment(course.updated),
            }));
        }
        Ok(Value::Array(shown))
    }

    /// Shows the answers of all pages, as far as they fit. Where no server sweeps, the command itself gives what an
    /// older Homeroom has saved its rows.
    async fn all_answers(&self, course: &str) -> Result<Value, Error> {
        self.course(course).await?;
        self.carry_items(usize::MAX).await?;
        let (mut all, mut from, mut bytes) = (Answers::default(), Position::default(), 0);
        loop {
            let page = self.answers(course, from, ANSWERS_AT_A_TIME).await?;
            let shown = page.interactions.iter().chain(&page.objectives);
            bytes += shown.map(|one| one.to_string().len()).sum::<usize>();
            all.interactions.extend(page.interactions);
            all.objectives.extend(page.objectives);
            all.next = page.next;
            match &all.next {
                Some(next) if bytes < ANSWERS_BYTES_MAX => from = next.clone(),
                _ => break,
            }
        }
        let is_cut = all.next.is_some();
        let mut shown = all.shown(course);
        if is_cut {
            shown["isCut"] = true.into();
        }
        Ok(shown)
    }

    async fn traced(&self, registration: &str, launch: Option<&str>) -> Result<Value, Error> {
        let found = self.registration(registration, None).await?;
        let Some(wanted) = launch else {
            let (launches, _) = self.launches(&found.id, None, None).await?;
            let shown = launches.iter().map(|launch| {
                let known = found.progress.launches.get(&launch.id).or(launch.result.as_ref());
                json!({
                    "launch": launch.id,
                    "instance": launch.instance,
                    "created": moment(launch.created),
                    "seconds": known.map_or(0.0, |known| known.time as f64 / 100.0),
                    "last": known.map(|known| moment(known.last)),
                })
            });
            return Ok(shown.collect());
        };
        let (mut commits, mut bytes, mut left_out) = (VecDeque::new(), 0, 0_u64);
        let mut after = Some(0);
        while let Some(last) = after {
            let (page, more) = self.calls(&found.id, wanted, last).await?;
            after = more;
            bytes += page.iter().map(|commit| commit.to_string().len()).sum::<usize>();
            commits.extend(page);
            while bytes > TRACE_BYTES_MAX
                && let Some(first) = commits.pop_front()
            {
                bytes -= first.to_string().len();
                left_out += 1;
            }
        }
        if left_out > 0 {
            commits.push_front(json!({ "commitsLeftOut": left_out }));
        }
        Ok(commits.into_iter().collect())
    }
}
