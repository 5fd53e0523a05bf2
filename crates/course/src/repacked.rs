//! The package of a version whose files were changed: packed anew when somebody asks for it.

use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use homeroom_blobs::{Blob, Blobs, Written};
use homeroom_store::{Answer, ChangedAt, Decision, Plan};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::course::{CourseFile, blob_id};
use crate::courses::Courses;
use crate::error::Error;
use crate::import::PACKAGE;
use crate::package::Standard;
use crate::row::{read, rows_of, write};
use crate::sql;
use crate::version::Version;

/// From so many bytes on, a file of an archive needs the longer form of its sizes.
const LARGE: i64 = 1 << 31;

impl Courses {
    /// Returns the package of a version, with the files that it has now.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if it has none: it is a page elsewhere.
    pub(crate) async fn package(&self, course: &str, number: i64, now: i64) -> Result<Blob, Error> {
        let key = || vec![course.into(), number.into()];
        let row = self.row(sql::VERSION, key()).await?;
        let version = Version::of(&row.ok_or_else(|| Error::no_version(course, number))?)?;
        let none = || Error::Unknown("file of this course: it is a page elsewhere".into());
        let id = version.package.as_deref().and_then(blob_id).ok_or_else(none)?;
        let known = self.blobs.find(id).await?;
        let rows = self.list(sql::FILES, key()).await?;
        let files = rows.iter().map(CourseFile::of).collect::<Result<Vec<_>, _>>()?;
        let changed = files.iter().map(|file| file.updated).max();
        let changed = changed.unwrap_or(0).max(version.about.changed);
        let is_current = |known: &Blob| changed <= version.created.max(known.created.0);
        if let Some(known) = known.filter(is_current) {
            return Ok(known);
        }
        if version.standard == Standard::Media && files.len() == 1 {
            // The file itself is what was handed in.
            let only = files.first().and_then(|file| blob_id(&file.blob)).ok_or_else(none)?;
            return self.blobs.find(only).await?.ok_or_else(none);
        }
        let written = self.packed(&files, now).await?;
        self.replace_package(&version, &files, written, now).await
    }

    /// Packs files.
    async fn packed(&self, files: &[CourseFile], now: i64) -> Result<Written, Error> {
        let mut writing = self.blobs.begin(PACKAGE).await?;
        let pipe = Pipe::default();
        let mut zip = ZipWriter::new_stream(pipe.clone());
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("the package could not be packed: {error}");
            Error::Store(homeroom_store::StoreError::Failed(message))
        };
        let mut opened: Option<Blob> = None;
        for file in files {
            let options = SimpleFileOptions::default()
                .compression_method(CompressionMethod::Deflated)
                .compression_level(Some(1))
                .large_file(file.bytes >= LARGE);
            zip.start_file(file.path.as_str(), options).map_err(|error| failed(&error))?;
            let missing = || Error::damaged("a file of a course");
            let id = blob_id(&file.blob).ok_or_else(missing)?;
            let blob = match opened.take().filter(|blob| blob.id == id) {
                Some(blob) => blob,
                None => self.blobs.find(id).await?.ok_or_else(missing)?,
            };
            let range = |at: i64| u64::try_from(at).unwrap_or(0);
            let range = range(file.start)..range(file.start.saturating_add(file.bytes));
            let mut reading = self.blobs.read(blob.id, blob.bytes, range).await?;
            while let Some(bytes) = reading.next().await? {
                zip.write_all(&bytes).map_err(|error| failed(&error))?;
                writing.write(&pipe.take()).await?;
            }
            opened = Some(blob);
        }
        zip.finish().map_err(|error| failed(&error))?;
        writing.write(&pipe.take()).await?;
        Ok(writing.finish(ChangedAt(now)).await?)
    }

    /// Makes a package that of a version, in place of the one before.
    async fn replace_package(
        &self,
        version: &Version,
        files: &[CourseFile],
        written: Written,
        now: i64,
    ) -> Result<Blob, Error> {
        let now = ChangedAt(now);
        let row = written.row(now)?;
        let blob = written.into_blob();
        let key = vec![version.course.as_str().into(), version.version.into()];
        let former = version.package.clone();
        let mut writes = vec![
            row,
            write(sql::VERSION_PACKAGE, {
                let mut arguments = key.clone();
                arguments.push(blob.id.to_string().into());
                arguments
            }),
        ];
        let is_used = |id: &&String| files.iter().all(|file| file.blob != **id);
        let unused = former.as_ref().filter(is_used).and_then(|id| blob_id(id));
        writes.extend(unused.map(|id| Blobs::removal(id, now)));
        let decide = move |found: Vec<Answer>| -> Decision<(), Error> {
            let rows = rows_of(found.into_iter().next());
            let package = rows.first().map(Version::of).transpose();
            match package {
                Ok(Some(known)) if known.package == former => Decision::Write(writes.clone(), ()),
                Ok(_) => Decision::Refuse(Error::Conflict(
                    "the course has just been changed; ask again".into(),
                )),
                Err(error) => Decision::Refuse(error),
            }
        };
        self.run_with_blobs(Plan { ask: vec![read(sql::VERSION, key)], decide }).await?;
        self.forget(&version.course);
        Ok(blob)
    }
}

/// What was packed and is not written yet.
#[derive(Debug, Clone, Default)]
struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Pipe {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl std::io::Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
