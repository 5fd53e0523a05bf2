//! Files as a service takes them: unpacked, and arrays of JSON as lines. It needs no model.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::encoding::as_utf8;
use crate::error::LoadError;
use crate::find::{has_documents, is_toml, search};
use crate::json_items::Items;
use crate::json_layout::{Layout, layout, spans_lines};
use crate::manifest::{self, List};
use crate::not_taken::{NotTaken, NotTakenPart};
use crate::packed::{Packing, UNPACKED_BYTES_MAX, plainly, unpack};
use crate::place::{Malformed, Spot};
use crate::source::{Extension, Format, irregular};
use crate::spool::{Spool, SpoolWriter};

/// A file to be sent to a service.
#[derive(Debug, Clone)]
pub struct PlainFile {
    /// Its path, as it was given; a file in an archive is below it.
    pub name: PathBuf,
    /// Where its content is, as long as this value lives.
    pub content: PathBuf,
    _kept: Option<Arc<Spool>>,
}

/// Finds the files below all paths and makes them plain; those that cannot be are told by name.
///
/// # Errors
///
/// [`LoadError::Path`] when a path is not there or a folder cannot be searched.
pub fn plain_files(paths: &[PathBuf]) -> Result<(Vec<PlainFile>, Vec<NotTaken>), LoadError> {
    let mut all = Plain::default();
    for path in paths {
        let wrong = |problem: String| LoadError::Path { path: path.clone(), problem };
        let about = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
        if about.is_dir() {
            let mut files = vec![];
            search(path, &mut files)?;
            for file in files {
                // A list stands for files that are in the folder, too; a mapping is no document.
                if is_toml(&file) || manifest::listed(&file)?.is_some() {
                    continue;
                }
                all.file(&file);
            }
        } else if let Some(List { files, damage }) = manifest::listed(path)? {
            for listed in files {
                match std::fs::metadata(&listed.path) {
                    Ok(_) => all.file(&listed.path),
                    Err(_) => {
                        all.refuse(&listed.path, "a list of files names it, and it is not there");
                    }
                }
            }
            if let Some(damage) = damage {
                all.refuse(path, &damage);
            }
        } else {
            all.file(path);
        }
    }
    Ok((all.files, all.not_taken))
}

#[derive(Default)]
struct Plain {
    files: Vec<PlainFile>,
    not_taken: Vec<NotTaken>,
}

impl Plain {
    fn refuse(&mut self, file: &Path, problem: &str) {
        self.not_taken.push(NotTaken::file(file, problem));
    }

    fn file(&mut self, path: &Path) {
        if let Some(Format::Unreadable(problem)) = irregular(path) {
            return self.refuse(path, &problem);
        }
        let Some(packing) = Packing::of(path, Extension::of(path).is_some()) else {
            return self.plain((path, path), path, None);
        };
        let mut left = UNPACKED_BYTES_MAX;
        let unpacked = match unpack(path, path, packing, &has_documents, &mut left) {
            Ok(unpacked) => unpacked,
            Err(problem) => return self.refuse(path, &problem),
        };
        if unpacked.is_empty() {
            return self.refuse(path, "the archive has no .xml, .jsonl, .ndjson or .json file");
        }
        for file in unpacked {
            let file = if packing == Packing::Zip { plainly(file, &mut left) } else { file };
            let plain = match packing {
                Packing::Gzip => path.with_file_name(&file.inner),
                Packing::Zip => path.join(&file.inner),
            };
            let name = if packing == Packing::Gzip { path } else { &plain };
            match file.content {
                Ok(spool) => {
                    let content = spool.path().to_owned();
                    self.plain((name, &plain), &content, Some(Arc::new(spool)));
                }
                Err(problem) => self.refuse(name, &problem),
            }
            self.parts(name, file.damage.map(|damage| (NotTakenPart::Part, damage)));
        }
    }

    fn parts(&mut self, name: &Path, parts: impl IntoIterator<Item = (NotTakenPart, Malformed)>) {
        let told = |(what, Malformed { line, column, message })| {
            let file = name.to_owned();
            NotTaken { file, line, column, what, problem: message }
        };
        self.not_taken.extend(parts.into_iter().map(told));
    }

    /// Takes a file that is not packed, under the name by which it was given and the one that says what
    /// it is.
    fn plain(&mut self, (name, plain): (&Path, &Path), content: &Path, kept: Option<Arc<Spool>>) {
        if Extension::of(plain) == Some(Extension::Csv) {
            return self.refuse(
                name,
                "the service takes no CSV; load it on the server's machine with homeroom load, or \
                 write it as JSON lines",
            );
        }
        let mut take = |content: &Path, kept| {
            let (name, content) = (name.to_owned(), content.to_owned());
            self.files.push(PlainFile { name, content, _kept: kept });
        };
        if let Err(error) = File::open(content) {
            return self.refuse(name, &format!("the file cannot be read: {error}"));
        }
        let recoded = match as_utf8(content) {
            Ok(recoded) => recoded.map(Arc::new),
            Err(problem) => return self.refuse(name, &problem),
        };
        let kept = recoded.clone().or(kept);
        let content = recoded.as_ref().map_or(content, |spool| spool.path());
        let found = File::open(content).and_then(|file| layout(&file));
        let spans = || File::open(content).and_then(|file| spans_lines(&file)).unwrap_or(false);
        let layout = match found {
            Ok(Some(Layout::Array)) => Layout::Array,
            Ok(Some(_)) if spans() => Layout::Values,
            Ok(Some(_)) => return take(content, kept),
            Ok(None) => return self.refuse(name, "the file is empty"),
            Err(error) => return self.refuse(name, &format!("the file cannot be read: {error}")),
        };
        match lines(content, layout) {
            Ok((spool, parts)) => {
                let content = spool.path().to_owned();
                take(&content, Some(Arc::new(spool)));
                self.parts(name, parts);
            }
            Err(problem) => self.refuse(name, &problem),
        }
    }
}

/// Writes each document of a file on a line of its own: the one on which it begins, if it is the only
/// one there. Also returns what is not written.
fn lines(path: &Path, layout: Layout) -> Result<(Spool, Vec<(NotTakenPart, Malformed)>), String> {
    let unreadable = |error: std::io::Error| format!("the file cannot be read: {error}");
    let kept = |error: std::io::Error| format!("its lines cannot be kept for sending: {error}");
    let source = BufReader::new(File::open(path).map_err(unreadable)?);
    let mut items = Items::new(source, layout, Spot::START);
    let mut out = BufWriter::new(SpoolWriter::new().map_err(kept)?);
    let (mut line, mut too_large) = (1, vec![]);
    while let Some(start) = items.next().map_err(|malformed| malformed.message)? {
        while line < start.line {
            out.write_all(b"\n").map_err(kept)?;
            line += 1;
        }
        if items.is_too_large {
            too_large.push((NotTakenPart::TooLarge, start.malformed("the document is too large")));
            continue;
        }
        // Outside of strings a line break is as good as a blank; inside it is wrong either way.
        for byte in &mut items.item {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        items.item.push(b'\n');
        out.write_all(&items.item).map_err(kept)?;
        line += 1;
    }
    let out = out.into_inner().map_err(|error| kept(error.into_error()))?;
    let strays = items.strays.into_iter().map(|stray| (NotTakenPart::Part, stray));
    Ok((out.finish(), strays.chain(too_large).collect()))
}
