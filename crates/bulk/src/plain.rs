//! Files as a service takes them: unpacked, and arrays of JSON as lines. It needs no model.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::encoding::as_utf8;
use crate::error::LoadError;
use crate::find::{is_beside_documents, plainly, search};
use crate::json_items::{Items, Layout, layout, spans_lines};
use crate::manifest::{self, List};
use crate::packed::{Packing, unpack};
use crate::place::{Malformed, Spot};
use crate::source::{Extension, Format, irregular};
use crate::spool::{Spool, SpoolWriter};

/// Deepest level of folders that is searched.
const FOLDERS_MAX: usize = 32;

/// A file to be sent to a service.
#[derive(Debug, Clone)]
pub struct PlainFile {
    /// Its path, as it was given; a file in an archive is below it.
    pub name: PathBuf,
    /// Where its content is, as long as this value lives.
    pub content: PathBuf,
    _kept: Option<Arc<Spool>>,
}

/// A file, or a part of one, that a service does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotTaken {
    /// Path of the file.
    pub file: PathBuf,
    /// Line at which the fault is, from 1.
    pub line: u64,
    /// Why, as a sentence without its end.
    pub problem: String,
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
            search(path, FOLDERS_MAX, &mut files)?;
            for file in files {
                // A list stands for files that are in the folder, too; a mapping is no document.
                if is_mapping(&file) || manifest::listed(&file)?.is_some() {
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

fn is_mapping(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"))
}

#[derive(Default)]
struct Plain {
    files: Vec<PlainFile>,
    not_taken: Vec<NotTaken>,
}

impl Plain {
    fn refuse(&mut self, file: &Path, problem: &str) {
        let (file, problem) = (file.to_owned(), problem.to_owned());
        self.not_taken.push(NotTaken { file, line: 1, problem });
    }

    fn file(&mut self, path: &Path) {
        if let Some(Format::Unreadable(problem)) = irregular(path) {
            return self.refuse(path, &problem);
        }
        let Some(packing) = Packing::of(path, Extension::of(path).is_some()) else {
            return self.plain(path, path, None);
        };
        let is_wanted = |inner: &Path| {
            let ending = inner.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            let is_packed = matches!(&*ending.to_ascii_lowercase(), "gz" | "gzip" | "zip");
            (is_packed || Extension::of(inner).is_some()) && !is_beside_documents(inner)
        };
        let unpacked = match unpack(path, path, packing, &is_wanted) {
            Ok(unpacked) => unpacked,
            Err(problem) => return self.refuse(path, &problem),
        };
        if unpacked.is_empty() {
            return self.refuse(path, "the archive has no .xml, .jsonl, .ndjson or .json file");
        }
        for file in unpacked.into_iter().map(plainly) {
            let name = match packing {
                Packing::Gzip => path.with_file_name(&file.inner),
                Packing::Zip => path.join(&file.inner),
            };
            match file.content {
                Ok(spool) => {
                    let content = spool.path().to_owned();
                    self.plain(&name, &content, Some(Arc::new(spool)));
                }
                Err(problem) => self.refuse(&name, &problem),
            }
            self.malformed(&name, file.damage);
        }
    }

    fn malformed(&mut self, name: &Path, malformed: impl IntoIterator<Item = Malformed>) {
        let told = |Malformed { line, message, .. }| NotTaken {
            file: name.to_owned(),
            line,
            problem: message,
        };
        self.not_taken.extend(malformed.into_iter().map(told));
    }

    /// Takes a file that is not packed, under a name.
    fn plain(&mut self, name: &Path, content: &Path, kept: Option<Arc<Spool>>) {
        if Extension::of(name) == Some(Extension::Csv) {
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
        let found = File::open(content).and_then(|file| layout(&file));
        let spans = || File::open(content).and_then(|file| spans_lines(&file)).unwrap_or(false);
        let layout = match found {
            Ok(Some(Layout::Array)) => Layout::Array,
            Ok(Some(_)) if spans() => Layout::Values,
            Ok(Some(_)) => {
                return match as_utf8(content) {
                    Some(Ok(spool)) => {
                        let content = spool.path().to_owned();
                        take(&content, Some(Arc::new(spool)));
                    }
                    _ => take(content, kept),
                };
            }
            Ok(None) => return self.refuse(name, "the file is empty"),
            Err(error) => return self.refuse(name, &format!("the file cannot be read: {error}")),
        };
        match lines(content, layout) {
            Ok((spool, strays)) => {
                let content = spool.path().to_owned();
                take(&content, Some(Arc::new(spool)));
                self.malformed(name, strays);
            }
            Err(problem) => self.refuse(name, &problem),
        }
    }
}

/// Writes each document of a file on a line of its own: the one on which it begins, if it is the only
/// one there.
fn lines(path: &Path, layout: Layout) -> Result<(Spool, Vec<Malformed>), String> {
    let unreadable = |error: std::io::Error| format!("the file cannot be read: {error}");
    let kept = |error: std::io::Error| format!("its lines cannot be kept for sending: {error}");
    let source = BufReader::new(File::open(path).map_err(unreadable)?);
    let mut items = Items::new(source, layout, Spot::START);
    let mut out = BufWriter::new(SpoolWriter::new().map_err(kept)?);
    let mut line = 1;
    while let Some(start) = items.next().map_err(|malformed| malformed.message)? {
        while line < start.line {
            out.write_all(b"\n").map_err(kept)?;
            line += 1;
        }
        if items.is_too_large {
            let message = "the document is too large".to_owned();
            items.strays.push(Malformed { line: start.line, column: 1, message });
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
    Ok((out.finish(), items.strays))
}
