//! The rejected records in files of their own, in the form they came in, to be mended and loaded
//! again.
//!
//! A record of an interchange stands in its interchange's root again, together with what its `ref`s
//! name, so that the file can be loaded by itself.
//!
//! They may be written to where the load reads from, or where an earlier load has left some: so a
//! file gets its name at the end, and never one that another has.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::LoadError;
use crate::json_items::Layout;
use crate::place::{At, Spot};
use crate::source::{Format, SourceFile};
use crate::survey::Survey;
use crate::xml::references;

/// Most ids that lead from one to the next.
const CHAIN_MAX: usize = 8;
/// What a file's name ends with while it is written.
const PART: &str = ".part";

/// Writes rejected records, a file for each file that has any.
pub(crate) struct RejectFiles {
    folder: PathBuf,
    files: HashMap<u32, RejectFile>,
    open: Option<(u32, BufWriter<File>)>,
}

struct RejectFile {
    path: PathBuf,
    /// Where it is written until it is whole.
    part: PathBuf,
    suffix: &'static [u8],
    root_end: Vec<u8>,
    is_first: bool,
    /// Offsets of what has been written; only where ids are used.
    written: HashSet<u64>,
}

impl RejectFiles {
    /// Files in a folder, which is made as needed.
    pub(crate) fn new(folder: &Path) -> Result<Self, LoadError> {
        make_folder(folder)
            .map_err(|source| LoadError::Output { path: folder.to_owned(), source })?;
        Ok(Self { folder: folder.to_owned(), files: HashMap::new(), open: None })
    }

    /// Copies a record.
    pub(crate) fn add(
        &mut self,
        source: &SourceFile,
        survey: &Survey,
        at: At,
    ) -> Result<(), LoadError> {
        let added = self.begin(source, survey, at.file).and_then(|()| {
            if source.format == Format::Xml {
                self.copy_element(source, survey, at.file, at.offset, CHAIN_MAX)
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
            let ended = self.writer(file).and_then(|(out, about)| {
                out.write_all(about.suffix)?;
                out.write_all(&about.root_end)?;
                out.flush()?;
                std::fs::rename(&about.part, &about.path)
            });
            ended.map_err(|error| self.wrong(file, error))?;
        }
        Ok(())
    }

    fn wrong(&self, file: u32, source: io::Error) -> LoadError {
        let path = self.files.get(&file).map_or(&self.folder, |file| &file.path).clone();
        LoadError::Output { path, source }
    }

    fn begin(&mut self, source: &SourceFile, survey: &Survey, file: u32) -> io::Result<()> {
        if self.files.contains_key(&file) {
            return Ok(());
        }
        if let Some(folder) = self.folder.join(&source.relative).parent() {
            make_folder(folder)?;
        }
        let (path, part, mut out) = self.begin_file(&source.relative)?;
        let (mut suffix, mut root_end): (&[u8], _) = (b"", vec![]);
        match source.format {
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
            Format::Json(Layout::Lines, _) | Format::Empty | Format::Unreadable(_) => {}
        }
        let written = HashSet::new();
        let is_first = true;
        self.files.insert(file, RejectFile { path, part, suffix, root_end, is_first, written });
        Ok(())
    }

    /// Makes a file under a name that no other has, of this load or of one before.
    fn begin_file(&self, relative: &Path) -> io::Result<(PathBuf, PathBuf, File)> {
        let stem = relative.file_stem().unwrap_or_default().to_string_lossy();
        let end = relative.extension().map(|end| format!(".{}", end.to_string_lossy()));
        let end = end.unwrap_or_default();
        let mut number = 1;
        loop {
            let path = match number {
                1 => self.folder.join(relative),
                _ => self.folder.join(relative.with_file_name(format!("{stem}-{number}{end}"))),
            };
            let mut part = path.clone().into_os_string();
            part.push(PART);
            let part = PathBuf::from(part);
            // A link that leads nowhere is a name, too.
            let is_free = std::fs::symlink_metadata(&path).is_err();
            let mut options = File::options();
            options.write(true).create_new(true).mode(0o600);
            match is_free.then(|| options.open(&part)) {
                Some(Ok(out)) => return Ok((path, part, out)),
                Some(Err(error)) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(error);
                }
                Some(Err(_)) | None => number += 1,
            }
        }
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

    /// Copies an element after what its refs name.
    fn copy_element(
        &mut self,
        source: &SourceFile,
        survey: &Survey,
        file: u32,
        offset: u64,
        chain: usize,
    ) -> io::Result<()> {
        let mut from = File::open(&source.path)?;
        from.seek(SeekFrom::Start(offset))?;
        let uses_ids = !survey.ids.is_empty();
        if uses_ids && !self.writer(file)?.1.written.insert(offset) {
            return Ok(());
        }
        let found = references(BufReader::new(&from), Spot::on_line(offset, 1), &survey.ids);
        let Ok((bytes, references)) = found else { return Err(io::ErrorKind::InvalidData.into()) };
        if let Some(chain) = chain.checked_sub(1) {
            for reference in references {
                self.copy_element(source, survey, file, reference, chain)?;
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

/// Makes a folder that only its owner may read, as it holds what stands in documents.
fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// The name in a tag.
fn name(tag: &[u8]) -> &[u8] {
    let end = tag.iter().position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'));
    tag.get(1..end.unwrap_or(1)).unwrap_or_default()
}
