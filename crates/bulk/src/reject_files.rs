//! Copies rejected records, in their original form, to files that can be corrected and loaded
//! again.
//!
//! A record of an interchange is written below its interchange's root again, together with the
//! elements that its `ref`s name, so that the file can be loaded by itself.
//!
//! The folder has to be new or empty, except for the mark that an earlier load has left: rejects
//! that are written beside others, or beside what the load reads, would be loaded with them. It is
//! locked while a load writes to it. A file gets its name only when it is complete, and never the
//! name of another file.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use homeroom_store::{OutputError, OutputKind, check_folder, make_folder, remove_folders};

use crate::error::LoadError;
use crate::json_layout::Layout;
use crate::place::{At, Spot};
use crate::source::{Format, SourceFile};
use crate::survey::Survey;
use crate::xml::references;

/// Longest chain of ids that is followed.
const CHAIN_MAX: usize = 8;
/// Suffix of a file's name while it is being written.
const PART: &str = ".part";

/// Deepest level of folders in a folder of rejects.
const DEPTH_MAX: usize = 64;

/// Marks a folder of rejects, and is locked while a load writes to the folder. A search for files
/// to load skips it.
const MARK: &str = ".homeroom-rejects";
/// Content of the mark.
const MARK_TEXT: &[u8] = b"homeroom load --rejects\n";
const MARKS: OutputKind =
    OutputKind { name: "a mark of rejects", is_ours: |head| head.starts_with(MARK_TEXT) };

/// Writes rejected records: one file for each input file that has any.
pub(crate) struct RejectFiles {
    folder: PathBuf,
    files: HashMap<u32, RejectFile>,
    open: Option<(u32, BufWriter<File>)>,
    /// The mark in the folder, locked while this file is open.
    _mark: File,
}

struct RejectFile {
    /// Its intended name within the folder, unless that is taken.
    relative: PathBuf,
    /// Its path while it is incomplete.
    part: PathBuf,
    suffix: &'static [u8],
    root_end: Vec<u8>,
    is_first: bool,
    /// Offsets of records already written; used only where ids are.
    written: HashSet<u64>,
}

impl RejectFiles {
    /// Prepares a folder, which is created if missing.
    ///
    /// # Errors
    ///
    /// [`LoadError::RejectsNotEmpty`], [`LoadError::RejectsInUse`], [`LoadError::Refused`],
    /// [`LoadError::Output`].
    pub(crate) fn new(folder: &Path) -> Result<Self, LoadError> {
        let wrong = |source| LoadError::Output { path: folder.to_owned(), source };
        check_rejects(folder)?;
        make_folder(folder).map_err(wrong)?;
        let mut mark = MARKS.create(&folder.join(MARK)).map_err(|error| match error {
            OutputError::InUse(_) => LoadError::RejectsInUse(folder.to_owned()),
            error => error.into(),
        })?;
        mark.write_all(MARK_TEXT).map_err(wrong)?;
        Ok(Self { folder: folder.to_owned(), files: HashMap::new(), open: None, _mark: mark })
    }

    /// Refuses what [`RejectFiles::new`] refuses; what is made to find that out is removed again.
    ///
    /// # Errors
    ///
    /// As [`RejectFiles::new`].
    pub(crate) fn attempt(folder: &Path) -> Result<(), LoadError> {
        let wrong = |source| LoadError::Output { path: folder.to_owned(), source };
        check_rejects(folder)?;
        let made = make_folder(folder).map_err(wrong)?;
        let is_marked = folder.join(MARK).symlink_metadata().is_ok();
        let files = Self::new(folder).map(drop);
        if files.is_ok() && !is_marked {
            _ = std::fs::remove_file(folder.join(MARK));
        }
        remove_folders(&made);
        files
    }

    /// Prepares the folder of an interrupted load again: what that had begun to write is removed.
    ///
    /// # Errors
    ///
    /// As [`RejectFiles::new`].
    pub(crate) fn again(folder: &Path) -> Result<Self, LoadError> {
        let is_ours = |path: &Path| {
            std::fs::read(path.join(MARK)).is_ok_and(|mark| mark.starts_with(MARK_TEXT))
        };
        if is_ours(folder) {
            let removed = remove_parts(folder, DEPTH_MAX);
            removed.map_err(|source| LoadError::Output { path: folder.to_owned(), source })?;
        }
        Self::new(folder)
    }

    /// Copies a record to the file for its input file.
    pub(crate) fn add(
        &mut self,
        source: &SourceFile,
        survey: &Survey,
        at: At,
    ) -> Result<(), LoadError> {
        let added = self.begin(source, survey, at.file).and_then(|()| {
            if source.format == Format::Xml {
                self.copy_element(source, survey, at, CHAIN_MAX)
            } else {
                let mut from = File::open(&source.path)?;
                self.copy(&mut from, at.file, at.offset, at.bytes)
            }
        });
        added.map_err(|error| self.wrong(at.file, error))
    }

    /// Completes all files.
    pub(crate) fn finish(mut self) -> Result<(), LoadError> {
        let files: Vec<u32> = self.files.keys().copied().collect();
        for file in files {
            let folder = self.folder.clone();
            let ended = self.writer(file).and_then(|(out, about)| {
                out.write_all(about.suffix)?;
                out.write_all(&about.root_end)?;
                out.flush()?;
                give_name(&folder, about)
            });
            ended.map_err(|error| self.wrong(file, error))?;
        }
        Ok(())
    }

    fn wrong(&self, file: u32, source: io::Error) -> LoadError {
        let path = self.files.get(&file).map_or(&self.folder, |file| &file.part).clone();
        LoadError::Output { path, source }
    }

    fn begin(&mut self, source: &SourceFile, survey: &Survey, file: u32) -> io::Result<()> {
        if self.files.contains_key(&file) {
            return Ok(());
        }
        if let Some(folder) = self.folder.join(&source.relative).parent() {
            make_folder(folder)?;
        }
        let (part, mut out) = self.begin_file(&source.relative)?;
        let (mut suffix, mut root_end): (&[u8], _) = (b"", vec![]);
        match &source.format {
            Format::Xml => {
                let mut from = File::open(&source.path)?;
                from.seek(SeekFrom::Start(survey.root.start))?;
                let mut tag = vec![];
                from.take(survey.root.end - survey.root.start).read_to_end(&mut tag)?;
                out.write_all(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")?;
                out.write_all(&tag)?;
                out.write_all(b"\n")?;
                root_end = [b"</", name(&tag), b">\n"].concat();
            }
            Format::Json(Layout::Array, _) => {
                out.write_all(b"[\n")?;
                suffix = b"]\n";
            }
            Format::Csv(layout) => {
                out.write_all(&layout.header)?;
                out.write_all(b"\n")?;
            }
            Format::Json(Layout::Lines | Layout::Values, _)
            | Format::Empty
            | Format::Unreadable(_) => {}
        }
        let written = HashSet::new();
        let is_first = true;
        let relative = source.relative.clone();
        self.files.insert(file, RejectFile { relative, part, suffix, root_end, is_first, written });
        Ok(())
    }

    /// Creates a file beside a name that neither this load nor an earlier one has taken.
    fn begin_file(&self, relative: &Path) -> io::Result<(PathBuf, File)> {
        for path in names(&self.folder, relative) {
            let mut part = path.clone().into_os_string();
            part.push(PART);
            let part = PathBuf::from(part);
            // A dangling link occupies its name, too.
            let is_free = std::fs::symlink_metadata(&path).is_err();
            let mut options = File::options();
            options.write(true).create_new(true).mode(0o600);
            match is_free.then(|| options.open(&part)) {
                Some(Ok(out)) => return Ok((part, out)),
                Some(Err(error)) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(error);
                }
                Some(Err(_)) | None => {}
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn writer(&mut self, file: u32) -> io::Result<(&mut BufWriter<File>, &mut RejectFile)> {
        let about = self.files.get_mut(&file).ok_or(io::ErrorKind::NotFound)?;
        if self.open.as_ref().is_none_or(|(open, _)| *open != file) {
            if let Some((_, mut out)) = self.open.take() {
                out.flush()?;
            }
            let out = File::options().append(true).open(&about.part)?;
            self.open = Some((file, BufWriter::new(out)));
        }
        let (_, out) = self.open.as_mut().ok_or(io::ErrorKind::NotFound)?;
        Ok((out, about))
    }

    /// Copies an element, preceded by the elements that its `ref`s name. Those have no length yet.
    fn copy_element(
        &mut self,
        source: &SourceFile,
        survey: &Survey,
        at: At,
        chain: usize,
    ) -> io::Result<()> {
        let At { file, offset, .. } = at;
        let mut from = File::open(&source.path)?;
        from.seek(SeekFrom::Start(offset))?;
        let uses_ids = !survey.ids.is_empty();
        if uses_ids && !self.writer(file)?.1.written.insert(offset) {
            return Ok(());
        }
        let is_known = at.bytes > 0;
        let part = (&from).take(if is_known { at.bytes } else { u64::MAX });
        let found = references(BufReader::new(part), Spot::on_line(offset, 1), &survey.ids);
        let (bytes, references) = match found {
            Ok((bytes, references)) => (if is_known { at.bytes } else { bytes }, references),
            // A record that is not well formed is copied alone.
            Err(_) if is_known => (at.bytes, vec![]),
            Err(_) => return Err(io::ErrorKind::InvalidData.into()),
        };
        if let Some(chain) = chain.checked_sub(1) {
            for offset in references {
                self.copy_element(source, survey, At { offset, bytes: 0, ..at }, chain)?;
            }
        }
        self.copy(&mut from, file, offset, bytes)
    }

    fn copy(&mut self, from: &mut File, file: u32, offset: u64, bytes: u64) -> io::Result<()> {
        from.seek(SeekFrom::Start(offset))?;
        let (out, about) = self.writer(file)?;
        if !about.suffix.is_empty() && !about.is_first {
            out.write_all(b",")?;
        }
        about.is_first = false;
        io::copy(&mut from.take(bytes), out)?;
        out.write_all(b"\n")
    }
}

/// Removes incomplete files, and folders that are empty without them.
fn remove_parts(folder: &Path, depth: usize) -> io::Result<()> {
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    for entry in std::fs::read_dir(folder)? {
        let (entry, path) = entry.map(|entry| (entry.file_type(), entry.path()))?;
        if entry?.is_dir() {
            remove_parts(&path, depth)?;
            // It stays if something else is in it.
            _ = std::fs::remove_dir(&path);
        } else if path.to_string_lossy().ends_with(PART) {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Yields the names that a file may get: its own, then numbered ones.
fn names(folder: &Path, relative: &Path) -> impl Iterator<Item = PathBuf> {
    let stem = relative.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let end = relative.extension().map(|end| format!(".{}", end.to_string_lossy()));
    let end = end.unwrap_or_default();
    let (own, relative) = (folder.join(relative), relative.to_owned());
    let folder = folder.to_owned();
    let numbered = (2_u64..)
        .map(move |number| folder.join(relative.with_file_name(format!("{stem}-{number}{end}"))));
    std::iter::once(own).chain(numbered)
}

/// Gives a complete file the first free name, without races against other writers.
fn give_name(folder: &Path, about: &RejectFile) -> io::Result<()> {
    for path in names(folder, &about.relative) {
        let mut options = File::options();
        match options.write(true).create_new(true).mode(0o600).open(&path) {
            Ok(_) => return std::fs::rename(&about.part, &path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Checks that rejects may be written to a folder: it is new or empty, except for a mark.
///
/// # Errors
///
/// [`LoadError::RejectsNotEmpty`], [`LoadError::Refused`].
fn check_rejects(folder: &Path) -> Result<(), LoadError> {
    check_folder(folder)?;
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    match entries.flatten().map(|entry| entry.file_name()).find(|name| name != MARK) {
        None => Ok(()),
        Some(found) => {
            let is_earlier = folder.join(MARK).symlink_metadata().is_ok();
            let (folder, found) = (folder.to_owned(), found.into());
            Err(LoadError::RejectsNotEmpty { folder, found, is_earlier })
        }
    }
}

/// Returns the name in a tag.
fn name(tag: &[u8]) -> &[u8] {
    let end = tag.iter().position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'));
    tag.get(1..end.unwrap_or(1)).unwrap_or_default()
}
