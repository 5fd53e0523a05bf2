//! A file to load, and the format of its content.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use homeroom_document::json::Json;
use homeroom_model::{Model, ResourceId};

use crate::csv_file::CsvLayout;
use crate::json_items::Items;
use crate::json_layout::{Layout, layout, spans_lines};
use crate::levels::resource_named;
use crate::place::{Malformed, Spot};
use crate::spool::Spool;

/// A file to load.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Where its content is.
    pub path: PathBuf,
    /// Name of the file in reports.
    pub name: String,
    /// Path of the file below the given path, used for output files about it.
    pub relative: PathBuf,
    /// Format of its content.
    pub format: Format,
    /// Why the content ends early, and where.
    pub damage: Option<Malformed>,
    /// Keeps the content, if it was copied.
    pub spool: Option<Spool>,
}

/// Format of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Format {
    /// Interchange XML.
    Xml,
    /// JSON documents, of one resource or each naming its own.
    Json(Layout, Option<ResourceId>),
    /// CSV with a mapping.
    Csv(Arc<CsvLayout>),
    /// An empty file.
    Empty,
    /// Anything else, with the reason why it cannot be read.
    Unreadable(String),
}

/// Kinds of file extensions that are searched for in folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extension {
    /// Interchange XML.
    Xml,
    /// JSON, as lines or an array.
    Json,
    /// CSV.
    Csv,
}

impl Extension {
    /// Returns the kind that a file's name ends with.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "xml" => Some(Self::Xml),
            "jsonl" | "ndjson" | "json" => Some(Self::Json),
            "csv" | "tsv" => Some(Self::Csv),
            _ => None,
        }
    }
}

/// Why a path that is no regular file cannot be loaded, if it is none.
pub(crate) fn irregular(path: &Path) -> Option<Format> {
    // Opening a pipe would block until something writes to it.
    std::fs::metadata(path).is_ok_and(|about| !about.is_file()).then(|| {
        Format::Unreadable(
            "it is not a regular file, and a load reads its input twice; write it to a file, or \
             to standard input"
                .into(),
        )
    })
}

/// Finds out the format of content other than CSV, for a file with the path `named`.
pub(crate) fn format_of(model: &Model, named: &Path, content: &Path) -> Format {
    let extension = Extension::of(named);
    let layout = match File::open(content).and_then(|file| layout(&file)) {
        Ok(Some(layout)) => layout,
        Ok(None) if extension == Some(Extension::Xml) => return Format::Xml,
        Ok(None) => return Format::Empty,
        Err(error) => return Format::Unreadable(format!("the file cannot be read: {error}")),
    };
    let json = |layout| {
        let resource = resource_of(model, named).filter(|_| !names_its_own(content, layout));
        Format::Json(layout, resource)
    };
    match extension {
        Some(Extension::Xml) => Format::Xml,
        Some(Extension::Json) => json(layout_of(content, layout)),
        Some(Extension::Csv) | None => match first_byte(content) {
            Some(b'<') => Format::Xml,
            Some(b'{' | b'[') => json(layout),
            _ => Format::Unreadable(
                "the file is neither XML nor JSON; interchange XML, JSON lines, JSON arrays, and \
                 CSV with a mapping can be loaded, also packed as .gz or .zip"
                    .into(),
            ),
        },
    }
}

/// Returns the layout of a file whose first byte says that it has documents, not an array of them.
fn layout_of(content: &Path, layout: Layout) -> Layout {
    let spans = || File::open(content).and_then(|file| spans_lines(&file)).unwrap_or(false);
    if layout == Layout::Lines && spans() { Layout::Values } else { layout }
}

/// Whether the first item of a file names its own resource: `{"resource": …, "document": …}`.
fn names_its_own(content: &Path, layout: Layout) -> bool {
    let Ok(file) = File::open(content) else { return false };
    let mut items = Items::new(BufReader::new(file), layout, Spot::START);
    let Ok(Some(_)) = items.next() else { return false };
    let Ok(Json::Object(members)) = Json::read(&items.item) else { return false };
    let member = |name: &str| members.iter().find(|(own, _)| own == name).map(|(_, value)| value);
    matches!(member("resource"), Some(Json::Text(_)))
        && matches!(member("document"), Some(Json::Object(_)))
}

fn first_byte(path: &Path) -> Option<u8> {
    let mut first = vec![];
    File::open(path).ok()?.take(64).read_to_end(&mut first).ok()?;
    let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&first);
    text.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

/// Returns the resource that a file is named after: `ed-fi/students.jsonl`, `students.jsonl`,
/// `Student-2.jsonl`, `students/1.jsonl`.
fn resource_of(model: &Model, path: &Path) -> Option<ResourceId> {
    let stem = path.file_stem().and_then(OsStr::to_str)?;
    let first = stem.split(['-', '_', '.', ' ']).next().unwrap_or(stem);
    let folder = path.parent().and_then(Path::file_name).and_then(OsStr::to_str);
    let of_project = folder.and_then(|schema| resource_named(model, &format!("{schema}/{stem}")));
    of_project.or_else(|| {
        let names = [Some(stem), Some(first), folder].into_iter().flatten();
        names.into_iter().find_map(|name| resource_named(model, name))
    })
}
