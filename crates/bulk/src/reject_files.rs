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
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use homeroom_store::{OutputError, OutputKind, check_folder, make_folder, remove_folders};
use serde::{Deserialize, Serialize};

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
    /// Files of an interrupted load, cut to what they had at its checkpoint, until they are taken over.
    left: Vec<Copied>,
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
    /// Number of bytes written.
    bytes: u64,
    /// Offsets of records already written; used only where ids are.
    written: HashSet<u64>,
}

/// What had been copied from a file when a checkpoint was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Copied {
    /// Index of the file.
    file: u32,
    /// Path of the copy while it is incomplete, and its number of bytes.
    part: PathBuf,
    bytes: u64,
    is_first: bool,
}

impl RejectFiles {
    /// Prepares a folder, which is created if missing.
    ///
    /// # Errors
    ///
    /// [`LoadError::RejectsNotEmpty`], [`LoadError::RejectsInUse`], [`LoadError::Refused`],
    /// [`LoadError::Output`].
    pub(crate) fn new(folder: &Path) -> Result<Self, LoadError> {
        check_rejects(folder, &[])?;
        Self::marked(folder, vec![])
    }

    /// Marks a folder that may be written to.
    fn marked(folder: &Path, left: Vec<Copied>) -> Result<Self, LoadError> {
        let wrong = |source| LoadError::Output { path: folder.to_owned(), source };
        make_folder(folder).map_err(wrong)?;
        let mut mark = MARKS.create(&folder.join(MARK)).map_err(|error| match error {
            OutputError::InUse(_) => LoadError::RejectsInUse(folder.to_owned()),
            error => error.into(),
        })?;
        mark.write_all(MARK_TEXT).map_err(wrong)?;
        let files = HashMap::new();
        Ok(Self { folder: folder.to_owned(), files, open: None, left, _mark: mark })
    }

    /// Refuses what [`RejectFiles::new`] refuses; what is made to find that out is removed again.
    ///
    /// # Errors
    ///
    /// As [`RejectFiles::new`].
    pub(crate) fn attempt(folder: &Path) -> Result<(), LoadError> {
        let wrong = |source| LoadError::Output { path: folder.to_owned(), source };
        check_rejects(folder, &[])?;
        let made = make_folder(folder).map_err(wrong)?;
        let is_marked = folder.join(MARK).symlink_metadata().is_ok();
        let files = Self::new(folder).map(drop);
        if files.is_ok() && !is_marked {
            _ = std::fs::remove_file(folder.join(MARK));
        }
        remove_folders(&made);
        files
    }

    /// Prepares the folder of an interrupted load again: of what that had begun to write, the part
    /// that its checkpoint knows is kept, and the rest removed. If a part is not there, all of them are
    /// removed.
    ///
    /// # Errors
    ///
    /// As [`RejectFiles::new`].
    pub(crate) fn again(folder: &Path, copied: Option<&[Copied]>) -> Result<Self, LoadError> {
        let is_ours = |path: &Path| {
            std::fs::read(path.join(MARK)).is_ok_and(|mark| mark.starts_with(MARK_TEXT))
        };
        let mut left = vec![];
        if is_ours(folder) {
            let wrong = |source| LoadError::Output { path: folder.to_owned(), source };
            left = copied.unwrap_or_default().to_vec();
            let has = |copied: &Copied| {
                let about = std::fs::symlink_metadata(&copied.part);
                copied.part.starts_with(folder)
                    && about.is_ok_and(|about| about.is_file() && about.len() >= copied.bytes)
            };
            if !left.iter().all(has) {
                left.clear();
            }
            remove_parts(folder, &left, DEPTH_MAX).map_err(wrong)?;
            for Copied { part, bytes, .. } in &left {
                let cut = File::options().write(true).open(part);
                cut.and_then(|part| part.set_len(*bytes)).map_err(wrong)?;
            }
        }
        check_rejects(folder, &left)?;
        Self::marked(folder, left)
    }

    /// Takes over what an interrupted load had copied. Returns whether anything was left to be taken over;
    /// if not, its rejects have to be copied again.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(crate) fn take_over(
        &mut self,
        files: &[SourceFile],
        surveys: &[Survey],
    ) -> Result<bool, LoadError> {
        let left = std::mem::take(&mut self.left);
        for Copied { file, part, bytes, is_first } in &left {
            let index = usize::try_from(*file).unwrap_or(usize::MAX);
            let (Some(source), Some(survey)) = (files.get(index), surveys.get(index)) else {
                continue;
            };
            let frame = Frame::of(source, survey).map_err(|error| self.wrong(*file, error))?;
            let Frame { suffix, root_end, .. } = frame;
            let (relative, part) = (source.relative.clone(), part.clone());
            let (bytes, is_first, written) = (*bytes, *is_first, HashSet::new());
            let taken = RejectFile { relative, part, suffix, root_end, is_first, bytes, written };
            self.files.insert(*file, taken);
        }
        Ok(!left.is_empty())
    }

    /// Returns what has been copied so far. [`None`] if a copy also contains elements that references name
    /// by `id`: a checkpoint does not record which of these are copied.
    pub(crate) fn copied(&self) -> Option<Vec<Copied>> {
        let copied = |(file, about): (&u32, &RejectFile)| {
            let RejectFile { part, bytes, is_first, written, .. } = about;
            let copied =
                Copied { file: *file, part: part.clone(), bytes: *bytes, is_first: *is_first };
            written.is_empty().then_some(copied)
        };
        self.files.iter().map(copied).collect()
    }

    /// Writes what is still in memory.
    ///
    /// # Errors
    ///
    /// [`LoadError::Output`].
    pub(crate) fn flush(&mut self) -> Result<(), LoadError> {
        let Some((file, out)) = &mut self.open else { return Ok(()) };
        let (file, flushed) = (*file, out.flush());
        flushed.map_err(|error| self.wrong(file, error))
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
        let Frame { head, suffix, root_end } = Frame::of(source, survey)?;
        let (part, mut out) = self.begin_file(&source.relative)?;
        out.write_all(&head)?;
        let (written, bytes, is_first) = (HashSet::new(), head.len() as u64, true);
        let relative = source.relative.clone();
        let begun = RejectFile { relative, part, suffix, root_end, is_first, bytes, written };
        self.files.insert(file, begun);
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
            about.bytes += 1;
        }
        about.is_first = false;
        about.bytes += io::copy(&mut from.take(bytes), out)? + 1;
        out.write_all(b"\n")
    }
}

/// What stands around the records of a copy.
struct Frame {
    head: Vec<u8>,
    suffix: &'static [u8],
    root_end: Vec<u8>,
}

impl Frame {
    fn of(source: &SourceFile, survey: &Survey) -> io::Result<Self> {
        let mut frame = Self { head: vec![], suffix: b"", root_end: vec![] };
        match &source.format {
            Format::Xml => {
                let mut from = File::open(&source.path)?;
                from.seek(SeekFrom::Start(survey.root.start))?;
                let mut tag = vec![];
                from.take(survey.root.end - survey.root.start).read_to_end(&mut tag)?;
                let declaration = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
                frame.head = [declaration, &tag[..], b"\n"].concat();
                frame.root_end = [b"</", name(&tag), b">\n"].concat();
            }
            Format::Json(Layout::Array, _) => {
                frame.head = b"[\n".to_vec();
                frame.suffix = b"]\n";
            }
            Format::Csv(layout) => frame.head = [&layout.header[..], b"\n"].concat(),
            Format::Json(Layout::Lines | Layout::Values, _)
            | Format::Empty
            | Format::Unreadable(_) => {}
        }
        Ok(frame)
    }
}

/// Removes incomplete files but those that are `left`, and folders that are empty without them.
fn remove_parts(folder: &Path, left: &[Copied], depth: usize) -> io::Result<()> {
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    for entry in std::fs::read_dir(folder)? {
        let (entry, path) = entry.map(|entry| (entry.file_type(), entry.path()))?;
        if entry?.is_dir() {
            remove_parts(&path, left, depth)?;
            // It stays if something else is in it.
            _ = std::fs::remove_dir(&path);
        } else if path.to_string_lossy().ends_with(PART)
            && !left.iter().any(|copied| copied.part == path)
        {
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

/// Checks that rejects may be written to a folder: it is new or empty, except for a mark and what is
/// `left` of an interrupted load.
///
/// # Errors
///
/// [`LoadError::RejectsNotEmpty`], [`LoadError::Refused`].
fn check_rejects(folder: &Path, left: &[Copied]) -> Result<(), LoadError> {
    check_folder(folder)?;
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    let is_left =
        |name: &OsString| left.iter().any(|copied| copied.part.starts_with(folder.join(name)));
    let mut names = entries.flatten().map(|entry| entry.file_name());
    match names.find(|name| name != MARK && !is_left(name)) {
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
